//! An NNUE as an evaluator: its accumulator follows the line of a search.

use crate::models::LoadedModel;
use crate::nets::NetEvaluator;
use ludex_core::{Evaluator, Fact, Game, Move, Payoffs};
use ludex_learn::{NnueStack, QuantisedNnue};
use std::sync::Arc;

/// The evaluator of a model whose head has a value.
pub(crate) fn net_evaluator<G: Game>(model: &Arc<LoadedModel>) -> Box<dyn Evaluator<G>> {
    match model.nnue() {
        Some(net) => Box::new(NnueEvaluator::new(net.clone())),
        None => Box::new(NetEvaluator::new(model.clone())),
    }
}

/// An NNUE that judges states.
pub struct NnueEvaluator {
    net: Arc<QuantisedNnue>,
    /// Along the line of a search.
    stack: NnueStack,
    /// For states asked about one by one.
    single: NnueStack,
    facts: Vec<Fact>,
    /// What a move turns on and off.
    on: Vec<Fact>,
    off: Vec<Fact>,
}

impl NnueEvaluator {
    /// An evaluator for one thread.
    pub fn new(net: Arc<QuantisedNnue>) -> Self {
        let (stack, single) = (net.stack(), net.stack());
        NnueEvaluator { net, stack, single, facts: Vec::new(), on: Vec::new(), off: Vec::new() }
    }
}

impl<G: Game> Evaluator<G> for NnueEvaluator {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let mover = game.mover(s);
        game.facts(s, &mut self.facts);
        self.net.refresh(&mut self.single, &self.facts);
        Payoffs::of(mover, self.net.value(&self.single, mover))
    }

    fn child_values(&mut self, game: &G, s: &G::State, moves: &[Move], values: &mut [f32]) {
        let mover = game.mover(s);
        game.facts(s, &mut self.facts);
        self.net.refresh(&mut self.single, &self.facts);
        for (&m, value) in moves.iter().zip(values) {
            let mut child = s.clone();
            game.play_facts(&mut child, m, &mut self.on, &mut self.off);
            *value = match game.outcome(&child) {
                Some(end) => end[mover],
                None => {
                    let next = game.mover(&child);
                    let value = self.net.child_value(&self.single, &self.on, &self.off, next);
                    if next == mover { value } else { -value }
                }
            };
        }
    }

    fn follows(&self) -> bool {
        true
    }

    fn refresh(&mut self, game: &G, s: &G::State) {
        game.facts(s, &mut self.facts);
        self.net.refresh(&mut self.stack, &self.facts);
    }

    #[inline]
    fn push(&mut self, on: &[Fact], off: &[Fact]) {
        self.net.push(&mut self.stack, on, off);
    }

    #[inline]
    fn pop(&mut self) {
        self.stack.pop();
    }

    #[inline]
    fn line_value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let mover = game.mover(s);
        Payoffs::of(mover, self.net.value(&self.stack, mover))
    }
}
