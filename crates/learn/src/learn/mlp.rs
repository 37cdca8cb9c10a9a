//! Learning the weights of an MLP by back-propagation.
//!
//! Error of a batch of n examples, over known targets only:
//!   squared        E = Σ (o - t)² / 2n + l2·Σw² / 2n
//!   cross-entropy  E = -Σ t·ln o / n + ..   (softmax), or -Σ t·ln o + (1-t)·ln(1-o) (logistic)
//! the scaling of scikit-learn's `MLPRegressor` and `MLPClassifier`, whose steps are followed to the last digits (tests).
//! With [`Link::SoftmaxAnd`] the moves are learned by cross-entropy and the value by squared error, in one sum.
//!
//! Learning is in `f64`, play in `f32`. A batch is cut into parts by its size alone and the parts' gradients are added
//! in order, so that any number of threads gives the same bits.
//!
//! Not here: dropout, batch normalisation, anything that changes the net's shape.

use super::optim::{Memory, Optimiser, Place};
use crate::lanes::{axpy, dot64};
use crate::store::{Store, Tensor};
use crate::{Act, Data, Error, Errors, Layer, Link, Mlp, Net, Row, Split};
use ludex_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What an MLP is and how it learns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Sizes of the hidden layers; none makes the net linear.
    pub hidden: Vec<usize>,
    /// What hidden units do.
    pub act: Act,
    /// What outputs do.
    pub link: Link,
    /// What is made small.
    pub loss: Loss,
    /// How.
    pub optimiser: Optimiser,
    /// Examples per step; 0 means all of them.
    pub batch: usize,
    /// Weight decay: l2·Σw²/2n is added to a batch's error.
    pub l2: f64,
    /// Whether each epoch draws a new order.
    pub shuffle: bool,
}

/// scikit-learn's defaults for a regressor, with the hidden layers 40-20-40 of CARL.
impl Default for MlpConfig {
    fn default() -> Self {
        MlpConfig {
            hidden: vec![40, 20, 40],
            act: Act::Relu,
            link: Link::Each(Act::Identity),
            loss: Loss::Squared,
            optimiser: Optimiser::adam(),
            batch: 200,
            l2: 1e-4,
            shuffle: true,
        }
    }
}

/// What learning makes small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Half the squared error.
    Squared,
    /// The cross-entropy, for outputs that are probabilities.
    CrossEntropy,
}

/// An MLP while it learns.
#[derive(Clone, Debug)]
pub struct MlpLearner {
    config: MlpConfig,
    sizes: Vec<usize>,
    params: Vec<f64>, // layer by layer: weights (input-major), then bias
    memory: Memory,
    rng: Rng,
    seed: u64,
    epoch: u64,
    parts: Vec<Part>,
}

/// A gradient and the room to compute it.
#[derive(Clone, Debug, Default)]
struct Part {
    gradient: Vec<f64>,
    error: f64,
    z: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    delta: Vec<Vec<f64>>,
}

/// Examples that make it worth to cut a batch into one more part, and the most parts.
const PART: usize = 256;
const PARTS: usize = 16;

impl MlpLearner {
    /// A new net: weights uniform in ±sqrt(6 / (inputs + outputs)) of each layer (Glorot & Bengio 2010; factor 2 for the
    /// logistic), as in scikit-learn.
    pub fn new(config: MlpConfig, inputs: usize, outputs: usize, seed: u64) -> Result<Self, Error> {
        config.optimiser.check()?;
        config.link.check(outputs)?;
        let sizes = [&[inputs], &config.hidden[..], &[outputs]].concat();
        if sizes.contains(&0) {
            return Err(Error::Config(format!("a layer without units: {sizes:?}")));
        }
        if config.loss == Loss::CrossEntropy && matches!(config.link, Link::Each(act) if act != Act::Logistic) {
            return Err(Error::Config("cross-entropy needs outputs that are probabilities".into()));
        }
        if !(config.l2 >= 0.0 && config.l2.is_finite()) {
            return Err(Error::Config(format!("a weight decay of {}", config.l2)));
        }
        let mut rng = Rng::new(seed);
        let factor = if config.act == Act::Logistic { 2.0 } else { 6.0 };
        let mut params = Vec::new();
        for w in sizes.windows(2) {
            let bound = (factor / (w[0] + w[1]) as f64).sqrt();
            params.extend((0..w[0] * w[1] + w[1]).map(|_| bound * (2.0 * rng.unit() - 1.0)));
        }
        let memory = Memory::new(&config.optimiser, params.len());
        Ok(MlpLearner { config, sizes, params, memory, rng, seed, epoch: 0, parts: vec![] })
    }

    /// All weights: layer by layer, first `weights[i * outputs + o]`, then the biases.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// Replaces all weights.
    pub fn set_params(&mut self, params: &[f64]) -> Result<(), Error> {
        if params.len() != self.params.len() {
            return Err(Error::Shape(format!("{} weights for a net of {}", params.len(), self.params.len())));
        }
        self.params.copy_from_slice(params);
        Ok(())
    }

    /// What the net is and how it learns.
    pub fn config(&self) -> &MlpConfig {
        &self.config
    }

    /// The learner as bytes, from which [`MlpLearner::resume`] goes on as if nothing had happened.
    pub fn save(&self) -> Vec<u8> {
        let mut store = Store::default();
        store.put_json("config", &self.config);
        store.put_json("sizes", &self.sizes);
        store.put_json("seed", &self.seed);
        store.put_json("epoch", &self.epoch);
        for (name, numbers) in [("params", &self.params), ("memory", &self.memory.numbers())] {
            let halves: Vec<u32> =
                numbers.iter().map(|v| v.to_bits()).flat_map(|b| [b as u32, (b >> 32) as u32]).collect();
            store.put(name, Tensor::U32(vec![numbers.len(), 2], halves));
        }
        store.write("mlp", 1)
    }

    /// Goes on from what [`MlpLearner::save`] gave, if all epochs had this many examples (which matters for their order only).
    pub fn resume(bytes: &[u8], examples: usize) -> Result<Self, Error> {
        let store = Store::read(bytes, "mlp", 1)?;
        let malformed = |what: &str| Error::Malformed(what.into());
        let sizes: Vec<usize> = store.json("sizes")?;
        let (&[inputs, .., outputs], config) = (&sizes[..], store.json::<MlpConfig>("config")?) else {
            return Err(malformed("sizes"));
        };
        let mut learner = MlpLearner::new(config, inputs, outputs, store.json("seed")?)?;
        let numbers = |name: &str| match store.tensors.get(name) {
            Some(Tensor::U32(_, halves)) => Ok(halves
                .chunks_exact(2)
                .map(|h| f64::from_bits(h[0] as u64 | (h[1] as u64) << 32))
                .collect::<Vec<_>>()),
            _ => Err(malformed(name)),
        };
        learner.set_params(&numbers("params")?)?;
        if !learner.memory.restore(&numbers("memory")?) {
            return Err(malformed("memory"));
        }
        learner.epoch = store.json("epoch")?;
        if learner.config.shuffle {
            let mut order: Vec<u32> = (0..examples as u32).collect();
            (0..learner.epoch).for_each(|_| learner.rng.shuffle(&mut order));
        }
        Ok(learner)
    }

    /// Epochs learned so far.
    pub fn epochs(&self) -> u64 {
        self.epoch
    }

    /// One pass over these examples; gives the mean error of its batches.
    pub fn epoch(&mut self, data: &Data, rows: &[u32]) -> Result<f64, Error> {
        self.fits(data)?;
        let mut order = rows.to_vec();
        if self.config.shuffle {
            self.rng.shuffle(&mut order);
        }
        let size = if self.config.batch == 0 { order.len().max(1) } else { self.config.batch };
        let mut total = 0.0;
        for batch in order.chunks(size) {
            total += self.step(data, batch) * batch.len() as f64;
        }
        self.epoch += 1;
        Ok(total / order.len().max(1) as f64)
    }

    /// Learns for so many epochs and ends with the weights of the best one: by validation if there is any, else by train.
    /// Gives the errors after each epoch; `patience` epochs without a better one end it early.
    pub fn fit(&mut self, data: &Data, split: &Split, epochs: u32, patience: u32) -> Result<Vec<Errors>, Error> {
        let mut curve = Vec::new();
        let mut best = (f64::INFINITY, self.params.clone());
        let mut waited = 0;
        for _ in 0..epochs {
            self.epoch(data, &split.train)?;
            let errors = Errors {
                train: self.mse(data, &split.train),
                validation: (!split.validation.is_empty()).then(|| self.mse(data, &split.validation)),
                test: (!split.test.is_empty()).then(|| self.mse(data, &split.test)),
            };
            curve.push(errors);
            waited += 1;
            let score = errors.validation.unwrap_or(errors.train);
            if score < best.0 {
                best = (score, self.params.clone());
                waited = 0;
            }
            if waited >= patience.max(1) {
                break;
            }
        }
        self.params = best.1;
        Ok(curve)
    }

    /// One step on one example: scikit-learn's `partial_fit` of a single row.
    pub fn update(&mut self, row: Row, targets: &[f64]) {
        self.partial_fit(row, |o| Some(targets[o]));
    }

    /// The same where only one output's target is known.
    pub fn update_one(&mut self, row: Row, output: usize, target: f64) {
        self.partial_fit(row, |o| (o == output).then_some(target));
    }

    fn partial_fit(&mut self, row: Row, target: impl Fn(usize) -> Option<f64>) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.resize_with(parts.len().max(1), Part::default);
        let part = &mut parts[0];
        part.shape(self.params.len(), &self.sizes);
        self.example(row, target, part);
        self.follow(part, 1);
        self.parts = parts;
    }

    /// The outputs for one row, in room that is kept for the next.
    pub fn outputs(&mut self, row: Row) -> &[f64] {
        let mut parts = std::mem::take(&mut self.parts);
        parts.resize_with(parts.len().max(1), Part::default);
        parts[0].shape(self.params.len(), &self.sizes);
        self.forward(row, &mut parts[0]);
        self.parts = parts;
        self.parts[0].y.last().expect("outputs")
    }

    /// Weights and what the optimiser remembers: enough to go on with [`MlpLearner::update`].
    pub fn numbers(&self) -> Vec<f64> {
        [&self.params[..], &self.memory.numbers()].concat()
    }

    /// Remembers what [`MlpLearner::numbers`] gave for the same settings; `false` if these are not as many.
    pub fn restore(&mut self, numbers: &[f64]) -> bool {
        let Some((params, memory)) = numbers.split_at_checked(self.params.len()) else { return false };
        let fits = self.memory.restore(memory);
        if fits {
            self.params.copy_from_slice(params);
        }
        fits
    }

    /// The outputs for one row.
    pub fn predict(&self, row: Row) -> Vec<f64> {
        let mut part = Part::default();
        part.room(&self.sizes);
        self.forward(row, &mut part);
        part.y.pop().expect("outputs")
    }

    /// The mean squared error over known targets.
    pub fn mse(&self, data: &Data, rows: &[u32]) -> f64 {
        let sums: Vec<(f64, u64)> = rows
            .par_chunks(PART)
            .map(|rows| {
                let mut part = Part::default();
                part.room(&self.sizes);
                let (mut sum, mut count) = (0.0, 0);
                for &i in rows {
                    self.forward(data.row(i as usize), &mut part);
                    let out = part.y.last().expect("outputs");
                    for (o, (y, &t)) in out.iter().zip(data.targets(i as usize)).enumerate() {
                        if data.known(i as usize, o) {
                            sum += (y - t as f64).powi(2);
                            count += 1;
                        }
                    }
                }
                (sum, count)
            })
            .collect();
        let (sum, count) = sums.iter().fold((0.0, 0), |(s, c), (sum, count)| (s + sum, c + count));
        sum / count.max(1) as f64
    }

    /// The net as learned, for play.
    pub fn net(&self) -> Net {
        let mut at = 0;
        let mut take = |n: usize| {
            at += n;
            self.params[at - n..at].iter().map(|&w| w as f32).collect::<Vec<f32>>()
        };
        let layers = self.sizes.windows(2).map(|w| {
            let weights = take(w[0] * w[1]);
            Layer { inputs: w[0], outputs: w[1], weights, bias: take(w[1]) }
        });
        Net::Mlp(Mlp { layers: layers.collect(), hidden: self.config.act, link: self.config.link })
    }

    /// The error of a batch and its gradient by each weight: what one step follows.
    pub fn gradient(&mut self, data: &Data, batch: &[u32]) -> Result<(f64, Vec<f64>), Error> {
        self.fits(data)?;
        let mut part = self.collect(data, batch);
        let error = part.error / batch.len().max(1) as f64 + self.decay_error(batch.len());
        for (span, decay) in self.decay(batch.len()) {
            let params = &self.params[span.clone()];
            let all = part.gradient[span].iter_mut().zip(params);
            all.for_each(|(g, w)| *g = *g / batch.len().max(1) as f64 + decay * w);
        }
        Ok((error, part.gradient))
    }

    fn fits(&self, data: &Data) -> Result<(), Error> {
        let (inputs, outputs) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        if (data.inputs(), data.outputs()) != (inputs, outputs) {
            let found = format!("{} -> {}", data.inputs(), data.outputs());
            return Err(Error::Shape(format!("examples {found} for a net {inputs} -> {outputs}")));
        }
        Ok(())
    }

    fn step(&mut self, data: &Data, batch: &[u32]) -> f64 {
        let mut part = self.collect(data, batch);
        let error = part.error / batch.len() as f64 + self.decay_error(batch.len());
        self.follow(&mut part, batch.len());
        self.parts.insert(0, part);
        error
    }

    /// One step down the gradient of n examples, which is 0 afterwards.
    fn follow(&mut self, part: &mut Part, n: usize) {
        let scale = 1.0 / n as f64;
        let watched = matches!(self.memory, Memory::Rprop(_));
        let error = if watched { part.error * scale + self.decay_error(n) } else { 0.0 };
        let at = Place { scale, decay: self.decay(n), error };
        self.memory.step(&self.config.optimiser, self.epoch, &mut self.params, &mut part.gradient, &at);
        part.error = 0.0;
    }

    /// The summed error and gradient of a batch. Its part must be given back to `self.parts`, all 0, to be reused.
    fn collect(&mut self, data: &Data, batch: &[u32]) -> Part {
        let count = (batch.len() / PART).clamp(1, PARTS);
        let mut parts = std::mem::take(&mut self.parts);
        parts.resize_with(parts.len().max(count), Part::default);
        let size = batch.len().div_ceil(count);
        let work = |(part, rows): (&mut Part, &[u32])| {
            part.shape(self.params.len(), &self.sizes);
            for &i in rows {
                let i = i as usize;
                let targets = data.targets(i);
                self.example(data.row(i), |o| data.known(i, o).then(|| targets[o] as f64), part);
            }
        };
        if count == 1 {
            work((&mut parts[0], batch));
        } else {
            let jobs: Vec<_> = parts.iter_mut().zip(batch.chunks(size)).collect();
            jobs.into_par_iter().for_each(work);
        }
        let (first, rest) = parts.split_first_mut().expect("at least one part");
        for part in &mut rest[..count - 1] {
            axpy(1.0, &part.gradient, &mut first.gradient);
            first.error += part.error;
            part.gradient.fill(0.0);
            part.error = 0.0;
        }
        let first = parts.remove(0);
        self.parts = parts;
        first
    }

    /// The spans of weights (which decay) and of biases (which do not), with their decay in a batch of n.
    fn decay(&self, n: usize) -> Vec<(Range<usize>, f64)> {
        let decay = self.config.l2 / n.max(1) as f64;
        let mut at = 0;
        let span = |w: &[usize]| {
            let (weights, bias) = (at..at + w[0] * w[1], at + w[0] * w[1]..at + (w[0] + 1) * w[1]);
            at = bias.end;
            [(weights, decay), (bias, 0.0)]
        };
        self.sizes.windows(2).flat_map(span).collect()
    }

    /// What the weight decay adds to the error of a batch of n.
    fn decay_error(&self, n: usize) -> f64 {
        let squares = |span: Range<usize>| dot64(&self.params[span.clone()], &self.params[span]);
        self.decay(n).into_iter().filter(|(_, d)| *d > 0.0).map(|(span, d)| 0.5 * d * squares(span)).sum()
    }

    /// Where layer `k` begins in the parameters.
    fn offset(&self, k: usize) -> usize {
        self.sizes.windows(2).take(k).map(|w| w[0] * w[1] + w[1]).sum()
    }

    fn forward(&self, row: Row, part: &mut Part) {
        let mut at = 0;
        let last = self.sizes.len() - 2;
        for (k, w) in self.sizes.windows(2).enumerate() {
            let (weights, bias) = self.params[at..at + (w[0] + 1) * w[1]].split_at(w[0] * w[1]);
            at += (w[0] + 1) * w[1];
            let z = &mut part.z[k];
            z.copy_from_slice(bias);
            if k == 0 {
                for (i, x) in row.iter() {
                    axpy(x as f64, &weights[i * w[1]..][..w[1]], z);
                }
            } else {
                for (i, &y) in part.y[k - 1].iter().enumerate() {
                    if y != 0.0 {
                        axpy(y, &weights[i * w[1]..][..w[1]], z);
                    }
                }
            }
            if k == last {
                self.config.link.apply64(&part.z[k], &mut part.y[k]);
            } else {
                let act = self.config.act;
                part.y[k].iter_mut().zip(&part.z[k]).for_each(|(y, &z)| *y = act.exact(z));
            }
        }
    }

    /// Adds one example's error and gradient.
    fn example(&self, row: Row, target: impl Fn(usize) -> Option<f64>, part: &mut Part) {
        self.forward(row, part);
        let last = self.sizes.len() - 2;
        self.output_delta(target, part);
        for k in (0..=last).rev() {
            let (inputs, outputs) = (self.sizes[k], self.sizes[k + 1]);
            let at = self.offset(k);
            let (below, delta) = part.delta.split_at_mut(k);
            let delta = &delta[0][..];
            let (gradient, bias) = part.gradient[at..at + (inputs + 1) * outputs].split_at_mut(inputs * outputs);
            axpy(1.0, delta, bias);
            if k == 0 {
                for (i, x) in row.iter() {
                    axpy(x as f64, delta, &mut gradient[i * outputs..][..outputs]);
                }
                continue;
            }
            let weights = &self.params[at..at + inputs * outputs];
            let (z, y) = (&part.z[k - 1], &part.y[k - 1]);
            for i in 0..inputs {
                let slope = self.config.act.slope(z[i], y[i]);
                below[k - 1][i] =
                    if slope == 0.0 { 0.0 } else { slope * dot64(&weights[i * outputs..][..outputs], delta) };
                if y[i] != 0.0 {
                    axpy(y[i], delta, &mut gradient[i * outputs..][..outputs]);
                }
            }
        }
    }

    /// The error's derivative by the outputs' sums, and the error itself.
    fn output_delta(&self, target: impl Fn(usize) -> Option<f64>, part: &mut Part) {
        let last = self.sizes.len() - 2;
        let (z, y, delta) = (&part.z[last], &part.y[last], &mut part.delta[last]);
        let probabilities = match self.config.link {
            Link::Each(_) => 0,
            Link::Softmax => y.len(),
            Link::SoftmaxAnd(_) => y.len() - 1,
        };
        // By the outputs first.
        for (o, d) in delta.iter_mut().enumerate() {
            *d = target(o).map_or(0.0, |t| y[o] - t);
        }
        let entropy = self.config.loss == Loss::CrossEntropy;
        let least = 1e-300;
        if entropy && probabilities > 0 {
            // Over the known moves only: their targets and probabilities are both made to add up to 1.
            let known = |o: &usize| target(*o).is_some();
            let mass: f64 = (0..probabilities).filter(known).map(|o| y[o]).sum();
            let wanted: f64 = (0..probabilities).filter_map(&target).sum();
            for (o, d) in delta.iter_mut().enumerate().take(probabilities) {
                if let Some(t) = target(o) {
                    let p = y[o] / mass.max(least);
                    *d = wanted * p - t;
                    part.error -= if t == 0.0 { 0.0 } else { t * p.max(least).ln() };
                }
            }
        } else if probabilities > 0 {
            let mean: f64 = (0..probabilities).map(|o| delta[o] * y[o]).sum();
            for (d, &y) in delta.iter_mut().zip(y).take(probabilities) {
                part.error += 0.5 * *d * *d;
                *d = y * (*d - mean);
            }
        }
        let act = match self.config.link {
            Link::Each(act) | Link::SoftmaxAnd(act) => act,
            Link::Softmax => return,
        };
        for (o, d) in delta.iter_mut().enumerate().skip(probabilities) {
            let Some(t) = target(o) else { continue };
            if entropy && probabilities == 0 {
                let term = |t: f64, p: f64| if t == 0.0 { 0.0 } else { t * p.max(least).ln() };
                part.error -= term(t, y[o]) + term(1.0 - t, 1.0 - y[o]); // the slope cancels: d stays y - t
            } else {
                part.error += 0.5 * *d * *d;
                *d *= act.slope(z[o], y[o]);
            }
        }
    }
}

impl Part {
    /// Makes room, all 0, where there is none yet.
    fn shape(&mut self, params: usize, sizes: &[usize]) {
        if self.gradient.len() != params {
            self.gradient = vec![0.0; params];
            self.room(sizes);
        }
    }

    fn room(&mut self, sizes: &[usize]) {
        let room = || sizes[1..].iter().map(|&n| vec![0.0; n]).collect::<Vec<_>>();
        (self.z, self.y, self.delta) = (room(), room(), room());
    }
}
