//! Proofs: whether a position is won, drawn or lost, by null windows around the draw.
//!
//! Two questions are asked of each move, "more than a draw?" and "at least a draw?", deeper and deeper until the answer is
//! complete; a horizon that was reached counts as a draw, so an answer other than that is always certain. Nothing is guessed,
//! and where payoffs are graded only their sign is found.

use super::score::{DECISIVE, WIN};
use super::worker::Worker;
use super::{DEEPEST, HistoryKey, Pvs, PvsOptions};
use ludex_core::{Control, Game, Move};
use std::cmp::Ordering;

/// Plies of the first iteration; each next one is twice as deep. In Connect Four after 14 plies that takes 4.2 million
/// positions, two plies more each time 8.5 million, and all at once gets lost where games are long.
const FIRST_DEPTH: u32 = 4;

/// What is certain about a move, for the player who makes it: 1 for a win, 0 for a draw, -1 for a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MoveBounds {
    /// The move.
    pub mv: Move,
    /// At least this.
    pub low: i8,
    /// At most this.
    pub high: i8,
    /// Plies after which the game is over at the latest, the move included, where a win or loss was proven.
    pub plies: Option<u32>,
}

impl MoveBounds {
    /// Nothing is known.
    pub fn unknown(mv: Move) -> Self {
        MoveBounds { mv, low: -1, high: 1, plies: None }
    }

    /// The value, if it is certain.
    pub fn value(&self) -> Option<i8> {
        (self.low == self.high).then_some(self.low)
    }
}

/// What is to be proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The value of the position: a best move, and that no other is better.
    Value,
    /// The value of every move.
    EveryMove,
}

/// The value of a position by the bounds of its moves, if they decide it.
pub fn value_of(moves: &[MoveBounds]) -> Option<i8> {
    let (low, high) = (moves.iter().map(|m| m.low).max()?, moves.iter().map(|m| m.high).max()?);
    (low == high).then_some(low)
}

impl Goal {
    /// Whether a move need not be looked at any more.
    fn settled(self, m: &MoveBounds, moves: &[MoveBounds]) -> bool {
        let best = moves.iter().map(|m| m.low).max().unwrap_or(-1);
        m.low == m.high || (self == Goal::Value && (m.high <= best && m.low < best || value_of(moves).is_some()))
    }
}

impl<G: Game> Pvs<G> {
    /// A search that only proves.
    pub fn prover(megabytes: usize) -> Self {
        Pvs::plain(PvsOptions {
            table: megabytes,
            reductions: false,
            extensions: false,
            wins: true,
            history: HistoryKey::Exact,
            ..PvsOptions::default()
        })
    }

    /// Narrows the bounds of the moves of `s`, all of which are listed, until the goal is reached or the control ends it.
    /// `found` is told whenever a bound has changed. Gives the positions searched.
    pub fn prove(
        &mut self,
        game: &G,
        s: &G::State,
        moves: &mut [MoveBounds],
        goal: Goal,
        control: &Control,
        found: &mut dyn FnMut(&[MoveBounds]),
    ) -> u64 {
        self.begin(game);
        let mover = game.mover(s);
        let mut worker = Worker::<G, false>::new(game, self, control, &control.limit);
        let mut depth = FIRST_DEPTH;
        while !moves.iter().all(|m| goal.settled(m, moves)) && !worker.aborted() {
            // A win is asked for first: the first one ends it all.
            for beta in [1, 0] {
                for i in 0..moves.len() {
                    let open = moves[i].low < beta as i8 && moves[i].high >= beta as i8;
                    if goal.settled(&moves[i], moves) || !open {
                        continue;
                    }
                    let value = worker.test(s, mover, moves[i].mv, depth, beta);
                    let m = &mut moves[i];
                    let before = *m;
                    match value.value.cmp(&beta) {
                        _ if worker.aborted() || !value.complete => {}
                        Ordering::Less => m.high = beta as i8 - 1,
                        _ => m.low = beta as i8,
                    }
                    if *m != before {
                        m.plies = (value.value.abs() > DECISIVE).then(|| (WIN - value.value.abs()) as u32);
                        found(moves);
                    }
                }
            }
            if depth >= DEEPEST {
                break;
            }
            depth = (2 * depth).min(DEEPEST);
        }
        worker.nodes
    }
}
