//! Whoever chooses moves at a table: a search, with its own idea of where the match stands.

use crate::table::{Line, Position};
use ludex_core::{Choice, Game, Limit, Move, Rng, Search};
use std::sync::Arc;

/// A player. It follows a match by being told every move, its own included.
pub trait Agent: Send {
    /// A match begins, or goes on, at this position, which belongs to the table that made the agent.
    fn start(&mut self, position: &dyn Position);

    /// A move was played.
    fn observe(&mut self, m: Move);

    /// Chooses a move in a position that is not over; whatever `limit` leaves open is taken from the agent's spec.
    fn choose(&mut self, limit: &Limit) -> Choice;

    /// What the last choice counted besides, by name: for those who measure an agent's parts.
    fn tally(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// A search that plays.
pub(crate) struct Searcher<G: Game> {
    game: Arc<G>,
    search: Box<dyn Search<G>>,
    limit: Limit,
    rng: Rng,
    state: G::State,
}

impl<G: Game> Searcher<G> {
    pub fn new(game: Arc<G>, search: Box<dyn Search<G>>, limit: Limit, seed: u64) -> Self {
        let state = game.initial();
        Searcher { game, search, limit, rng: Rng::new(seed), state }
    }
}

impl<G: Game> Agent for Searcher<G> {
    fn start(&mut self, position: &dyn Position) {
        let line = position.as_any().downcast_ref::<Line<G>>().expect("the position belongs to the agent's table");
        self.state = line.state().clone();
        self.search.reset();
    }

    fn observe(&mut self, m: Move) {
        self.game.play(&mut self.state, m);
        self.search.advance(m);
    }

    fn choose(&mut self, limit: &Limit) -> Choice {
        let limit = limit.or(&self.limit);
        if self.game.hidden(&self.state) {
            // No search gets to see what the player must not: choices under way are drawn anew.
            let imagined = self.game.redrawn(&self.state, &mut self.rng);
            return self.search.search(&self.game, &imagined, &limit, &mut self.rng);
        }
        self.search.search(&self.game, &self.state, &limit, &mut self.rng)
    }

    fn tally(&self) -> Vec<(&'static str, f64)> {
        self.search.tally()
    }
}
