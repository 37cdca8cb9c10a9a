//! One pass over the training examples for eight units at once: their activations, the sums that every objective is
//! made of, and the gradient by every weight.
//!
//! With y the activation, f' its slope, e_o the residuals (or targets) of output o, a pass forward gives
//!   Σy, Σy², Σy·e_o,
//! and each objective's derivative by a unit's weighted sum has the form
//!   f'·(Σ_o a_o·e_o + b·y + k),
//! with coefficients that follow from those sums. So candidates under any objective and outputs under squared error
//! are one piece of code.
//!
//! Eight candidates fill the lanes while inputs are added up, eight examples while activations are taken. The training
//! examples are cut into [`PARTS`] ranges whose sums are added in order: any number of threads gives the same bits.

use super::coded::{Coded, TILE};
use super::columns::Columns;
use crate::Act;
use crate::lanes::{LANES, load, store, sum};
use rayon::prelude::*;
use std::ops::Range;
use wide::f32x8;

/// Units in a group.
pub(super) const GROUP: usize = LANES;

/// Ranges of examples that are summed apart.
const PARTS: usize = 16;

/// Vectors in a tile.
const VECTORS: usize = TILE / LANES;

/// Sums over the training examples, for each unit of the group.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub y: [f64; GROUP],
    pub yy: [f64; GROUP],
    pub ye: Vec<[f64; GROUP]>,
}

/// The coefficients of an objective's derivative.
#[derive(Clone, Debug)]
pub(super) struct Slope {
    pub a: Vec<[f32; GROUP]>,
    pub b: [f32; GROUP],
    pub k: [f32; GROUP],
}

/// What the units of a group see, and room to work.
pub(super) struct Pass<'a> {
    coded: &'a Coded,
    inputs: usize,
    columns: &'a Columns,
    seen: Vec<usize>, // which columns: dense inputs, then units
    residuals: &'a [Vec<f32>],
    weights: Tables,
    acts: [Act; GROUP],
    tiles: usize,
    values: Vec<f32>, // for each tile: y of each unit, then its slope
}

/// Weights by pattern and by dense column, eight lanes each.
struct Tables {
    bias: [f32; GROUP],
    patterns: Vec<[f32; GROUP]>,
    columns: Vec<[f32; GROUP]>,
}

/// A part's share of the gradient.
struct Share {
    bias: f32x8,
    patterns: Vec<[f32; GROUP]>,
    columns: Vec<[f32; GROUP]>,
}

impl<'a> Pass<'a> {
    /// Units of these activations over the inputs and these installed units, with residuals (or targets) by output.
    /// The columns begin with the dense inputs, then come the units.
    pub(super) fn new(
        (coded, columns): (&'a Coded, &'a Columns),
        inputs: usize,
        units: impl Iterator<Item = usize>,
        residuals: &'a [Vec<f32>],
        acts: [Act; GROUP],
    ) -> Self {
        let dense = coded.dense.len();
        let seen: Vec<usize> = (0..dense).chain(units.map(|u| dense + u)).collect();
        let tiles = coded.train.len().div_ceil(TILE);
        let weights = Tables {
            bias: [0.0; GROUP],
            patterns: vec![[0.0; GROUP]; coded.patterns.len()],
            columns: vec![[0.0; GROUP]; seen.len()],
        };
        Pass { coded, inputs, columns, seen, residuals, weights, acts, tiles, values: vec![] }
    }

    /// The place among a unit's weights of the k-th column seen.
    fn weight(&self, k: usize) -> usize {
        self.coded.dense.get(k).map_or(1 + self.inputs + k - self.coded.dense.len(), |(i, _)| 1 + *i as usize)
    }

    /// The weights of each unit: bias, inputs, units (what follows is ignored).
    pub(super) fn set(&mut self, weights: &[Vec<f64>]) {
        let places: Vec<usize> = (0..self.seen.len()).map(|k| self.weight(k)).collect();
        let t = &mut self.weights;
        for (c, w) in weights.iter().enumerate() {
            t.bias[c] = w[0] as f32;
            for (pattern, row) in self.coded.patterns.iter().zip(&mut t.patterns) {
                row[c] = pattern.iter().map(|&(i, v)| w[1 + i as usize] * v as f64).sum::<f64>() as f32;
            }
            t.columns.iter_mut().zip(&places).for_each(|(column, &at)| column[c] = w[at] as f32);
        }
    }

    /// Activations and slopes of all training examples, and their sums.
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
                    let place = (part * per_part + t) * TILE;
                    let (y, slope) = values.split_at_mut(GROUP * TILE);
                    self.sums_of_tile(place, y);
                    self.activate(place, y, slope, &mut sums);
                }
                sums
            })
            .collect();
        self.values = values;
        let mut total = Sums::zero(self.residuals.len());
        parts.iter().for_each(|s| total.add(s));
        total
    }

    /// The sums over these places instead of the training examples; nothing is kept for [`Pass::backward`].
    pub(super) fn judge(&self, places: &Range<usize>) -> Sums {
        let tiles: Vec<usize> = (places.start / TILE..places.end.div_ceil(TILE)).collect();
        let parts: Vec<Sums> = tiles
            .par_chunks(tiles.len().div_ceil(PARTS).max(1))
            .map(|tiles| {
                let mut sums = Sums::zero(self.residuals.len());
                let mut values = [0.0; 2 * GROUP * TILE];
                let (y, slope) = values.split_at_mut(GROUP * TILE);
                for tile in tiles {
                    self.sums_of_tile(tile * TILE, y);
                    self.activate(tile * TILE, y, slope, &mut sums);
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
    fn sums_of_tile(&self, place: usize, z: &mut [f32]) {
        let blocks = &self.coded.blocks[..];
        let patterns = &self.weights.patterns[..];
        let columns = self.columns.tile(place / TILE);
        for v in 0..VECTORS {
            let mut by_example = [f32x8::new(self.weights.bias); LANES];
            for (e, total) in by_example.iter_mut().enumerate() {
                for (&code, block) in self.coded.codes(place + v * LANES + e).iter().zip(blocks) {
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
    fn activate(&self, place: usize, y: &mut [f32], slope: &mut [f32], sums: &mut Sums) {
        for c in 0..GROUP {
            let (y, slope) = (&mut y[c * TILE..][..TILE], &mut slope[c * TILE..][..TILE]);
            let act = self.acts[c];
            let (mut sy, mut syy) = (f32x8::ZERO, f32x8::ZERO);
            let live = &self.coded.live[place..][..TILE];
            for ((y, slope), live) in
                y.chunks_exact_mut(LANES).zip(slope.chunks_exact_mut(LANES)).zip(live.chunks_exact(LANES))
            {
                let (a, b) = act.lanes_slope(load(y));
                let (a, b) = (a * load(live), b * load(live));
                sy += a;
                syy += a * a;
                store(a, y);
                store(b, slope);
            }
            sums.y[c] += sum(sy) as f64;
            sums.yy[c] += sum(syy) as f64;
            for (residual, total) in self.residuals.iter().zip(&mut sums.ye) {
                let mut s = f32x8::ZERO;
                for (y, e) in y.chunks_exact(LANES).zip(residual[place..][..TILE].chunks_exact(LANES)) {
                    s += load(y) * load(e);
                }
                total[c] += sum(s) as f64;
            }
        }
    }

    /// The gradient by each weight of each unit: bias, inputs, units. Follows a [`Pass::forward`].
    pub(super) fn backward(&self, slope: &Slope) -> Vec<Vec<f64>> {
        let size = 2 * GROUP * TILE;
        let per_part = self.tiles.div_ceil(PARTS).max(1);
        let shares: Vec<Share> = self
            .values
            .par_chunks(per_part * size)
            .enumerate()
            .map(|(part, values)| {
                let mut share = Share {
                    bias: f32x8::ZERO,
                    patterns: vec![[0.0; GROUP]; self.coded.patterns.len()],
                    columns: vec![[0.0; GROUP]; self.seen.len()],
                };
                let mut delta = [0.0; GROUP * TILE];
                for (t, values) in values.chunks_exact(size).enumerate() {
                    let place = (part * per_part + t) * TILE;
                    self.deltas(place, values, slope, &mut delta);
                    self.gather(place, &delta, &mut share);
                }
                share
            })
            .collect();
        self.fold(&shares)
    }

    #[inline]
    fn deltas(&self, place: usize, values: &[f32], slope: &Slope, delta: &mut [f32]) {
        let (y, slopes) = values.split_at(GROUP * TILE);
        for c in 0..GROUP {
            let (b, k) = (f32x8::splat(slope.b[c]), f32x8::splat(slope.k[c]));
            for v in 0..VECTORS {
                let at = c * TILE + v * LANES;
                let mut d = load(&y[at..]) * b + k;
                for (residual, a) in self.residuals.iter().zip(&slope.a) {
                    d += load(&residual[place + v * LANES..]) * f32x8::splat(a[c]);
                }
                store(d * load(&slopes[at..]), &mut delta[at..]);
            }
        }
    }

    #[inline]
    fn gather(&self, place: usize, delta: &[f32], share: &mut Share) {
        for v in 0..VECTORS {
            let mut by_unit = [f32x8::ZERO; LANES];
            for (c, d) in by_unit.iter_mut().enumerate() {
                *d = load(&delta[c * TILE + v * LANES..]);
            }
            for (e, d) in f32x8::transpose(by_unit).into_iter().enumerate() {
                share.bias += d;
                for (&code, block) in self.coded.codes(place + v * LANES + e).iter().zip(&self.coded.blocks) {
                    let row = &mut share.patterns[block.first + code as usize];
                    *row = (f32x8::new(*row) + d).to_array();
                }
            }
        }
        for (&column, total) in self.seen.iter().zip(&mut share.columns) {
            let column = self.columns.part(place / TILE, column);
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

    /// Adds the parts in order and goes from patterns back to inputs.
    fn fold(&self, shares: &[Share]) -> Vec<Vec<f64>> {
        let add = |of: &dyn Fn(&Share) -> f32| shares.iter().map(|s| of(s) as f64).sum::<f64>();
        let width = 1 + self.inputs + self.seen.len() - self.coded.dense.len();
        let gradient = |c: usize| {
            let mut g = vec![0.0; width];
            g[0] = add(&|s| s.bias.to_array()[c]);
            for (p, pattern) in self.coded.patterns.iter().enumerate() {
                let total = add(&|s| s.patterns[p][c]);
                pattern.iter().for_each(|&(i, v)| g[1 + i as usize] += total * v as f64);
            }
            (0..self.seen.len()).for_each(|k| g[self.weight(k)] += add(&|s| s.columns[k][c]));
            g
        };
        (0..GROUP).map(gradient).collect()
    }

    /// The activations of the first unit on every example there is, padding included (0 there).
    pub(super) fn column(&self) -> Vec<f32> {
        let mut column = vec![0.0; self.coded.places()];
        column.par_chunks_mut(TILE).enumerate().for_each(|(t, out)| {
            let mut z = [0.0; GROUP * TILE];
            self.sums_of_tile(t * TILE, &mut z);
            let live = &self.coded.live[t * TILE..][..TILE];
            for ((z, live), out) in z.chunks_exact(LANES).zip(live.chunks_exact(LANES)).zip(out.chunks_exact_mut(LANES))
            {
                store(self.acts[0].lanes(load(z)) * load(live), out);
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
