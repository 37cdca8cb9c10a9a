//! Cascade-correlation learning (Fahlman & Lebiere 1990), as the UCT-CCNN paper uses it and a little beyond.
//!
//! The net starts with inputs and outputs only. Then, again and again: a pool of candidate units, of several activation
//! functions and initial weights, is trained against what the net still gets wrong (`pool`), each stopped and judged by
//! validation examples if there are any; the best one is installed and its input weights are frozen; the output weights are trained anew, by ridge least squares (`ridge`) or by iRprop.
//! After each unit there is a snapshot with its errors on train, validation and test; the best one is the result.
//!
//! Three laws, tested: installing a unit never raises the training error; the same seed gives the same bits on any
//! number of threads; and a learner saved after any unit and resumed ends exactly like one that never stopped, because
//! everything but the weights (activations, residuals, products) is computed from them again.
//!
//! What FANN does and this does not: rerun the whole frozen net each epoch, score candidates one update too early, add a
//! step after a sign change in "iRprop-", start from positive weights only.

mod coded;
mod columns;
mod pass;
mod pool;
mod ridge;
#[cfg(test)]
mod tests;

pub use pool::{Objective, Phase};

use super::optim::Rprop;
use crate::store::{Store, Tensor};
use crate::{Act, Cascade, Data, Error, Errors, Link, Net, Split, Unit};
use coded::{Coded, TILE};
use columns::Columns;
use ludex_core::Rng;
use pass::{GROUP, Pass};
use pool::{Candidates, Fixed, Outputs, descend};
use rayon::prelude::*;
use ridge::Ridge;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Instant;

/// What a cascade is and how it grows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CascadeConfig {
    /// Units after which it stops.
    pub units: usize,
    /// Units without a better snapshot after which it stops; 0 means never.
    pub patience: usize,
    /// Seconds after which it stops, looked at between units; 0 means never. The one setting that does not reproduce.
    pub seconds: f64,
    /// Candidates in the pool.
    pub candidates: usize,
    /// Their activation functions, in turn.
    pub acts: Vec<Act>,
    /// How large their first weighted sums are (standard deviation), in turn after each round of activations.
    pub spreads: Vec<f64>,
    /// What they strive for.
    pub objective: Objective,
    /// How long they train.
    pub phase: Phase,
    /// How they, and outputs without ridge, follow the gradient.
    pub rprop: Rprop,
    /// How output weights are found.
    pub output: Output,
    /// Which earlier units a unit sees.
    pub shape: Shape,
    /// Which errors choose the best snapshot.
    pub choose: Choose,
}

impl Default for CascadeConfig {
    fn default() -> Self {
        CascadeConfig {
            units: 50,
            patience: 0,
            seconds: 0.0,
            candidates: 16,
            acts: vec![Act::Tanh, Act::GaussSym, Act::SinSym, Act::Gauss],
            spreads: vec![1.0, 0.5],
            objective: Objective::NormalisedCovariance,
            phase: Phase::default(),
            rprop: Rprop::default(),
            output: Output::Ridge { lambdas: vec![1e-6, 1e-5, 1e-4, 1e-3, 1e-2] },
            shape: Shape::Cascade,
            choose: Choose::Validation,
        }
    }
}

/// How output weights are found after each unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// Linear outputs by least squares; of several penalties the one with the least validation error.
    Ridge {
        /// The penalties per example; one alone needs no validation.
        lambdas: Vec<f64>,
    },
    /// By iRprop, from the weights before.
    Rprop {
        /// What outputs do with their sums.
        act: Act,
        /// How long.
        phase: Phase,
    },
}

/// Which earlier units a unit sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// All of them: each unit is a layer of its own.
    Cascade,
    /// None: one hidden layer, whose units are evaluated side by side.
    Flat,
    /// At most so many layers. Candidates take turns in joining the deepest layer and in starting the next.
    Depth(u32),
}

/// Which errors choose the best snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choose {
    /// Those of training: simply the last.
    Train,
    /// Those of validation.
    Validation,
    /// Those of test, as the paper does; the test errors then flatter.
    Test,
}

/// The net after one more unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Units so far.
    pub units: usize,
    /// The penalty of the output weights, if by ridge.
    pub lambda: Option<f64>,
    /// Mean squared errors.
    pub errors: Errors,
    /// Seconds since the learner was new, resumed ones included.
    pub seconds: f64,
}

/// A cascade while it learns.
pub struct CascadeLearner<'a> {
    config: CascadeConfig,
    seed: u64,
    data: &'a Data,
    coded: Coded,
    ridge: Option<Ridge>,
    units: Vec<Unit>,
    columns: Columns,            // dense inputs, then each unit's activations, on every example
    outputs: Vec<Vec<Vec<f32>>>, // after each step, for each output: bias, inputs, units
    steps: Vec<Step>,
    residuals: Vec<Vec<f32>>,
    since: Instant,
    before: f64, // seconds used before it was resumed
}

impl<'a> CascadeLearner<'a> {
    /// Encodes the examples and trains the net without units.
    pub fn new(config: CascadeConfig, data: &'a Data, split: &Split, seed: u64) -> Result<Self, Error> {
        let mut learner = CascadeLearner::prepare(config, data, split, seed)?;
        learner.train_outputs();
        Ok(learner)
    }

    fn prepare(config: CascadeConfig, data: &'a Data, split: &Split, seed: u64) -> Result<Self, Error> {
        config.check(data, split)?;
        let since = Instant::now();
        let coded = Coded::new(data, split);
        let ridge = matches!(config.output, Output::Ridge { .. }).then(|| Ridge::new(data, &coded));
        let mut columns = Columns::new(coded.places());
        coded.dense.iter().for_each(|(_, column)| columns.push(column));
        Ok(CascadeLearner {
            config,
            seed,
            data,
            coded,
            ridge,
            units: vec![],
            columns,
            outputs: vec![],
            steps: vec![],
            residuals: vec![],
            since,
            before: 0.0,
        })
    }

    /// The settings.
    pub fn config(&self) -> &CascadeConfig {
        &self.config
    }

    /// What has happened so far; the first step is the net without units.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Adds one unit, unless a rule of the settings says to stop.
    pub fn grow(&mut self) -> Option<&Step> {
        if self.done() {
            return None;
        }
        let unit = self.candidate();
        let column = self.activations(&unit);
        self.units.push(unit);
        self.columns.push(&column);
        if let Some(ridge) = &mut self.ridge {
            ridge.add(self.data, &self.coded, &self.columns);
        }
        self.train_outputs();
        self.steps.last()
    }

    /// Adds units until a rule of the settings says to stop.
    pub fn run(&mut self) {
        while self.grow().is_some() {}
    }

    fn done(&self) -> bool {
        let waited = self.units.len() - self.best_step();
        self.units.len() >= self.config.units
            || (self.config.patience > 0 && waited >= self.config.patience)
            || (self.config.seconds > 0.0 && self.seconds() >= self.config.seconds)
    }

    fn seconds(&self) -> f64 {
        self.before + self.since.elapsed().as_secs_f64()
    }

    /// The number of units of the best snapshot.
    pub fn best_step(&self) -> usize {
        let score = |s: &Step| match self.config.choose {
            Choose::Train => -(s.units as f64),
            Choose::Validation => s.errors.validation.unwrap_or(s.errors.train),
            Choose::Test => s.errors.test.unwrap_or(s.errors.train),
        };
        let best = self.steps.iter().min_by(|a, b| score(a).total_cmp(&score(b)));
        best.map_or(0, |s| s.units)
    }

    /// The net as it was with so many units.
    ///
    /// # Panics
    /// If it never had that many.
    pub fn snapshot(&self, units: usize) -> Net {
        Net::Cascade(Cascade {
            inputs: self.data.inputs(),
            units: self.units[..units].to_vec(),
            out: self.outputs[units].clone(),
            link: Link::Each(self.config.output_act()),
        })
    }

    /// The best snapshot.
    pub fn best(&self) -> Net {
        self.snapshot(self.best_step())
    }

    /// Bytes held besides the examples themselves.
    pub fn bytes(&self) -> usize {
        let work = self.coded.train.len() * GROUP * 8;
        let ridge = self.ridge.as_ref().map_or(0, Ridge::bytes);
        self.coded.bytes()
            + self.columns.bytes()
            + work
            + ridge
            + self.residuals.iter().map(|r| r.len() * 4).sum::<usize>()
    }

    /// All that is needed to go on later, as a file.
    pub fn save(&self) -> Vec<u8> {
        let mut store = Store::default();
        store.put_json("config", &self.config);
        store.put_json("steps", &self.steps);
        store.put_json("seed", &self.seed);
        store.put_json("units", &self.units.iter().map(|u| (u.act, u.depth)).collect::<Vec<_>>());
        store.text.insert("data".into(), self.data.hash());
        store.text.insert("split".into(), self.split_hash());
        for (k, unit) in self.units.iter().enumerate() {
            store.put(format!("unit{k}"), Tensor::F32(vec![unit.weights.len()], unit.weights.clone()));
        }
        for (k, outputs) in self.outputs.iter().enumerate() {
            let shape = vec![outputs.len(), outputs[0].len()];
            store.put(format!("outputs{k}"), Tensor::F32(shape, outputs.concat()));
        }
        store.write("cascade", 1)
    }

    /// Goes on from what [`CascadeLearner::save`] gave, with the same examples and split.
    pub fn resume(bytes: &[u8], data: &'a Data, split: &Split) -> Result<Self, Error> {
        let store = Store::read(bytes, "cascade", 1)?;
        let malformed = |what: &str| Error::Malformed(what.into());
        let mut learner = CascadeLearner::prepare(store.json("config")?, data, split, store.json("seed")?)?;
        if store.get("data")? != data.hash() || store.get("split")? != learner.split_hash() {
            return Err(Error::Config("the learner was saved with other examples or another split".into()));
        }
        learner.steps = store.json("steps")?;
        let units: Vec<(Act, u32)> = store.json("units")?;
        if learner.steps.len() != units.len() + 1 {
            return Err(malformed("steps and units differ in number"));
        }
        for k in 0..=units.len() {
            let width = 1 + data.inputs() + k;
            let flat = store.floats(&format!("outputs{k}"), width * data.outputs())?;
            learner.outputs.push(flat.chunks(width).map(<[f32]>::to_vec).collect());
            if let Some(&(act, depth)) = units.get(k) {
                let unit = Unit { act, depth, weights: store.floats(&format!("unit{k}"), width)? };
                let column = learner.activations(&unit);
                learner.units.push(unit);
                learner.columns.push(&column);
                if let Some(ridge) = &mut learner.ridge {
                    ridge.add(data, &learner.coded, &learner.columns);
                }
            }
        }
        learner.snapshot(units.len()).check()?;
        learner.before = learner.steps.last().map_or(0.0, |s| s.seconds);
        learner.residuals = learner.residuals();
        Ok(learner)
    }

    fn split_hash(&self) -> String {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        for example in &self.coded.example {
            hash.update(example.unwrap_or(u32::MAX).to_le_bytes());
        }
        crate::store::hex(&hash.finalize())
    }

    /// Trains the pool and gives the best candidate.
    fn candidate(&self) -> Unit {
        let fixed = Fixed::new(&self.residuals, &self.coded.train);
        let places = self.coded.validation.clone();
        let judging = Fixed::new(&self.residuals, &places);
        let stream = Rng::derive(self.seed, self.units.len() as u64);
        let mut best: Option<(f64, Unit)> = None;
        // Candidates of one depth see the same units and share passes, eight at a time.
        let depths: Vec<u32> = (0..self.config.candidates).map(|k| self.depth(k)).collect();
        let mut kinds = depths.clone();
        kinds.sort_unstable();
        kinds.dedup();
        for depth in kinds {
            let pool: Vec<usize> = (0..depths.len()).filter(|&k| depths[k] == depth).collect();
            let seen: Vec<usize> = (0..self.units.len()).filter(|&u| self.units[u].depth < depth).collect();
            for group in pool.chunks(GROUP) {
                let mut acts = [Act::Identity; GROUP];
                let mut weights = Vec::new();
                for (c, &k) in group.iter().enumerate() {
                    acts[c] = self.config.acts[k % self.config.acts.len()];
                    weights.push(self.first_weights(k, seen.len(), &mut Rng::stream(stream, k as u64)));
                }
                let examples = (&self.coded, &self.columns);
                let pass = Pass::new(examples, self.data.inputs(), seen.iter().copied(), &self.residuals, acts);
                let judge = (!places.is_empty()).then(|| (places.clone(), &judging));
                let mut problem = Candidates { pass, objective: self.config.objective, fixed: &fixed, judge };
                let trained = descend(&mut problem, weights, &self.config.rprop, &self.config.phase);
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
            Shape::Cascade => deepest + 1,
            Shape::Flat => 1,
            Shape::Depth(most) => (deepest + (k % 2) as u32).clamp(1, most),
        }
    }

    /// Uniform weights whose sum has the standard deviation that candidate `k` shall have.
    fn first_weights(&self, k: usize, seen: usize, rng: &mut Rng) -> Vec<f64> {
        let spreads = &self.config.spreads;
        let spread = spreads[k / self.config.acts.len() % spreads.len()];
        let bound = spread * (3.0 / (1.0 + self.coded.active + seen as f64)).sqrt();
        let outputs = self.config.objective.extra(self.data.outputs());
        let mut draw = |bound: f64| bound * (2.0 * rng.unit() - 1.0);
        let mut weights: Vec<f64> = (0..1 + self.data.inputs() + seen).map(|_| draw(bound)).collect();
        weights.extend((0..outputs).map(|_| draw(0.5)));
        weights
    }

    /// A unit of these weights, by all units instead of just the seen ones.
    fn unit(&self, act: Act, depth: u32, seen: &[usize], weights: &[f64]) -> Unit {
        let inputs = 1 + self.data.inputs();
        let mut all = vec![0.0; inputs + self.units.len()];
        all.iter_mut().zip(&weights[..inputs]).for_each(|(a, &w)| *a = w as f32);
        seen.iter().zip(&weights[inputs..]).for_each(|(&u, &w)| all[inputs + u] = w as f32);
        Unit { act, depth, weights: all }
    }

    /// A unit's activations on every example.
    fn activations(&self, unit: &Unit) -> Vec<f32> {
        let mut acts = [Act::Identity; GROUP];
        acts[0] = unit.act;
        let examples = (&self.coded, &self.columns);
        let mut pass = Pass::new(examples, self.data.inputs(), 0..self.units.len(), &[], acts);
        pass.set(&[unit.weights.iter().map(|&w| w as f64).collect()]);
        pass.column()
    }

    /// Finds output weights for the units there are, and records the step.
    fn train_outputs(&mut self) {
        let before = self.outputs.last().map(|weights| {
            let mut weights = weights.clone();
            weights.iter_mut().for_each(|w| w.push(0.0));
            (self.steps.last().expect("a step for each").errors.train, weights)
        });
        let (lambda, weights) = match &self.config.output {
            Output::Ridge { lambdas } => self.by_ridge(lambdas, before),
            Output::Rprop { phase, .. } => (None, self.by_rprop(phase, before)),
        };
        let errors = Errors {
            train: self.mse(&weights, &self.coded.train),
            validation: (!self.coded.validation.is_empty()).then(|| self.mse(&weights, &self.coded.validation)),
            test: (!self.coded.test.is_empty()).then(|| self.mse(&weights, &self.coded.test)),
        };
        self.outputs.push(weights);
        self.steps.push(Step { units: self.units.len(), lambda, errors, seconds: self.seconds() });
        self.residuals = self.residuals();
    }

    /// The penalty with the least validation error among those that do not raise the training error; should there be none
    /// (rounding, or large penalties only), the weights before with the best weight for the new unit alone.
    fn by_ridge(&self, lambdas: &[f64], before: Option<(f64, Vec<Vec<f32>>)>) -> (Option<f64>, Vec<Vec<f32>>) {
        let ridge = self.ridge.as_ref().expect("kept for this");
        let mut best: Option<(f64, f64, Vec<Vec<f32>>)> = None;
        for &lambda in lambdas {
            let Some(weights) = ridge.solve(lambda) else { continue };
            let weights: Vec<Vec<f32>> = weights.iter().map(|w| w.iter().map(|&w| w as f32).collect()).collect();
            let train = self.mse(&weights, &self.coded.train);
            if before.as_ref().is_some_and(|(least, _)| train > *least) {
                continue;
            }
            let score = if lambdas.len() > 1 { self.mse(&weights, &self.coded.validation) } else { train };
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
            let pair = |place| (self.columns.at(last, place) as f64, self.residuals[o][place] as f64);
            let pairs = || self.coded.train.clone().map(pair);
            let (ye, yy) = pairs().fold((0.0, 0.0), |(ye, yy), (y, e)| (ye + y * e, yy + y * y));
            *w.last_mut().expect("the new unit's") = if yy > 0.0 { (ye / yy) as f32 } else { 0.0 };
        }
        if self.mse(&weights, &self.coded.train) > least {
            weights.iter_mut().for_each(|w| *w.last_mut().expect("the new unit's") = 0.0);
        }
        (None, weights)
    }

    fn by_rprop(&self, phase: &Phase, before: Option<(f64, Vec<Vec<f32>>)>) -> Vec<Vec<f32>> {
        let width = 1 + self.data.inputs() + self.units.len();
        let (least, start) = before.unwrap_or((f64::INFINITY, vec![vec![0.0; width]; self.data.outputs()]));
        let targets = self.targets();
        let fixed = Fixed::new(&targets, &self.coded.train);
        let mut weights = Vec::new();
        for (g, group) in start.chunks(GROUP).enumerate() {
            let acts = [self.config.output_act(); GROUP];
            let examples = (&self.coded, &self.columns);
            let pass = Pass::new(examples, self.data.inputs(), 0..self.units.len(), &targets, acts);
            let mut problem = Outputs { pass, fixed: &fixed, first: g * GROUP };
            let from = group.iter().map(|w| w.iter().map(|&w| w as f64).collect()).collect();
            let trained = descend(&mut problem, from, &self.config.rprop, phase);
            weights.extend(trained.iter().map(|(_, w)| w.iter().map(|&w| w as f32).collect::<Vec<f32>>()));
        }
        // The sums behind the errors are in f32: make sure of the law in f64.
        if self.mse(&weights, &self.coded.train) > least { start } else { weights }
    }

    /// One number per output and place, 0 in the padding.
    fn targets(&self) -> Vec<Vec<f32>> {
        let of = |o: usize| {
            let value = |e: &Option<u32>| e.map_or(0.0, |i| self.data.targets(i as usize)[o]);
            self.coded.example.iter().map(value).collect()
        };
        (0..self.data.outputs()).map(of).collect()
    }

    /// Target minus output on the training and validation examples; 0 elsewhere.
    fn residuals(&self) -> Vec<Vec<f32>> {
        let weights = self.outputs.last().expect("trained");
        let mut residuals = self.targets();
        for (r, w) in residuals.iter_mut().zip(weights) {
            r[self.coded.test.clone()].fill(0.0);
            for range in [&self.coded.train, &self.coded.validation] {
                let predicted = self.predict(w, range);
                r[range.clone()].iter_mut().zip(&predicted).for_each(|(r, p)| *r = (*r as f64 - p) as f32);
            }
        }
        residuals
    }

    /// One output on a range of places.
    fn predict(&self, weights: &[f32], range: &Range<usize>) -> Vec<f64> {
        let sum =
            |pattern: &Vec<(u32, f32)>| pattern.iter().map(|&(i, v)| weights[1 + i as usize] as f64 * v as f64).sum();
        let patterns: Vec<f64> = self.coded.patterns.iter().map(sum).collect();
        let of = |place: usize| {
            let codes = self.coded.codes(place).iter().zip(&self.coded.blocks);
            codes.fold(weights[0] as f64, |sum, (&c, b)| sum + patterns[b.first + c as usize])
        };
        let mut out: Vec<f64> = range.clone().into_par_iter().map(of).collect();
        let inputs = self.coded.dense.iter().map(|(i, _)| weights[1 + *i as usize]);
        let columns: Vec<f32> = inputs.chain(weights[1 + self.data.inputs()..].iter().copied()).collect();
        out.par_chunks_mut(TILE).enumerate().for_each(|(t, out)| {
            for (k, &w) in columns.iter().enumerate() {
                let part = self.columns.part(range.start / TILE + t, k);
                out.iter_mut().zip(part).for_each(|(out, &x)| *out += w as f64 * x as f64);
            }
        });
        match self.config.output_act() {
            Act::Identity => {}
            act => out.iter_mut().for_each(|z| *z = act.one(*z as f32) as f64),
        }
        out
    }

    /// The mean squared error of these output weights.
    fn mse(&self, weights: &[Vec<f32>], range: &Range<usize>) -> f64 {
        let mut total = 0.0;
        for (o, w) in weights.iter().enumerate() {
            let predicted = self.predict(w, range);
            for (p, example) in predicted.iter().zip(&self.coded.example[range.clone()]) {
                let target = self.data.targets(example.expect("no padding within") as usize)[o];
                total += (target as f64 - p).powi(2);
            }
        }
        total / (range.len() * weights.len()).max(1) as f64
    }
}

impl CascadeConfig {
    fn output_act(&self) -> Act {
        match self.output {
            Output::Ridge { .. } => Act::Identity,
            Output::Rprop { act, .. } => act,
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
        if !self.spreads.iter().all(|s| s.is_finite() && *s > 0.0) || !self.rprop.good() {
            return refuse("a spread or a setting of Rprop is out of range");
        }
        match &self.output {
            Output::Ridge { lambdas } if lambdas.is_empty() || !lambdas.iter().all(|l| *l >= 0.0 && l.is_finite()) => {
                refuse("ridge needs penalties that are not negative")
            }
            Output::Ridge { lambdas } if lambdas.len() > 1 && split.validation.is_empty() => {
                refuse("several penalties need validation examples to choose by")
            }
            _ if self.shape == Shape::Depth(0) => refuse("a depth of 0 has no units"),
            _ => Ok(()),
        }
    }
}
