//! Forward and backward passes over the training examples, for eight units at once.
//!
//! With y the activation, f' its derivative and e_o the residuals (or targets) of output o, the forward pass gives the
//! sums
//!   Σy, Σy², Σy·e_o
//! over the examples, of which every objective is made. The derivative of each objective by a unit's weighted sum is
//!   f'·(Σ_o a_o·e_o + b·y + k),
//! with coefficients that follow from those sums; the backward pass turns it into the gradient by every weight. So
//! candidates under any objective and outputs under squared error use the same code.
//!
//! The lanes hold eight units while inputs are added up, and eight examples while activations are computed. The
//! training examples are cut into [`PARTS`] ranges whose sums are added in order: any number of threads gives the same
//! bits.

use super::columns::Columns;
use super::packed::{PackedExamples, TILE};
use crate::Activation;
use crate::simd::{LANES, load, store, sum};
use rayon::prelude::*;
use std::ops::Range;
use wide::f32x8;

/// The number of units in a group.
pub(super) const GROUP: usize = LANES;

/// The number of ranges of examples that are summed separately.
const PARTS: usize = 16;

/// The number of registers that hold one number for each example of a tile.
const VECTORS: usize = TILE / LANES;

/// Sums over the training examples, for each unit of the group.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub y: [f64; GROUP],
    pub yy: [f64; GROUP],
    pub ye: Vec<[f64; GROUP]>,
}

/// The coefficients a_o, b and k of an objective's derivative.
#[derive(Clone, Debug)]
pub(super) struct ObjectiveDerivative {
    pub a: Vec<[f32; GROUP]>,
    pub b: [f32; GROUP],
    pub k: [f32; GROUP],
}

/// A group of units, what they see, and buffers.
pub(super) struct Pass<'a> {
    packed: &'a PackedExamples,
    inputs: usize,
    columns: &'a Columns,
    seen: Vec<usize>, // which columns: dense inputs, then units
    residuals: &'a [Vec<f32>],
    weights: GroupWeights,
    acts: [Activation; GROUP],
    tiles: usize,
    values: Vec<f32>, // for each tile: y of each unit, then its derivative
}

/// The weights of a group by pattern and by column, eight lanes each.
struct GroupWeights {
    bias: [f32; GROUP],
    patterns: Vec<[f32; GROUP]>,
    columns: Vec<[f32; GROUP]>,
}

/// The gradient over one range of examples.
struct PartGradient {
    bias: f32x8,
    patterns: Vec<[f32; GROUP]>,
    columns: Vec<[f32; GROUP]>,
}

impl<'a> Pass<'a> {
    /// A group of units of these activations that see the inputs and these installed units. The columns are those of
    /// the dense inputs, then those of the units; residuals (or targets) are by output.
    pub(super) fn new(
        (packed, columns): (&'a PackedExamples, &'a Columns),
        inputs: usize,
        units: impl Iterator<Item = usize>,
        residuals: &'a [Vec<f32>],
        acts: [Activation; GROUP],
    ) -> Self {
        let dense = packed.dense.len();
        let seen: Vec<usize> = (0..dense).chain(units.map(|u| dense + u)).collect();
        let tiles = packed.train.len().div_ceil(TILE);
        let weights = GroupWeights {
            bias: [0.0; GROUP],
            patterns: vec![[0.0; GROUP]; packed.patterns.len()],
            columns: vec![[0.0; GROUP]; seen.len()],
        };
        Pass { packed, inputs, columns, seen, residuals, weights, acts, tiles, values: vec![] }
    }

    /// The index among a unit's weights of the k-th column seen.
    fn weight_index(&self, k: usize) -> usize {
        self.packed.dense.get(k).map_or(1 + self.inputs + k - self.packed.dense.len(), |(i, _)| 1 + *i as usize)
    }

    /// Sets the weights of each unit: bias, inputs, units; further numbers are ignored.
    pub(super) fn set_weights(&mut self, weights: &[Vec<f64>]) {
        let indices: Vec<usize> = (0..self.seen.len()).map(|k| self.weight_index(k)).collect();
        let t = &mut self.weights;
        for (c, w) in weights.iter().enumerate() {
            t.bias[c] = w[0] as f32;
            for (pattern, row) in self.packed.patterns.iter().zip(&mut t.patterns) {
                row[c] = pattern.iter().map(|&(i, v)| w[1 + i as usize] * v as f64).sum::<f64>() as f32;
            }
            t.columns.iter_mut().zip(&indices).for_each(|(column, &at)| column[c] = w[at] as f32);
        }
    }

    /// Computes activations and derivatives for all training examples; returns the sums.
    pub(super) fn forward(&mut self) -> Sums {
        let size = 2 * GROUP * TILE;
        let mut values = std::mem::take(&mut self.values);
        values.resize(self.tiles * size, 0.0);
        let per_part = self.tiles.div_ceil(PARTS).max(1);
        let parts: Vec<Sums> = values
            .par_chunks_mut(per_part * size)
            .enumerate()
            .map(|(part, values)| {
                let mut sums = Sums::zero(self.residuals.len());
                for (t, values) in values.chunks_exact_mut(size).enumerate() {
                    let slot = (part * per_part + t) * TILE;
                    let (y, derivative) = values.split_at_mut(GROUP * TILE);
                    self.weighted_sums(slot, y);
                    self.activate(slot, y, derivative, &mut sums);
                }
                sums
            })
            .collect();
        self.values = values;
        let mut total = Sums::zero(self.residuals.len());
        parts.iter().for_each(|s| total.add(s));
        total
    }

    /// The sums over these slots instead of the training examples; nothing is kept for [`Pass::backward`].
    pub(super) fn sums_over(&self, slots: &Range<usize>) -> Sums {
        let tiles: Vec<usize> = (slots.start / TILE..slots.end.div_ceil(TILE)).collect();
        let parts: Vec<Sums> = tiles
            .par_chunks(tiles.len().div_ceil(PARTS).max(1))
            .map(|tiles| {
                let mut sums = Sums::zero(self.residuals.len());
                let mut values = [0.0; 2 * GROUP * TILE];
                let (y, derivative) = values.split_at_mut(GROUP * TILE);
                for tile in tiles {
                    self.weighted_sums(tile * TILE, y);
                    self.activate(tile * TILE, y, derivative, &mut sums);
                }
                sums
            })
            .collect();
        let mut total = Sums::zero(self.residuals.len());
        parts.iter().for_each(|s| total.add(s));
        total
    }

    /// The weighted sums of a tile's examples: unit after unit, [`TILE`] examples each.
    #[inline]
    fn weighted_sums(&self, slot: usize, z: &mut [f32]) {
        let blocks = &self.packed.blocks[..];
        let patterns = &self.weights.patterns[..];
        let columns = self.columns.tile(slot / TILE);
        for v in 0..VECTORS {
            let mut by_example = [f32x8::new(self.weights.bias); LANES];
            for (e, total) in by_example.iter_mut().enumerate() {
                for (&code, block) in self.packed.codes(slot + v * LANES + e).iter().zip(blocks) {
                    *total += f32x8::new(patterns[block.first + code as usize]);
                }
            }
            let mut by_unit = f32x8::transpose(by_example);
            for (&column, w) in self.seen.iter().zip(&self.weights.columns) {
                let x = load(&columns[column * TILE + v * LANES..]);
                for (c, total) in by_unit.iter_mut().enumerate() {
                    *total += x * f32x8::splat(w[c]);
                }
            }
            for (c, total) in by_unit.into_iter().enumerate() {
                store(total, &mut z[c * TILE + v * LANES..]);
            }
        }
    }

    #[inline]
    fn activate(&self, slot: usize, y: &mut [f32], derivative: &mut [f32], sums: &mut Sums) {
        for c in 0..GROUP {
            let (y, derivative) = (&mut y[c * TILE..][..TILE], &mut derivative[c * TILE..][..TILE]);
            let act = self.acts[c];
            let (mut sy, mut syy) = (f32x8::ZERO, f32x8::ZERO);
            let mask = &self.packed.mask[slot..][..TILE];
            for ((y, derivative), mask) in
                y.chunks_exact_mut(LANES).zip(derivative.chunks_exact_mut(LANES)).zip(mask.chunks_exact(LANES))
            {
                let (a, b) = act.with_derivative_x8(load(y));
                let (a, b) = (a * load(mask), b * load(mask));
                sy += a;
                syy += a * a;
                store(a, y);
                store(b, derivative);
            }
            sums.y[c] += sum(sy) as f64;
            sums.yy[c] += sum(syy) as f64;
            for (residual, total) in self.residuals.iter().zip(&mut sums.ye) {
                let mut s = f32x8::ZERO;
                for (y, e) in y.chunks_exact(LANES).zip(residual[slot..][..TILE].chunks_exact(LANES)) {
                    s += load(y) * load(e);
                }
                total[c] += sum(s) as f64;
            }
        }
    }

    /// The gradient by each weight of each unit: bias, inputs, units. To be called after [`Pass::forward`].
    pub(super) fn backward(&self, objective: &ObjectiveDerivative) -> Vec<Vec<f64>> {
        let size = 2 * GROUP * TILE;
        let per_part = self.tiles.div_ceil(PARTS).max(1);
        let parts: Vec<PartGradient> = self
            .values
            .par_chunks(per_part * size)
            .enumerate()
            .map(|(part, values)| {
                let mut total = PartGradient {
                    bias: f32x8::ZERO,
                    patterns: vec![[0.0; GROUP]; self.packed.patterns.len()],
                    columns: vec![[0.0; GROUP]; self.seen.len()],
                };
                let mut delta = [0.0; GROUP * TILE];
                for (t, values) in values.chunks_exact(size).enumerate() {
                    let slot = (part * per_part + t) * TILE;
                    self.deltas(slot, values, objective, &mut delta);
                    self.add_gradient(slot, &delta, &mut total);
                }
                total
            })
            .collect();
        self.total_gradient(&parts)
    }

    #[inline]
    fn deltas(&self, slot: usize, values: &[f32], objective: &ObjectiveDerivative, delta: &mut [f32]) {
        let (y, derivatives) = values.split_at(GROUP * TILE);
        for c in 0..GROUP {
            let (b, k) = (f32x8::splat(objective.b[c]), f32x8::splat(objective.k[c]));
            for v in 0..VECTORS {
                let at = c * TILE + v * LANES;
                let mut d = load(&y[at..]) * b + k;
                for (residual, a) in self.residuals.iter().zip(&objective.a) {
                    d += load(&residual[slot + v * LANES..]) * f32x8::splat(a[c]);
                }
                store(d * load(&derivatives[at..]), &mut delta[at..]);
            }
        }
    }

    #[inline]
    fn add_gradient(&self, slot: usize, delta: &[f32], gradient: &mut PartGradient) {
        for v in 0..VECTORS {
            let mut by_unit = [f32x8::ZERO; LANES];
            for (c, d) in by_unit.iter_mut().enumerate() {
                *d = load(&delta[c * TILE + v * LANES..]);
            }
            for (e, d) in f32x8::transpose(by_unit).into_iter().enumerate() {
                gradient.bias += d;
                for (&code, block) in self.packed.codes(slot + v * LANES + e).iter().zip(&self.packed.blocks) {
                    let row = &mut gradient.patterns[block.first + code as usize];
                    *row = (f32x8::new(*row) + d).to_array();
                }
            }
        }
        for (&column, total) in self.seen.iter().zip(&mut gradient.columns) {
            let column = self.columns.part(slot / TILE, column);
            let mut sums = [f32x8::ZERO; GROUP];
            for v in 0..VECTORS {
                let x = load(&column[v * LANES..]);
                for (c, s) in sums.iter_mut().enumerate() {
                    *s += x * load(&delta[c * TILE + v * LANES..]);
                }
            }
            total.iter_mut().zip(sums).for_each(|(t, s)| *t += sum(s));
        }
    }

    /// Adds the gradients of the parts in order, and those by pattern to those by input.
    fn total_gradient(&self, parts: &[PartGradient]) -> Vec<Vec<f64>> {
        let add = |of: &dyn Fn(&PartGradient) -> f32| parts.iter().map(|s| of(s) as f64).sum::<f64>();
        let width = 1 + self.inputs + self.seen.len() - self.packed.dense.len();
        let gradient = |c: usize| {
            let mut g = vec![0.0; width];
            g[0] = add(&|s| s.bias.to_array()[c]);
            for (p, pattern) in self.packed.patterns.iter().enumerate() {
                let total = add(&|s| s.patterns[p][c]);
                pattern.iter().for_each(|&(i, v)| g[1 + i as usize] += total * v as f64);
            }
            (0..self.seen.len()).for_each(|k| g[self.weight_index(k)] += add(&|s| s.columns[k][c]));
            g
        };
        (0..GROUP).map(gradient).collect()
    }

    /// The activations of the first unit at every slot; 0 in the padding.
    pub(super) fn activations(&self) -> Vec<f32> {
        let mut column = vec![0.0; self.packed.slots()];
        column.par_chunks_mut(TILE).enumerate().for_each(|(t, out)| {
            let mut z = [0.0; GROUP * TILE];
            self.weighted_sums(t * TILE, &mut z);
            let mask = &self.packed.mask[t * TILE..][..TILE];
            for ((z, mask), out) in z.chunks_exact(LANES).zip(mask.chunks_exact(LANES)).zip(out.chunks_exact_mut(LANES))
            {
                store(self.acts[0].apply_x8(load(z)) * load(mask), out);
            }
        });
        column
    }
}

impl Sums {
    fn zero(outputs: usize) -> Self {
        Sums { y: [0.0; GROUP], yy: [0.0; GROUP], ye: vec![[0.0; GROUP]; outputs] }
    }

    fn add(&mut self, other: &Sums) {
        for c in 0..GROUP {
            self.y[c] += other.y[c];
            self.yy[c] += other.yy[c];
            self.ye.iter_mut().zip(&other.ye).for_each(|(a, b)| a[c] += b[c]);
        }
    }
}
