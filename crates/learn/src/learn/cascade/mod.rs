//! Cascade-correlation learning (Fahlman & Lebiere 1990), as the UCT-CCNN paper uses it, with ridge outputs, validation
//! and flat topologies as further choices.
//!
//! The net starts with inputs and outputs only. Each step trains a pool of candidate units, of several activations and
//! initial weights, against the residuals (`pool`), each stopped and selected by validation examples if there are any;
//! installs the best one with its weights frozen; and trains the output weights, by ridge least squares (`ridge`) or by
//! iRprop. There is a snapshot after each step, with its errors on train, validation and test; the best snapshot is the
//! result.
//!
//! Tested: installing a unit never raises the training error; the same seed gives the same bits on any number of
//! threads; a learner that is saved after any unit and resumed ends with the same bits as one that never stopped,
//! because everything but the weights (activations, residuals, products) is computed again from the weights.
//!
//! What FANN does and this does not: run the whole frozen net in each epoch, score candidates one update too early, add
//! a step after a sign change in "iRprop-", start from positive weights only.

mod columns;
mod packed;
mod pass;
mod pool;
mod ridge;
#[cfg(test)]
mod tests;

pub use pool::{EarlyStopping, Objective};

use super::optim::Rprop;
use crate::tensor_file::{Tensor, TensorFile};
use crate::{Activation, Cascade, Data, Error, Link, Net, Split, SplitErrors, Unit};
use columns::Columns;
use ludex_core::Rng;
use packed::{PackedExamples, TILE};
use pass::{GROUP, Pass};
use pool::{Candidates, Outputs, ResidualSums, minimise};
use rayon::prelude::*;
use ridge::Ridge;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Instant;

/// The settings of a [`CascadeLearner`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CascadeConfig {
    /// The largest number of units.
    pub units: usize,
    /// Growing stops after this many units without a better snapshot; 0 means never.
    pub patience: usize,
    /// Growing stops after this many seconds, checked between units; 0 means never. Not reproducible.
    pub seconds: f64,
    /// The number of candidates in the pool.
    pub candidates: usize,
    /// The activations of the candidates, in turn.
    pub acts: Vec<Activation>,
    /// The standard deviations of the candidates' initial weighted sums; the next one after each round of activations.
    pub spreads: Vec<f64>,
    /// What the training of candidates optimises.
    pub objective: Objective,
    /// When the training of candidates stops.
    pub phase: EarlyStopping,
    /// The optimiser of candidates, and of outputs without ridge.
    pub rprop: Rprop,
    /// How output weights are trained.
    pub output: OutputTraining,
    /// Which earlier units a unit sees.
    pub shape: Topology,
    /// The errors that select the best snapshot.
    pub choose: SelectBy,
}

impl Default for CascadeConfig {
    fn default() -> Self {
        CascadeConfig {
            units: 50,
            patience: 0,
            seconds: 0.0,
            candidates: 16,
            acts: vec![Activation::Tanh, Activation::GaussSym, Activation::SinSym, Activation::Gauss],
            spreads: vec![1.0, 0.5],
            objective: Objective::NormalisedCovariance,
            phase: EarlyStopping::default(),
            rprop: Rprop::default(),
            output: OutputTraining::Ridge { lambdas: vec![1e-6, 1e-5, 1e-4, 1e-3, 1e-2] },
            shape: Topology::Cascade,
            choose: SelectBy::Validation,
        }
    }
}

/// How output weights are trained after each unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OutputTraining {
    /// Linear outputs by ridge least squares; of several penalties the one with the least validation error.
    Ridge {
        /// The penalties, per example; a single one needs no validation examples.
        lambdas: Vec<f64>,
    },
    /// By Rprop, from the weights of the step before.
    Rprop {
        /// The activation of the outputs.
        act: Activation,
        /// When training stops.
        phase: EarlyStopping,
    },
}

/// Which earlier units a unit sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// All of them: each unit is a layer of its own.
    Cascade,
    /// None: one hidden layer.
    Flat,
    /// Those of lower layers, of which there are at most this many. Every other candidate joins the deepest layer, the
    /// others start the next.
    Depth(u32),
}

/// The errors that select the best snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectBy {
    /// Training errors, which never rise: the last snapshot.
    Train,
    /// Validation errors.
    Validation,
    /// Test errors, as in the paper. The reported test error is then optimistic.
    Test,
}

/// One step of a cascade's growth: the number of units and the errors after it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CascadeStep {
    /// The number of units.
    pub units: usize,
    /// The ridge penalty that was selected, if there is one.
    pub lambda: Option<f64>,
    /// Mean squared errors.
    pub errors: SplitErrors,
    /// Seconds of learning so far, those before a resumption included.
    pub seconds: f64,
}

/// A cascade in training.
pub struct CascadeLearner<'a> {
    config: CascadeConfig,
    seed: u64,
    data: &'a Data,
    packed: PackedExamples,
    ridge: Option<Ridge>,
    units: Vec<Unit>,
    columns: Columns,            // dense inputs, then the activations of each unit
    outputs: Vec<Vec<Vec<f32>>>, // after each step, for each output: bias, inputs, units
    steps: Vec<CascadeStep>,
    residuals: Vec<Vec<f32>>,
    since: Instant,
    seconds_before: f64, // of learning before it was resumed
}

impl<'a> CascadeLearner<'a> {
    /// A learner with a trained net that has no units yet.
    pub fn new(config: CascadeConfig, data: &'a Data, split: &Split, seed: u64) -> Result<Self, Error> {
        let mut learner = CascadeLearner::prepare(config, data, split, seed)?;
        learner.train_outputs();
        Ok(learner)
    }

    fn prepare(config: CascadeConfig, data: &'a Data, split: &Split, seed: u64) -> Result<Self, Error> {
        config.check(data, split)?;
        let since = Instant::now();
        let packed = PackedExamples::new(data, split);
        let ridge = matches!(config.output, OutputTraining::Ridge { .. }).then(|| Ridge::new(data, &packed));
        let mut columns = Columns::new(packed.slots());
        packed.dense.iter().for_each(|(_, column)| columns.push(column));
        Ok(CascadeLearner {
            config,
            seed,
            data,
            packed,
            ridge,
            units: vec![],
            columns,
            outputs: vec![],
            steps: vec![],
            residuals: vec![],
            since,
            seconds_before: 0.0,
        })
    }

    /// The settings.
    pub fn config(&self) -> &CascadeConfig {
        &self.config
    }

    /// All steps so far; the first is the net without units.
    pub fn steps(&self) -> &[CascadeStep] {
        &self.steps
    }

    /// Adds one unit, unless the settings say to stop.
    pub fn add_unit(&mut self) -> Option<&CascadeStep> {
        if self.done() {
            return None;
        }
        let unit = self.train_candidates();
        let column = self.activations(&unit);
        self.units.push(unit);
        self.columns.push(&column);
        if let Some(ridge) = &mut self.ridge {
            ridge.add(self.data, &self.packed, &self.columns);
        }
        self.train_outputs();
        self.steps.last()
    }

    /// Adds units until the settings say to stop.
    pub fn run(&mut self) {
        while self.add_unit().is_some() {}
    }

    fn done(&self) -> bool {
        let waited = self.units.len() - self.best_units();
        self.units.len() >= self.config.units
            || (self.config.patience > 0 && waited >= self.config.patience)
            || (self.config.seconds > 0.0 && self.seconds() >= self.config.seconds)
    }

    fn seconds(&self) -> f64 {
        self.seconds_before + self.since.elapsed().as_secs_f64()
    }

    /// The number of units of the best snapshot.
    pub fn best_units(&self) -> usize {
        let score = |s: &CascadeStep| match self.config.choose {
            SelectBy::Train => -(s.units as f64),
            SelectBy::Validation => s.errors.validation.unwrap_or(s.errors.train),
            SelectBy::Test => s.errors.test.unwrap_or(s.errors.train),
        };
        let best = self.steps.iter().min_by(|a, b| score(a).total_cmp(&score(b)));
        best.map_or(0, |s| s.units)
    }

    /// The net as it was with this many units.
    ///
    /// # Panics
    /// If it has fewer.
    pub fn snapshot(&self, units: usize) -> Net {
        Net::Cascade(Cascade {
            inputs: self.data.inputs(),
            units: self.units[..units].to_vec(),
            out: self.outputs[units].clone(),
            link: Link::Each(self.config.output_act()),
        })
    }

    /// The net of the best snapshot.
    pub fn best(&self) -> Net {
        self.snapshot(self.best_units())
    }

    /// The bytes in memory besides the examples themselves.
    pub fn memory_bytes(&self) -> usize {
        let work = self.packed.train.len() * GROUP * 8;
        let ridge = self.ridge.as_ref().map_or(0, Ridge::bytes);
        self.packed.bytes()
            + self.columns.bytes()
            + work
            + ridge
            + self.residuals.iter().map(|r| r.len() * 4).sum::<usize>()
    }

    /// The learner as a file, for [`CascadeLearner::resume`].
    pub fn save(&self) -> Vec<u8> {
        let mut file = TensorFile::default();
        file.put_json("config", &self.config);
        file.put_json("steps", &self.steps);
        file.put_json("seed", &self.seed);
        file.put_json("units", &self.units.iter().map(|u| (u.act, u.depth)).collect::<Vec<_>>());
        file.text.insert("data".into(), self.data.hash());
        file.text.insert("split".into(), self.split_hash());
        for (k, unit) in self.units.iter().enumerate() {
            file.put(format!("unit{k}"), Tensor::F32(vec![unit.weights.len()], unit.weights.clone()));
        }
        for (k, outputs) in self.outputs.iter().enumerate() {
            let shape = vec![outputs.len(), outputs[0].len()];
            file.put(format!("outputs{k}"), Tensor::F32(shape, outputs.concat()));
        }
        file.write("cascade", 1)
    }

    /// Continues from what [`CascadeLearner::save`] gave, with the same examples and split.
    pub fn resume(bytes: &[u8], data: &'a Data, split: &Split) -> Result<Self, Error> {
        let file = TensorFile::read(bytes, "cascade", 1)?;
        let malformed = |what: &str| Error::Malformed(what.into());
        let mut learner = CascadeLearner::prepare(file.json("config")?, data, split, file.json("seed")?)?;
        if file.get("data")? != data.hash() || file.get("split")? != learner.split_hash() {
            return Err(Error::Config("the learner was saved with other examples or another split".into()));
        }
        learner.steps = file.json("steps")?;
        let units: Vec<(Activation, u32)> = file.json("units")?;
        if learner.steps.len() != units.len() + 1 {
            return Err(malformed("steps and units differ in number"));
        }
        for k in 0..=units.len() {
            let width = 1 + data.inputs() + k;
            let flat = file.floats(&format!("outputs{k}"), width * data.outputs())?;
            learner.outputs.push(flat.chunks(width).map(<[f32]>::to_vec).collect());
            if let Some(&(act, depth)) = units.get(k) {
                let unit = Unit { act, depth, weights: file.floats(&format!("unit{k}"), width)? };
                let column = learner.activations(&unit);
                learner.units.push(unit);
                learner.columns.push(&column);
                if let Some(ridge) = &mut learner.ridge {
                    ridge.add(data, &learner.packed, &learner.columns);
                }
            }
        }
        learner.snapshot(units.len()).check()?;
        learner.seconds_before = learner.steps.last().map_or(0.0, |s| s.seconds);
        learner.residuals = learner.residuals();
        Ok(learner)
    }

    fn split_hash(&self) -> String {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        for example in &self.packed.example {
            hash.update(example.unwrap_or(u32::MAX).to_le_bytes());
        }
        crate::tensor_file::hex(&hash.finalize())
    }

    /// Trains the pool and returns the best candidate.
    fn train_candidates(&self) -> Unit {
        let train_sums = ResidualSums::new(&self.residuals, &self.packed.train);
        let slots = self.packed.validation.clone();
        let validation_sums = ResidualSums::new(&self.residuals, &slots);
        let stream = Rng::derive(self.seed, self.units.len() as u64);
        let mut best: Option<(f64, Unit)> = None;
        // Candidates of one depth see the same units and share passes, eight at a time.
        let depths: Vec<u32> = (0..self.config.candidates).map(|k| self.depth(k)).collect();
        let mut distinct = depths.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for depth in distinct {
            let pool: Vec<usize> = (0..depths.len()).filter(|&k| depths[k] == depth).collect();
            let seen: Vec<usize> = (0..self.units.len()).filter(|&u| self.units[u].depth < depth).collect();
            for group in pool.chunks(GROUP) {
                let mut acts = [Activation::Identity; GROUP];
                let mut weights = Vec::new();
                for (c, &k) in group.iter().enumerate() {
                    acts[c] = self.config.acts[k % self.config.acts.len()];
                    weights.push(self.initial_weights(k, seen.len(), &mut Rng::stream(stream, k as u64)));
                }
                let examples = (&self.packed, &self.columns);
                let pass = Pass::new(examples, self.data.inputs(), seen.iter().copied(), &self.residuals, acts);
                let validation = (!slots.is_empty()).then(|| (slots.clone(), &validation_sums));
                let mut problem =
                    Candidates { pass, objective: self.config.objective, residuals: &train_sums, validation };
                let trained = minimise(&mut problem, weights, &self.config.rprop, &self.config.phase);
                for (c, (error, weights)) in trained.into_iter().enumerate() {
                    if best.as_ref().is_none_or(|(least, _)| error < *least) {
                        best = Some((error, self.unit(acts[c], depth, &seen, &weights)));
                    }
                }
            }
        }
        best.expect("a pool is never empty").1
    }

    /// The depth at which candidate `k` would be installed.
    fn depth(&self, k: usize) -> u32 {
        let deepest = self.units.iter().map(|u| u.depth).max().unwrap_or(0);
        match self.config.shape {
            Topology::Cascade => deepest + 1,
            Topology::Flat => 1,
            Topology::Depth(most) => (deepest + (k % 2) as u32).clamp(1, most),
        }
    }

    /// The initial weights of candidate `k`: uniform, with the standard deviation of its spread for their sum.
    fn initial_weights(&self, k: usize, seen: usize, rng: &mut Rng) -> Vec<f64> {
        let spreads = &self.config.spreads;
        let spread = spreads[k / self.config.acts.len() % spreads.len()];
        let bound = spread * (3.0 / (1.0 + self.packed.mean_active + seen as f64)).sqrt();
        let outputs = self.config.objective.output_weights(self.data.outputs());
        let mut draw = |bound: f64| bound * (2.0 * rng.unit() - 1.0);
        let mut weights: Vec<f64> = (0..1 + self.data.inputs() + seen).map(|_| draw(bound)).collect();
        weights.extend((0..outputs).map(|_| draw(0.5)));
        weights
    }

    /// A unit of these weights, with weights of 0 for the units that it does not see.
    fn unit(&self, act: Activation, depth: u32, seen: &[usize], weights: &[f64]) -> Unit {
        let inputs = 1 + self.data.inputs();
        let mut all = vec![0.0; inputs + self.units.len()];
        all.iter_mut().zip(&weights[..inputs]).for_each(|(a, &w)| *a = w as f32);
        seen.iter().zip(&weights[inputs..]).for_each(|(&u, &w)| all[inputs + u] = w as f32);
        Unit { act, depth, weights: all }
    }

    /// The activations of a unit at every slot.
    fn activations(&self, unit: &Unit) -> Vec<f32> {
        let mut acts = [Activation::Identity; GROUP];
        acts[0] = unit.act;
        let examples = (&self.packed, &self.columns);
        let mut pass = Pass::new(examples, self.data.inputs(), 0..self.units.len(), &[], acts);
        pass.set_weights(&[unit.weights.iter().map(|&w| w as f64).collect()]);
        pass.activations()
    }

    /// Trains the output weights and records the step.
    fn train_outputs(&mut self) {
        let before = self.outputs.last().map(|weights| {
            let mut weights = weights.clone();
            weights.iter_mut().for_each(|w| w.push(0.0));
            (self.steps.last().expect("a step for each").errors.train, weights)
        });
        let (lambda, weights) = match &self.config.output {
            OutputTraining::Ridge { lambdas } => self.by_ridge(lambdas, before),
            OutputTraining::Rprop { phase, .. } => (None, self.by_rprop(phase, before)),
        };
        let errors = SplitErrors {
            train: self.mse(&weights, &self.packed.train),
            validation: (!self.packed.validation.is_empty()).then(|| self.mse(&weights, &self.packed.validation)),
            test: (!self.packed.test.is_empty()).then(|| self.mse(&weights, &self.packed.test)),
        };
        self.outputs.push(weights);
        self.steps.push(CascadeStep { units: self.units.len(), lambda, errors, seconds: self.seconds() });
        self.residuals = self.residuals();
    }

    /// The penalty with the least validation error among those that do not raise the training error, and its weights.
    /// If there is none (rounding, or large penalties only): the weights of the step before, with the best weight for
    /// the new unit alone.
    fn by_ridge(&self, lambdas: &[f64], before: Option<(f64, Vec<Vec<f32>>)>) -> (Option<f64>, Vec<Vec<f32>>) {
        let ridge = self.ridge.as_ref().expect("kept for this");
        let mut best: Option<(f64, f64, Vec<Vec<f32>>)> = None;
        for &lambda in lambdas {
            let Some(weights) = ridge.solve(lambda) else { continue };
            let weights: Vec<Vec<f32>> = weights.iter().map(|w| w.iter().map(|&w| w as f32).collect()).collect();
            let train = self.mse(&weights, &self.packed.train);
            if before.as_ref().is_some_and(|(least, _)| train > *least) {
                continue;
            }
            let score = if lambdas.len() > 1 { self.mse(&weights, &self.packed.validation) } else { train };
            if best.as_ref().is_none_or(|(least, ..)| score < *least) {
                best = Some((score, lambda, weights));
            }
        }
        if let Some((_, lambda, weights)) = best {
            return (Some(lambda), weights);
        }
        let width = 1 + self.data.inputs() + self.units.len();
        let Some((least, mut weights)) = before else { return (None, vec![vec![0.0; width]; self.data.outputs()]) };
        let last = self.columns.len() - 1;
        for (o, w) in weights.iter_mut().enumerate() {
            let pair = |slot| (self.columns.at(last, slot) as f64, self.residuals[o][slot] as f64);
            let pairs = || self.packed.train.clone().map(pair);
            let (ye, yy) = pairs().fold((0.0, 0.0), |(ye, yy), (y, e)| (ye + y * e, yy + y * y));
            *w.last_mut().expect("the new unit's") = if yy > 0.0 { (ye / yy) as f32 } else { 0.0 };
        }
        if self.mse(&weights, &self.packed.train) > least {
            weights.iter_mut().for_each(|w| *w.last_mut().expect("the new unit's") = 0.0);
        }
        (None, weights)
    }

    fn by_rprop(&self, phase: &EarlyStopping, before: Option<(f64, Vec<Vec<f32>>)>) -> Vec<Vec<f32>> {
        let width = 1 + self.data.inputs() + self.units.len();
        let (least, start) = before.unwrap_or((f64::INFINITY, vec![vec![0.0; width]; self.data.outputs()]));
        let targets = self.targets();
        let sums = ResidualSums::new(&targets, &self.packed.train);
        let mut weights = Vec::new();
        for (g, group) in start.chunks(GROUP).enumerate() {
            let acts = [self.config.output_act(); GROUP];
            let examples = (&self.packed, &self.columns);
            let pass = Pass::new(examples, self.data.inputs(), 0..self.units.len(), &targets, acts);
            let mut problem = Outputs { pass, targets: &sums, first: g * GROUP };
            let from = group.iter().map(|w| w.iter().map(|&w| w as f64).collect()).collect();
            let trained = minimise(&mut problem, from, &self.config.rprop, phase);
            weights.extend(trained.iter().map(|(_, w)| w.iter().map(|&w| w as f32).collect::<Vec<f32>>()));
        }
        // Training sums in `f32`: check in `f64` that the training error does not rise.
        if self.mse(&weights, &self.packed.train) > least { start } else { weights }
    }

    /// The target of each output at each slot; 0 in the padding.
    fn targets(&self) -> Vec<Vec<f32>> {
        let of = |o: usize| {
            let value = |e: &Option<u32>| e.map_or(0.0, |i| self.data.targets(i as usize)[o]);
            self.packed.example.iter().map(value).collect()
        };
        (0..self.data.outputs()).map(of).collect()
    }

    /// Target minus output at the slots of training and validation examples; 0 elsewhere.
    fn residuals(&self) -> Vec<Vec<f32>> {
        let weights = self.outputs.last().expect("trained");
        let mut residuals = self.targets();
        for (r, w) in residuals.iter_mut().zip(weights) {
            r[self.packed.test.clone()].fill(0.0);
            for range in [&self.packed.train, &self.packed.validation] {
                let predicted = self.predict(w, range);
                r[range.clone()].iter_mut().zip(&predicted).for_each(|(r, p)| *r = (*r as f64 - p) as f32);
            }
        }
        residuals
    }

    /// The values of one output on a range of slots.
    fn predict(&self, weights: &[f32], range: &Range<usize>) -> Vec<f64> {
        let sum =
            |pattern: &Vec<(u32, f32)>| pattern.iter().map(|&(i, v)| weights[1 + i as usize] as f64 * v as f64).sum();
        let patterns: Vec<f64> = self.packed.patterns.iter().map(sum).collect();
        let of = |slot: usize| {
            let codes = self.packed.codes(slot).iter().zip(&self.packed.blocks);
            codes.fold(weights[0] as f64, |sum, (&c, b)| sum + patterns[b.first + c as usize])
        };
        let mut out: Vec<f64> = range.clone().into_par_iter().map(of).collect();
        let inputs = self.packed.dense.iter().map(|(i, _)| weights[1 + *i as usize]);
        let columns: Vec<f32> = inputs.chain(weights[1 + self.data.inputs()..].iter().copied()).collect();
        out.par_chunks_mut(TILE).enumerate().for_each(|(t, out)| {
            for (k, &w) in columns.iter().enumerate() {
                let part = self.columns.part(range.start / TILE + t, k);
                out.iter_mut().zip(part).for_each(|(out, &x)| *out += w as f64 * x as f64);
            }
        });
        match self.config.output_act() {
            Activation::Identity => {}
            act => out.iter_mut().for_each(|z| *z = act.apply(*z as f32) as f64),
        }
        out
    }

    /// The mean squared error of these output weights on a range of slots.
    fn mse(&self, weights: &[Vec<f32>], range: &Range<usize>) -> f64 {
        let mut total = 0.0;
        for (o, w) in weights.iter().enumerate() {
            let predicted = self.predict(w, range);
            for (p, example) in predicted.iter().zip(&self.packed.example[range.clone()]) {
                let target = self.data.targets(example.expect("no padding within") as usize)[o];
                total += (target as f64 - p).powi(2);
            }
        }
        total / (range.len() * weights.len()).max(1) as f64
    }
}

impl CascadeConfig {
    fn output_act(&self) -> Activation {
        match self.output {
            OutputTraining::Ridge { .. } => Activation::Identity,
            OutputTraining::Rprop { act, .. } => act,
        }
    }

    fn check(&self, data: &Data, split: &Split) -> Result<(), Error> {
        let refuse = |line: &str| Err(Error::Config(line.into()));
        let rows = split.train.iter().chain(&split.validation).chain(&split.test);
        if split.train.is_empty() || rows.into_iter().any(|&i| i as usize >= data.len()) {
            return refuse("the split must have training examples, all of the data");
        }
        if data.masked() {
            return refuse("a cascade needs every target");
        }
        if self.candidates == 0 || self.acts.is_empty() || self.spreads.is_empty() {
            return refuse("a pool needs candidates, activations and spreads");
        }
        if !self.spreads.iter().all(|s| s.is_finite() && *s > 0.0) || !self.rprop.is_valid() {
            return refuse("a spread or a setting of Rprop is out of range");
        }
        match &self.output {
            OutputTraining::Ridge { lambdas }
                if lambdas.is_empty() || !lambdas.iter().all(|l| *l >= 0.0 && l.is_finite()) =>
            {
                refuse("ridge needs penalties that are not negative")
            }
            OutputTraining::Ridge { lambdas } if lambdas.len() > 1 && split.validation.is_empty() => {
                refuse("several penalties need validation examples to choose by")
            }
            _ if self.shape == Topology::Depth(0) => refuse("a depth of 0 has no units"),
            _ => Ok(()),
        }
    }
}
