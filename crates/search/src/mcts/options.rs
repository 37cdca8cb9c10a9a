//! What can be chosen besides the four phases.

use super::{FinalMove, Solver};

/// What is not a phase.
#[derive(Clone, Copy, Debug)]
pub struct MctsOptions {
    /// How the move is chosen.
    pub final_move: FinalMove,
    /// What is made of values that are certain.
    pub solver: Solver,
    /// Positions that several orders of moves lead to are searched once.
    pub transpositions: bool,
    /// What is known below the moves played is kept for the next search.
    pub reuse: bool,
    /// The most nodes a tree may have; see [`super::Tree`] for what happens then.
    pub capacity: usize,
}

impl Default for MctsOptions {
    fn default() -> Self {
        let (final_move, solver) = (FinalMove::Robust, Solver::Off);
        MctsOptions { final_move, solver, transpositions: false, reuse: false, capacity: 16_000_000 }
    }
}
