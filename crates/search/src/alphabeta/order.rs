//! The order in which alpha-beta tries moves: the sooner the best one comes, the more is cut off.
//!
//! Killers are the two moves that cut off lately at the same ply (Akl & Newborn 1977); the history counts, for each player and
//! move, how much it has cut off anywhere (Schaeffer 1983).

use super::NO_MOVE;
use ludex_core::{Move, Player};

/// How moves are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As the game lists them (after the table's move).
    None,
    /// Moves that cut off lately, then moves that cut off often.
    Killers,
    /// By the evaluator's opinion of each move, asked where at least two plies remain; else killers first.
    Eval,
    /// At random.
    Random,
}

/// Which moves have cut off.
#[derive(Default)]
pub(super) struct Cutoffs {
    /// Two moves a ply that cut off lately.
    killers: Vec<[Move; 2]>,
    /// By player and move: how much was cut off.
    history: Vec<u32>,
    moves: usize,
}

impl Cutoffs {
    /// A search of a game with so many moves begins: killers are forgotten, the history fades.
    pub fn begin(&mut self, moves: usize, plies: usize) {
        self.killers.clear();
        self.killers.resize(plies, [NO_MOVE; 2]);
        self.moves = moves;
        self.history.resize(moves * 2, 0);
        self.history.iter_mut().for_each(|h| *h /= 8);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.history.fill(0);
    }

    /// A move cut off the rest of a node searched `depth` plies deep.
    #[inline]
    pub fn note(&mut self, mover: Player, m: Move, depth: u32, ply: u32) {
        let killers = &mut self.killers[ply as usize];
        if killers[0] != m {
            *killers = [m, killers[0]];
        }
        let cell = &mut self.history[mover.index() * self.moves + m.index()];
        *cell = cell.saturating_add(depth * depth).min(1 << 30);
    }

    /// Scores moves: killers first, then by history.
    #[inline]
    pub fn score(&self, mover: Player, ply: u32, moves: &[Move], scores: &mut Vec<f32>) {
        let killers = self.killers[ply as usize];
        let history = mover.index() * self.moves;
        scores.extend(moves.iter().map(|m| match m {
            m if *m == killers[0] => 3e9,
            m if *m == killers[1] => 2e9,
            m => self.history[history + m.index()] as f32,
        }));
    }

    /// Brings the killers of a ply to the front and leaves the rest as it is.
    #[inline]
    pub fn killers_first(&self, ply: u32, moves: &mut [Move]) {
        for killer in self.killers[ply as usize].into_iter().rev() {
            if let Some(i) = moves.iter().position(|&m| m == killer) {
                moves.swap(0, i);
            }
        }
    }
}

/// Buffers of one ply.
#[derive(Default)]
pub(super) struct Ply {
    pub moves: Vec<Move>,
    pub scores: Vec<f32>,
    /// The best line from here on.
    pub line: Vec<Move>,
}

impl Ply {
    /// Brings the move with the highest score from place `i` on to that place; of equals the first.
    #[inline]
    pub fn next_best(&mut self, i: usize) -> Move {
        let rest = &self.scores[i..];
        let mut top = 0;
        for (j, &score) in rest.iter().enumerate().skip(1) {
            if score > rest[top] {
                top = j;
            }
        }
        self.moves.swap(i, i + top);
        self.scores.swap(i, i + top);
        self.moves[i]
    }
}
