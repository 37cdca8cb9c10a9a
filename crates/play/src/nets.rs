//! Learned models as evaluators: the joint between `learn` and `search`.

use crate::models::{LoadedModel, Need};
use ludex_core::{Evaluator, Fact, Game, Move, Payoffs, Player};
use ludex_learn::{Accumulator, AccumulatorStack, Batch, Head, InferenceNet, LinearAccumulator, LinearScorer, Scratch};
use ludex_search::mcts::{Wdl, WdlEvaluator};
use std::sync::Arc;

/// A net that judges states.
pub(crate) struct NetEvaluator {
    model: Arc<LoadedModel>,
    scratch: Scratch,
    batch: Batch,
    accumulator: Accumulator,
    /// Along the line of a search.
    stack: AccumulatorStack,
    facts: Vec<Fact>,
    /// What a move turns on and off.
    on: Vec<Fact>,
    off: Vec<Fact>,
    /// Children that are asked about: which, and who moves there.
    places: Vec<(usize, Player)>,
    out: Vec<f32>,
}

impl NetEvaluator {
    /// A model whose head has a value.
    pub fn new(model: Arc<LoadedModel>) -> Self {
        debug_assert!(Need::Value.fits(model.head));
        let net = model.net();
        let (scratch, batch, accumulator, stack) =
            (net.scratch(), net.batch(), net.accumulator(), net.accumulator_stack());
        let (facts, on, off, places, out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), vec![0.0; net.outputs()]);
        NetEvaluator { model, scratch, batch, accumulator, stack, facts, on, off, places, out }
    }
}

impl<G: Game> Evaluator<G> for NetEvaluator {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let net = self.model.net();
        let mover = game.mover(s);
        game.facts(s, &mut self.facts);
        self.out.resize(net.outputs(), 0.0);
        net.forward(&self.facts, mover, &mut self.scratch, &mut self.out);
        net.payoffs(&self.out, mover).expect("the head has a value")
    }

    fn child_values(&mut self, game: &G, s: &G::State, moves: &[Move], values: &mut [f32]) {
        let NetEvaluator { model, batch, accumulator, facts, on, off, places, out, .. } = self;
        let (net, mover) = (model.net(), game.mover(s));
        game.facts(s, facts);
        net.refresh(accumulator, facts);
        places.clear();
        for (i, &m) in moves.iter().enumerate() {
            let mut child = s.clone();
            game.play_facts(&mut child, m, on, off);
            match game.outcome(&child) {
                Some(end) => values[i] = end[mover],
                None => {
                    places.push((i, game.mover(&child)));
                    net.push_child(batch, accumulator, on, off, game.mover(&child));
                }
            }
        }
        let n = net.outputs();
        out.resize(n * places.len(), 0.0);
        net.run(batch, out);
        for (&(i, next), out) in places.iter().zip(out.chunks_exact(n)) {
            values[i] = net.payoffs(out, next).expect("the head has a value")[mover];
        }
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        if !matches!(self.model.head, Head::PolicyValue { .. }) {
            return self.child_values(game, s, moves, scores);
        }
        game.facts(s, &mut self.facts);
        self.model.net().score_moves(&self.facts, game.mover(s), moves, &mut self.scratch, scores);
    }

    fn values(&mut self, game: &G, states: &[&G::State], values: &mut [Payoffs]) {
        let NetEvaluator { model, batch, facts, out, .. } = self;
        let net = model.net();
        for s in states {
            game.facts(s, facts);
            net.push(batch, facts, game.mover(s));
        }
        let n = net.outputs();
        out.resize(n * states.len(), 0.0);
        net.run(batch, out);
        for ((s, value), out) in states.iter().zip(values).zip(out.chunks_exact(n)) {
            *value = net.payoffs(out, game.mover(s)).expect("the head has a value");
        }
    }

    fn follows(&self) -> bool {
        true
    }

    fn refresh(&mut self, game: &G, s: &G::State) {
        game.facts(s, &mut self.facts);
        self.stack.refresh(self.model.net(), &self.facts);
    }

    fn push(&mut self, on: &[Fact], off: &[Fact]) {
        self.stack.push(self.model.net(), on, off);
    }

    fn pop(&mut self) {
        self.stack.pop();
    }

    fn line_value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let (net, mover) = (self.model.net(), game.mover(s));
        self.out.resize(net.outputs(), 0.0);
        self.stack.evaluate(net, mover, &mut self.scratch, &mut self.out);
        net.payoffs(&self.out, mover).expect("the head has a value")
    }
}

/// The facts at the beginning of a playout, and how they differ from those of the first playout of the same search. Playouts
/// begin near one another, so accumulators are copied and updated by the difference instead of being summed afresh.
#[derive(Default)]
pub(crate) struct PlayoutFacts {
    /// Facts (as bits) of the first state; empty if there is none yet.
    first: Vec<u64>,
    bits: Vec<u64>,
    /// The facts of the state at the beginning.
    pub facts: Vec<Fact>,
    /// Facts that are on here and not there, or that the last move turned on.
    pub on: Vec<Fact>,
    /// And off.
    pub off: Vec<Fact>,
}

/// How the accumulator of a state is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// It is the first of a search: others will be compared with it.
    First,
    /// By the difference to the first.
    Near,
    /// Afresh: the difference is larger than the state.
    Afresh,
}

impl PlayoutFacts {
    /// Another search begins.
    pub fn clear(&mut self) {
        self.first.clear();
    }

    /// Lists the facts of a state, and those by which it differs from the first of its search.
    pub fn begin<G: Game>(&mut self, game: &G, s: &G::State) -> Start {
        game.facts(s, &mut self.facts);
        self.bits.clear();
        self.bits.resize(game.info().facts.div_ceil(64) as usize, 0);
        self.facts.iter().for_each(|f| self.bits[f.index() / 64] |= 1 << (f.index() % 64));
        if self.first.is_empty() {
            self.first.clone_from(&self.bits);
            return Start::First;
        }
        only(&self.bits, &self.first, &mut self.on);
        only(&self.first, &self.bits, &mut self.off);
        if self.on.len() + self.off.len() < self.facts.len() { Start::Near } else { Start::Afresh }
    }

    /// Brings an accumulator to the state that was begun with; `first` is that of the search's first playout. The three
    /// functions sum facts afresh, turn some on and off, and copy.
    pub fn accumulate<A>(
        &self,
        start: Start,
        (to, first): (&mut A, &mut A),
        refresh: impl Fn(&mut A, &[Fact]),
        update: impl Fn(&mut A, &[Fact], &[Fact]),
        copy: impl Fn(&mut A, &A),
    ) {
        match start {
            Start::Afresh => refresh(to, &self.facts),
            Start::First => {
                refresh(first, &self.facts);
                copy(to, first);
            }
            Start::Near => {
                copy(to, first);
                update(to, &self.on, &self.off);
            }
        }
    }

    /// The same for the first layer of a net.
    pub fn accumulate_net(&self, net: &InferenceNet, start: Start, both: (&mut Accumulator, &mut Accumulator)) {
        let update = |a: &mut Accumulator, on: &[Fact], off: &[Fact]| net.update(a, on, off);
        self.accumulate(start, both, |a, facts| net.refresh(a, facts), update, Accumulator::copy_from);
    }
}

/// Replaces `out` by the facts whose bits are set in `a` and not in `b`.
fn only(a: &[u64], b: &[u64], out: &mut Vec<Fact>) {
    out.clear();
    for (w, (a, b)) in a.iter().zip(b).enumerate() {
        let mut rest = a & !b;
        while rest != 0 {
            out.push(Fact(64 * w as u32 + rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
}

/// A win/draw/loss net that follows a playout.
pub(crate) struct NetWdl {
    model: Arc<LoadedModel>,
    scratch: Scratch,
    accumulator: Accumulator,
    first: Accumulator,
    begun: PlayoutFacts,
}

impl NetWdl {
    /// A model with the head of win, draw and loss.
    pub fn new(model: Arc<LoadedModel>) -> Self {
        debug_assert_eq!(model.head, Head::WinDrawLoss);
        let (scratch, accumulator) = (model.net().scratch(), model.net().accumulator());
        NetWdl { first: accumulator.clone(), accumulator, model, scratch, begun: PlayoutFacts::default() }
    }
}

impl<G: Game> WdlEvaluator<G> for NetWdl {
    fn begin_search(&mut self, _: &G) {
        self.begun.clear();
    }

    fn refresh(&mut self, game: &G, s: &G::State) {
        let start = self.begun.begin(game, s);
        self.begun.accumulate_net(self.model.net(), start, (&mut self.accumulator, &mut self.first));
    }

    #[inline]
    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        let PlayoutFacts { on, off, .. } = &mut self.begun;
        game.play_facts(s, m, on, off);
        self.model.net().update(&mut self.accumulator, on, off);
    }

    #[inline]
    fn wdl(&mut self, game: &G, s: &G::State) -> Wdl {
        let (net, mover) = (self.model.net(), game.mover(s));
        let mut out = [0.0; 3];
        net.evaluate(&self.accumulator, mover, &mut self.scratch, &mut out);
        let [win, draw, loss] = out;
        Wdl { of: net.viewer(mover), win, draw, loss }
    }
}

/// The number of the net of a player: each has one, or there is one for all.
pub(crate) fn role_of(models: &[Arc<LoadedModel>], p: Player) -> usize {
    if models.len() == 1 { 0 } else { p.index() }
}

/// A linear net as this player sees it.
pub(crate) fn linear_view(linear: &[LinearScorer], p: Player) -> Option<&LinearScorer> {
    linear.get(p.index()).or(linear.last())
}

/// Nets that score moves and judge no state.
pub(crate) struct MoveScorer {
    models: Vec<Arc<LoadedModel>>,
    scratch: Vec<Scratch>,
    accumulator: LinearAccumulator,
    facts: Vec<Fact>,
    /// Only the order of scores matters.
    ranks: bool,
}

impl MoveScorer {
    /// Models whose heads score moves.
    pub fn new(models: Vec<Arc<LoadedModel>>) -> Self {
        let scratch = models.iter().map(|m| m.net().scratch()).collect();
        MoveScorer { models, scratch, accumulator: LinearAccumulator::default(), facts: Vec::new(), ranks: false }
    }

    /// The same where only the order of scores matters, which is cheaper.
    pub fn ranking(models: Vec<Arc<LoadedModel>>) -> Self {
        MoveScorer { ranks: true, ..MoveScorer::new(models) }
    }
}

impl<G: Game> Evaluator<G> for MoveScorer {
    /// Nothing is known about the value of a state.
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        let mover = game.mover(s);
        let role = role_of(&self.models, mover);
        game.facts(s, &mut self.facts);
        let LoadedModel { linear, .. } = &*self.models[role];
        let net = self.models[role].net();
        match linear_view(linear, mover) {
            Some(net) => {
                net.refresh(&mut self.accumulator, &self.facts);
                net.scores(&self.accumulator, moves, scores);
                let common = net.common(&self.facts);
                scores.iter_mut().for_each(|v| *v += common);
            }
            None if self.ranks => net.rank_moves(&self.facts, mover, moves, &mut self.scratch[role], scores),
            None => net.score_moves(&self.facts, mover, moves, &mut self.scratch[role], scores),
        }
    }
}
