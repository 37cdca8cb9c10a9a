//! Generated boards: 8x8 cells of three states, one-hot, with a target that needs lines and pairs.
//!
//! A cell is empty, mine or theirs with equal chance. A board's value is a sum over the 18 rows, columns and diagonals in
//! random order, the k-th with weight 0.85^k and a sign of its own, of a function of the line's balance b (mine minus
//! theirs): tension, tanh(|b| - 2.5), for one half of the lines, and a threshold, tanh(2·(b - 2)), for the other; and over
//! 24 random pairs of cells, ± 0.2 where both hold the same side. Of that the tanh, plus normal noise of 0.2, cut to
//! [-1, 1]. Everything follows from the seed; the function does not depend on the number of examples.

use crate::Data;
use ludex_core::Rng;

/// The number of inputs: three states for each cell.
pub const INPUTS: usize = 192;

/// So many boards of this seed.
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
