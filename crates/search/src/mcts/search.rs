//! From one simulation to a choice: simulations until the limit, reports of progress, and what is kept between two searches of
//! a match.

use super::budget::Budget;
use super::proofs::Proofs;
use super::reuse::MatchLine;
use super::transpositions::Transpositions;
use super::{Amaf, Mcts, ROOT};
use crate::clock::{Clock, effective_limit};
use ludex_core::{Choice, Control, Game, Limit, LimitKind, Move, Rng, Search, TREE_LIMITS};

/// Simulations, if no limit is given at all.
const DEFAULT_SIMULATIONS: u64 = 1_000;

impl<G: Game> Search<G> for Mcts<G> {
    fn search(&mut self, game: &G, s: &G::State, control: &Control, rng: &mut Rng) -> Choice {
        // What the mover must not see is not looked at: the search begins where everybody knew everything.
        let known = game.hidden(s).then(|| game.before_hidden(s)).filter(|known| !game.hidden(known));
        let (root, hidden) = (known.as_ref().unwrap_or(s), known.is_some());
        let mut clock = Clock::start(control);
        self.prepare(game, root);
        let mut budget = Budget::new(&effective_limit(self, control), &self.tree);
        while budget.lasts(&self.tree) && !self.tree.node(ROOT).proven() && !clock.tick() {
            if self.simulate(game, root, &mut clock, rng).is_none() {
                break;
            }
            budget.spend(&self.path);
            if clock.report_due()
                && let Some(progress) = &control.progress
            {
                progress(&self.choice(game, s, hidden, &budget, &mut rng.clone()));
            }
        }
        if hidden {
            // The moves to come do not lead on from where this search began.
            self.line.start = None;
        }
        self.choice(game, s, hidden, &budget, rng)
    }

    fn limits(&self) -> &'static [LimitKind] {
        TREE_LIMITS
    }

    fn default_limit(&self) -> Limit {
        Limit::simulations(DEFAULT_SIMULATIONS)
    }

    fn advance(&mut self, m: Move) {
        self.line.advance(m);
    }

    fn reset(&mut self) {
        self.tree.clear();
        self.infosets.clear();
        self.proofs.iter_mut().for_each(Proofs::clear);
        self.line = MatchLine::default();
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        self.playout.counters()
    }
}

impl<G: Game> Mcts<G> {
    /// Makes the tree ready for `s`: what was known before is kept if it may be and the moves played since lead here.
    fn prepare(&mut self, game: &G, s: &G::State) {
        let played = self.line.since_last_search(game, s);
        match &played {
            Some(played) => played.iter().for_each(|&m| self.tree.reroot(m)),
            None => self.tree.clear(),
        }
        // A tree that was moved has its nodes in other places.
        self.infosets.clear();
        self.transpositions.iter_mut().for_each(Transpositions::clear);
        if !self.tree.node(ROOT).entered() {
            self.tree.enter(ROOT, game.mover(s), false);
        }
        if played.is_none_or(|played| !played.is_empty()) {
            self.amaf.iter_mut().for_each(Amaf::clear);
        }
        self.playout.begin_search(game, self.line.take_fresh());
        self.line.start = self.options.reuse.then(|| s.clone());
    }

    /// What the search would play now in `s`. Where choices are hidden, the mover's information set answers for the root.
    fn choice(&self, game: &G, s: &G::State, hidden: bool, spent: &Budget, rng: &mut Rng) -> Choice {
        let at = if hidden { self.infosets.after_root(game, s) } else { Some(ROOT) };
        let choice = self.options.final_move.choice(game, s, &self.tree, at, rng);
        Choice { simulations: spent.simulations, depth: spent.depth, ..choice }
    }
}
