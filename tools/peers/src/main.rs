//! Connect Four by the Rust crates `minimax` and `board-game`: the figures that ours are compared with.
//!
//! Prints one JSON object per peer and line. Rates are per second of CPU time, medians of several repeats, one
//! thread. A peer that can be run in several ways is reported at its fastest, with all of them under `variants`.
//!
//! * `playouts_per_s`: uniform random games from the empty board.
//! * `sims_per_s`: the peer's own MCTS, 10,000 simulations from the empty board. Both peers solve (prove wins) as they
//!   search, which cannot be turned off.
//! * `nodes_per_s`, `nodes`, `seconds` (`minimax` only): its iterative alpha-beta to depth 12 from the empty board,
//!   nodes as it counts them: every call of its recursive search, leaves and table hits included, summed over all
//!   iterations.

mod board_game_peer;
mod minimax_peer;

use cpu_time::ProcessTime;
use serde_json::Value;

/// Simulations of one tree search.
const SIMULATIONS: u32 = 10_000;
/// Playouts of one repeat.
const PLAYOUTS: u32 = 400_000;
/// Searches of one repeat.
const SEARCHES: u32 = 20;
/// The median is taken over this many repeats.
const REPEATS: usize = 9;

fn main() {
    for peer in [minimax_peer::measure(), board_game_peer::measure()] {
        println!("{peer}");
    }
}

/// CPU seconds that `action` takes, over all threads it starts.
fn cpu(action: impl FnOnce()) -> f64 {
    let began = ProcessTime::now();
    action();
    began.elapsed().as_secs_f64()
}

/// The median of an odd number of measurements.
fn median(measure: impl FnMut() -> f64) -> f64 {
    let mut values: Vec<f64> = std::iter::repeat_with(measure).take(REPEATS).collect();
    values.sort_by(f64::total_cmp);
    values[REPEATS / 2]
}

/// The highest rate among named variants.
fn fastest(variants: &[(&str, f64)]) -> f64 {
    variants.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
}

/// The variants as a JSON object.
fn listed(variants: &[(&str, f64)]) -> Value {
    variants.iter().map(|(name, rate)| (name.to_string(), Value::from(rate.round()))).collect()
}
