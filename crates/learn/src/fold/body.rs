//! What follows the first layer: dense layers, or the chain of a cascade.
//!
//! Order of summation, the same in every path. A dense layer with few outputs ("rows") sums in eight interleaved lanes
//! (place k in lane k mod 8); one with many ("columns") adds input after input, the even ones to the bias and the odd ones
//! to zero, and then both. A cascade adds unit after unit, level by level.

use super::first::First;
use crate::lanes::{LANES, padded, sum};
use crate::{Act, Cascade, Layer, Mlp, Net};
use wide::{f32x8, i32x8};

#[derive(Clone, Debug)]
pub(super) enum Body {
    Layers(Layers),
    Chain(Chain),
}

/// The layers of an MLP after the first.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    act: Act,
    layers: Vec<Dense>,
    first: usize, // units of the first layer
}

#[derive(Clone, Debug)]
struct Dense {
    inputs: usize,
    outputs: usize,
    rows: bool,
    weights: Vec<f32x8>, // rows: [output][registers of inputs]; columns: [input][registers of outputs]
    bias: Vec<f32x8>,
}

/// The units of a cascade, sorted by depth and activation, then the outputs.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    units: usize,
    outputs: usize,
    width: usize, // registers for units and outputs
    runs: Vec<Run>,
    down: Vec<f32x8>, // [unit][registers of places]: what a unit adds to later places
    up: Vec<f32>,     // [place][unit]: the same, by receiver
}

/// Neighbouring units of one depth and activation.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    act: Act,
    level: usize, // where units of this depth begin
    close: bool,  // the last run of its depth
}

/// Numbers as registers, padded with zeros.
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
                let (chain, weights, bias) = Chain::new(cascade);
                (Body::Chain(chain), weights, bias)
            }
        }
    }

    /// Registers for the longest row of values.
    pub(super) fn widest(&self) -> usize {
        match self {
            Body::Layers(l) => l.layers.iter().map(|d| d.bias.len()).max().unwrap_or(0),
            Body::Chain(c) => c.width,
        }
    }

    /// Registers for a batch.
    pub(super) fn room(&self) -> usize {
        match self {
            Body::Layers(_) => 0,
            Body::Chain(c) => (c.width * LANES + c.units) * 4,
        }
    }

    /// From first-layer sums to the outputs' sums, which end in the first registers of `z`; `y` is room to work.
    #[inline]
    pub(super) fn run(&self, first: &First, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        match self {
            Body::Layers(l) => l.run(first, sums, z, y),
            Body::Chain(c) => c.run(first, sums, z, y),
        }
    }

    /// The oracle.
    pub(super) fn plain(&self, z: Vec<f32>) -> Vec<f32> {
        match self {
            Body::Layers(l) => l.plain(z),
            Body::Chain(c) => c.plain(z),
        }
    }
}

impl Layers {
    fn new(mlp: &Mlp) -> Self {
        let layers = mlp.layers[1..].iter().map(Dense::new).collect();
        Layers { act: mlp.hidden, layers, first: mlp.layers[0].outputs }
    }

    fn run(&self, first: &First, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        match &self.layers[..] {
            [] => return first.floats(sums, z),
            [only] if only.rows && only.outputs <= 3 => {
                // The common small net: activations go from register to register. The match is outside of the loop.
                return match self.act {
                    Act::Relu => only.fused(first, sums, |x| Act::Relu.lanes(x), z),
                    Act::Logistic => only.fused(first, sums, |x| Act::Logistic.lanes(x), z),
                    Act::Tanh => only.fused(first, sums, |x| Act::Tanh.lanes(x), z),
                    act => only.fused(first, sums, |x| act.lanes(x), z),
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
                    .for_each(|(z, y)| *y = self.act.lanes(*z));
            }
            layer.run(y, z);
        }
    }

    fn plain(&self, mut z: Vec<f32>) -> Vec<f32> {
        let mut width = self.first;
        for layer in &self.layers {
            let y: Vec<f32> = z[..padded(width)].iter().map(|&v| self.act.one(v)).collect();
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

    /// Three rows at once, so that one's additions need not wait for another's.
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
    fn fused(&self, first: &First, sums: &[i32x8], act: impl Fn(f32x8) -> f32x8, z: &mut [f32x8]) {
        let stride = self.inputs.div_ceil(LANES);
        let row = |r: usize| self.weights.get(r * stride..(r + 1) * stride).unwrap_or(&self.weights[..stride]);
        let mut total = [f32x8::ZERO; 3];
        for (((z, a), b), c) in first.numbers(sums).zip(row(0)).zip(row(1)).zip(row(2)) {
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

/// The units of a cascade by depth and activation; nothing for other nets.
pub(super) fn order(net: &Net) -> Vec<usize> {
    match net {
        Net::Mlp(_) => vec![],
        Net::Cascade(c) => sorted(c),
    }
}

fn sorted(net: &Cascade) -> Vec<usize> {
    let mut order: Vec<usize> = (0..net.units.len()).collect();
    order.sort_by_key(|&k| (net.units[k].depth, net.units[k].act, k));
    order
}

impl Chain {
    fn new(net: &Cascade) -> (Chain, Vec<f32>, Vec<f32>) {
        let (units, outputs) = (net.units.len(), net.out.len());
        let order = sorted(net);
        // The weights of place p: a unit in the new order, or an output after them.
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
                    let level = last.as_ref().filter(|_| same).map_or(p, |run| run.level);
                    if let Some(run) = last {
                        run.close = !same;
                    }
                    runs.push(Run { start: p, end: p + 1, act: unit.act, level, close: true });
                }
            }
        }
        let places = units + outputs;
        let sent = |from: usize| (0..places).map(|to| between(from, to)).collect::<Vec<f32>>();
        let chain = Chain {
            units,
            outputs,
            width: places.div_ceil(LANES),
            runs,
            down: (0..units).flat_map(|from| registers(&sent(from)).collect::<Vec<_>>()).collect(),
            up: (0..places).flat_map(|to| (0..units).map(move |from| (from, to))).map(|(f, t)| between(f, t)).collect(),
        };
        let first = (0..net.inputs).flat_map(|i| (0..places).map(move |p| (i, p)));
        let first = first.map(|(i, p)| weights(p)[1 + i]).collect();
        let bias = (0..places).map(|p| weights(p)[0]).collect();
        (chain, first, bias)
    }

    fn run(&self, first: &First, sums: &[i32x8], z: &mut [f32x8], y: &mut [f32x8]) {
        let z = &mut z[..self.width];
        first.floats(sums, z);
        for run in &self.runs {
            if run.end - run.level == 1 && run.close {
                let y = run.act.lanes(f32x8::splat(at(z, run.start)));
                self.spread(run.start, run.end, y, z);
                continue;
            }
            // Registers that other runs share are taken as a whole; only this run's lanes are kept.
            let first = run.start / LANES;
            for (r, z) in z[first..run.end.div_ceil(LANES)].iter().enumerate() {
                let (new, at) = (run.act.lanes(*z).to_array(), (first + r) * LANES);
                (at.max(run.start)..(at + LANES).min(run.end)).for_each(|k| set(y, k, new[k % LANES]));
            }
            if run.close {
                for from in run.level..run.end {
                    self.spread(from, run.end, f32x8::splat(at(y, from)), z);
                }
            }
        }
        for o in 0..self.outputs {
            let value = at(z, self.units + o);
            set(z, o, value);
        }
    }

    /// Adds what a unit sends to all places from `end` on (and, unheard, to a few before).
    #[inline(always)]
    fn spread(&self, from: usize, end: usize, y: f32x8, z: &mut [f32x8]) {
        let start = end / LANES;
        let weights = &self.down[from * self.width + start..(from + 1) * self.width];
        for (z, w) in z[start..].iter_mut().zip(weights) {
            *z += *w * y;
        }
    }

    /// All states of `sums`, up to 32 at a time, one state per lane.
    pub(super) fn batch(&self, first: &First, sums: &[i32x8], room: &mut [f32x8], out: &mut [f32]) {
        let group = 4 * LANES;
        for (rows, out) in sums.chunks(group * self.width).zip(out.chunks_mut(group * self.outputs)) {
            match (rows.len() / self.width).div_ceil(LANES) {
                1 => self.group::<1>(first, rows, room, out),
                2 => self.group::<2>(first, rows, room, out),
                _ => self.group::<4>(first, rows, room, out),
            }
        }
    }

    fn group<const V: usize>(&self, first: &First, rows: &[i32x8], room: &mut [f32x8], out: &mut [f32]) {
        let (z, y) = room.split_at_mut(self.width * LANES * V);
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
                let total = self.receive::<V>(p, run.level, z, y);
                for (y, t) in y[p * V..][..V].iter_mut().zip(total) {
                    *y = run.act.lanes(t);
                }
            }
        }
        for o in 0..self.outputs {
            let total = self.receive::<V>(self.units + o, self.units, z, y);
            let values = total.iter().flat_map(|t| t.to_array());
            out.iter_mut().skip(o).step_by(self.outputs).zip(values).for_each(|(out, v)| *out = v);
        }
    }

    /// The sum at place `p`, of the first layer and all units before `end`.
    #[inline(always)]
    fn receive<const V: usize>(&self, p: usize, end: usize, z: &[f32x8], y: &[f32x8]) -> [f32x8; V] {
        let mut total: [f32x8; V] = z[p * V..][..V].try_into().expect("as many");
        let weights = &self.up[p * self.units..][..end];
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
            (0..end).fold(z[p], |total, from| total + self.up[p * self.units + from] * y[from])
        };
        for run in &self.runs {
            for p in run.start..run.end {
                y[p] = run.act.one(total(p, run.level, &y));
            }
        }
        (self.units..self.units + self.outputs).map(|p| total(p, self.units, &y)).collect()
    }
}
