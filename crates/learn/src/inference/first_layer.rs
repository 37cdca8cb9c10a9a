//! The first layer as integer columns, one per fact.
//!
//! Unit j keeps its weights as round(w·2^s), with s the largest for which the sum of all |w| of that unit stays below
//! 2^30: no sum can overflow, and the grid is 2^-30 of the largest possible sum, finer than an `f32` of that size.

use crate::Activation;
use crate::encode::{Encoder, MoveInputs};
use crate::simd::LANES;
use ludex_core::{Fact, Move};
use wide::{f32x8, i32x8};

/// Integer columns, and which column a fact has in each view.
#[derive(Clone, Debug)]
pub(super) struct FirstLayer {
    width: usize,        // registers for all units
    columns: Vec<i32x8>, // registers, not numbers, so that no load crosses a cache line
    bias: Vec<i32x8>,
    unscale: Vec<f32x8>,
    mirror: Option<Vec<u32>>, // for the second view, the column of a fact
    per_fact: usize,          // columns of a fact: 1, or one for each move
    moves_at: usize,          // where the columns of moves begin, if moves are inputs
}

impl FirstLayer {
    /// `weights[i * bias.len() + j]` is the weight from input `i` to unit `j`.
    pub(super) fn new(weights: &[f32], bias: &[f32], encoder: &Encoder) -> Self {
        let (columns, bias) = fold_encoder(weights, bias, encoder);
        let units = bias.len();
        let facts = encoder.fact_count();
        let count = columns.len() / units;
        let width = units.div_ceil(LANES);
        let scale: Vec<f64> = (0..units)
            .map(|j| {
                let most = bias[j].abs() + (0..count).map(|k| columns[k * units + j].abs()).sum::<f64>();
                if most > 0.0 { (30.0 - most.log2()).floor().clamp(-90.0, 90.0).exp2() } else { 1.0 }
            })
            .collect();
        let grid = |column: &[f64], j: usize| column.get(j).map_or(0, |w| (w * scale[j]).round() as i32);
        let row = |column: &[f64]| -> Vec<i32x8> {
            let register = |r: usize| i32x8::new(std::array::from_fn(|l| grid(column, r * LANES + l)));
            (0..width).map(register).collect()
        };
        let unscale = |j: usize| scale.get(j).map_or(1.0, |s| (1.0 / s) as f32);
        FirstLayer {
            width,
            columns: columns.chunks_exact(units).flat_map(row).collect(),
            bias: row(&bias),
            unscale: (0..width).map(|r| f32x8::new(std::array::from_fn(|l| unscale(r * LANES + l)))).collect(),
            mirror: encoder.mirror().map(|m| m.facts.iter().map(|f| f.0).collect()),
            per_fact: if let MoveInputs::Crossed { moves } = encoder.move_inputs() { moves } else { 1 },
            moves_at: facts,
        }
    }

    /// The number of registers that hold one sum for each unit.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The number of views: 2 if the encoder is mover-relative, else 1.
    pub(super) fn views(&self) -> usize {
        1 + self.mirror.is_some() as usize
    }

    /// The sums without any facts.
    pub(super) fn bias(&self) -> &[i32x8] {
        &self.bias
    }

    fn column(&self, k: usize) -> &[i32x8] {
        &self.columns[k * self.width..][..self.width]
    }

    fn fact_column(&self, view: usize, f: Fact) -> &[i32x8] {
        self.column(self.column_of(view, f))
    }

    fn move_column(&self, m: Move) -> &[i32x8] {
        self.column(self.moves_at + m.index())
    }

    /// The column of a fact in a view.
    #[inline(always)]
    fn column_of(&self, view: usize, f: Fact) -> usize {
        match &self.mirror {
            Some(mirror) if view == 1 => mirror[f.index()] as usize,
            _ => f.index(),
        }
    }

    /// `sums` becomes `from` plus the columns of these facts.
    pub(super) fn sum(&self, view: usize, facts: &[Fact], from: &[i32x8], sums: &mut [i32x8]) {
        match &self.mirror {
            Some(mirror) if view == 1 => self.accumulate(from, sums, facts.iter().map(|f| mirror[f.index()] as usize)),
            _ => self.accumulate(from, sums, facts.iter().map(|f| f.index())),
        }
    }

    /// As [`FirstLayer::sum`] with the columns of pairs of fact and move.
    pub(super) fn sum_crossed(&self, view: usize, facts: &[Fact], m: Move, sums: &mut [i32x8]) {
        let column = |&f: &Fact| self.column_of(view, f) * self.per_fact + m.index();
        self.accumulate(&self.bias, sums, facts.iter().map(column));
    }

    /// Adds up columns while the sums stay in registers: fourteen of the sixteen of x86-64-v3, several times if there
    /// are more.
    #[inline(always)]
    fn accumulate(&self, from: &[i32x8], sums: &mut [i32x8], columns: impl Iterator<Item = usize> + Clone) {
        match self.width {
            1 => self.accumulate_registers::<1>(from, sums, columns),
            2 => self.accumulate_registers::<2>(from, sums, columns),
            3 => self.accumulate_registers::<3>(from, sums, columns),
            4 => self.accumulate_registers::<4>(from, sums, columns),
            5 => self.accumulate_registers::<5>(from, sums, columns),
            6 => self.accumulate_registers::<6>(from, sums, columns),
            7 => self.accumulate_registers::<7>(from, sums, columns),
            8 => self.accumulate_registers::<8>(from, sums, columns),
            9 => self.accumulate_registers::<9>(from, sums, columns),
            10 => self.accumulate_registers::<10>(from, sums, columns),
            11 => self.accumulate_registers::<11>(from, sums, columns),
            12 => self.accumulate_registers::<12>(from, sums, columns),
            13 => self.accumulate_registers::<13>(from, sums, columns),
            14 => self.accumulate_registers::<14>(from, sums, columns),
            _ => {
                for at in (0..self.width).step_by(14) {
                    let end = (at + 14).min(self.width);
                    sums[at..end].copy_from_slice(&from[at..end]);
                    columns.clone().for_each(|k| plus(&mut sums[at..end], &self.column(k)[at..end]));
                }
            }
        }
    }

    #[inline(always)]
    fn accumulate_registers<const N: usize>(
        &self,
        from: &[i32x8],
        sums: &mut [i32x8],
        columns: impl Iterator<Item = usize>,
    ) {
        let all = self.columns.as_chunks::<N>().0;
        let mut total: [i32x8; N] = from[..N].try_into().expect("as many");
        for k in columns {
            for (t, c) in total.iter_mut().zip(&all[k]) {
                *t += *c;
            }
        }
        sums[..N].copy_from_slice(&total);
    }

    /// Adds the columns of these facts.
    pub(super) fn add(&self, view: usize, facts: &[Fact], sums: &mut [i32x8]) {
        facts.iter().for_each(|&f| plus(sums, self.fact_column(view, f)));
    }

    /// Subtracts the columns of these facts.
    pub(super) fn remove(&self, view: usize, facts: &[Fact], sums: &mut [i32x8]) {
        facts.iter().for_each(|&f| minus(sums, self.fact_column(view, f)));
    }

    /// Adds the column of a move.
    pub(super) fn add_move(&self, m: Move, sums: &mut [i32x8]) {
        plus(sums, self.move_column(m));
    }

    /// Subtracts the column of a move.
    pub(super) fn remove_move(&self, m: Move, sums: &mut [i32x8]) {
        minus(sums, self.move_column(m));
    }

    /// Integer sums as `f32`.
    #[inline(always)]
    pub(super) fn floats<'a>(&'a self, sums: &'a [i32x8]) -> impl Iterator<Item = f32x8> + 'a {
        sums.iter().zip(&self.unscale).map(|(s, u)| f32x8::from_i32x8(*s) * *u)
    }

    /// Writes integer sums as `f32` to `z`.
    #[inline(always)]
    pub(super) fn write_floats(&self, sums: &[i32x8], z: &mut [f32x8]) {
        self.floats(sums).zip(z).for_each(|(number, z)| *z = number);
    }

    /// Writes the activations of integer sums to `y`.
    #[inline(always)]
    pub(super) fn activations(&self, act: Activation, sums: &[i32x8], y: &mut [f32x8]) {
        self.floats(sums).zip(y).for_each(|(number, y)| *y = act.apply_x8(number));
    }

    /// Register `r` of eight states, transposed: one register per unit. Missing states are zero.
    #[inline(always)]
    pub(super) fn transposed(&self, rows: &[i32x8], r: usize) -> [f32x8; LANES] {
        let mut block = [f32x8::ZERO; LANES];
        for (b, row) in block.iter_mut().zip(rows.chunks_exact(self.width)) {
            *b = f32x8::from_i32x8(row[r]) * self.unscale[r];
        }
        f32x8::transpose(block)
    }

    /// The sums as `f32` in plain loops, for [`super::InferenceNet::plain`].
    pub(super) fn plain(&self, view: usize, facts: &[Fact]) -> Vec<f32> {
        (0..self.width * LANES)
            .map(|j| {
                let lane = |row: &[i32x8]| row[j / LANES].to_array()[j % LANES];
                let sum = lane(&self.bias) + facts.iter().map(|&f| lane(self.fact_column(view, f))).sum::<i32>();
                sum as f32 * self.unscale[j / LANES].to_array()[j % LANES]
            })
            .collect()
    }
}

#[inline(always)]
fn plus(sums: &mut [i32x8], column: &[i32x8]) {
    sums.iter_mut().zip(column).for_each(|(s, c)| *s += *c);
}

#[inline(always)]
fn minus(sums: &mut [i32x8], column: &[i32x8]) {
    sums.iter_mut().zip(column).for_each(|(s, c)| *s -= *c);
}

/// One column of weights per fact (and per move, or per pair of both), and the bias, with the encoder folded in.
pub(super) fn fold_encoder(weights: &[f32], bias: &[f32], encoder: &Encoder) -> (Vec<f64>, Vec<f64>) {
    let units = bias.len();
    let weight = |i: usize, j: usize| weights[i * units + j] as f64;
    let moves = encoder.input_moves().unwrap_or(0);
    // Which input each column stands for, and how much of it.
    let columns: Vec<(usize, f64)> = match (encoder.codes(), encoder.move_inputs()) {
        (None, _) => (0..encoder.inputs()).map(|i| (i, 1.0)).collect(),
        (Some(codes), actions) => {
            let fact = |code: &Option<(u32, f32)>| {
                code.map_or((0, 0.0), |(i, c)| (i as usize, c as f64 - codes.base[i as usize] as f64))
            };
            let beside = if actions == MoveInputs::None { 0..0 } else { codes.base.len()..codes.base.len() + moves };
            codes.by_fact.iter().map(fact).chain(beside.map(|i| (i, 1.0))).collect()
        }
    };
    let base = encoder.codes().map_or(&[][..], |c| &c.base);
    let bias = (0..units)
        .map(|j| bias[j] as f64 + base.iter().enumerate().map(|(i, &b)| b as f64 * weight(i, j)).sum::<f64>())
        .collect();
    let folded = columns.iter().flat_map(|&(i, c)| (0..units).map(move |j| c * weight(i, j))).collect();
    (folded, bias)
}
