//! Output weights by ridge least squares: (H'H + n·λ·I)·w = H't, the bias unpenalised.
//!
//! H has the columns 1, inputs, units; t are the targets of the n training examples. H'H is kept and grows by one row
//! when a unit is installed, so that trying several λ costs a Cholesky factorisation each and no pass over the
//! examples.

use super::columns::Columns;
use super::packed::{PackedExamples, TILE};
use crate::Data;
use crate::learn::cholesky::Symmetric;
use rayon::prelude::*;

/// The normal equations of the output weights.
pub(super) struct Ridge {
    gram: Symmetric,
    right: Vec<Vec<f64>>, // by output
    n: f64,
}

impl Ridge {
    /// The equations of a net without units.
    pub(super) fn new(data: &Data, packed: &PackedExamples) -> Self {
        let mut gram = Symmetric::zero(1 + data.inputs());
        let mut right = vec![vec![0.0; 1 + data.inputs()]; data.outputs()];
        let mut row = Vec::new();
        for &i in packed.example[packed.train.clone()].iter().flatten() {
            let i = i as usize;
            row.clear();
            row.push((0, 1.0));
            row.extend(data.row(i).iter().map(|(at, v)| (1 + at, v as f64)));
            row.sort_unstable_by_key(|(at, _)| *at);
            for (k, &(a, x)) in row.iter().enumerate() {
                let cells = gram.row_mut(a);
                row[..=k].iter().for_each(|&(b, y)| cells[b] += x * y);
                right.iter_mut().zip(data.targets(i)).for_each(|(r, &t)| r[a] += x * t as f64);
            }
        }
        Ridge { gram, right, n: packed.train.len() as f64 }
    }

    /// Adds the unit whose activations are the last of these columns; those before were added already.
    pub(super) fn add(&mut self, data: &Data, packed: &PackedExamples, columns: &Columns) {
        let (inputs, m, last) = (data.inputs(), self.gram.len(), columns.len() - 1);
        let mut gram = self.gram.grown(m + 1);
        let row = gram.row_mut(m);
        self.right.iter_mut().for_each(|r| r.push(0.0));
        for slot in packed.train.clone() {
            let Some(i) = packed.example[slot] else { continue };
            let y = columns.at(last, slot) as f64;
            row[0] += y;
            data.row(i as usize).iter().for_each(|(at, v)| row[1 + at] += y * v as f64);
            self.right.iter_mut().zip(data.targets(i as usize)).for_each(|(r, &t)| r[m] += y * t as f64);
        }
        // Activations are 0 in the padding, so whole tiles may be multiplied.
        let tiles = 0..packed.train.end.div_ceil(TILE);
        let product = |k: usize| tiles.clone().map(|t| dot(columns.part(t, last), columns.part(t, k))).sum::<f64>();
        let products: Vec<f64> = (packed.dense.len()..=last).into_par_iter().map(product).collect();
        row[1 + inputs..].copy_from_slice(&products);
        self.gram = gram;
    }

    /// The weights of each output; `None` if the matrix is not positive definite with this λ.
    pub(super) fn solve(&self, lambda: f64) -> Option<Vec<Vec<f64>>> {
        let mut gram = self.gram.clone();
        for i in 1..gram.len() {
            *gram.cell(i, i) += lambda * self.n;
        }
        let factor = gram.cholesky()?;
        Some(self.right.iter().map(|r| factor.solve(r)).collect())
    }

    /// The bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.gram.len() * self.gram.len() * 8
    }
}

/// The inner product of two columns of a tile, summed in `f64`.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut s = [0.0f64; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(&a, &b)| a as f64 * b as f64).sum();
    for (a, b) in a8.zip(b8) {
        for k in 0..8 {
            s[k] += a[k] as f64 * b[k] as f64;
        }
    }
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + tail
}
