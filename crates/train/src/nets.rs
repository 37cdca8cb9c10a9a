//! How each family of nets is trained: its options, and its learner as [`crate::fit`] drives it.

use crate::dataset::{Dataset, SplitBy};
use crate::driver::{Context, Stream};
use crate::fit::{ErrorPoint, Fit, Learner, split_checkpoint};
use crate::store::{Result, RunError};
use ludex_core::Rng;
use ludex_learn::*;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// With fewer examples nothing is held back to choose by.
const FEW: usize = 40;

/// Options of a cascade-correlation net; `systems/uct-ccnn.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct CascadeOptions {
    pub view: crate::encoders::View,
    pub split: SplitBy,
    pub selection: f64,
    pub test: f64,
    pub units: usize,
    pub patience: usize,
    pub candidates: usize,
    pub objective: Objective,
    pub output: CascadeOutput,
    pub shape: Topology,
    pub epochs: u32,
    pub epoch_patience: u32,
}

/// How output weights of a cascade are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CascadeOutput {
    /// tanh, by iRprop+.
    Rprop,
    /// Linear, by least squares.
    Ridge,
}

impl CascadeOptions {
    fn config(&self, inputs: usize, examples: usize) -> CascadeConfig {
        let phase = EarlyStopping { epochs: self.epochs, patience: self.epoch_patience, ..EarlyStopping::default() };
        let few = examples < FEW;
        // With few matches only a heavy penalty keeps the net from learning them by heart.
        let lambdas = if few { vec![1e-3] } else { vec![1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0] };
        CascadeConfig {
            units: if self.units == 0 { inputs } else { self.units },
            patience: self.patience,
            candidates: self.candidates,
            objective: self.objective,
            phase,
            output: match self.output {
                CascadeOutput::Ridge => OutputTraining::Ridge { lambdas },
                CascadeOutput::Rprop => OutputTraining::Rprop { act: Activation::Tanh, phase },
            },
            shape: self.shape,
            choose: if few { SelectBy::Train } else { SelectBy::Validation },
            ..CascadeConfig::default()
        }
    }

    /// Deals examples out to learn from, choose by and test with.
    pub fn split(&self, examples: &Dataset, mut rng: Rng) -> Split {
        let n = examples.data.len();
        if n < FEW {
            return Split::all(n);
        }
        let split = examples.split(self.split, self.selection, self.test, &mut rng);
        // With a handful of matches a share of them may be none.
        let empty = split.validation.is_empty() || split.train.is_empty();
        if empty { Split::random(n, self.selection.max(0.1), self.test, &mut rng) } else { split }
    }

    /// Trains a value net on the examples, or goes on, and keeps it as `final`.
    pub fn fit(
        &self,
        cx: &Context<'_>,
        data: &Data,
        split: &Split,
        encoder: &Encoder,
    ) -> Result<(Model, Vec<ErrorPoint>)> {
        let config = self.config(encoder.inputs(), data.len());
        let steps = config.units as u64;
        let fit = Fit { cx, name: "final", steps, every: 1, patience: 0, measure_start: true, anytime: false };
        fit.run(
            || Ok(CascadeLearner::new(config.clone(), data, split, cx.seed(Stream::Weights))?),
            |bytes| CascadeLearner::resume(bytes, data, split).ok().filter(|l| *l.config() == config),
            |learner, curve| {
                let best = &curve[learner.best_units()];
                let metrics = [
                    ("units", Some(best.step as f64)),
                    ("examples", Some(data.len() as f64)),
                    ("train_mse", best.train),
                    ("selection_mse", best.selection),
                    ("test_mse", best.test),
                ];
                Ok(vec![cx.model(encoder, Head::Value { outputs: data.outputs() }, learner.best(), data, &metrics)])
            },
        )
    }
}

/// Options of an extreme learning machine; `systems/nhb.toml` explains them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ElmOptions {
    pub view: crate::encoders::View,
    pub coding: crate::encoders::Coding,
    pub hidden: usize,
    pub bound: f64,
    pub ridge: f64,
    pub keep: f64,
    pub search: HiddenSizeSearch,
    pub search_examples: usize,
}

/// The hidden layer, and how it was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HiddenLayer {
    /// Hidden units.
    pub hidden: usize,
    /// Their weights come from here.
    pub seed: u64,
    /// Sizes with their mean errors on training and validation folds.
    pub tried: Vec<(usize, f64, f64)>,
}

/// An extreme learning machine keeps a square matrix of its hidden units: no more than these.
const MOST_ELM_UNITS: usize = 4_000;

impl ElmOptions {
    /// Refuses what cannot be trained.
    pub fn check(&self) -> Result<()> {
        match self.hidden <= MOST_ELM_UNITS && self.search.most <= MOST_ELM_UNITS {
            true => Ok(()),
            false => Err(RunError::Options(format!("net: a machine has at most {MOST_ELM_UNITS} hidden units"))),
        }
    }

    /// A machine with so many hidden units.
    pub fn config(&self, hidden: usize) -> OsElmConfig {
        OsElmConfig { hidden, bound: self.bound, ridge: self.ridge, keep: self.keep }
    }

    /// The layer: as given, or by cross-validation on the first training set; and the time that took, if it was done now.
    pub fn hidden_layer(&self, cx: &Context<'_>, data: &Data) -> Result<(HiddenLayer, Duration)> {
        let (seed, n, mut took) = (cx.seed(Stream::Weights), data.len(), Duration::ZERO);
        if self.hidden > 0 || n < 2 * self.search.folds {
            let hidden = if self.hidden > 0 { self.hidden } else { self.search.first };
            return Ok((HiddenLayer { hidden, seed, tried: vec![] }, took));
        }
        let layer = cx.run.once("hidden/0000", || {
            let start = Instant::now();
            cx.run.observer().note("cross-validating the hidden size");
            let mut rows: Vec<u32> = (0..n as u32).collect();
            Rng::stream(seed, 1).shuffle(&mut rows);
            rows.truncate(if self.search_examples > 0 { self.search_examples.max(2 * self.search.folds) } else { n });
            let chosen = choose_hidden_size(self.config(0), &self.search, data, &rows, seed)?;
            let tried = chosen.tried.iter().map(|(m, e)| (*m, e.train, e.validation.unwrap_or(f64::MAX))).collect();
            took = start.elapsed();
            Ok(HiddenLayer { hidden: chosen.hidden, seed: chosen.seed, tried })
        })?;
        Ok((layer, took))
    }
}

/// Options of a multilayer perceptron; `systems/cut.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct MlpOptions {
    pub hidden: Vec<usize>,
    pub act: Activation,
    pub output: MlpOutput,
    pub loss: Loss,
    pub optimiser: Descent,
    pub rprop: RpropKind,
    pub batch: usize,
    pub rate: f64,
    pub last_rate: f64,
    pub l2: f64,
    pub epochs: u32,
}

/// What several outputs do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MlpOutput {
    /// Each is a sigmoid of its own.
    Sigmoid,
    /// They add up to 1.
    Softmax,
}

/// How weights follow the gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Descent {
    /// Resilient propagation on all examples at once.
    Rprop,
    /// Adaptive moments on small batches: far fewer passes over many examples.
    Adam,
}

impl MlpOptions {
    /// The net and how it learns.
    pub fn config(&self) -> MlpConfig {
        let (from, to) = (self.rate, self.last_rate.min(self.rate));
        let rate = LearningRate::Exponential { from, to, epochs: self.epochs };
        let (optimiser, batch) = match self.optimiser {
            Descent::Rprop => (Optimiser::Rprop(Rprop { kind: self.rprop, first: 0.01, ..Rprop::default() }), 0),
            Descent::Adam => (Optimiser::Adam { rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }, self.batch.max(1)),
        };
        MlpConfig {
            hidden: self.hidden.clone(),
            act: self.act,
            link: match self.output {
                MlpOutput::Sigmoid => Link::Each(Activation::Logistic),
                MlpOutput::Softmax => Link::Softmax,
            },
            loss: self.loss,
            optimiser,
            batch,
            l2: self.l2,
            shuffle: batch > 0,
        }
    }

    /// Refuses what cannot be trained.
    pub fn check(&self, inputs: usize, outputs: usize) -> Result<()> {
        check_mlp(&self.config(), inputs, outputs)
    }
}

/// More weights than this fit no machine that we know of, with all that training keeps beside them.
const MOST_WEIGHTS: usize = 200_000_000;

/// Refuses a multilayer perceptron that cannot be trained.
pub fn check_mlp(config: &MlpConfig, inputs: usize, outputs: usize) -> Result<()> {
    let layers: Vec<usize> = [&[inputs][..], &config.hidden, &[outputs]].concat();
    let weights = layers.windows(2).fold(0usize, |n, w| n.saturating_add(w[0].saturating_mul(w[1])));
    if weights > MOST_WEIGHTS {
        return Err(RunError::Options(format!("train: the net would have {weights} weights, at most {MOST_WEIGHTS}")));
    }
    let small = MlpConfig { hidden: config.hidden.iter().map(|&n| n.min(1)).collect(), ..config.clone() };
    MlpLearner::new(small, 1, outputs.min(3), 1).map(|_| ()).map_err(|e| RunError::Options(format!("train: {e}")))
}

/// A multilayer perceptron while it learns, an epoch a step.
pub struct MlpTrainer<'a> {
    learner: MlpLearner,
    best: Vec<f64>,
    data: &'a Data,
    split: &'a Split,
    /// All errors are measured, not only that which chooses.
    all_errors: bool,
}

impl<'a> MlpTrainer<'a> {
    /// Weights drawn from the seed.
    pub fn new(config: MlpConfig, data: &'a Data, split: &'a Split, all_errors: bool, seed: u64) -> Result<Self> {
        let learner = MlpLearner::new(config, data.inputs(), data.outputs(), seed)?;
        Ok(MlpTrainer { best: learner.params().to_vec(), learner, data, split, all_errors })
    }

    /// Goes on from what was saved, if the settings are these.
    pub fn resume(
        bytes: &[u8],
        config: &MlpConfig,
        data: &'a Data,
        split: &'a Split,
        all_errors: bool,
    ) -> Option<Self> {
        let (best, learner) = split_checkpoint(bytes)?;
        let learner = MlpLearner::resume(learner, split.train.len()).ok()?;
        let best: Vec<f64> = best.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let sound = learner.config() == config && best.len() == learner.params().len();
        sound.then_some(MlpTrainer { learner, best, data, split, all_errors })
    }

    /// The learner with the best weights so far.
    pub fn best(&mut self) -> Result<&MlpLearner> {
        self.learner.set_params(&self.best)?;
        Ok(&self.learner)
    }

    fn mse(&self, rows: &[u32]) -> Option<f64> {
        (!rows.is_empty()).then(|| self.learner.mse(self.data, rows))
    }

    /// Mean squared errors of the learner as it is.
    pub fn errors(&self) -> ErrorPoint {
        let Split { train, validation, test } = self.split;
        let (train, selection, test) = (self.mse(train), self.mse(validation), self.mse(test));
        ErrorPoint { step: self.learner.epochs(), train, selection, test }
    }
}

impl Learner for MlpTrainer<'_> {
    type Point = ErrorPoint;

    fn step(&mut self) -> Result<bool, Error> {
        self.learner.epoch(self.data, &self.split.train).map(|_| true)
    }

    fn steps(&self) -> u64 {
        self.learner.epochs()
    }

    fn measure(&self) -> ErrorPoint {
        let none = ErrorPoint { step: self.learner.epochs(), train: None, selection: None, test: None };
        match (self.all_errors, self.split.validation.is_empty()) {
            (true, _) => self.errors(),
            (false, true) => ErrorPoint { train: self.mse(&self.split.train), ..none },
            (false, false) => ErrorPoint { selection: self.mse(&self.split.validation), ..none },
        }
    }

    fn error(p: &ErrorPoint) -> f64 {
        p.selection.or(p.train).unwrap_or(f64::INFINITY)
    }

    fn keep_best(&mut self) {
        self.best.copy_from_slice(self.learner.params());
    }

    fn save(&self) -> Vec<u8> {
        let best: Vec<u8> = self.best.iter().flat_map(|w| w.to_le_bytes()).collect();
        [&(best.len() as u64).to_le_bytes()[..], &best, &self.learner.save()].concat()
    }
}

/// A cascade, a unit a step; it keeps its own best snapshot and stops by its own patience.
impl Learner for CascadeLearner<'_> {
    type Point = ErrorPoint;

    fn step(&mut self) -> Result<bool, Error> {
        Ok(self.add_unit().is_some())
    }

    fn steps(&self) -> u64 {
        CascadeLearner::steps(self).len() as u64 - 1
    }

    fn measure(&self) -> ErrorPoint {
        let last = CascadeLearner::steps(self).last().expect("the net without units is the first step");
        let (train, selection, test) = (Some(last.errors.train), last.errors.validation, last.errors.test);
        ErrorPoint { step: last.units as u64, train, selection, test }
    }

    fn error(p: &ErrorPoint) -> f64 {
        p.selection.or(p.train).unwrap_or(f64::INFINITY)
    }

    fn save(&self) -> Vec<u8> {
        CascadeLearner::save(self)
    }
}
