//! The first layer as integer columns, one per fact.
//!
//! Unit j keeps its weights as round(w·2^s), with s the largest for which the sum of all |w| of that unit stays below
//! 2^30: no sum can overflow, and the grid is 2^-30 of the largest possible sum, finer than an `f32` of that size.

use crate::encode::{Actions, Encoder};
use crate::lanes::{LANES, load, load_int, padded, store};
use ludex_core::{Fact, Move};
use wide::{f32x8, i32x8};

/// Integer columns and how to read facts as columns.
#[derive(Clone, Debug)]
pub(super) struct First {
    width: usize, // padded
    columns: Vec<i32>,
    bias: Vec<i32>,
    unscale: Vec<f32>,
    maps: Vec<Vec<u32>>, // for each view, the column of a fact
    moves_at: usize,     // where the columns of moves begin, if moves are inputs
}

impl First {
    /// `weights[i * bias.len() + j]` leads from input `i` to unit `j`.
    pub(super) fn new(weights: &[f32], bias: &[f32], encoder: &Encoder) -> Self {
        let (columns, bias) = fold_encoder(weights, bias, encoder);
        let units = bias.len();
        let facts = encoder.fact_count();
        let count = columns.len() / units;
        let width = padded(units);
        let scale: Vec<f64> = (0..units)
            .map(|j| {
                let most = bias[j].abs() + (0..count).map(|k| columns[k * units + j].abs()).sum::<f64>();
                if most > 0.0 { (30.0 - most.log2()).floor().clamp(-90.0, 90.0).exp2() } else { 1.0 }
            })
            .collect();
        let grid = |value: f64, j: usize| (value * scale[j]).round() as i32;
        let mut first = First {
            width,
            columns: vec![0; count * width],
            bias: vec![0; width],
            unscale: vec![1.0; width],
            maps: vec![(0..facts as u32).collect()],
            moves_at: facts,
        };
        for j in 0..units {
            first.unscale[j] = (1.0 / scale[j]) as f32;
            first.bias[j] = grid(bias[j], j);
            for k in 0..count {
                first.columns[k * width + j] = grid(columns[k * units + j], j);
            }
        }
        first.maps.extend(encoder.mirror().map(|m| m.facts.iter().map(|f| f.0).collect()));
        first
    }

    /// Units, rounded up to whole registers.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// 1, or 2 if each mover sees the facts in another way.
    pub(super) fn views(&self) -> usize {
        self.maps.len()
    }

    /// The sums of no facts at all.
    pub(super) fn bias(&self) -> &[i32] {
        &self.bias
    }

    fn column(&self, k: usize) -> &[i32] {
        &self.columns[k * self.width..][..self.width]
    }

    pub(super) fn move_column(&self, m: Move) -> &[i32] {
        self.column(self.moves_at + m.index())
    }

    /// `sums` becomes `from` plus the columns of these facts.
    pub(super) fn sum(&self, view: usize, facts: &[Fact], from: &[i32], sums: &mut [i32]) {
        let map = &self.maps[view][..];
        self.accumulate(from, sums, facts.iter().map(|f| map[f.index()] as usize));
    }

    /// As [`First::sum`] with fact f and move m at column f·stride + m.
    pub(super) fn sum_crossed(&self, view: usize, facts: &[Fact], m: Move, stride: usize, sums: &mut [i32]) {
        let map = &self.maps[view][..];
        self.accumulate(&self.bias, sums, facts.iter().map(|f| map[f.index()] as usize * stride + m.index()));
    }

    /// Runs over the columns once per block of registers, so that a block's sums never leave them.
    #[inline(always)]
    fn accumulate(&self, from: &[i32], sums: &mut [i32], columns: impl Iterator<Item = usize> + Clone) {
        let mut at = 0;
        while at < self.width {
            let blocks = ((self.width - at) / LANES).min(8);
            match blocks {
                8 => self.block::<8>(at, from, sums, columns.clone()),
                7 => self.block::<7>(at, from, sums, columns.clone()),
                6 => self.block::<6>(at, from, sums, columns.clone()),
                5 => self.block::<5>(at, from, sums, columns.clone()),
                4 => self.block::<4>(at, from, sums, columns.clone()),
                3 => self.block::<3>(at, from, sums, columns.clone()),
                2 => self.block::<2>(at, from, sums, columns.clone()),
                _ => self.block::<1>(at, from, sums, columns.clone()),
            }
            at += blocks * LANES;
        }
    }

    #[inline(always)]
    fn block<const N: usize>(&self, at: usize, from: &[i32], sums: &mut [i32], columns: impl Iterator<Item = usize>) {
        let mut total = [i32x8::ZERO; N];
        for (k, t) in total.iter_mut().enumerate() {
            *t = load_int(&from[at + k * LANES..]);
        }
        for column in columns {
            let column = &self.columns[column * self.width + at..][..N * LANES];
            for (k, t) in total.iter_mut().enumerate() {
                *t += load_int(&column[k * LANES..]);
            }
        }
        for (k, t) in total.iter().enumerate() {
            sums[at + k * LANES..][..LANES].copy_from_slice(&t.to_array());
        }
    }

    /// Adds the columns of these facts.
    pub(super) fn add(&self, view: usize, facts: &[Fact], sums: &mut [i32]) {
        for f in facts {
            let column = self.column(self.maps[view][f.index()] as usize);
            sums.iter_mut().zip(column).for_each(|(s, c)| *s = s.wrapping_add(*c));
        }
    }

    /// Takes the columns of these facts away.
    pub(super) fn remove(&self, view: usize, facts: &[Fact], sums: &mut [i32]) {
        for f in facts {
            let column = self.column(self.maps[view][f.index()] as usize);
            sums.iter_mut().zip(column).for_each(|(s, c)| *s = s.wrapping_sub(*c));
        }
    }

    /// Integer sums as numbers.
    #[inline]
    pub(super) fn floats(&self, sums: &[i32], z: &mut [f32]) {
        for ((s, u), z) in sums.chunks_exact(LANES).zip(self.unscale.chunks_exact(LANES)).zip(z.chunks_exact_mut(LANES))
        {
            store(f32x8::from_i32x8(load_int(s)) * load(u), z);
        }
    }

    /// The sums plus one more column, as numbers.
    pub(super) fn floats_with(&self, sums: &[i32], column: &[i32], z: &mut [f32]) {
        let both = sums.chunks_exact(LANES).zip(column.chunks_exact(LANES));
        for (((s, c), u), z) in both.zip(self.unscale.chunks_exact(LANES)).zip(z.chunks_exact_mut(LANES)) {
            store(f32x8::from_i32x8(load_int(s) + load_int(c)) * load(u), z);
        }
    }

    /// Eight states by eight units from `at` on, transposed: one register per unit. Missing states are zero.
    #[inline(always)]
    pub(super) fn transposed(&self, rows: &[i32], at: usize) -> [f32x8; LANES] {
        let unscale = load(&self.unscale[at..]);
        let mut block = [f32x8::ZERO; LANES];
        for (b, row) in block.iter_mut().zip(rows.chunks_exact(self.width)) {
            *b = f32x8::from_i32x8(load_int(&row[at..])) * unscale;
        }
        f32x8::transpose(block)
    }

    /// The oracle: sums in plain loops.
    pub(super) fn plain(&self, view: usize, facts: &[Fact]) -> Vec<f32> {
        (0..self.width)
            .map(|j| {
                let columns = facts.iter().map(|f| self.columns[self.maps[view][f.index()] as usize * self.width + j]);
                (self.bias[j] + columns.sum::<i32>()) as f32 * self.unscale[j]
            })
            .collect()
    }
}

/// One column of weights per fact (and per move, or per pair of both), and the bias, with the encoder's codes folded in.
pub(super) fn fold_encoder(weights: &[f32], bias: &[f32], encoder: &Encoder) -> (Vec<f64>, Vec<f64>) {
    let units = bias.len();
    let weight = |i: usize, j: usize| weights[i * units + j] as f64;
    let moves = encoder.action_moves().unwrap_or(0);
    // Which input each column stands for, and how much of it.
    let columns: Vec<(usize, f64)> = match (encoder.table(), encoder.actions()) {
        (None, _) => (0..encoder.inputs()).map(|i| (i, 1.0)).collect(),
        (Some(table), actions) => {
            let fact = |code: &Option<(u32, f32)>| {
                code.map_or((0, 0.0), |(i, c)| (i as usize, c as f64 - table.base[i as usize] as f64))
            };
            let beside = if actions == Actions::None { 0..0 } else { table.base.len()..table.base.len() + moves };
            table.codes.iter().map(fact).chain(beside.map(|i| (i, 1.0))).collect()
        }
    };
    let base = encoder.table().map_or(&[][..], |t| &t.base);
    let bias = (0..units)
        .map(|j| bias[j] as f64 + base.iter().enumerate().map(|(i, &b)| b as f64 * weight(i, j)).sum::<f64>())
        .collect();
    let folded = columns.iter().flat_map(|&(i, c)| (0..units).map(move |j| c * weight(i, j))).collect();
    (folded, bias)
}
