//! Multilayer perceptrons by back-propagation.
//!
//! The error of a batch of n examples with outputs o and known targets t:
//!   squared        E = Σ (o - t)² / 2n + l2·Σw² / 2n
//!   cross-entropy  E = -Σ t·ln o / n + l2·Σw² / 2n  (softmax), with t·ln o + (1-t)·ln(1-o) for logistic outputs.
//! This is the scaling of scikit-learn's `MLPRegressor` and `MLPClassifier`; tests compare the weights step by step.
//! With [`Link::SoftmaxAnd`] the moves are learned by cross-entropy and the value by squared error, in one sum.
//!
//! Learning is in `f64`; the resulting net is in `f32`. A batch is cut into parts by its size alone, and the gradients
//! of the parts are added in order, so that any number of threads gives the same bits.
//!
//! Not here: dropout, batch normalisation, convolutions.

use super::optim::{Optimiser, OptimiserState, StepInput};
use crate::simd::{axpy, dot64};
use crate::tensor_file::{Tensor, TensorFile};
use crate::{Activation, Data, Error, Layer, Link, Mlp, Net, Row, Split, SplitErrors};
use ludex_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The settings of an [`MlpLearner`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// The sizes of the hidden layers; without any the net is linear.
    pub hidden: Vec<usize>,
    /// The activation of hidden units.
    pub act: Activation,
    /// The activation of the outputs.
    pub link: Link,
    /// The loss to minimise.
    pub loss: Loss,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The number of examples per step; 0 means all of them.
    pub batch: usize,
    /// Weight decay: l2·Σw²/2n is added to a batch's error.
    pub l2: f64,
    /// Whether each epoch takes the examples in a new random order.
    pub shuffle: bool,
}

/// scikit-learn's defaults for a regressor, with the hidden layers 40-20-40 of CARL.
impl Default for MlpConfig {
    fn default() -> Self {
        MlpConfig {
            hidden: vec![40, 20, 40],
            act: Activation::Relu,
            link: Link::Each(Activation::Identity),
            loss: Loss::Squared,
            optimiser: Optimiser::adam(),
            batch: 200,
            l2: 1e-4,
            shuffle: true,
        }
    }
}

/// The loss that learning minimises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Half the squared error.
    Squared,
    /// The cross-entropy, for outputs that are probabilities.
    CrossEntropy,
}

/// A multilayer perceptron in training.
#[derive(Clone, Debug)]
pub struct MlpLearner {
    config: MlpConfig,
    sizes: Vec<usize>,
    params: Vec<f64>, // layer by layer: weights (input-major), then bias
    optimiser_state: OptimiserState,
    rng: Rng,
    seed: u64,
    epoch: u64,
    workspaces: Vec<Workspace>,
}

/// A gradient and the buffers to compute it.
#[derive(Clone, Debug, Default)]
struct Workspace {
    gradient: Vec<f64>,
    error: f64,
    z: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    delta: Vec<Vec<f64>>,
}

/// A batch is cut into parts of about this many examples.
const PART_EXAMPLES: usize = 256;
/// A batch is cut into at most this many parts.
const MAX_PARTS: usize = 16;

impl MlpLearner {
    /// A learner with random weights, uniform in ±sqrt(6 / (inputs + outputs)) of each layer (Glorot & Bengio 2010;
    /// factor 2 for the logistic), as in scikit-learn.
    pub fn new(config: MlpConfig, inputs: usize, outputs: usize, seed: u64) -> Result<Self, Error> {
        config.optimiser.check()?;
        config.link.check(outputs)?;
        let sizes = [&[inputs], &config.hidden[..], &[outputs]].concat();
        if sizes.contains(&0) {
            return Err(Error::Config(format!("a layer without units: {sizes:?}")));
        }
        if config.loss == Loss::CrossEntropy && matches!(config.link, Link::Each(act) if act != Activation::Logistic) {
            return Err(Error::Config("cross-entropy needs outputs that are probabilities".into()));
        }
        if !(config.l2 >= 0.0 && config.l2.is_finite()) {
            return Err(Error::Config(format!("a weight decay of {}", config.l2)));
        }
        let mut rng = Rng::new(seed);
        let factor = if config.act == Activation::Logistic { 2.0 } else { 6.0 };
        let mut params = Vec::new();
        for w in sizes.windows(2) {
            let bound = (factor / (w[0] + w[1]) as f64).sqrt();
            params.extend((0..w[0] * w[1] + w[1]).map(|_| bound * (2.0 * rng.unit() - 1.0)));
        }
        let optimiser_state = OptimiserState::new(&config.optimiser, params.len());
        Ok(MlpLearner { config, sizes, params, optimiser_state, rng, seed, epoch: 0, workspaces: vec![] })
    }

    /// All weights, layer by layer: first `weights[i * outputs + o]`, then the biases.
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

    /// The settings.
    pub fn config(&self) -> &MlpConfig {
        &self.config
    }

    /// The learner as a file: with [`MlpLearner::resume`], learning continues to the same bits.
    pub fn save(&self) -> Vec<u8> {
        let mut file = TensorFile::default();
        file.put_json("config", &self.config);
        file.put_json("sizes", &self.sizes);
        file.put_json("seed", &self.seed);
        file.put_json("epoch", &self.epoch);
        for (name, numbers) in [("params", &self.params), ("memory", &self.optimiser_state.training_state())] {
            let halves: Vec<u32> =
                numbers.iter().map(|v| v.to_bits()).flat_map(|b| [b as u32, (b >> 32) as u32]).collect();
            file.put(name, Tensor::U32(vec![numbers.len(), 2], halves));
        }
        file.write("mlp", 1)
    }

    /// Continues from what [`MlpLearner::save`] gave. `examples` is the number of examples of each epoch so far, from
    /// which the random order of the next epoch follows.
    pub fn resume(bytes: &[u8], examples: usize) -> Result<Self, Error> {
        let file = TensorFile::read(bytes, "mlp", 1)?;
        let malformed = |what: &str| Error::Malformed(what.into());
        let sizes: Vec<usize> = file.json("sizes")?;
        let (&[inputs, .., outputs], config) = (&sizes[..], file.json::<MlpConfig>("config")?) else {
            return Err(malformed("sizes"));
        };
        let mut learner = MlpLearner::new(config, inputs, outputs, file.json("seed")?)?;
        let numbers = |name: &str| match file.tensors.get(name) {
            Some(Tensor::U32(_, halves)) => Ok(halves
                .chunks_exact(2)
                .map(|h| f64::from_bits(h[0] as u64 | (h[1] as u64) << 32))
                .collect::<Vec<_>>()),
            _ => Err(malformed(name)),
        };
        learner.set_params(&numbers("params")?)?;
        if !learner.optimiser_state.set_training_state(&numbers("memory")?) {
            return Err(malformed("memory"));
        }
        learner.epoch = file.json("epoch")?;
        if learner.config.shuffle {
            let mut order: Vec<u32> = (0..examples as u32).collect();
            (0..learner.epoch).for_each(|_| learner.rng.shuffle(&mut order));
        }
        Ok(learner)
    }

    /// The number of epochs so far.
    pub fn epochs(&self) -> u64 {
        self.epoch
    }

    /// One pass over these examples; returns the mean error of its batches.
    pub fn epoch(&mut self, data: &Data, rows: &[u32]) -> Result<f64, Error> {
        self.check_data(data)?;
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

    /// Learns for at most this many epochs, stopping early after `patience` epochs without a smaller error, and keeps
    /// the weights of the best epoch: by the validation error if there is one, else by the training error. Returns the
    /// errors after each epoch.
    pub fn fit(&mut self, data: &Data, split: &Split, epochs: u32, patience: u32) -> Result<Vec<SplitErrors>, Error> {
        let mut curve = Vec::new();
        let mut best = (f64::INFINITY, self.params.clone());
        let mut waited = 0;
        for _ in 0..epochs {
            self.epoch(data, &split.train)?;
            let errors = SplitErrors {
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

    /// One step on one example, as scikit-learn's `partial_fit` of a single row.
    pub fn update(&mut self, row: Row, targets: &[f64]) {
        self.partial_fit(row, |o| Some(targets[o]));
    }

    /// One step on one example of which only the target of `output` is known.
    pub fn update_one(&mut self, row: Row, output: usize, target: f64) {
        self.partial_fit(row, |o| (o == output).then_some(target));
    }

    fn partial_fit(&mut self, row: Row, target: impl Fn(usize) -> Option<f64>) {
        let mut workspaces = std::mem::take(&mut self.workspaces);
        workspaces.resize_with(workspaces.len().max(1), Workspace::default);
        let work = &mut workspaces[0];
        work.allocate(self.params.len(), &self.sizes);
        self.add_example(row, target, work);
        self.apply_gradient(work, 1);
        self.workspaces = workspaces;
    }

    /// The outputs for one row, without allocating.
    pub fn outputs(&mut self, row: Row) -> &[f64] {
        let mut workspaces = std::mem::take(&mut self.workspaces);
        workspaces.resize_with(workspaces.len().max(1), Workspace::default);
        workspaces[0].allocate(self.params.len(), &self.sizes);
        self.forward(row, &mut workspaces[0]);
        self.workspaces = workspaces;
        self.workspaces[0].y.last().expect("outputs")
    }

    /// Weights and optimiser state as numbers: enough to continue with [`MlpLearner::update`].
    pub fn training_state(&self) -> Vec<f64> {
        [&self.params[..], &self.optimiser_state.training_state()].concat()
    }

    /// Sets the state to what [`MlpLearner::training_state`] gave for the same settings; `false` if the number of
    /// values differs.
    pub fn set_training_state(&mut self, numbers: &[f64]) -> bool {
        let Some((params, optimiser)) = numbers.split_at_checked(self.params.len()) else { return false };
        let fits = self.optimiser_state.set_training_state(optimiser);
        if fits {
            self.params.copy_from_slice(params);
        }
        fits
    }

    /// The outputs for one row.
    pub fn predict(&self, row: Row) -> Vec<f64> {
        let mut work = Workspace::default();
        work.allocate_values(&self.sizes);
        self.forward(row, &mut work);
        work.y.pop().expect("outputs")
    }

    /// The mean squared error over known targets.
    pub fn mse(&self, data: &Data, rows: &[u32]) -> f64 {
        let sums: Vec<(f64, u64)> = rows
            .par_chunks(PART_EXAMPLES)
            .map(|rows| {
                let mut work = Workspace::default();
                work.allocate_values(&self.sizes);
                let (mut sum, mut count) = (0.0, 0);
                for &i in rows {
                    self.forward(data.row(i as usize), &mut work);
                    let out = work.y.last().expect("outputs");
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

    /// The net as learned so far.
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

    /// The error of a batch and its gradient by each weight, without taking a step.
    pub fn gradient(&mut self, data: &Data, batch: &[u32]) -> Result<(f64, Vec<f64>), Error> {
        self.check_data(data)?;
        let mut work = self.batch_gradient(data, batch);
        let error = work.error / batch.len().max(1) as f64 + self.decay_error(batch.len());
        for (range, decay) in self.decay(batch.len()) {
            let params = &self.params[range.clone()];
            let all = work.gradient[range].iter_mut().zip(params);
            all.for_each(|(g, w)| *g = *g / batch.len().max(1) as f64 + decay * w);
        }
        Ok((error, work.gradient))
    }

    fn check_data(&self, data: &Data) -> Result<(), Error> {
        let (inputs, outputs) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        if (data.inputs(), data.outputs()) != (inputs, outputs) {
            let found = format!("{} -> {}", data.inputs(), data.outputs());
            return Err(Error::Shape(format!("examples {found} for a net {inputs} -> {outputs}")));
        }
        Ok(())
    }

    fn step(&mut self, data: &Data, batch: &[u32]) -> f64 {
        let mut work = self.batch_gradient(data, batch);
        let error = work.error / batch.len() as f64 + self.decay_error(batch.len());
        self.apply_gradient(&mut work, batch.len());
        self.workspaces.insert(0, work);
        error
    }

    /// One step by the summed gradient of n examples, which is 0 afterwards.
    fn apply_gradient(&mut self, work: &mut Workspace, n: usize) {
        let scale = 1.0 / n as f64;
        let needs_error = matches!(self.optimiser_state, OptimiserState::Rprop(_));
        let error = if needs_error { work.error * scale + self.decay_error(n) } else { 0.0 };
        let input = StepInput { scale, decay: self.decay(n), error };
        self.optimiser_state.step(&self.config.optimiser, self.epoch, &mut self.params, &mut work.gradient, &input);
        work.error = 0.0;
    }

    /// The summed error and gradient of a batch, in buffers that are to be put back into `self.workspaces`, all 0.
    fn batch_gradient(&mut self, data: &Data, batch: &[u32]) -> Workspace {
        let count = (batch.len() / PART_EXAMPLES).clamp(1, MAX_PARTS);
        let mut workspaces = std::mem::take(&mut self.workspaces);
        workspaces.resize_with(workspaces.len().max(count), Workspace::default);
        let size = batch.len().div_ceil(count);
        let add_rows = |(work, rows): (&mut Workspace, &[u32])| {
            work.allocate(self.params.len(), &self.sizes);
            for &i in rows {
                let i = i as usize;
                let targets = data.targets(i);
                self.add_example(data.row(i), |o| data.known(i, o).then(|| targets[o] as f64), work);
            }
        };
        if count == 1 {
            add_rows((&mut workspaces[0], batch));
        } else {
            let jobs: Vec<_> = workspaces.iter_mut().zip(batch.chunks(size)).collect();
            jobs.into_par_iter().for_each(add_rows);
        }
        let (first, rest) = workspaces.split_first_mut().expect("at least one");
        for work in &mut rest[..count - 1] {
            axpy(1.0, &work.gradient, &mut first.gradient);
            first.error += work.error;
            work.gradient.fill(0.0);
            work.error = 0.0;
        }
        let first = workspaces.remove(0);
        self.workspaces = workspaces;
        first
    }

    /// The ranges of weights, which decay, and of biases, which do not, with their decay in a batch of n.
    fn decay(&self, n: usize) -> Vec<(Range<usize>, f64)> {
        let decay = self.config.l2 / n.max(1) as f64;
        let mut at = 0;
        let range = |w: &[usize]| {
            let (weights, bias) = (at..at + w[0] * w[1], at + w[0] * w[1]..at + (w[0] + 1) * w[1]);
            at = bias.end;
            [(weights, decay), (bias, 0.0)]
        };
        self.sizes.windows(2).flat_map(range).collect()
    }

    /// What the weight decay adds to the error of a batch of n.
    fn decay_error(&self, n: usize) -> f64 {
        let squares = |range: Range<usize>| dot64(&self.params[range.clone()], &self.params[range]);
        self.decay(n).into_iter().filter(|(_, d)| *d > 0.0).map(|(range, d)| 0.5 * d * squares(range)).sum()
    }

    /// Where layer `k` begins in the parameters.
    fn offset(&self, k: usize) -> usize {
        self.sizes.windows(2).take(k).map(|w| w[0] * w[1] + w[1]).sum()
    }

    fn forward(&self, row: Row, work: &mut Workspace) {
        let mut at = 0;
        let last = self.sizes.len() - 2;
        for (k, w) in self.sizes.windows(2).enumerate() {
            let (weights, bias) = self.params[at..at + (w[0] + 1) * w[1]].split_at(w[0] * w[1]);
            at += (w[0] + 1) * w[1];
            let z = &mut work.z[k];
            z.copy_from_slice(bias);
            if k == 0 {
                for (i, x) in row.iter() {
                    axpy(x as f64, &weights[i * w[1]..][..w[1]], z);
                }
            } else {
                for (i, &y) in work.y[k - 1].iter().enumerate() {
                    if y != 0.0 {
                        axpy(y, &weights[i * w[1]..][..w[1]], z);
                    }
                }
            }
            if k == last {
                self.config.link.apply64(&work.z[k], &mut work.y[k]);
            } else {
                let act = self.config.act;
                work.y[k].iter_mut().zip(&work.z[k]).for_each(|(y, &z)| *y = act.apply_f64(z));
            }
        }
    }

    /// Adds the error and gradient of one example.
    fn add_example(&self, row: Row, target: impl Fn(usize) -> Option<f64>, work: &mut Workspace) {
        self.forward(row, work);
        let last = self.sizes.len() - 2;
        self.output_delta(target, work);
        for k in (0..=last).rev() {
            let (inputs, outputs) = (self.sizes[k], self.sizes[k + 1]);
            let at = self.offset(k);
            let (below, delta) = work.delta.split_at_mut(k);
            let delta = &delta[0][..];
            let (gradient, bias) = work.gradient[at..at + (inputs + 1) * outputs].split_at_mut(inputs * outputs);
            axpy(1.0, delta, bias);
            if k == 0 {
                for (i, x) in row.iter() {
                    axpy(x as f64, delta, &mut gradient[i * outputs..][..outputs]);
                }
                continue;
            }
            let weights = &self.params[at..at + inputs * outputs];
            let (z, y) = (&work.z[k - 1], &work.y[k - 1]);
            for i in 0..inputs {
                let derivative = self.config.act.derivative(z[i], y[i]);
                below[k - 1][i] =
                    if derivative == 0.0 { 0.0 } else { derivative * dot64(&weights[i * outputs..][..outputs], delta) };
                if y[i] != 0.0 {
                    axpy(y[i], delta, &mut gradient[i * outputs..][..outputs]);
                }
            }
        }
    }

    /// The error of one example, and its derivative by the weighted sums of the outputs.
    fn output_delta(&self, target: impl Fn(usize) -> Option<f64>, work: &mut Workspace) {
        let last = self.sizes.len() - 2;
        let (z, y, delta) = (&work.z[last], &work.y[last], &mut work.delta[last]);
        let probabilities = match self.config.link {
            Link::Each(_) => 0,
            Link::Softmax => y.len(),
            Link::SoftmaxAnd(_) => y.len() - 1,
        };
        // First the derivative by the outputs themselves.
        for (o, d) in delta.iter_mut().enumerate() {
            *d = target(o).map_or(0.0, |t| y[o] - t);
        }
        let entropy = self.config.loss == Loss::CrossEntropy;
        let least = 1e-300;
        if entropy && probabilities > 0 {
            // Over the known moves only: their targets and probabilities are both normalised to add up to 1.
            let known = |o: &usize| target(*o).is_some();
            let mass: f64 = (0..probabilities).filter(known).map(|o| y[o]).sum();
            let wanted: f64 = (0..probabilities).filter_map(&target).sum();
            for (o, d) in delta.iter_mut().enumerate().take(probabilities) {
                if let Some(t) = target(o) {
                    let p = y[o] / mass.max(least);
                    *d = wanted * p - t;
                    work.error -= if t == 0.0 { 0.0 } else { t * p.max(least).ln() };
                }
            }
        } else if probabilities > 0 {
            let mean: f64 = (0..probabilities).map(|o| delta[o] * y[o]).sum();
            for (d, &y) in delta.iter_mut().zip(y).take(probabilities) {
                work.error += 0.5 * *d * *d;
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
                // The derivative of the logistic cancels: d stays y - t.
                work.error -= term(t, y[o]) + term(1.0 - t, 1.0 - y[o]);
            } else {
                work.error += 0.5 * *d * *d;
                *d *= act.derivative(z[o], y[o]);
            }
        }
    }
}

impl Workspace {
    /// Allocates all buffers, all 0, unless that was done before.
    fn allocate(&mut self, params: usize, sizes: &[usize]) {
        if self.gradient.len() != params {
            self.gradient = vec![0.0; params];
            self.allocate_values(sizes);
        }
    }

    /// Allocates the buffers of values, without the gradient.
    fn allocate_values(&mut self, sizes: &[usize]) {
        let zeros = || sizes[1..].iter().map(|&n| vec![0.0; n]).collect::<Vec<_>>();
        (self.z, self.y, self.delta) = (zeros(), zeros(), zeros());
    }
}
