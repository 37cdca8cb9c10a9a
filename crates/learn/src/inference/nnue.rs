//! NNUE at play, in integers: exact, incremental, and the same on every machine.
//!
//! | | scale | kept as |
//! |---|---|---|
//! | accumulator z | 2^10, less where sums could overflow | `i16` |
//! | activations, clamp(z, 0, 1)² and clamp(h, 0, 1) | 2^12 | `i16` |
//! | weights of heads | a power of two for each layer, at most 2^13, so that no sum overflows | `i16` |
//! | sums of heads | product of the two | `i32` |
//!
//! Integer sums do not depend on their order, so an accumulator that followed a line of play equals one that was summed
//! afresh, bit by bit. [`QuantisedNnue::plain`] spells the computation out in plain loops; the tests compare every other way
//! with it.

use crate::nnue::{HIDDEN, Nnue, Phases};
use crate::{Activation, Error, Layer};
use ludex_core::{Fact, Player};
use wide::{i16x16, i32x8};

/// Lanes of `i16` in a register.
const LANES: usize = 16;
/// The most registers of an accumulator.
const REGISTERS: usize = 1024 / LANES;
/// Bits after the point of accumulators, at most.
const ACCUMULATOR_BITS: u32 = 10;
/// Bits after the point of activations.
const ACTIVATION_BITS: u32 = 12;
/// Bits after the point of a head's weights, at most.
const WEIGHT_BITS: u32 = 13;
/// A fact without a column.
const NONE: u32 = u32::MAX;

/// An NNUE laid out for search. Immutable, so that threads share it.
#[derive(Clone, Debug)]
pub struct QuantisedNnue {
    registers: usize,
    columns: Vec<i16x16>,
    bias: Vec<i16x16>,
    /// The first register of each fact's column, or [`NONE`].
    column_of: Vec<u32>,
    /// What is taken from the left shift of 2^4 that squares need.
    accumulator_bits: u32,
    phases: Phases,
    heads: Vec<QuantisedHead>,
}

/// The layers of one head. Weights of units `u` and `u + half` lie side by side, for products of pairs.
#[derive(Clone, Debug)]
struct QuantisedHead {
    /// By pair of accumulator lanes: two registers, the weights to units 0 to 7 and 8 to 15.
    first: Vec<[i16x16; 2]>,
    first_bias: [i32x8; 2],
    first_shift: u32,
    second: [[i16x16; 2]; HIDDEN / 2],
    second_bias: [i32x8; 2],
    second_shift: u32,
    /// By output.
    last: Vec<(i16x16, i32)>,
    last_scale: f32,
}

/// The accumulators along a line of play, and how many counted facts hold; made by [`QuantisedNnue::stack`].
#[derive(Clone, Debug)]
pub struct NnueStack {
    sums: Vec<i16x16>,
    counts: Vec<i32>,
    depth: usize,
}

impl NnueStack {
    /// How many moves the line has.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The last move was taken back.
    #[inline]
    pub fn pop(&mut self) {
        debug_assert!(self.depth > 0);
        self.depth -= 1;
    }
}

/// Weights on the finest grid whose sums stay below 2^31 / 2^[`ACTIVATION_BITS`], by layer; and the bits of that grid.
fn weight_bits(layer: &Layer) -> u32 {
    let sum = |o: usize| (0..layer.inputs).map(|i| layer.column(i)[o].abs() as f64).sum::<f64>();
    let bias = layer.bias.iter().fold(0.0, |m: f64, b| m.max(b.abs() as f64));
    let most = (0..layer.outputs).map(sum).fold(0.0, f64::max) + bias + 1.0;
    let largest = layer.weights.iter().fold(0.0, |m: f64, w| m.max(w.abs() as f64));
    let fits = |bits: u32| {
        let one = (1u64 << bits) as f64;
        largest * one < i16::MAX as f64 && most * one * f64::from(1 << ACTIVATION_BITS) < i32::MAX as f64
    };
    (0..=WEIGHT_BITS).rev().find(|&b| fits(b)).unwrap_or(0)
}

fn grid(w: f32, bits: u32) -> i16 {
    (w as f64 * (1u64 << bits) as f64).round().clamp(i16::MIN as f64, i16::MAX as f64) as i16
}

/// The biases of sixteen units on the grid of sums, with half a unit more for rounding.
fn hidden_bias(layer: &Layer, bits: u32) -> [i32x8; 2] {
    let one = f64::from(1 << ACTIVATION_BITS) * (1u64 << bits) as f64;
    let half = if bits > 0 { 1 << (bits - 1) } else { 0 };
    let bias = |u: usize| (layer.bias[u] as f64 * one).round() as i32 + half;
    [0, 8].map(|at| i32x8::new(std::array::from_fn(|l| bias(at + l))))
}

/// The weights from inputs `i` and `j` to units 0 to 7 and 8 to 15.
fn pair(layer: &Layer, i: usize, j: usize, bits: u32) -> [i16x16; 2] {
    let lane = |at: usize, l: usize| grid(layer.column(if l.is_multiple_of(2) { i } else { j })[at + l / 2], bits);
    [0, 8].map(|at| i16x16::new(std::array::from_fn(|l| lane(at, l))))
}

impl QuantisedHead {
    fn new(head: &[Layer; 3]) -> Self {
        let bits: Vec<u32> = head.iter().map(weight_bits).collect();
        let [first, second, last] = head;
        let one = (1u64 << (ACTIVATION_BITS + bits[2])) as f64;
        let output = |o: usize| {
            let lane = |l: usize| grid(last.column(l / 2 + if l.is_multiple_of(2) { 0 } else { 8 })[o], bits[2]);
            (i16x16::new(std::array::from_fn(lane)), (last.bias[o] as f64 * one).round() as i32)
        };
        QuantisedHead {
            first: (0..first.inputs / 2).map(|k| pair(first, 2 * k, 2 * k + 1, bits[0])).collect(),
            first_bias: hidden_bias(first, bits[0]),
            first_shift: bits[0],
            second: std::array::from_fn(|k| pair(second, k, k + 8, bits[1])),
            second_bias: hidden_bias(second, bits[1]),
            second_shift: bits[1],
            last: (0..last.outputs).map(output).collect(),
            last_scale: (1.0 / one) as f32,
        }
    }

    /// From activations, two in each number, to the raw outputs.
    #[inline(always)]
    fn run(&self, pairs: &[i32], out: &mut [f32]) {
        let mut sums = [[self.first_bias[0], self.first_bias[1]], [i32x8::ZERO; 2], [i32x8::ZERO; 2], [i32x8::ZERO; 2]];
        for (w, x) in self.first.as_chunks::<4>().0.iter().zip(pairs.as_chunks::<4>().0) {
            for k in 0..4 {
                let x: i16x16 = bytemuck::cast(i32x8::splat(x[k]));
                sums[k][0] += x.dot(w[k][0]);
                sums[k][1] += x.dot(w[k][1]);
            }
        }
        let total = |j: usize| (sums[0][j] + sums[1][j]) + (sums[2][j] + sums[3][j]);
        let hidden = pack(total(0), total(1), self.first_shift).to_array();
        let mut sums = self.second_bias;
        for (w, x) in self.second.iter().zip(hidden) {
            let x: i16x16 = bytemuck::cast(i32x8::splat(x));
            sums[0] += x.dot(w[0]);
            sums[1] += x.dot(w[1]);
        }
        let hidden: i16x16 = bytemuck::cast(pack(sums[0], sums[1], self.second_shift));
        for (out, (w, bias)) in out.iter_mut().zip(&self.last) {
            *out = (hidden.dot(*w).reduce_add() + bias) as f32 * self.last_scale;
        }
    }

    /// The same in plain loops.
    fn plain(&self, y: &[i16]) -> Vec<f32> {
        let clip = |v: i32| v.clamp(0, 1 << ACTIVATION_BITS);
        let layer = |weights: &dyn Fn(usize, usize) -> i16, bias: &[i32x8; 2], shift: u32, y: &[i32]| -> Vec<i32> {
            let bias = |u: usize| bias[u / 8].to_array()[u % 8];
            let sum = |u: usize| y.iter().enumerate().fold(bias(u), |s, (i, y)| s + y * weights(i, u) as i32);
            (0..HIDDEN).map(|u| clip(sum(u) >> shift)).collect()
        };
        let first = |i: usize, u: usize| self.first[i / 2][u / 8].to_array()[u % 8 * 2 + i % 2];
        let second = |i: usize, u: usize| self.second[i % 8][u / 8].to_array()[u % 8 * 2 + i / 8];
        let y: Vec<i32> = y.iter().map(|&v| v as i32).collect();
        let hidden = layer(&first, &self.first_bias, self.first_shift, &y);
        let hidden = layer(&second, &self.second_bias, self.second_shift, &hidden);
        let last = |(w, bias): &(i16x16, i32)| {
            let w = w.to_array();
            let sum = (0..HIDDEN).fold(*bias, |s, i| s + hidden[i] * w[i % 8 * 2 + i / 8] as i32);
            sum as f32 * self.last_scale
        };
        self.last.iter().map(last).collect()
    }
}

/// Two registers of sums as activations: units 0 to 7 in the lower halves of the lanes, 8 to 15 in the upper ones.
#[inline(always)]
fn pack(low: i32x8, high: i32x8, shift: u32) -> i32x8 {
    let clip = |v: i32x8| v.unbounded_shr_scalar(shift).max(i32x8::ZERO).min(i32x8::splat(1 << ACTIVATION_BITS));
    clip(low) | (clip(high) << 16)
}

impl QuantisedNnue {
    /// Lays a net out for play; an error if its parts do not fit together.
    pub fn new(net: &Nnue) -> Result<Self, Error> {
        net.check()?;
        let (width, facts, t) = (net.width(), net.facts(), &net.transformer);
        // The largest sum of a unit: its bias and as many of its largest weights as facts hold at once.
        let mut most = 0.0f64;
        for j in 0..width {
            let mut weights: Vec<f32> = (0..facts).map(|f| t.column(f)[j].abs()).collect();
            let n = net.most_active.min(facts);
            if n < weights.len() {
                weights.select_nth_unstable_by(n, |a, b| b.total_cmp(a));
            }
            most = most.max(t.bias[j].abs() as f64 + weights[..n].iter().map(|&w| w as f64).sum::<f64>());
        }
        let fits = |bits: u32| (most * f64::from(1 << bits) + net.most_active as f64) < i16::MAX as f64;
        let bits = (0..=ACCUMULATOR_BITS).rev().find(|&b| fits(b)).unwrap_or(0);
        let registers = width / LANES;
        let row = |w: &[f32]| -> Vec<i16x16> {
            w.as_chunks::<LANES>().0.iter().map(|c| i16x16::new(c.map(|w| grid(w, bits)))).collect()
        };
        let (mut columns, mut column_of) = (Vec::new(), Vec::with_capacity(facts));
        for f in 0..facts {
            let used = t.column(f).iter().any(|&w| w != 0.0);
            column_of.push(if used { columns.len() as u32 } else { NONE });
            if used {
                columns.extend(row(t.column(f)));
            }
        }
        Ok(QuantisedNnue {
            registers,
            columns,
            bias: row(&t.bias),
            column_of,
            accumulator_bits: bits,
            phases: net.phases.clone(),
            heads: net.heads.iter().map(QuantisedHead::new).collect(),
        })
    }

    /// The number of facts.
    pub fn facts(&self) -> usize {
        self.column_of.len()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.heads[0].last.len()
    }

    /// A stack for a line of play; [`QuantisedNnue::refresh`] fills it.
    pub fn stack(&self) -> NnueStack {
        NnueStack { sums: self.bias.clone(), counts: vec![0], depth: 0 }
    }

    /// A line begins at the state with these facts.
    pub fn refresh(&self, stack: &mut NnueStack, facts: &[Fact]) {
        stack.depth = 0;
        stack.sums[..self.registers].copy_from_slice(&self.bias);
        for f in facts {
            let at = self.column_of[f.index()];
            if at != NONE {
                let column = &self.columns[at as usize..][..self.registers];
                stack.sums[..self.registers].iter_mut().zip(column).for_each(|(s, c)| *s += *c);
            }
        }
        stack.counts[0] = self.count(facts);
    }

    fn count(&self, facts: &[Fact]) -> i32 {
        facts.iter().filter(|f| self.phases.counts(f.index())).count() as i32
    }

    /// A move was played that turned these facts on and off.
    #[inline]
    pub fn push(&self, stack: &mut NnueStack, on: &[Fact], off: &[Fact]) {
        let (r, d) = (self.registers, stack.depth);
        if stack.sums.len() < (d + 2) * r {
            stack.sums.resize((d + 2) * r, i16x16::ZERO);
            stack.counts.resize(d + 2, 0);
        }
        let (before, after) = stack.sums.split_at_mut((d + 1) * r);
        self.add(&before[d * r..], on, off, &mut after[..r]);
        stack.counts[d + 1] = stack.counts[d] + self.count(on) - self.count(off);
        stack.depth += 1;
    }

    /// A move was played that turned these facts on and off, and the line begins after it: it cannot be taken back.
    pub fn update(&self, stack: &mut NnueStack, on: &[Fact], off: &[Fact]) {
        debug_assert_eq!(stack.depth, 0);
        let mut sums = [i16x16::ZERO; REGISTERS];
        self.add(&stack.sums[..self.registers], on, off, &mut sums[..self.registers]);
        stack.sums[..self.registers].copy_from_slice(&sums[..self.registers]);
        stack.counts[0] += self.count(on) - self.count(off);
    }

    /// `to` becomes `from` with these facts on and off.
    #[inline]
    fn add(&self, from: &[i16x16], on: &[Fact], off: &[Fact], to: &mut [i16x16]) {
        match self.registers {
            4 => self.add_blocks::<4>(from, on, off, to),
            _ => self.add_blocks::<8>(from, on, off, to),
        }
    }

    #[inline(always)]
    fn add_blocks<const N: usize>(&self, from: &[i16x16], on: &[Fact], off: &[Fact], to: &mut [i16x16]) {
        let blocks = from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0).enumerate();
        for (b, (from, to)) in blocks {
            let mut sums = *from;
            let column = |f: &Fact| {
                let at = self.column_of[f.index()];
                (at != NONE).then(|| self.columns[at as usize + b * N..].first_chunk::<N>().expect("a whole column"))
            };
            for c in on.iter().filter_map(column) {
                (0..N).for_each(|k| sums[k] += c[k]);
            }
            for c in off.iter().filter_map(column) {
                (0..N).for_each(|k| sums[k] -= c[k]);
            }
            *to = sums;
        }
    }

    /// The raw output of a head for accumulated sums.
    #[inline(always)]
    fn run(&self, sums: &[i16x16], head: usize, out: &mut [f32]) {
        let mut y = [i16x16::ZERO; REGISTERS];
        let (one, shift) = (i16x16::splat(1 << self.accumulator_bits), 14 - self.accumulator_bits);
        for (y, z) in y.iter_mut().zip(sums) {
            let a = z.max(i16x16::ZERO).min(one) << shift;
            *y = a.mul_keep_high(a);
        }
        let pairs: &[i32] = bytemuck::cast_slice(&y[..sums.len()]);
        self.heads[head].run(pairs, out);
    }

    fn head(&self, mover: Player, count: i32) -> usize {
        let phase = if self.phases.is_empty() { 0 } else { self.phases.phase(count as u32) };
        mover.index() * self.phases.len() + phase
    }

    /// The value of the state at the end of the line for its mover, in (-1, 1): the first output.
    #[inline]
    pub fn value(&self, stack: &NnueStack, mover: Player) -> f32 {
        let sums = &stack.sums[stack.depth * self.registers..][..self.registers];
        let mut out = [0.0];
        self.run(sums, self.head(mover, stack.counts[stack.depth]), &mut out);
        Activation::Tanh.apply(out[0])
    }

    /// The value, for its mover, of the state that a move leads to from the end of the line.
    #[inline]
    pub fn child_value(&self, stack: &NnueStack, on: &[Fact], off: &[Fact], mover: Player) -> f32 {
        let mut sums = [i16x16::ZERO; REGISTERS];
        let sums = &mut sums[..self.registers];
        self.add(&stack.sums[stack.depth * self.registers..][..self.registers], on, off, sums);
        let count = stack.counts[stack.depth] + self.count(on) - self.count(off);
        let mut out = [0.0];
        self.run(sums, self.head(mover, count), &mut out);
        Activation::Tanh.apply(out[0])
    }

    /// The outputs for one state in plain loops: slow, the reference for the bits of every other way to evaluate.
    pub fn plain(&self, facts: &[Fact], mover: Player) -> Vec<f32> {
        let lane = |v: &[i16x16], j: usize| v[j / LANES].to_array()[j % LANES];
        let y: Vec<i16> = (0..self.registers * LANES)
            .map(|j| {
                let columns = facts.iter().map(|f| self.column_of[f.index()]).filter(|&at| at != NONE);
                let sum =
                    columns.fold(lane(&self.bias, j) as i32, |s, at| s + lane(&self.columns[at as usize..], j) as i32);
                let a = sum.clamp(0, 1 << self.accumulator_bits) << (14 - self.accumulator_bits);
                ((a * a) >> 16) as i16
            })
            .collect();
        let out = self.heads[self.head(mover, self.count(facts))].plain(&y);
        out.into_iter().map(|v| Activation::Tanh.apply(v)).collect()
    }
}
