//! Generated boards: 8x8 cells of three states, one-hot, with a target that depends on lines and pairs of cells.
//!
//! A cell is empty, own or the opponent's with equal chance. The value of a board is
//!   tanh(0.6·(Σ_k w_k·f_k(b_k) + Σ_p v_p·s_p)) + 0.2·noise,  clipped to [-1, 1],
//! with standard normal noise. k runs over the 18 rows, columns and long diagonals in random order: b_k is the number
//! of own cells minus the opponent's, w_k = ± 0.85^k, and f_k(b) is tanh(|b| - 2.5) for even k and tanh(2·(b - 2)) for
//! odd k. p runs over 24 random pairs of cells: s_p is 1 if both are own, -1 if both are the opponent's, else 0, and
//! v_p = ± 0.2. Everything follows from the seed; weights and pairs do not depend on the number of examples.

use crate::Data;
use ludex_core::Rng;

/// The number of inputs: three states for each cell.
pub const INPUTS: usize = 192;

/// This many boards with their values, by this seed.
pub fn boards(examples: usize, seed: u64) -> Data {
    let mut rng = Rng::stream(seed, 0);
    let mut lines: Vec<Vec<usize>> = (0..8)
        .map(|r| (0..8).map(|c| r * 8 + c).collect())
        .chain((0..8).map(|c| (0..8).map(|r| r * 8 + c).collect()))
        .chain([(0..8).map(|k| k * 9).collect(), (1..9).map(|k| k * 7).collect()])
        .collect();
    rng.shuffle(&mut lines);
    let mut sign = || if rng.unit() < 0.5 { -1.0 } else { 1.0 };
    let line_weights: Vec<f64> = (0..lines.len()).map(|k| sign() * 0.85f64.powi(k as i32)).collect();
    let pair_weights: Vec<f64> = (0..24).map(|_| sign() * 0.2).collect();
    let pairs: Vec<(usize, usize)> = (0..24).map(|_| (rng.below(64) as usize, rng.below(64) as usize)).collect();

    let mut rng = Rng::stream(seed, 1);
    let mut data = Data::new(INPUTS, 1);
    for _ in 0..examples {
        let cells: [i32; 64] = std::array::from_fn(|_| rng.below(3) as i32 - 1);
        let active: Vec<u32> = cells.iter().enumerate().map(|(i, &s)| 3 * i as u32 + (s + 1) as u32).collect();
        let balance = |line: &[usize]| line.iter().map(|&i| cells[i]).sum::<i32>() as f64;
        let shape =
            |k: usize, b: f64| if k.is_multiple_of(2) { (b.abs() - 2.5).tanh() } else { (2.0 * (b - 2.0)).tanh() };
        let by_line: f64 = (0..lines.len()).map(|k| line_weights[k] * shape(k, balance(&lines[k]))).sum();
        let same = |(a, b): (usize, usize)| if cells[a] == cells[b] { cells[a] as f64 } else { 0.0 };
        let by_pair: f64 = pairs.iter().zip(&pair_weights).map(|(&p, w)| w * same(p)).sum();
        let value = (0.6 * (by_line + by_pair)).tanh() + 0.2 * rng.normal();
        data.push(&active, &[value.clamp(-1.0, 1.0) as f32]).expect("a board fits");
    }
    data
}
