//! The order in which moves are tried: the table's move, moves that cut off lately, then moves that cut off often.
//!
//! Killers are the two moves that cut off lately at the same ply (Akl & Newborn 1977). A countermove is the move that cut off
//! lately after the same move of the opponent (Uiterwijk 1992). The history counts for each player and move how much it has
//! cut off anywhere (Schaeffer 1983), less how often it was tried in vain before another move cut off; it fades as it grows,
//! so that it stays within bounds and follows the search.

use super::NO_MOVE;
use ludex_core::{Fact, Move, Player};

/// The score of the table's move; killers and countermove follow.
const KNOWN: i32 = i32::MAX;
const KILLERS: [i32; 2] = [3 << 28, 2 << 28];
const COUNTERMOVE: i32 = 1 << 28;
/// No history is greater.
const MOST_HISTORY: i32 = 1 << 20;

/// Which moves have cut off.
#[derive(Default)]
pub(super) struct Cutoffs {
    /// Two moves a ply that cut off lately.
    killers: Vec<[Move; 2]>,
    /// By player and the move before: the move that cut off lately.
    countermoves: Vec<Move>,
    /// By player and move.
    history: Vec<i32>,
    moves: usize,
}

impl Cutoffs {
    /// A search of a game with so many moves begins: killers are forgotten, the history fades.
    pub fn begin(&mut self, moves: usize, plies: usize) {
        self.killers.clear();
        self.killers.resize(plies, [NO_MOVE; 2]);
        self.moves = moves;
        self.countermoves.resize(moves * 2, NO_MOVE);
        self.history.resize(moves * 2, 0);
        self.history.iter_mut().for_each(|h| *h /= 8);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.history.fill(0);
        self.countermoves.fill(NO_MOVE);
    }

    /// The last of these moves cut off the rest of a node searched `depth` plies deep, reached by `last`.
    #[inline]
    pub fn note(&mut self, mover: Player, last: Move, tried: &[Move], depth: u32, ply: u32) {
        let Some((&m, in_vain)) = tried.split_last() else { return };
        let killers = &mut self.killers[ply as usize];
        if killers[0] != m {
            *killers = [m, killers[0]];
        }
        let of_mover = mover.index() * self.moves;
        if last != NO_MOVE {
            self.countermoves[of_mover + last.index()] = m;
        }
        let gain = (depth * depth).min(1 << 12) as i32;
        let cell = &mut self.history[of_mover + m.index()];
        *cell += gain - (*cell as i64 * gain as i64 / MOST_HISTORY as i64) as i32;
        for m in in_vain {
            let cell = &mut self.history[of_mover + m.index()];
            *cell -= gain + (*cell as i64 * gain as i64 / MOST_HISTORY as i64) as i32;
        }
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

    /// Replaces the scores: the table's move first, then killers and countermove, then by history.
    #[inline]
    pub fn score(&self, mover: Player, last: Move, known: Move, ply: u32, at: &mut Ply) {
        let killers = self.killers[ply as usize];
        let of_mover = mover.index() * self.moves;
        let countermove = if last == NO_MOVE { NO_MOVE } else { self.countermoves[of_mover + last.index()] };
        let history = &self.history[of_mover..of_mover + self.moves];
        at.scores.clear();
        at.scores.extend(at.moves.iter().map(|&m| match m {
            m if m == known => KNOWN,
            m if m == killers[0] => KILLERS[0],
            m if m == killers[1] => KILLERS[1],
            m if m == countermove => COUNTERMOVE,
            m => history[m.index()],
        }));
    }
}

/// A move of the line, and the facts that it made true and untrue, for an evaluator that follows.
#[derive(Default)]
pub(super) struct Step {
    pub mv: Move,
    pub on: Vec<Fact>,
    pub off: Vec<Fact>,
}

/// Buffers of one ply.
#[derive(Default)]
pub(super) struct Ply {
    pub moves: Vec<Move>,
    pub scores: Vec<i32>,
    /// The best line from here on.
    pub line: Vec<Move>,
    /// The evaluator's opinions of the moves.
    pub opinions: Vec<f32>,
}

impl Ply {
    /// Brings the move with the highest score from place `i` on to that place; of equals the first. Whether it is there for
    /// more than its history.
    #[inline]
    pub fn next_best(&mut self, i: usize) -> (Move, bool) {
        let rest = &self.scores[i..];
        let mut top = 0;
        for (j, &score) in rest.iter().enumerate().skip(1) {
            if score > rest[top] {
                top = j;
            }
        }
        self.moves.swap(i, i + top);
        self.scores.swap(i, i + top);
        (self.moves[i], self.scores[i] >= COUNTERMOVE)
    }

    /// Scores by the evaluator's opinions, the table's move first.
    pub fn score_by_opinions(&mut self, known: Move) {
        let Ply { moves, scores, opinions, .. } = self;
        scores.clear();
        let score = |(&m, &v): (&Move, &f32)| if m == known { KNOWN } else { (v.clamp(-100.0, 100.0) * 1e6) as i32 };
        scores.extend(moves.iter().zip(&*opinions).map(score));
    }

    /// The rest of the best line after `m`.
    pub fn set_line(&mut self, m: Move, rest: &[Move]) {
        self.line.clear();
        self.line.push(m);
        self.line.extend_from_slice(rest);
    }
}
