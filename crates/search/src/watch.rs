//! Whoever wants to know what a search found out for certain.
//!
//! A search reports a node once its value is *exact*: a terminal state, a node with a child that wins, or one whose children
//! are all exact. Alpha-beta's bounds are never reported: they say what a move need not be worth, not what a state is worth.
//! Learners make examples of these reports.

use ludex_core::{Game, Payoffs};

/// What an exact value rests on. The greater one counts where two disagree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Somewhere below, a heuristic that agrees with a search of one ply.
    Consistent,
    /// Terminal states alone.
    Terminal,
}

/// Is told of exact nodes, each as often as the search comes by.
pub trait Watch<G: Game>: Send {
    /// Whether it listens at all; a search does nothing for those who do not.
    const LISTENS: bool = true;

    /// The state is worth exactly this to each player.
    fn exact(&mut self, game: &G, s: &G::State, value: Payoffs, source: Source);
}

/// Nobody wants to know.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unwatched;

impl<G: Game> Watch<G> for Unwatched {
    const LISTENS: bool = false;

    fn exact(&mut self, _: &G, _: &G::State, _: Payoffs, _: Source) {}
}
