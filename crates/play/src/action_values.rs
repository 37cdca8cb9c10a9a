//! Learned action values along a playout: one net for each role, or one for all.

use crate::models::LoadedModel;
use crate::nets::{PlayoutFacts, linear_view, role_of};
use ludex_core::{Fact, Game, Move, Player};
use ludex_learn::{Accumulator, InferenceNet, LinearAccumulator, LinearScorer, Scratch};
use ludex_search::mcts::ActionValues;
use std::sync::Arc;

/// Nets that follow a playout. Linear ones keep the sums of every move up to date, others those of their first layer; nets of
/// which a move is an input are asked afresh at every ply.
pub(crate) struct NetActionValues {
    models: Vec<Arc<LoadedModel>>,
    tracks: Vec<Track>,
    begun: PlayoutFacts,
}

/// What is kept along a playout, and how it was at the beginning of the first playout of a search.
enum Track {
    /// By player.
    Linear { accumulator: LinearAccumulator, first: LinearAccumulator },
    /// By net.
    Deep { accumulator: Accumulator, first: Accumulator, scratch: Scratch },
    /// By net.
    Fresh { scratch: Scratch },
}

impl Track {
    fn linear() -> Self {
        Track::Linear { accumulator: LinearAccumulator::default(), first: LinearAccumulator::default() }
    }

    fn of(net: &InferenceNet) -> Self {
        let (scratch, accumulator) = (net.scratch(), net.accumulator());
        match net.moves_are_inputs() {
            true => Track::Fresh { scratch },
            false => Track::Deep { first: accumulator.clone(), accumulator, scratch },
        }
    }
}

impl NetActionValues {
    /// Models whose heads score moves.
    pub fn new(models: Vec<Arc<LoadedModel>>, players: usize) -> Self {
        let linear = models.iter().all(|m| !m.linear.is_empty());
        let tracks = match linear {
            true => (0..players).map(|_| Track::linear()).collect(),
            false => models.iter().map(|m| Track::of(m.net())).collect(),
        };
        NetActionValues { models, tracks, begun: PlayoutFacts::default() }
    }
}

/// The linear net of a player.
#[inline]
fn linear(models: &[Arc<LoadedModel>], p: Player) -> &LinearScorer {
    linear_view(&models[role_of(models, p)].linear, p).expect("all nets are linear")
}

impl<G: Game> ActionValues<G> for NetActionValues {
    fn begin_search(&mut self, _: &G) {
        self.begun.clear();
    }

    fn refresh(&mut self, game: &G, s: &G::State) {
        let NetActionValues { models, tracks, begun } = self;
        let start = begun.begin(game, s);
        for (i, track) in tracks.iter_mut().enumerate() {
            match track {
                Track::Linear { accumulator, first } => {
                    let net = linear(models, Player(i as u8));
                    let update = |a: &mut LinearAccumulator, on: &[Fact], off: &[Fact]| net.update(a, on, off);
                    let refresh = |a: &mut LinearAccumulator, facts: &[Fact]| net.refresh(a, facts);
                    begun.accumulate(start, (accumulator, first), refresh, update, LinearAccumulator::copy_from);
                }
                Track::Deep { accumulator, first, .. } => {
                    begun.accumulate_net(models[i].net(), start, (accumulator, first));
                }
                Track::Fresh { .. } => {}
            }
        }
    }

    #[inline]
    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        let NetActionValues { models, tracks, begun: PlayoutFacts { on, off, .. } } = self;
        if let [Track::Fresh { .. }, ..] = tracks[..] {
            return game.play(s, m);
        }
        game.play_facts(s, m, on, off);
        for (i, track) in tracks.iter_mut().enumerate() {
            match track {
                Track::Linear { accumulator, .. } => linear(models, Player(i as u8)).update(accumulator, on, off),
                Track::Deep { accumulator, .. } => models[i].net().update(accumulator, on, off),
                Track::Fresh { .. } => {}
            }
        }
    }

    #[inline]
    fn values(&mut self, game: &G, s: &G::State, moves: &[Move], out: &mut [f32]) {
        let mover = game.mover(s);
        if let Some(Track::Linear { accumulator, .. }) = self.tracks.get(mover.index()) {
            return linear(&self.models, mover).scores(accumulator, moves, out);
        }
        let role = role_of(&self.models, mover);
        let net = self.models[role].net();
        match &mut self.tracks[role] {
            Track::Deep { accumulator, scratch, .. } => net.score_accumulated(accumulator, mover, moves, scratch, out),
            Track::Fresh { scratch } => {
                game.facts(s, &mut self.begun.facts);
                net.score_moves(&self.begun.facts, mover, moves, scratch, out);
            }
            Track::Linear { .. } => unreachable!("linear tracks are kept by player"),
        }
    }
}
