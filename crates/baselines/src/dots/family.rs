//! A published family of starting positions for Dots and Boxes: 5x5 boxes, 40 of the 60 edges drawn, as many boxes closed by
//! either player, like the State S of Cotarelo et al. (2021), which their text does not give.
//!
//! Positions after 40 uniformly random edges are worthless: boxes lie about and whoever moves first wins. These come from
//! players who look out: they close what can be closed and else prefer safe edges, but now and then (`SLIP`) draw any edge.
//! Of what comes up those are kept that are equal in boxes, quiet (nothing can be closed at once) and critical: at most half
//! of the moves keep the exact value, and in a won position at most a quarter keep the win. As many are won by the player to
//! move as are lost, so that a fair player scores a half from either seat. Exact values stand beside the positions.
//!
//! Each line of the file is a position, a tab, and the final lead in boxes of the player to move under best play.

use super::exact::{Solved, lead};
use super::strings::Board;
use ludex_core::{Game, Rng};
use ludex_games::{Dots, DotsState, Score, Word};

/// The file: 50 positions.
pub const FAMILY: &str = include_str!("../../data/dots-5x5-40.txt");

/// Edges free.
const FREE: usize = 20;
/// How often any edge is drawn, in percent.
const SLIP: u32 = 12;

type Five = Dots<u64>;

/// Plays from the empty board until so many edges are free.
fn walk(game: &Five, board: &Board<u64>, rng: &mut Rng) -> DotsState<u64> {
    let mut s = game.initial();
    while game.count_legal(&s) > FREE {
        let drawn = game.drawn(&s);
        let free = board.all & !drawn;
        let taking = (0..game.info().moves).filter(|&e| free >> e & 1 == 1 && board.closes(drawn, e) > 0);
        let taking = taking.fold(0u64, |set, e| set | 1 << e);
        let choice = match (taking, board.safe(drawn)) {
            _ if rng.below(100) < SLIP => free,
            (0, 0) => free,
            (0, safe) => safe,
            (taking, _) => taking,
        };
        let e = choice.select(rng.below(choice.count()));
        game.play(&mut s, ludex_core::Move(e));
    }
    s
}

/// The final lead of the mover under best play, if the position is fit for the family.
fn fit(game: &Five, board: &Board<u64>, s: &DotsState<u64>) -> Option<i32> {
    let [x, o] = game.boxes(s);
    let drawn = game.drawn(s);
    if x != o || board.peel(drawn).boxes > 0 {
        return None;
    }
    let moves = Solved::new(game, s)?.moves(drawn)?;
    let best = moves.iter().map(|m| m.1).max()?;
    let keep = moves.iter().filter(|m| m.1 == best).count();
    let win = moves.iter().filter(|m| lead(game, s) + m.1 > 0).count();
    (2 * keep <= moves.len() && 4 * win <= moves.len()).then_some(lead(game, s) + best)
}

/// Makes the family's file again: so many positions, every other one won by the player to move.
pub fn make(positions: usize, seed: u64) -> String {
    let game = Five::new(5, 5, Score::Win).expect("the board is small");
    let board = Board::new(&game);
    let (mut text, mut found, mut n) = (String::new(), 0, 0);
    while found < positions {
        let s = walk(&game, &board, &mut Rng::stream(seed, n));
        n += 1;
        if let Some(margin) = fit(&game, &board, &s).filter(|&m| (m > 0) == (found % 2 == 0)) {
            text += &format!("{}\t{margin}\n", game.position(&s));
            found += 1;
        }
    }
    text
}
