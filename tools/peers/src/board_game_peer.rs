//! The crate `board-game` 0.8.2.

use std::hint::black_box;

use board_game::ai::mcts::mcts_build_tree;
use board_game::board::Board;
use board_game::games::connect4::Connect4;
use rand08::{SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};

use crate::{PLAYOUTS, SEARCHES, SIMULATIONS, cpu, median};

/// All figures of the crate.
pub fn measure() -> Value {
    json!({
        "game": "connect4", "engine": "board-game", "version": "0.8.2",
        "playouts_per_s": median(playouts).round(),
        "sims_per_s": median(simulations).round(),
    })
}

/// Playouts per second.
fn playouts() -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let seconds = cpu(|| {
        for _ in 0..PLAYOUTS {
            let mut board = black_box(Connect4::default());
            while !board.is_done() {
                board.play_random_available_move(&mut rng).unwrap();
            }
            black_box(board.outcome());
        }
    });
    f64::from(PLAYOUTS) / seconds
}

/// Simulations per second of the crate's MCTS with the constant that ours has.
fn simulations() -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let seconds = cpu(|| {
        for _ in 0..SEARCHES {
            black_box(mcts_build_tree(&Connect4::default(), u64::from(SIMULATIONS), 1.4, &mut rng));
        }
    });
    f64::from(SEARCHES * SIMULATIONS) / seconds
}
