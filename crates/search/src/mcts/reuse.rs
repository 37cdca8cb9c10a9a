//! The line of a match between two searches: what lies below the moves played may be used again.

use ludex_core::{Game, Move};

/// What happened in the match, as far as the search was told.
pub(super) struct MatchLine<S> {
    /// Where the last search began, if its tree may be used again.
    pub start: Option<S>,
    /// Moves played since.
    played: Vec<Move>,
    /// Moves played since the match was set up.
    pub ply: u32,
    /// There was no search in this match yet.
    fresh: bool,
}

impl<S> Default for MatchLine<S> {
    fn default() -> Self {
        MatchLine { start: None, played: Vec::new(), ply: 0, fresh: true }
    }
}

impl<S: Eq> MatchLine<S> {
    /// A move was played.
    pub fn advance(&mut self, m: Move) {
        self.played.push(m);
        self.ply += 1;
    }

    /// The moves that lead from where the last search began to `s`; `None` if those played do not.
    pub fn since_last_search<G: Game<State = S>>(&mut self, game: &G, s: &S) -> Option<Vec<Move>> {
        let played = std::mem::take(&mut self.played);
        let mut state = self.start.take()?;
        played.iter().for_each(|&m| game.play(&mut state, m));
        (state == *s).then_some(played)
    }

    /// Whether the search that begins is the first of its match.
    pub fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }
}
