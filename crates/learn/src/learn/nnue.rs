//! Training an NNUE: examples are facts, a mover and the value for that mover.
//!
//! The loss is the cross-entropy of the value as a probability of winning, so that the gradient at the output is v - y; Adam
//! (Kingma & Ba 2015), with columns of facts that a batch does not touch left alone; for play the weights are averaged over
//! time (Polyak 1990). Everything is `f32` in registers of eight.
//!
//! A batch is cut into [`SHARDS`] equal shards, each with a gradient of its own, added up in order: the same seed gives the
//! same bits on any number of threads, and without fused multiply-add the same on any machine.

use crate::nnue::{HIDDEN, Nnue, NnueHead, Phases, WIDTHS};
use crate::simd::{LANES, sum};
use crate::{Activation, Error, Layer, Link};
use ludex_core::Rng;
use rayon::prelude::*;
use std::collections::VecDeque;
use wide::f32x8;

/// Into how many gradients a batch is cut, whatever the number of threads.
pub const SHARDS: usize = 4;

/// Steps between two updates of the averaged weights.
const AVERAGE_EVERY: u64 = 8;

/// Registers of one hidden layer.
const H: usize = HIDDEN / LANES;

/// How an NNUE learns.
#[derive(Clone, PartialEq, Debug)]
pub struct NnueConfig {
    /// The width of the accumulator: one of [`WIDTHS`].
    pub width: usize,
    /// The number of facts, below 65,536.
    pub facts: usize,
    /// The number of players.
    pub movers: usize,
    /// How games are cut into phases.
    pub phases: Phases,
    /// Facts that get no column: they only say who moves.
    pub ignored: Vec<bool>,
    /// The most facts that hold at once.
    pub most_active: usize,
    /// Examples a step; a multiple of 4, the number of gradients a batch is cut into.
    pub batch: usize,
    /// Decay of the averaged weights a step.
    pub average: f32,
}

/// Examples in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NnueExamples {
    ends: Vec<u32>,
    facts: Vec<u16>,
    /// Mover, then phase, as [`Nnue::head`].
    heads: Vec<u8>,
    targets: Vec<f32>,
}

impl NnueExamples {
    /// Adds an example: the facts that hold, the head that judges it, and the value for its mover, in [-1, 1].
    pub fn push(&mut self, facts: impl Iterator<Item = u16>, head: u8, target: f32) {
        self.facts.extend(facts);
        self.ends.push(self.facts.len() as u32);
        self.heads.push(head);
        self.targets.push(target);
    }

    /// Adds all examples of another list.
    pub fn append(&mut self, other: &NnueExamples) {
        let at = self.facts.len() as u32;
        self.facts.extend_from_slice(&other.facts);
        self.ends.extend(other.ends.iter().map(|end| end + at));
        self.heads.extend_from_slice(&other.heads);
        self.targets.extend_from_slice(&other.targets);
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        2 * self.facts.len() + 9 * self.ends.len()
    }

    /// Changes the target of an example.
    pub fn set_target(&mut self, i: usize, target: f32) {
        self.targets[i] = target;
    }

    /// Facts, head and target of example `i`.
    #[inline]
    pub fn get(&self, i: usize) -> (&[u16], u8, f32) {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (&self.facts[start as usize..self.ends[i] as usize], self.heads[i], self.targets[i])
    }
}

/// The latest examples, in the lists in which they came; the oldest lists are dropped (experience replay, Lin 1992).
#[derive(Clone, Debug, Default)]
pub struct Replay {
    lists: VecDeque<NnueExamples>,
    examples: usize,
    bytes: usize,
}

impl Replay {
    /// Adds a list, and drops the oldest as long as there are more examples, or more bytes, than these.
    pub fn push(&mut self, list: NnueExamples, most: usize, most_bytes: usize) {
        self.examples += list.len();
        self.bytes += list.bytes();
        self.lists.push_back(list);
        while self.lists.len() > 1 && (self.examples > most || self.bytes > most_bytes) {
            let old = self.lists.pop_front().expect("there are two at least");
            self.examples -= old.len();
            self.bytes -= old.bytes();
        }
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.examples
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.examples == 0
    }

    /// The number of lists.
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// The place of example `i`, counted from the oldest.
    fn place(&self, mut i: usize) -> (u32, u32) {
        for (l, list) in self.lists.iter().enumerate() {
            if i < list.len() {
                return (l as u32, i as u32);
            }
            i -= list.len();
        }
        unreachable!("example {i} of {}", self.examples)
    }
}

/// A permutation of facts that does not change what a state is worth to its mover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactPermutation {
    /// What each fact becomes.
    pub facts: Vec<u16>,
    /// Whether the two players change places.
    pub swaps_movers: bool,
}

/// An NNUE while it learns.
pub struct NnueLearner {
    config: NnueConfig,
    layout: Layout,
    weights: Vec<f32x8>,
    mean: Vec<f32x8>,
    square: Vec<f32x8>,
    averaged: Vec<f32x8>,
    steps: u64,
    shards: Vec<Shard>,
}

/// One shard of a batch.
struct Shard {
    gradient: Vec<f32x8>,
    touched: Vec<bool>,
    loss: f64,
}

/// Where weights lie, in registers: columns of facts, bias, then the heads.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Registers of the accumulator.
    width: usize,
    facts: usize,
    head: usize,
}

/// Registers of a head above its first layer: biases, second layer, last layer (one output) and its bias.
const ABOVE: usize = H + HIDDEN * H + H + H + 1;

impl Layout {
    fn bias(&self) -> usize {
        self.facts * self.width
    }

    fn head(&self, h: usize) -> usize {
        self.bias() + self.width + h * self.head
    }
}

/// An example of a batch: its place, and the permutation under which it is seen.
#[derive(Clone, Copy)]
struct Draw {
    list: u32,
    row: u32,
    permutation: u32,
}

impl NnueLearner {
    /// First weights from a seed.
    pub fn new(config: NnueConfig, seed: u64) -> Result<Self, Error> {
        if !WIDTHS.contains(&config.width) {
            return Err(Error::Config(format!("an accumulator of width {}: there are {WIDTHS:?}", config.width)));
        }
        if config.facts >= 1 << 16 {
            return Err(Error::Config(format!("{} facts; an accumulator net takes 65,535 at most", config.facts)));
        }
        if config.batch == 0 || !config.batch.is_multiple_of(SHARDS) {
            return Err(Error::Config(format!("a batch of {} examples is no multiple of {SHARDS}", config.batch)));
        }
        let heads = config.movers * config.phases.len();
        if config.movers == 0 || heads > 255 {
            return Err(Error::Config(format!("{heads} heads: there are 1 to 255")));
        }
        if config.ignored.len() != config.facts || !(0.0..1.0).contains(&config.average) {
            return Err(Error::Config("ignored facts do not fit, or the average does not decay".into()));
        }
        let width = config.width / LANES;
        let layout = Layout { width, facts: config.facts, head: HIDDEN * width + ABOVE };
        let registers = layout.head(heads);
        let zero = || vec![f32x8::ZERO; registers];
        let mut weights = zero();
        let mut rng = Rng::new(seed);
        let mut draw = |bound: f32| f32x8::new(std::array::from_fn(|_| bound * (2.0 * rng.unit() as f32 - 1.0)));
        let bound = 1.0 / (config.most_active.max(1) as f32).sqrt();
        for f in 0..config.facts {
            let column = &mut weights[f * width..(f + 1) * width];
            column.iter_mut().for_each(|w| *w = draw(bound));
            if config.ignored[f] {
                column.fill(f32x8::ZERO);
            }
        }
        weights[layout.bias()..][..width].fill(f32x8::splat(0.3));
        for h in 0..heads {
            let head = &mut weights[layout.head(h)..][..layout.head];
            let (first, above) = head.split_at_mut(HIDDEN * width);
            first.iter_mut().for_each(|w| *w = draw(2.0 / (config.width as f32).sqrt()));
            above[..H].fill(f32x8::splat(0.3));
            above[H..H + HIDDEN * H].iter_mut().for_each(|w| *w = draw(0.5));
            above[H + HIDDEN * H..][..H].fill(f32x8::splat(0.3));
            above[2 * H + HIDDEN * H..][..H].iter_mut().for_each(|w| *w = draw(0.25));
        }
        let shard = || Shard { gradient: zero(), touched: vec![false; config.facts], loss: 0.0 };
        let shards = (0..SHARDS).map(|_| shard()).collect();
        let averaged = weights.clone();
        Ok(NnueLearner { layout, mean: zero(), square: zero(), averaged, weights, steps: 0, shards, config })
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How it learns.
    pub fn config(&self) -> &NnueConfig {
        &self.config
    }

    /// Takes one step on examples drawn at random from the replay, each under a random permutation; gives the mean
    /// cross-entropy before the step. The draws depend on the seed and the number of the step alone.
    pub fn step(&mut self, replay: &Replay, permutations: &[FactPermutation], rate: f32, seed: u64) -> f64 {
        let mut rng = Rng::stream(seed, self.steps);
        let draws: Vec<Draw> = (0..self.config.batch)
            .map(|_| {
                let (list, row) = replay.place(rng.below(replay.len() as u32) as usize);
                let permutation = if permutations.len() > 1 { rng.below(permutations.len() as u32) } else { 0 };
                Draw { list, row, permutation }
            })
            .collect();
        let (layout, weights, phases) = (self.layout, &self.weights, self.config.phases.len());
        let shards = self.shards.par_iter_mut().zip(draws.par_chunks(self.config.batch / SHARDS));
        shards.for_each(|(shard, draws)| match layout.width {
            8 => shard.learn::<8>(layout, weights, phases, replay, permutations, draws),
            16 => shard.learn::<16>(layout, weights, phases, replay, permutations, draws),
            32 => shard.learn::<32>(layout, weights, phases, replay, permutations, draws),
            64 => shard.learn::<64>(layout, weights, phases, replay, permutations, draws),
            _ => shard.learn::<128>(layout, weights, phases, replay, permutations, draws),
        });
        let loss = self.shards.iter().map(|s| s.loss).sum::<f64>();
        self.adam(rate);
        self.steps += 1;
        if self.steps.is_multiple_of(AVERAGE_EVERY) {
            self.average();
        }
        loss / self.config.batch as f64
    }

    /// Adds up the gradients of all shards and moves the weights, a row of the accumulator's width at a time.
    fn adam(&mut self, rate: f32) {
        let (width, facts, t) = (self.layout.width, self.layout.facts, self.steps as i32 + 1);
        let batch = 1.0 / self.config.batch as f32;
        let [beta1, beta2, epsilon] = [0.9f32, 0.999, 1e-7];
        let corrected = rate * (1.0 - beta2.powi(t)).sqrt() / (1.0 - beta1.powi(t));
        let (shards, ignored) = (&self.shards, &self.config.ignored);
        let touched = |row: usize| row >= facts || !ignored[row] && shards.iter().any(|s| s.touched[row]);
        let step = |row: usize, w: &mut [f32x8], m: &mut [f32x8], v: &mut [f32x8]| {
            let [a, b, c, d] = std::array::from_fn(|k| &shards[k].gradient[row * width..][..w.len()]);
            for i in 0..w.len() {
                let g = ((a[i] + b[i]) + (c[i] + d[i])) * batch;
                m[i] = m[i] * beta1 + g * (1.0 - beta1);
                v[i] = v[i] * beta2 + g * g * (1.0 - beta2);
                w[i] -= m[i] * corrected / (v[i].sqrt() + epsilon);
            }
        };
        const ROWS: usize = 16;
        let pieces = self.weights.par_chunks_mut(ROWS * width).zip(self.mean.par_chunks_mut(ROWS * width));
        let pieces = pieces.zip(self.square.par_chunks_mut(ROWS * width)).enumerate();
        pieces.for_each(|(k, ((w, m), v))| {
            let rows = w.chunks_mut(width).zip(m.chunks_mut(width)).zip(v.chunks_mut(width)).enumerate();
            for (i, ((w, m), v)) in rows.filter(|(i, _)| touched(ROWS * k + i)) {
                step(ROWS * k + i, w, m, v);
            }
        });
    }

    /// Moves the averaged weights towards the present ones; faster as long as there were few steps.
    fn average(&mut self) {
        let n = self.steps as f32;
        let keep = self.config.average.powi(AVERAGE_EVERY as i32).min(n / (n + 10.0 * AVERAGE_EVERY as f32));
        let pairs = self.averaged.par_chunks_mut(4096).zip(self.weights.par_chunks(4096));
        pairs.for_each(|(averaged, weights)| {
            averaged.iter_mut().zip(weights).for_each(|(a, w)| *a = *a * keep + *w * (1.0 - keep));
        });
    }

    /// The averaged weights as bytes: what [`NnueLearner::net_of`] makes the net of.
    pub fn averaged(&self) -> Vec<u8> {
        self.averaged.iter().flat_map(|r| r.to_array()).flat_map(|x| x.to_le_bytes()).collect()
    }

    /// The net of weights that [`NnueLearner::averaged`] gave at some time; `None` if the bytes are not of that kind.
    pub fn net_of(&self, averaged: &[u8]) -> Option<Nnue> {
        if averaged.len() != 4 * LANES * self.weights.len() {
            return None;
        }
        let mut weights = vec![f32x8::ZERO; self.weights.len()];
        read_registers(averaged, &mut weights);
        Some(self.net_with(&weights))
    }

    /// The net of the averaged weights, for play.
    pub fn net(&self) -> Nnue {
        self.net_with(&self.averaged)
    }

    fn net_with(&self, w: &[f32x8]) -> Nnue {
        let (c, l) = (&self.config, self.layout);
        let floats = |registers: &[f32x8]| registers.iter().flat_map(|r| r.to_array()).collect::<Vec<f32>>();
        // Rows are kept by output; layers want them by input.
        let layer = |rows: &[f32x8], bias: Vec<f32>, inputs: usize| {
            let (rows, outputs) = (floats(rows), bias.len());
            let weights = (0..inputs * outputs).map(|k| rows[k % outputs * inputs + k / outputs]).collect();
            Layer { inputs, outputs, weights, bias }
        };
        let head = |h: usize| -> NnueHead {
            let (first, above) = w[l.head(h)..][..l.head].split_at(HIDDEN * l.width);
            let (first_bias, above) = above.split_at(H);
            let (second, above) = above.split_at(HIDDEN * H);
            let (second_bias, above) = above.split_at(H);
            let (last, last_bias) = above.split_at(H);
            [
                layer(first, floats(first_bias), c.width),
                layer(second, floats(second_bias), HIDDEN),
                layer(last, floats(last_bias)[..1].to_vec(), HIDDEN),
            ]
        };
        let (weights, bias) = (floats(&w[..l.bias()]), floats(&w[l.bias()..][..l.width]));
        Nnue {
            transformer: Layer { inputs: c.facts, outputs: c.width, weights, bias },
            heads: (0..c.movers * c.phases.len()).map(head).collect(),
            movers: c.movers,
            phases: c.phases.clone(),
            most_active: c.most_active,
            link: Link::Each(Activation::Tanh),
        }
    }

    /// The learner as bytes, from which [`NnueLearner::resume`] goes on.
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = self.steps.to_le_bytes().to_vec();
        for part in [&self.weights, &self.mean, &self.square, &self.averaged] {
            bytes.extend(part.iter().flat_map(|r| r.to_array()).flat_map(|x| x.to_le_bytes()));
        }
        bytes
    }

    /// Goes on from what [`NnueLearner::save`] gave for the same config; `None` if the bytes are not of that kind.
    pub fn resume(mut self, bytes: &[u8]) -> Option<Self> {
        let (steps, rest) = bytes.split_first_chunk::<8>()?;
        let size = 4 * LANES * self.weights.len();
        if rest.len() != 4 * size {
            return None;
        }
        self.steps = u64::from_le_bytes(*steps);
        let parts = [&mut self.weights, &mut self.mean, &mut self.square, &mut self.averaged];
        for (part, bytes) in parts.into_iter().zip(rest.chunks_exact(size)) {
            read_registers(bytes, part);
        }
        Some(self)
    }
}

impl NnueLearner {
    /// The same learner with weights that another of the same shape averaged ([`NnueLearner::averaged`]).
    pub fn start_at(mut self, averaged: &[u8]) -> Option<Self> {
        if averaged.len() != 4 * LANES * self.weights.len() {
            return None;
        }
        read_registers(averaged, &mut self.weights);
        self.averaged.copy_from_slice(&self.weights);
        Some(self)
    }
}

fn read_registers(bytes: &[u8], registers: &mut [f32x8]) {
    for (register, bytes) in registers.iter_mut().zip(bytes.as_chunks::<{ 4 * LANES }>().0) {
        let number = |k: usize| f32::from_le_bytes(std::array::from_fn(|b| bytes[4 * k + b]));
        *register = f32x8::new(std::array::from_fn(number));
    }
}

impl Shard {
    /// Replaces the gradient by that of some examples.
    fn learn<const R: usize>(
        &mut self,
        layout: Layout,
        weights: &[f32x8],
        phases: usize,
        replay: &Replay,
        permutations: &[FactPermutation],
        draws: &[Draw],
    ) {
        let (columns, rest) = self.gradient.split_at_mut(layout.bias());
        rest.fill(f32x8::ZERO);
        for (column, touched) in columns.chunks_exact_mut(R).zip(&mut self.touched) {
            if std::mem::take(touched) {
                column.fill(f32x8::ZERO);
            }
        }
        self.loss = 0.0;
        let mut seen: Vec<u16> = Vec::with_capacity(256);
        for draw in draws {
            let (facts, head, target) = replay.lists[draw.list as usize].get(draw.row as usize);
            let mut head = head as usize;
            let facts = match permutations.get(draw.permutation as usize) {
                Some(p) => {
                    seen.clear();
                    seen.extend(facts.iter().map(|&f| p.facts[f as usize]));
                    if p.swaps_movers {
                        head = (head + phases) % (2 * phases);
                    }
                    &seen[..]
                }
                None => facts,
            };
            facts.iter().for_each(|&f| self.touched[f as usize] = true);
            self.loss += self.example::<R>(layout, weights, facts, head, target) as f64;
        }
    }

    /// Adds the gradient of one example; gives its loss.
    #[inline]
    fn example<const R: usize>(
        &mut self,
        layout: Layout,
        weights: &[f32x8],
        facts: &[u16],
        head: usize,
        target: f32,
    ) -> f32 {
        const BLOCK: usize = 8;
        let zero = f32x8::ZERO;
        let one = f32x8::splat(1.0);
        let mut clipped = [zero; R];
        let columns = weights[..layout.bias()].as_chunks::<R>().0;
        let bias: &[f32x8; R] = weights[layout.bias()..].first_chunk().expect("a bias");
        for b in 0..R / BLOCK {
            let mut z: [f32x8; BLOCK] = *bias[b * BLOCK..].first_chunk().expect("a block");
            for &f in facts {
                let column: &[f32x8; BLOCK] = columns[f as usize][b * BLOCK..].first_chunk().expect("a block");
                (0..BLOCK).for_each(|k| z[k] += column[k]);
            }
            (0..BLOCK).for_each(|k| clipped[b * BLOCK + k] = z[k].fast_max(zero).fast_min(one));
        }
        let y = clipped.map(|c| c * c);
        let (first, above) = weights[layout.head(head)..][..layout.head].split_at(HIDDEN * R);
        let rows = first.as_chunks::<R>().0;
        let mut sums = [0.0; HIDDEN];
        for (s, row) in sums.iter_mut().zip(rows) {
            let mut parts = [zero; 4];
            for k in (0..R).step_by(4) {
                (0..4).for_each(|j| parts[j] += row[k + j] * y[k + j]);
            }
            *s = sum((parts[0] + parts[1]) + (parts[2] + parts[3]));
        }
        let at = |k: usize| [above[k], above[k + 1]];
        let registers = |x: &[f32; HIDDEN]| -> [f32x8; H] {
            std::array::from_fn(|k| f32x8::new(std::array::from_fn(|l| x[k * LANES + l])))
        };
        let clip = |x: f32x8| x.fast_max(zero).fast_min(one);
        let inside = |x: f32x8| x.simd_gt(zero) & x.simd_lt(one);
        let (second_at, second_bias, last_at) = (H, H + HIDDEN * H, 2 * H + HIDDEN * H);
        let z1 = {
            let (s, b) = (registers(&sums), at(0));
            [s[0] + b[0], s[1] + b[1]]
        };
        let h1 = z1.map(clip);
        for (o, s) in sums.iter_mut().enumerate() {
            let w = at(second_at + o * H);
            *s = sum(w[0] * h1[0] + w[1] * h1[1]);
        }
        let z2 = {
            let (s, b) = (registers(&sums), at(second_bias));
            [s[0] + b[0], s[1] + b[1]]
        };
        let h2 = z2.map(clip);
        let last = at(last_at);
        let out = sum(last[0] * h2[0] + last[1] * h2[1]) + above[last_at + H].as_array()[0];
        let v = Activation::Tanh.apply(out);

        // The gradient of the cross-entropy -(p ln q + (1-p) ln (1-q)) with q = (1+v)/2 at the output is v - y.
        let error = v - target;
        let gradient = &mut self.gradient;
        let (below, rest) = gradient.split_at_mut(layout.head(head));
        let (first_gradient, above_gradient) = rest[..layout.head].split_at_mut(HIDDEN * R);
        let e = f32x8::splat(error);
        let d2: [f32x8; H] = std::array::from_fn(|k| inside(z2[k]).select(last[k] * e, zero));
        let mut d1 = [zero; H];
        let d2_numbers: [[f32; LANES]; H] = d2.map(|d| d.to_array());
        for o in 0..HIDDEN {
            let d = d2_numbers[o / LANES][o % LANES];
            if d != 0.0 {
                let (d, w) = (f32x8::splat(d), at(second_at + o * H));
                for k in 0..H {
                    d1[k] += w[k] * d;
                    above_gradient[second_at + o * H + k] += h1[k] * d;
                }
            }
        }
        for k in 0..H {
            d1[k] = inside(z1[k]).select(d1[k], zero);
            above_gradient[k] += d1[k];
            above_gradient[second_bias + k] += d2[k];
            above_gradient[last_at + k] += h2[k] * e;
        }
        let mut only_first = [0.0; LANES];
        only_first[0] = error;
        above_gradient[last_at + H] += f32x8::new(only_first);

        let mut dy = [zero; R];
        let d1_numbers: [[f32; LANES]; H] = d1.map(|d| d.to_array());
        let gradient_rows = first_gradient.as_chunks_mut::<R>().0;
        for o in 0..HIDDEN {
            let d = d1_numbers[o / LANES][o % LANES];
            if d != 0.0 {
                let d = f32x8::splat(d);
                for k in 0..R {
                    gradient_rows[o][k] += y[k] * d;
                    dy[k] += rows[o][k] * d;
                }
            }
        }
        let dz: [f32x8; R] = std::array::from_fn(|k| {
            // clipped is 0 at and below 0, where the derivative is too; at 1 the clip ends it.
            clipped[k].simd_lt(one).select(dy[k] * (clipped[k] + clipped[k]), zero)
        });
        let (column_gradients, bias_gradient) = below.split_at_mut(layout.bias());
        let column_gradients = column_gradients.as_chunks_mut::<R>().0;
        for b in 0..R / BLOCK {
            let dz: &[f32x8; BLOCK] = dz[b * BLOCK..].first_chunk().expect("a block");
            for &f in facts {
                let column: &mut [f32x8; BLOCK] =
                    column_gradients[f as usize][b * BLOCK..].first_chunk_mut().expect("a block");
                (0..BLOCK).for_each(|k| column[k] += dz[k]);
            }
            (0..BLOCK).for_each(|k| bias_gradient[b * BLOCK + k] += dz[k]);
        }
        let (p, q) = ((1.0 + target) / 2.0, ((1.0 + v) / 2.0).clamp(1e-6, 1.0 - 1e-6));
        -(p * q.ln() + (1.0 - p) * (1.0 - q).ln())
    }
}
