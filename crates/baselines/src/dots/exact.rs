//! Exact values of Dots and Boxes with few edges free, by exhaustive search.
//!
//! What is still to come depends only on which edges are drawn, so a table with an entry for each subset of the free edges
//! holds everything below a position: `v(all) = 0`, and else the best over free edges `e` of `closed + v` if `e` closes boxes
//! and of `-v` if it does not. Filled from the last subset to the first, a million entries for twenty edges take some
//! hundredths of a second. No idea about chains enters, so that chain-aware players can be tested against it.

use ludex_core::{Choice, Control, Game, Limit, LimitKind, Move, Payoffs, Rng, RootMove, Search};
use ludex_games::{Dots, DotsState, Score, Word};

/// The most free edges that are solved: 16 MB and about a second.
pub const MOST_FREE: usize = 24;

/// All values below a position.
pub struct Solved<B: Word> {
    drawn: B,
    /// The free edges, and for each the free edges of the boxes beside it, as bits of the index; 0 for no box.
    edges: Vec<u32>,
    beside: Vec<[u32; 2]>,
    /// Net boxes to come for the player to move, by which of the free edges are drawn.
    values: Vec<i8>,
}

impl<B: Word> Solved<B> {
    /// Solves a position; `None` if more than [`MOST_FREE`] edges are free.
    pub fn new(game: &Dots<B>, s: &DotsState<B>) -> Option<Self> {
        Self::until_stopped(game, s, &Control::default())
    }

    /// The same; `None` also if the stop is raised meanwhile.
    fn until_stopped(game: &Dots<B>, s: &DotsState<B>, control: &Control) -> Option<Self> {
        let drawn = game.drawn(s);
        let edges: Vec<u32> = (0..game.info().moves).filter(|&e| drawn & B::bit(e) == B::ZERO).collect();
        if edges.len() > MOST_FREE {
            return None;
        }
        let (cols, rows) = game.size();
        let free = |b: usize| {
            let on = |i: &usize| game.sides(b) & B::bit(edges[*i]) != B::ZERO;
            (0..edges.len()).filter(on).map(|i| 1 << i).sum::<u32>()
        };
        let boxes: Vec<u32> = (0..cols * rows).map(free).collect();
        let near = |i: usize| {
            let mut near = boxes.iter().copied().filter(|b| b >> i & 1 == 1);
            [near.next().unwrap_or(0), near.next().unwrap_or(0)]
        };
        let beside = (0..edges.len()).map(near).collect();
        let mut solved = Solved { drawn, edges, beside, values: Vec::new() };
        let full = (1u32 << solved.edges.len()) - 1;
        solved.values = vec![0; full as usize + 1];
        for at in (0..full).rev() {
            if at.is_multiple_of(1 << 14) && control.stopped() {
                return None;
            }
            let (mut best, mut rest) = (i32::MIN, full & !at);
            while rest != 0 {
                best = best.max(solved.after(at, rest.trailing_zeros() as usize));
                rest &= rest - 1;
            }
            solved.values[at as usize] = best as i8;
        }
        Some(solved)
    }

    #[inline]
    fn after(&self, at: u32, i: usize) -> i32 {
        let bit = 1u32 << i;
        let [a, b] = self.beside[i];
        let closed = (a & !at == bit) as i32 + (b & !at == bit) as i32;
        let value = self.values[(at | bit) as usize] as i32;
        if closed > 0 { closed + value } else { -value }
    }

    /// Which of the edges that were free are drawn in a later position; `None` if it is not one.
    fn index(&self, drawn: B) -> Option<u32> {
        let later = self.drawn & !drawn == B::ZERO;
        let bits = || (0..self.edges.len()).filter(|&i| drawn & B::bit(self.edges[i]) != B::ZERO).map(|i| 1 << i).sum();
        later.then(bits)
    }

    /// Net boxes to come for the player to move in this position or a later one.
    pub fn value(&self, drawn: B) -> Option<i32> {
        self.index(drawn).map(|at| self.values[at as usize] as i32)
    }

    /// Each legal move there with the net boxes to come for the player who makes it.
    pub fn moves(&self, drawn: B) -> Option<Vec<(Move, i32)>> {
        let at = self.index(drawn)?;
        let free = (0..self.edges.len()).filter(|i| at >> i & 1 == 0);
        Some(free.map(|i| (Move(self.edges[i]), self.after(at, i))).collect())
    }
}

/// The boxes that the mover is ahead.
pub(super) fn lead<B: Word>(game: &Dots<B>, s: &DotsState<B>) -> i32 {
    let (boxes, mover) = (game.boxes(s).map(|n| n as i32), game.mover(s).index());
    boxes[mover] - boxes[mover ^ 1]
}

/// What a final lead is worth by the rules.
fn payoff<B: Word>(game: &Dots<B>, margin: i32) -> f32 {
    let (cols, rows) = game.size();
    match game.score() {
        Score::Win => margin.signum() as f32,
        Score::Margin => margin as f32 / (cols * rows) as f32,
    }
}

/// Plays exactly, by net boxes, once [`Exact::FREE`] edges are free, equal moves at random; before, as
/// [`super::Chains`] does at its standard strength. The ceiling for everybody who plays from such positions.
///
/// Solving takes some hundredths of a second, once a match: a stop ends it, a limit of time does not.
pub struct Exact<B: Word> {
    solved: Option<Solved<B>>,
    before: super::Chains<B>,
}

impl<B: Word> Default for Exact<B> {
    fn default() -> Self {
        Exact { solved: None, before: super::Chains::default() }
    }
}

impl<B: Word> Exact<B> {
    /// Edges from which on it plays exactly.
    pub const FREE: usize = 20;
}

impl<B: Word> Search<Dots<B>> for Exact<B> {
    fn search(&mut self, game: &Dots<B>, s: &DotsState<B>, control: &Control, rng: &mut Rng) -> Choice {
        if game.count_legal(s) > Self::FREE {
            return self.before.search(game, s, control, rng);
        }
        let (drawn, mover, ahead) = (game.drawn(s), game.mover(s), lead(game, s));
        if self.solved.as_ref().is_none_or(|t| t.index(drawn).is_none()) {
            self.solved = Solved::until_stopped(game, s, control);
        }
        let Some(values) = self.solved.as_ref().and_then(|t| t.moves(drawn)) else {
            return self.before.search(game, s, control, rng);
        };
        let worth = |v: i32| Payoffs::of(mover, payoff(game, ahead + v));
        let root = |&(mv, v): &(Move, i32)| RootMove { mv, visits: 1, value: Some(worth(v)), prior: 0.0, proven: true };
        let best = values.iter().map(|v| v.1).max().expect("a game that is not over has a move");
        let equal: Vec<Move> = values.iter().filter(|v| v.1 == best).map(|v| v.0).collect();
        let mv = *rng.pick(&equal).expect("the best is among them");
        Choice {
            mv,
            value: worth(best),
            root: values.iter().map(root).collect(),
            nodes: 1,
            simulations: 0,
            depth: values.len() as u32,
            line: vec![mv],
            bytes: self.solved.as_ref().map_or(0, |t| t.values.len() as u64),
        }
    }

    fn limits(&self) -> &'static [LimitKind] {
        self.before.limits()
    }

    fn default_limit(&self) -> Limit {
        self.before.default_limit()
    }

    fn reset(&mut self) {
        self.solved = None;
        self.before.reset();
    }
}
