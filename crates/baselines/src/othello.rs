//! Othello: three evaluators for minimax, from naive to classical.
//!
//! [`PieceAdvantage`] and [`Positional`] are the two hand-made heuristics of Ghignone & Cancelliere, *Neural Learning of
//! Heuristic Functions for General Game Playing*, section 5.2: disc difference, and the sum of the weights in
//! their Figure 2, the table of old Microsoft Windows Reversi programs. [`OthelloClassic`] is the stronger baseline: what
//! a student of the game would write, in the tradition of Rosenbloom's IAGO (*A World-Championship-Level Othello
//! Program*, Artificial Intelligence 19, 1982), who found mobility and stability worth more than discs.
//!
//! The setting of strength is the depth of the minimax around them; 3 is the standard. None of them knows openings, sees
//! the parity of regions, or solves endgames beyond that depth.

use crate::squash::{share, squash};
use ludex_core::{Evaluator, Game, Payoffs, Player};
use ludex_games::{Othello, OthelloState};

/// The weight of a square by its distance from the two nearest edges: a quarter of Figure 2, whose other quarters are its
/// reflections. Boards smaller than 8x8 use the part that they reach.
const WEIGHTS: [[i32; 4]; 4] = [[99, -8, 8, 6], [-8, -24, -4, -3], [8, -4, 7, 4], [6, -3, 4, 0]];

/// Own discs minus the opponent's, as a share of the squares.
///
/// The paper finds it worse than random heuristics: many discs early mean few moves later.
#[derive(Clone, Copy, Debug, Default)]
pub struct PieceAdvantage;

impl Evaluator<Othello> for PieceAdvantage {
    fn value(&mut self, game: &Othello, s: &OthelloState) -> Payoffs {
        let [x, o] = game.discs(s).map(|d| d.count_ones() as f32);
        share(Player(0), x - o, game.board().count_ones() as f32)
    }
}

/// The sum of the weights under own discs minus those under the opponent's, as a share of the largest sum.
///
/// ```text
///  99  -8   8   6   6   8  -8  99
///  -8 -24  -4  -3  -3  -4 -24  -8
///   8  -4   7   4   4   7  -4   8
///   6  -3   4   0   0   4  -3   6     and so on, reflected
/// ```
#[derive(Clone, Debug, Default)]
pub struct Positional {
    table: Table,
}

/// Figure 2 for one board: the squares of each weight.
#[derive(Clone, Debug, Default)]
struct Table {
    board: u64,
    weights: Vec<(i32, u64)>,
    bound: f32,
}

impl Table {
    fn new(board: u64) -> Self {
        let (cols, rows) = size(board);
        let mut weights: Vec<(i32, u64)> = Vec::new();
        for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
            let weight = WEIGHTS[r.min(rows - 1 - r)][c.min(cols - 1 - c)];
            match weights.iter_mut().find(|(w, _)| *w == weight) {
                Some((_, squares)) => *squares |= 1 << (8 * r + c),
                None => weights.push((weight, 1 << (8 * r + c))),
            }
        }
        let bound = weights.iter().map(|(w, squares)| w.abs() * squares.count_ones() as i32).sum::<i32>();
        Table { board, weights, bound: bound as f32 }
    }

    fn sum(&self, discs: u64) -> i32 {
        self.weights.iter().map(|(w, squares)| w * (squares & discs).count_ones() as i32).sum()
    }
}

impl Evaluator<Othello> for Positional {
    fn value(&mut self, game: &Othello, s: &OthelloState) -> Payoffs {
        if self.table.board != game.board() {
            self.table = Table::new(game.board());
        }
        let [x, o] = game.discs(s).map(|d| self.table.sum(d));
        share(Player(0), (x - o) as f32, self.table.bound)
    }
}

/// Mobility, corners, stability and parity, weighed by hand.
///
/// With `d(a, b) = (a - b) / (a + b + 2)`, as in IAGO, and `t` the share of squares filled, the score of a player is
///
/// | term | weight | counts |
/// |---|---|---|
/// | mobility | 90 | `d` of the moves either player would have |
/// | potential mobility | 50 (1 - t) | `d` of the free squares beside the other's discs |
/// | corners | 30 each | corners held |
/// | X-squares | -15 each | discs diagonally beside a free corner |
/// | C-squares | -7 each | discs beside a free corner along the edge |
/// | stable discs | 8 each | discs that can never be flipped (a sufficient condition, grown from edges and full lines) |
/// | edge discs | 2 each | discs on an edge, stable or not |
/// | parity | 12, from 16 free squares down | having the last move if nobody passes |
/// | discs | 120 t^8 | `d` of the discs: nothing until the last dozen squares |
///
/// and the value is `x / (1 + |x|)` of the score over 100. A player who has to pass loses the mobility term only.
#[derive(Clone, Debug, Default)]
pub struct OthelloClassic {
    shape: Shape,
}

/// The squares of one board by what they mean.
#[derive(Clone, Debug, Default)]
struct Shape {
    board: u64,
    edges: u64,
    /// Each corner with its X-square and its two C-squares.
    corners: Vec<(u64, u64, u64)>,
    /// By axis: its shift, the squares that end a line along it, and the lines.
    axes: Vec<(u32, u64, Vec<u64>)>,
}

impl Shape {
    fn new(board: u64) -> Self {
        let (cols, rows) = size(board);
        let at = |c: usize, r: usize| 1u64 << (8 * r + c);
        let left: u64 = (0..rows).map(|r| at(0, r)).sum();
        let top: u64 = (0..cols).map(|c| at(c, 0)).sum();
        let sides = left | left << (cols - 1);
        let ends = top | top << (8 * (rows - 1));
        let corner = |c: usize, r: usize| {
            let (c1, r1) = (if c == 0 { 1 } else { c - 1 }, if r == 0 { 1 } else { r - 1 });
            (at(c, r), at(c1, r1), at(c, r1) | at(c1, r))
        };
        let corners = vec![corner(0, 0), corner(cols - 1, 0), corner(0, rows - 1), corner(cols - 1, rows - 1)];
        // A line along an axis is what is left of the board when all squares of the other number are away.
        let lines = |number: &dyn Fn(usize, usize) -> usize| {
            let mut lines = vec![0u64; cols + rows];
            (0..rows).for_each(|r| (0..cols).for_each(|c| lines[number(c, r)] |= at(c, r)));
            lines.retain(|&l| l != 0);
            lines
        };
        let axes = vec![
            (1, sides, lines(&|_, r| r)),
            (8, ends, lines(&|c, _| c)),
            (9, sides | ends, lines(&|c, r| c + rows - 1 - r)),
            (7, sides | ends, lines(&|c, r| c + r)),
        ];
        Shape { board, edges: sides | ends, corners, axes }
    }

    /// Discs of `own` that no play can flip: along each axis a stable disc of the same colour or the border is next to
    /// it, or the whole line is full. Finds most, not all.
    fn stable(&self, own: u64, taken: u64) -> u64 {
        let full = self.axes.iter().map(|(_, ends, lines)| {
            let full: u64 = lines.iter().filter(|&&l| l & taken == l).fold(0, |f, l| f | l);
            full | ends
        });
        let held: Vec<u64> = full.collect();
        let mut stable = 0;
        loop {
            // A shift that wraps around comes from a border square and lands on one, which is held anyway.
            let beside = |axis: usize| {
                let d = self.axes[axis].0;
                held[axis] | stable << d | stable >> d
            };
            let grown = (0..4).fold(own, |s, axis| s & beside(axis));
            if grown == stable {
                return stable;
            }
            stable = grown;
        }
    }

    /// Free squares next to `discs`.
    fn around(&self, discs: u64, free: u64) -> u64 {
        const LEFT: u64 = 0x0101_0101_0101_0101;
        let (west, east) = (discs >> 1 & !(LEFT << 7), discs << 1 & !LEFT);
        let row = discs | west | east;
        (row | row << 8 | row >> 8) & free
    }

    /// The terms that count discs one by one, for one player.
    fn discs(&self, own: u64, taken: u64) -> f32 {
        let count = |squares: u64| (own & squares).count_ones() as f32;
        let mut score = 8.0 * self.stable(own, taken).count_ones() as f32 + 2.0 * count(self.edges);
        for &(corner, x, c) in &self.corners {
            score += if taken & corner != 0 { 30.0 * count(corner) } else { -15.0 * count(x) - 7.0 * count(c) };
        }
        score
    }
}

impl Evaluator<Othello> for OthelloClassic {
    fn value(&mut self, game: &Othello, s: &OthelloState) -> Payoffs {
        if self.shape.board != game.board() {
            self.shape = Shape::new(game.board());
        }
        let (shape, discs) = (&self.shape, game.discs(s));
        let taken = discs[0] | discs[1];
        let free = shape.board & !taken;
        let t = taken.count_ones() as f32 / shape.board.count_ones() as f32;
        let d = |a: u64, b: u64| {
            let (a, b) = (a.count_ones() as f32, b.count_ones() as f32);
            (a - b) / (a + b + 2.0)
        };
        let mut score = 90.0 * d(game.mobility(s, Player(0)), game.mobility(s, Player(1)))
            + 50.0 * (1.0 - t) * d(shape.around(discs[1], free), shape.around(discs[0], free))
            + shape.discs(discs[0], taken)
            - shape.discs(discs[1], taken)
            + 120.0 * t.powi(8) * d(discs[0], discs[1]);
        if free.count_ones() <= 16 {
            let last = if free.count_ones() % 2 == 1 { game.mover(s) } else { game.mover(s).other() };
            score += if last == Player(0) { 12.0 } else { -12.0 };
        }
        squash(Player(0), score, 100.0)
    }
}

/// Columns and rows of a board.
fn size(board: u64) -> (usize, usize) {
    let cols = (board & 0xff).count_ones() as usize;
    (cols, board.count_ones() as usize / cols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    /// Figure 2 as printed, row by row.
    const PRINTED: [i32; 64] = [
        99, -8, 8, 6, 6, 8, -8, 99, //
        -8, -24, -4, -3, -3, -4, -24, -8, //
        8, -4, 7, 4, 4, 7, -4, 8, //
        6, -3, 4, 0, 0, 4, -3, 6, //
        6, -3, 4, 0, 0, 4, -3, 6, //
        8, -4, 7, 4, 4, 7, -4, 8, //
        -8, -24, -4, -3, -3, -4, -24, -8, //
        99, -8, 8, 6, 6, 8, -8, 99,
    ];

    #[test]
    fn positional_weighs_squares_as_printed() {
        let table = Table::new(u64::MAX);
        (0..64).for_each(|i| assert_eq!(table.sum(1 << i), PRINTED[i], "square {i}"));
        assert_eq!(table.bound as i32, PRINTED.iter().map(|w| w.abs()).sum::<i32>());
    }

    #[test]
    fn positional_of_a_position_is_the_sum_of_the_table() {
        let game = Othello::new(8, 8).unwrap();
        let text = format!("XO-------XO{}O X", "-".repeat(52));
        let s = game.parse_position(&text).unwrap();
        let sum: i32 = (0..64)
            .map(|i| match text.as_bytes()[i] {
                b'X' => PRINTED[i],
                b'O' => -PRINTED[i],
                _ => 0,
            })
            .sum();
        let value = Positional::default().value(&game, &s)[Player(0)];
        assert!((value - 0.999 * sum as f32 / 784.0).abs() < 1e-6, "{value} for {sum}");
    }

    /// Whatever both players do, in random games, a disc once found stable keeps its colour.
    #[test]
    fn stable_discs_are_never_flipped() {
        for (cols, rows, seed) in [(8, 8, 1), (6, 6, 2), (4, 6, 3)] {
            let game = Othello::new(cols, rows).unwrap();
            let shape = Shape::new(game.board());
            let (mut rng, mut most) = (Rng::new(seed), 0);
            for _ in 0..200 {
                let (mut s, mut stable) = (game.initial(), [0u64; 2]);
                while let Some(m) = game.sample(&s, &mut rng) {
                    game.play(&mut s, m);
                    let discs = game.discs(&s);
                    for p in 0..2 {
                        assert_eq!(stable[p] & !discs[p], 0, "{}", game.show(&s));
                        stable[p] = shape.stable(discs[p], discs[0] | discs[1]);
                        most = most.max(stable[p].count_ones());
                    }
                }
                if game.board() == game.discs(&s)[0] | game.discs(&s)[1] {
                    assert_eq!(stable[0] | stable[1], game.board(), "a full board is stable");
                }
            }
            assert!(most > 8);
        }
    }

    #[test]
    fn a_corner_is_worth_more_than_the_square_beside_it() {
        let game = Othello::new(8, 8).unwrap();
        let at = |square: usize| {
            let mut board = vec!['-'; 64];
            (27..29).for_each(|i| board[i] = 'O');
            (35..37).for_each(|i| board[i] = 'X');
            board[square] = 'X';
            let s = game.parse_position(&format!("{} X", board.iter().collect::<String>())).unwrap();
            OthelloClassic::default().value(&game, &s)[Player(0)]
        };
        assert!(at(0) > at(3) && at(3) > at(1) && at(1) > at(9));
    }
}
