//! Perft: the number of move sequences of a given length, the standard proof that rules are right.

use crate::{Game, Move};

/// The number of sequences of exactly `depth` single moves from `s`. A finished game has no continuation.
pub fn perft<G: Game>(game: &G, s: &G::State, depth: u32) -> u64 {
    let mut buffers = vec![Vec::new(); depth as usize];
    count(game, s, &mut buffers)
}

/// Perft split by first move, for finding a difference from another engine.
pub fn divide<G: Game>(game: &G, s: &G::State, depth: u32) -> Vec<(Move, u64)> {
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let below = |&m: &Move| {
        let mut child = s.clone();
        game.play(&mut child, m);
        (m, perft(game, &child, depth.saturating_sub(1)))
    };
    moves.iter().map(below).collect()
}

fn count<G: Game>(game: &G, s: &G::State, buffers: &mut [Vec<Move>]) -> u64 {
    let Some((moves, rest)) = buffers.split_first_mut() else { return 1 };
    if rest.is_empty() {
        return game.count_legal(s) as u64;
    }
    game.legal(s, moves);
    moves
        .iter()
        .map(|&m| {
            let mut child = s.clone();
            game.play(&mut child, m);
            count(game, &child, rest)
        })
        .sum()
}
