//! Learned action values in a search: one net for each role, or one for both where roles are mirrored.

use crate::nets::{Follow, Loaded, Start};
use ludex_core::{Evaluator, Fact, Game, Move, Payoffs, Player};
use ludex_learn::{Line, Scratch, Side, SideLine};
use ludex_search::mcts::Advice;
use std::sync::Arc;

/// The nets of all roles: as many as there are, or one for all.
pub(crate) type Roles = Vec<Arc<Loaded>>;

/// The net of a player.
fn of(models: &Roles, p: Player) -> usize {
    if models.len() == 1 { 0 } else { p.index() }
}

/// A linear net as this player sees it.
fn view(sides: &[Side], p: Player) -> Option<&Side> {
    sides.get(p.index()).or(sides.last())
}

/// Nets that score moves and judge no state.
pub(crate) struct NetScores {
    models: Roles,
    scratch: Vec<Scratch>,
    line: SideLine,
    facts: Vec<Fact>,
    /// Only the order of scores matters.
    ranks: bool,
}

impl NetScores {
    /// Models whose heads score moves.
    pub fn new(models: Roles) -> Self {
        let scratch = models.iter().map(|m| m.net.scratch()).collect();
        NetScores { models, scratch, line: SideLine::default(), facts: Vec::new(), ranks: false }
    }

    /// The same for those who only compare, which is cheaper.
    pub fn ranking(models: Roles) -> Self {
        NetScores { ranks: true, ..NetScores::new(models) }
    }
}

impl<G: Game> Evaluator<G> for NetScores {
    /// Nothing is known about the value of a state.
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        let mover = game.mover(s);
        let role = of(&self.models, mover);
        game.facts(s, &mut self.facts);
        let Loaded { net, sides, .. } = &*self.models[role];
        match view(sides, mover) {
            Some(side) => {
                side.start(&mut self.line, &self.facts);
                side.scores(&self.line, moves, scores);
                let common = side.common(&self.facts);
                scores.iter_mut().for_each(|v| *v += common);
            }
            None if self.ranks => net.rank_moves(&self.facts, mover, moves, &mut self.scratch[role], scores),
            None => net.score_moves(&self.facts, mover, moves, &mut self.scratch[role], scores),
        }
    }
}

/// Nets that follow a playout. Linear ones keep the sums of every move up to date, others those of their first layer; nets of
/// which a move is an input are asked afresh at every ply.
pub(crate) struct NetAdvice {
    models: Roles,
    tracks: Vec<Track>,
    follow: Follow,
}

/// What is kept along a line, and where it began in the first playout of a search.
enum Track {
    /// By player.
    Linear { line: SideLine, anchor: SideLine },
    /// By net.
    Deep { line: Line, anchor: Line, scratch: Scratch },
    /// By net.
    Fresh { scratch: Scratch },
}

impl NetAdvice {
    /// Models whose heads score moves.
    pub fn new(models: Roles, players: usize) -> Self {
        let linear = models.iter().all(|m| !m.sides.is_empty());
        let tracks = match linear {
            true => {
                (0..players).map(|_| Track::Linear { line: SideLine::default(), anchor: SideLine::default() }).collect()
            }
            false => models
                .iter()
                .map(|m| match m.net.by_move() {
                    true => Track::Fresh { scratch: m.net.scratch() },
                    false => Track::Deep { line: m.net.line(), anchor: m.net.line(), scratch: m.net.scratch() },
                })
                .collect(),
        };
        NetAdvice { models, tracks, follow: Follow::default() }
    }
}

/// The linear net of a player.
#[inline]
fn side(models: &Roles, p: Player) -> &Side {
    view(&models[of(models, p)].sides, p).expect("all nets are linear")
}

impl<G: Game> Advice<G> for NetAdvice {
    fn begin(&mut self, _: &G) {
        self.follow.forget();
    }

    fn start(&mut self, game: &G, s: &G::State) {
        let NetAdvice { models, tracks, follow } = self;
        let start = follow.approach(game, s);
        for (i, track) in tracks.iter_mut().enumerate() {
            match track {
                Track::Linear { line, anchor } => {
                    let side = side(models, Player(i as u8));
                    match start {
                        Start::Far => side.start(line, &follow.facts),
                        Start::Anchor => {
                            side.start(anchor, &follow.facts);
                            side.rewind(line, anchor);
                        }
                        Start::Near => {
                            side.rewind(line, anchor);
                            side.update(line, &follow.on, &follow.off);
                        }
                    }
                }
                Track::Deep { line, anchor, .. } => follow.set(&models[i].net, start, line, anchor),
                Track::Fresh { .. } => {}
            }
        }
    }

    #[inline]
    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        let NetAdvice { models, tracks, follow: Follow { on, off, .. } } = self;
        if let [Track::Fresh { .. }, ..] = tracks[..] {
            return game.play(s, m);
        }
        game.play_facts(s, m, on, off);
        for (i, track) in tracks.iter_mut().enumerate() {
            match track {
                Track::Linear { line, .. } => side(models, Player(i as u8)).update(line, on, off),
                Track::Deep { line, .. } => models[i].net.update(line, on, off),
                Track::Fresh { .. } => {}
            }
        }
    }

    #[inline]
    fn values(&mut self, game: &G, s: &G::State, moves: &[Move], out: &mut [f32]) {
        let mover = game.mover(s);
        if let Some(Track::Linear { line, .. }) = self.tracks.get(mover.index()) {
            return side(&self.models, mover).scores(line, moves, out);
        }
        let role = of(&self.models, mover);
        let net = &self.models[role].net;
        match &mut self.tracks[role] {
            Track::Deep { line, scratch, .. } => net.score_line(line, mover, moves, scratch, out),
            Track::Fresh { scratch } => {
                game.facts(s, &mut self.follow.facts);
                net.score_moves(&self.follow.facts, mover, moves, scratch, out);
            }
            Track::Linear { .. } => unreachable!("linear tracks are kept by player"),
        }
    }
}
