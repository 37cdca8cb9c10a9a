//! What follows the first layer: dense layers, or the chain of a cascade.
//!
//! Order of summation, the same in every path. A dense layer with few outputs ("rows") sums in eight interleaved lanes
//! (`lanes::dot`); one with many ("columns") adds input after input. A cascade adds unit after unit, level by level.

use super::first::First;
use crate::lanes::{LANES, dot, load, padded, store, sum};
use crate::{Act, Cascade, Layer, Mlp, Net};
use wide::f32x8;

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
    outputs: usize,
    rows: bool,
    weights: Vec<f32>, // rows: [output][padded input]; columns: [input][padded output]
    bias: Vec<f32>,    // padded
}

/// The units of a cascade, sorted by depth and activation, then the outputs.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    units: usize,
    outputs: usize,
    width: usize, // padded units + outputs
    runs: Vec<Run>,
    down: Vec<f32>, // [unit][place]: what a unit adds to later places
    up: Vec<f32>,   // [place][padded unit]: the same, by receiver
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

    /// The longest vector of values.
    pub(super) fn widest(&self) -> usize {
        match self {
            Body::Layers(l) => l.layers.iter().map(|d| d.bias.len()).max().unwrap_or(0),
            Body::Chain(c) => c.width,
        }
    }

    /// Room for a batch.
    pub(super) fn lanes(&self, width: usize) -> Vec<f32> {
        match self {
            Body::Layers(_) => vec![],
            Body::Chain(c) => vec![0.0; (width + c.units) * 4 * LANES],
        }
    }

    /// From first-layer sums `z` to the outputs' sums; `z` and `y` are overwritten.
    #[inline]
    pub(super) fn run(&self, z: &mut [f32], y: &mut [f32], out: &mut [f32]) {
        match self {
            Body::Layers(l) => l.run(z, y, out),
            Body::Chain(c) => c.run(z, y, out),
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

    fn run(&self, z: &mut [f32], y: &mut [f32], out: &mut [f32]) {
        let mut width = self.first;
        for layer in &self.layers {
            let inputs = padded(width);
            activate(self.act, &z[..inputs], y);
            layer.run(&y[..inputs], width, z);
            width = layer.outputs;
        }
        out.copy_from_slice(&z[..width]);
    }

    fn plain(&self, mut z: Vec<f32>) -> Vec<f32> {
        let mut width = self.first;
        for layer in &self.layers {
            let y: Vec<f32> = z[..padded(width)].iter().map(|&v| self.act.one(v)).collect();
            z = layer.plain(&y, width);
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
        let (inputs, outputs) = (padded(layer.inputs), padded(layer.outputs));
        let mut dense = Dense { outputs: layer.outputs, rows, weights: vec![], bias: layer.bias.clone() };
        dense.bias.resize(outputs, 0.0);
        dense.weights.resize(if rows { layer.outputs * inputs } else { layer.inputs * outputs }, 0.0);
        for i in 0..layer.inputs {
            for (o, &w) in layer.column(i).iter().enumerate() {
                dense.weights[if rows { o * inputs + i } else { i * outputs + o }] = w;
            }
        }
        dense
    }

    #[inline]
    fn run(&self, y: &[f32], inputs: usize, z: &mut [f32]) {
        if self.rows {
            for ((row, b), z) in self.weights.chunks_exact(y.len()).zip(&self.bias).zip(z) {
                *z = b + dot(row, y);
            }
            return;
        }
        let mut at = 0;
        while at < self.bias.len() {
            let blocks = ((self.bias.len() - at) / LANES).min(4);
            match blocks {
                4 => self.block::<4>(at, &y[..inputs], z),
                3 => self.block::<3>(at, &y[..inputs], z),
                2 => self.block::<2>(at, &y[..inputs], z),
                _ => self.block::<1>(at, &y[..inputs], z),
            }
            at += blocks * LANES;
        }
    }

    #[inline(always)]
    fn block<const N: usize>(&self, at: usize, y: &[f32], z: &mut [f32]) {
        let mut total = [f32x8::ZERO; N];
        for (k, t) in total.iter_mut().enumerate() {
            *t = load(&self.bias[at + k * LANES..]);
        }
        for (column, &y) in self.weights.chunks_exact(self.bias.len()).zip(y) {
            let column = &column[at..][..N * LANES];
            for (k, t) in total.iter_mut().enumerate() {
                *t += load(&column[k * LANES..]) * f32x8::splat(y);
            }
        }
        for (k, t) in total.into_iter().enumerate() {
            store(t, &mut z[at + k * LANES..]);
        }
    }

    fn plain(&self, y: &[f32], inputs: usize) -> Vec<f32> {
        let mut z = self.bias.clone();
        for (o, z) in z.iter_mut().enumerate().take(self.outputs) {
            if self.rows {
                let mut lanes = [0.0; LANES];
                for (i, y) in y.iter().enumerate() {
                    lanes[i % LANES] += self.weights[o * padded(inputs) + i] * y;
                }
                *z += sum(f32x8::new(lanes));
            } else {
                for (i, y) in y.iter().enumerate().take(inputs) {
                    *z += self.weights[i * self.bias.len() + o] * y;
                }
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

#[inline(always)]
fn activate(act: Act, z: &[f32], y: &mut [f32]) {
    for (z, y) in z.chunks_exact(LANES).zip(y.chunks_exact_mut(LANES)) {
        store(act.lanes(load(z)), y);
    }
}

impl Chain {
    fn new(net: &Cascade) -> (Chain, Vec<f32>, Vec<f32>) {
        let (units, outputs) = (net.units.len(), net.out.len());
        let width = padded(units + outputs);
        let order = sorted(net);
        // The weights of place p: a unit in the new order, or an output after them.
        let weights = |p: usize| if p < units { &net.units[order[p]].weights } else { &net.out[p - units] };
        let between = |from: usize, to: usize| weights(to).get(1 + net.inputs + order[from]).copied().unwrap_or(0.0);

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
        let mut chain = Chain { units, outputs, width, runs, down: vec![0.0; units * width], up: vec![] };
        chain.up.resize((units + outputs) * padded(units), 0.0);
        for from in 0..units {
            for to in from + 1..units + outputs {
                chain.down[from * width + to] = between(from, to);
                chain.up[to * padded(units) + from] = between(from, to);
            }
        }
        let first = (0..net.inputs).flat_map(|i| (0..units + outputs).map(move |p| (i, p)));
        let first = first.map(|(i, p)| weights(p)[1 + i]).collect();
        let bias = (0..units + outputs).map(|p| weights(p)[0]).collect();
        (chain, first, bias)
    }

    fn run(&self, z: &mut [f32], y: &mut [f32], out: &mut [f32]) {
        let z = &mut z[..self.width];
        for run in &self.runs {
            if run.end - run.level == 1 && run.close {
                let y = run.act.lanes(f32x8::splat(z[run.start]));
                self.spread(run.start, run.end, y, z);
                continue;
            }
            for at in (run.start..run.end).step_by(LANES) {
                let n = (run.end - at).min(LANES);
                let mut block = [0.0; LANES];
                block[..n].copy_from_slice(&z[at..at + n]);
                y[at..at + n].copy_from_slice(&run.act.lanes(f32x8::new(block)).to_array()[..n]);
            }
            if run.close {
                for (from, &y) in y[..run.end].iter().enumerate().skip(run.level) {
                    self.spread(from, run.end, f32x8::splat(y), z);
                }
            }
        }
        out.copy_from_slice(&z[self.units..][..self.outputs]);
    }

    /// Adds what a unit sends to all places of higher levels.
    #[inline(always)]
    fn spread(&self, from: usize, end: usize, y: f32x8, z: &mut [f32]) {
        let start = end / LANES * LANES;
        let weights = &self.down[from * self.width + start..(from + 1) * self.width];
        for (z, w) in z[start..].chunks_exact_mut(LANES).zip(weights.chunks_exact(LANES)) {
            store(load(z) + load(w) * y, z);
        }
    }

    /// All states of `sums`, up to 32 at a time, one state per lane.
    pub(super) fn batch(&self, first: &First, sums: &[i32], lanes: &mut [f32], out: &mut [f32]) {
        let mut rest = sums.chunks_exact(first.width()).len();
        let (mut at, mut done) = (0, 0);
        while rest > 0 {
            let n = rest.min(4 * LANES);
            let (rows, out) = (&sums[at..][..n * first.width()], &mut out[done..][..n * self.outputs]);
            match n.div_ceil(LANES) {
                1 => self.group::<1>(first, rows, lanes, out),
                2 => self.group::<2>(first, rows, lanes, out),
                _ => self.group::<4>(first, rows, lanes, out),
            }
            at += rows.len();
            done += out.len();
            rest -= n;
        }
    }

    fn group<const V: usize>(&self, first: &First, rows: &[i32], lanes: &mut [f32], out: &mut [f32]) {
        let stride = V * LANES;
        let (z, y) = lanes.split_at_mut(self.width * stride);
        for v in 0..V {
            let start = (v * LANES * first.width()).min(rows.len());
            for at in (0..self.width).step_by(LANES) {
                let block = first.transposed(&rows[start..], at);
                for (k, b) in block.into_iter().enumerate() {
                    store(b, &mut z[(at + k) * stride + v * LANES..]);
                }
            }
        }
        for run in &self.runs {
            for p in run.start..run.end {
                let total = self.receive::<V>(p, run.level, z, y);
                let y = &mut y[p * stride..][..stride];
                for (v, t) in total.into_iter().enumerate() {
                    store(run.act.lanes(t), &mut y[v * LANES..]);
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
    fn receive<const V: usize>(&self, p: usize, end: usize, z: &[f32], y: &[f32]) -> [f32x8; V] {
        let stride = V * LANES;
        let mut total = [f32x8::ZERO; V];
        for (v, t) in total.iter_mut().enumerate() {
            *t = load(&z[p * stride + v * LANES..]);
        }
        let weights = &self.up[p * padded(self.units)..][..end];
        for (w, y) in weights.iter().zip(y.chunks_exact(stride)) {
            for (v, t) in total.iter_mut().enumerate() {
                *t += f32x8::splat(*w) * load(&y[v * LANES..]);
            }
        }
        total
    }

    fn plain(&self, z: Vec<f32>) -> Vec<f32> {
        let mut y = vec![0.0; self.units];
        let total = |p: usize, end: usize, y: &[f32]| {
            (0..end).fold(z[p], |total, from| total + self.up[p * padded(self.units) + from] * y[from])
        };
        for run in &self.runs {
            for p in run.start..run.end {
                y[p] = run.act.one(total(p, run.level, &y));
            }
        }
        (self.units..self.units + self.outputs).map(|p| total(p, self.units, &y)).collect()
    }
}
