//! Observers of exact values: how learners get examples from a search.
//!
//! A search reports a node once its value is *exact*: a terminal state, a node with a child that wins, or one whose children
//! are all exact. Alpha-beta's bounds are never reported: they say what a move need not be worth, not what a state is worth.

use ludex_core::{Game, Payoffs};

/// What an exact value rests on. Where two values disagree, the one with the greater source counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Somewhere below, a heuristic that agrees with a search of one ply.
    Consistent,
    /// Terminal states alone.
    Terminal,
}

/// Receives exact node values; a node that the search visits several times is reported each time.
pub trait ExactObserver<G: Game>: Send {
    /// Whether it observes at all: a search does no work for one that does not.
    const OBSERVES: bool = true;

    /// The state is worth exactly this to each player.
    fn exact(&mut self, game: &G, s: &G::State, value: Payoffs, source: Source);
}

/// No observer.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unobserved;

impl<G: Game> ExactObserver<G> for Unobserved {
    const OBSERVES: bool = false;

    fn exact(&mut self, _: &G, _: &G::State, _: Payoffs, _: Source) {}
}
