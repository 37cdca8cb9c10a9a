//! All that follows the first layer: the dense layers of an MLP, or the units of a cascade.
//!
//! Sums are in `f32` and in one fixed order, so that every way to evaluate gives the same bits:
//! * a dense layer with few outputs ("rows") sums in eight interleaved lanes, input k in lane k mod 8;
//! * a dense layer with many outputs ("columns") adds the even inputs to the bias and the odd ones to zero, then both
//!   sums;
//! * a cascade adds unit after unit in the order of depth, activation and installation. Units of one depth (a level) do
//!   not see one another, and a run of one activation within a level is computed at once.

use super::first_layer::FirstLayer;
use crate::simd::{LANES, padded, sum};
use crate::{Activation, Cascade, Layer, Mlp, Net};
use wide::{f32x8, i32x8};

/// The layers after the first.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Layers(Layers),
    Cascade(CascadeUnits),
}

/// The layers of an MLP after the first.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    act: Activation,
    layers: Vec<Dense>,
    first: usize, // units of the first layer
}

#[derive(Clone, Debug)]
struct Dense {
    inputs: usize,
    outputs: usize,
    rows: bool,          // whether weights are laid out by output
    weights: Vec<f32x8>, // rows: [output][registers of inputs]; columns: [input][registers of outputs]
    bias: Vec<f32x8>,
}

/// The hidden units of a cascade, sorted by depth and activation, then its outputs, as one list of places.
#[derive(Clone, Debug)]
pub(super) struct CascadeUnits {
    units: usize,
    outputs: usize,
    width: usize, // registers for units and outputs
    runs: Vec<Run>,
    outgoing: Vec<f32x8>, // [unit][registers of places]: the weights from a unit to later places
    incoming: Vec<f32>,   // [place][unit]: the same weights by receiving place
}

/// Neighbouring units of one depth and activation.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    act: Activation,
    level_start: usize,  // where units of this depth begin
    last_of_level: bool, // the last run of its depth
}

/// Numbers to registers, padded with zeros.
fn registers(values: &[f32]) -> impl Iterator<Item = f32x8> + '_ {
    let lane = |chunk: &[f32], k: usize| chunk.get(k).copied().unwrap_or(0.0);
    values.chunks(LANES).map(move |chunk| f32x8::new(std::array::from_fn(|k| lane(chunk, k))))
}

/// Number `k` of a row of registers.
#[inline(always)]
fn at(row: &[f32x8], k: usize) -> f32 {
    row[k / LANES].as_array()[k % LANES]
}

#[inline(always)]
fn set(row: &mut [f32x8], k: usize, value: f32) {
    row[k / LANES].as_mut_array()[k % LANES] = value;
}

impl Body {
    /// The body, and the first layer's weights (input-major) and bias in the body's order of units.
    pub(super) fn new(net: &Net) -> (Body, Vec<f32>, Vec<f32>) {
        match net {
            Net::Mlp(mlp) => {
                let first = &mlp.layers[0];
                (Body::Layers(Layers::new(mlp)), first.weights.clone(), first.bias.clone())
            }
            Net::Cascade(cascade) => {
                let (units, weights, bias) = CascadeUnits::new(cascade);
                (Body::Cascade(units), weights, bias)
            }
            Net::Nnue(_) => unreachable!("laid out by QuantisedNnue"),
        }
    }

    /// The number of registers of the widest layer.
    pub(super) fn widest(&self) -> usize {
        match self {
            Body::Layers(l) => l.layers.iter().map(|d| d.bias.len()).max().unwrap_or(0),
            Body::Cascade(c) => c.width,
        }
    }

    /// The number of registers that a batch needs as a buffer.
    pub(super) fn buffer(&self) -> usize {
        match self {
            Body::Layers(_) => 0,
            Body::Cascade(c) => (c.width * LANES + c.units) * 4,
        }
    }

    /// From first-layer sums to the outputs' sums, which end in the first registers of `z`; `y` is a buffer.
    #[inline]
    pub(super) fn run(&self, first: &FirstLayer, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        match self {
            Body::Layers(l) => l.run(first, sums, z, y),
            Body::Cascade(c) => c.run(first, sums, z, y),
        }
    }

    /// The same in plain loops, for [`super::InferenceNet::plain`].
    pub(super) fn plain(&self, z: Vec<f32>) -> Vec<f32> {
        match self {
            Body::Layers(l) => l.plain(z),
            Body::Cascade(c) => c.plain(z),
        }
    }
}

impl Layers {
    fn new(mlp: &Mlp) -> Self {
        let layers = mlp.layers[1..].iter().map(Dense::new).collect();
        Layers { act: mlp.hidden, layers, first: mlp.layers[0].outputs }
    }

    fn run(&self, first: &FirstLayer, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        match &self.layers[..] {
            [] => return first.write_floats(sums, z),
            [only] if only.rows && only.outputs <= 3 => {
                // The common small net: activations go from register to register. The match is outside of the loop.
                return match self.act {
                    Activation::Relu => only.fused(first, sums, |x| Activation::Relu.apply_x8(x), z),
                    Activation::Logistic => only.fused(first, sums, |x| Activation::Logistic.apply_x8(x), z),
                    Activation::Tanh => only.fused(first, sums, |x| Activation::Tanh.apply_x8(x), z),
                    act => only.fused(first, sums, |x| act.apply_x8(x), z),
                };
            }
            _ => {}
        }
        first.activations(self.act, sums, y);
        for (k, layer) in self.layers.iter().enumerate() {
            if k > 0 {
                z.iter()
                    .zip(y.iter_mut())
                    .take(layer.inputs.div_ceil(LANES))
                    .for_each(|(z, y)| *y = self.act.apply_x8(*z));
            }
            layer.run(y, z);
        }
    }

    fn plain(&self, mut z: Vec<f32>) -> Vec<f32> {
        let mut width = self.first;
        for layer in &self.layers {
            let y: Vec<f32> = z[..padded(width)].iter().map(|&v| self.act.apply(v)).collect();
            z = layer.plain(&y);
            width = layer.outputs;
        }
        z.truncate(width);
        z
    }
}

impl Dense {
    /// Below this many outputs, rows are faster: a row's lanes are full, a column's would not be.
    const ROWS: usize = 16;

    fn new(layer: &Layer) -> Self {
        let rows = layer.outputs < Self::ROWS;
        let row = |o: usize| (0..layer.inputs).map(|i| layer.column(i)[o]).collect::<Vec<f32>>();
        let weights = if rows {
            (0..layer.outputs).flat_map(|o| registers(&row(o)).collect::<Vec<_>>()).collect()
        } else {
            (0..layer.inputs).flat_map(|i| registers(layer.column(i)).collect::<Vec<_>>()).collect()
        };
        let bias = registers(&layer.bias).collect();
        Dense { inputs: layer.inputs, outputs: layer.outputs, rows, weights, bias }
    }

    #[inline(always)]
    fn run(&self, y: &[f32x8], z: &mut [f32x8]) {
        if self.rows { self.by_rows(y, z) } else { self.by_columns(y, z) }
    }

    /// Three rows at once: their additions do not depend on one another.
    #[inline(always)]
    fn by_rows(&self, y: &[f32x8], z: &mut [f32x8]) {
        let stride = self.inputs.div_ceil(LANES);
        let y = &y[..stride];
        for (k, rows) in self.weights.chunks(3 * stride).enumerate() {
            let row = |r: usize| rows.get(r * stride..(r + 1) * stride).unwrap_or(&rows[..stride]);
            let (a, b, c) = (row(0), row(1), row(2));
            let mut total = [f32x8::ZERO; 3];
            for (((y, a), b), c) in y.iter().zip(a).zip(b).zip(c) {
                total[0] += *a * *y;
                total[1] += *b * *y;
                total[2] += *c * *y;
            }
            for (r, total) in total.into_iter().enumerate().take(rows.len() / stride) {
                let o = 3 * k + r;
                set(z, o, at(&self.bias, o) + sum(total));
            }
        }
    }

    /// [`Dense::by_rows`] of at most three rows on activations that are never stored.
    #[inline(always)]
    fn fused(&self, first: &FirstLayer, sums: &[i32x8], act: impl Fn(f32x8) -> f32x8, z: &mut [f32x8]) {
        let stride = self.inputs.div_ceil(LANES);
        let row = |r: usize| self.weights.get(r * stride..(r + 1) * stride).unwrap_or(&self.weights[..stride]);
        let mut total = [f32x8::ZERO; 3];
        for (((z, a), b), c) in first.floats(sums).zip(row(0)).zip(row(1)).zip(row(2)) {
            let y = act(z);
            total[0] += *a * y;
            total[1] += *b * y;
            total[2] += *c * y;
        }
        let mut out = self.bias[0].to_array();
        out.iter_mut().zip(total).take(self.outputs).for_each(|(out, t)| *out += sum(t));
        z[0] = f32x8::new(out);
    }

    #[inline(always)]
    fn by_columns(&self, y: &[f32x8], z: &mut [f32x8]) {
        let mut at = 0;
        while at < self.bias.len() {
            let blocks = (self.bias.len() - at).min(4);
            match blocks {
                4 => self.block::<4>(at, y, z),
                3 => self.block::<3>(at, y, z),
                2 => self.block::<2>(at, y, z),
                _ => self.block::<1>(at, y, z),
            }
            at += blocks;
        }
    }

    #[inline(always)]
    fn block<const N: usize>(&self, from: usize, y: &[f32x8], z: &mut [f32x8]) {
        let width = self.bias.len();
        let mut even: [f32x8; N] = std::array::from_fn(|k| self.bias[from + k]);
        let mut odd = [f32x8::ZERO; N];
        let add = |total: &mut [f32x8; N], i: usize, column: &[f32x8]| {
            let y = f32x8::splat(at(y, i));
            let column = &column[from..from + N];
            total.iter_mut().zip(column).for_each(|(t, c)| *t += *c * y);
        };
        let (pairs, last) = (self.weights.chunks_exact(2 * width), self.inputs - 1);
        let rest = pairs.remainder();
        for (i, pair) in pairs.enumerate() {
            add(&mut even, 2 * i, &pair[..width]);
            add(&mut odd, 2 * i + 1, &pair[width..]);
        }
        if !rest.is_empty() {
            add(&mut even, last, rest);
        }
        for ((z, even), odd) in z[from..from + N].iter_mut().zip(even).zip(odd) {
            *z = even + odd;
        }
    }

    fn plain(&self, y: &[f32]) -> Vec<f32> {
        let mut z: Vec<f32> = self.bias.iter().flat_map(|b| b.to_array()).collect();
        for (o, z) in z.iter_mut().enumerate().take(self.outputs) {
            if self.rows {
                let row = &self.weights[o * self.inputs.div_ceil(LANES)..];
                let mut lanes = [0.0; LANES];
                for (i, y) in y.iter().enumerate() {
                    lanes[i % LANES] += at(row, i) * y;
                }
                *z += sum(f32x8::new(lanes));
            } else {
                let mut odd = 0.0;
                for (i, y) in y.iter().enumerate().take(self.inputs) {
                    let total = if i % 2 == 0 { &mut *z } else { &mut odd };
                    *total += at(&self.weights[i * self.bias.len()..], o) * y;
                }
                *z += odd;
            }
        }
        z
    }
}

/// The units of a cascade in the order of depth and activation; empty for other nets.
pub(super) fn order(net: &Net) -> Vec<usize> {
    match net {
        Net::Mlp(_) | Net::Nnue(_) => vec![],
        Net::Cascade(c) => sorted(c),
    }
}

fn sorted(net: &Cascade) -> Vec<usize> {
    let mut order: Vec<usize> = (0..net.units.len()).collect();
    order.sort_by_key(|&k| (net.units[k].depth, net.units[k].act, k));
    order
}

impl CascadeUnits {
    fn new(net: &Cascade) -> (CascadeUnits, Vec<f32>, Vec<f32>) {
        let (units, outputs) = (net.units.len(), net.out.len());
        let order = sorted(net);
        // The weights of place p.
        let weights = |p: usize| if p < units { &net.units[order[p]].weights } else { &net.out[p - units] };
        let between = |from: usize, to: usize| match weights(to).get(1 + net.inputs + order[from]) {
            Some(&w) if to > from => w,
            _ => 0.0,
        };

        let mut runs: Vec<Run> = Vec::new();
        for (p, &k) in order.iter().enumerate() {
            let unit = &net.units[k];
            let before = p.checked_sub(1).map(|q| &net.units[order[q]]);
            match runs.last_mut() {
                Some(run) if before.is_some_and(|b| (b.depth, b.act) == (unit.depth, unit.act)) => run.end = p + 1,
                last => {
                    let same = before.is_some_and(|b| b.depth == unit.depth);
                    let level_start = last.as_ref().filter(|_| same).map_or(p, |run| run.level_start);
                    if let Some(run) = last {
                        run.last_of_level = !same;
                    }
                    runs.push(Run { start: p, end: p + 1, act: unit.act, level_start, last_of_level: true });
                }
            }
        }
        let places = units + outputs;
        let outgoing = |from: usize| (0..places).map(|to| between(from, to)).collect::<Vec<f32>>();
        let cascade = CascadeUnits {
            units,
            outputs,
            width: places.div_ceil(LANES),
            runs,
            outgoing: (0..units).flat_map(|from| registers(&outgoing(from)).collect::<Vec<_>>()).collect(),
            incoming: (0..places)
                .flat_map(|to| (0..units).map(move |from| (from, to)))
                .map(|(f, t)| between(f, t))
                .collect(),
        };
        let first = (0..net.inputs).flat_map(|i| (0..places).map(move |p| (i, p)));
        let first = first.map(|(i, p)| weights(p)[1 + i]).collect();
        let bias = (0..places).map(|p| weights(p)[0]).collect();
        (cascade, first, bias)
    }

    fn run(&self, first: &FirstLayer, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        let z = &mut z[..self.width];
        first.write_floats(sums, z);
        for run in &self.runs {
            if run.end - run.level_start == 1 && run.last_of_level {
                let y = run.act.apply_x8(f32x8::splat(at(z, run.start)));
                self.propagate(run.start, run.end, y, z);
                continue;
            }
            // A register may hold units of other runs too: of its lanes only those of this run are kept.
            let first = run.start / LANES;
            for (r, z) in z[first..run.end.div_ceil(LANES)].iter().enumerate() {
                let (new, at) = (run.act.apply_x8(*z).to_array(), (first + r) * LANES);
                (at.max(run.start)..(at + LANES).min(run.end)).for_each(|k| set(y, k, new[k % LANES]));
            }
            if run.last_of_level {
                for from in run.level_start..run.end {
                    self.propagate(from, run.end, f32x8::splat(at(y, from)), z);
                }
            }
        }
        for o in 0..self.outputs {
            let value = at(z, self.units + o);
            set(z, o, value);
        }
    }

    /// Adds a unit's activation times its weights to all places from `end` on, and to those before in the same
    /// register, which are not read any more.
    #[inline(always)]
    fn propagate(&self, from: usize, end: usize, y: f32x8, z: &mut [f32x8]) {
        let start = end / LANES;
        let weights = &self.outgoing[from * self.width + start..(from + 1) * self.width];
        for (z, w) in z[start..].iter_mut().zip(weights) {
            *z += *w * y;
        }
    }

    /// All states of `sums`, up to 32 at a time, one state per lane.
    pub(super) fn run_batch(&self, first: &FirstLayer, sums: &[i32x8], buffer: &mut [f32x8], out: &mut [f32]) {
        let group = 4 * LANES;
        for (rows, out) in sums.chunks(group * self.width).zip(out.chunks_mut(group * self.outputs)) {
            match (rows.len() / self.width).div_ceil(LANES) {
                1 => self.group::<1>(first, rows, buffer, out),
                2 => self.group::<2>(first, rows, buffer, out),
                _ => self.group::<4>(first, rows, buffer, out),
            }
        }
    }

    fn group<const V: usize>(&self, first: &FirstLayer, rows: &[i32x8], buffer: &mut [f32x8], out: &mut [f32]) {
        let (z, y) = buffer.split_at_mut(self.width * LANES * V);
        for v in 0..V {
            let start = (v * LANES * self.width).min(rows.len());
            for r in 0..self.width {
                for (k, b) in first.transposed(&rows[start..], r).into_iter().enumerate() {
                    z[(r * LANES + k) * V + v] = b;
                }
            }
        }
        for run in &self.runs {
            for p in run.start..run.end {
                let total = self.weighted_sum::<V>(p, run.level_start, z, y);
                for (y, t) in y[p * V..][..V].iter_mut().zip(total) {
                    *y = run.act.apply_x8(t);
                }
            }
        }
        for o in 0..self.outputs {
            let total = self.weighted_sum::<V>(self.units + o, self.units, z, y);
            let values = total.iter().flat_map(|t| t.to_array());
            out.iter_mut().skip(o).step_by(self.outputs).zip(values).for_each(|(out, v)| *out = v);
        }
    }

    /// The sum at place `p`, of the first layer and all units before `end`.
    #[inline(always)]
    fn weighted_sum<const V: usize>(&self, p: usize, end: usize, z: &[f32x8], y: &[f32x8]) -> [f32x8; V] {
        let mut total: [f32x8; V] = z[p * V..][..V].try_into().expect("as many");
        let weights = &self.incoming[p * self.units..][..end];
        for (w, y) in weights.iter().zip(y.chunks_exact(V)) {
            for (t, y) in total.iter_mut().zip(y) {
                *t += f32x8::splat(*w) * *y;
            }
        }
        total
    }

    fn plain(&self, z: Vec<f32>) -> Vec<f32> {
        let mut y = vec![0.0; self.units];
        let total = |p: usize, end: usize, y: &[f32]| {
            (0..end).fold(z[p], |total, from| total + self.incoming[p * self.units + from] * y[from])
        };
        for run in &self.runs {
            for p in run.start..run.end {
                y[p] = run.act.apply(total(p, run.level_start, &y));
            }
        }
        (self.units..self.units + self.outputs).map(|p| total(p, self.units, &y)).collect()
    }
}
