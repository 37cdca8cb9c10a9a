//! Regressors that learn from one example at a time, with scikit-learn's semantics and defaults.
//!
//! * [`LinearSgd`]: squared loss, L2 penalty alpha, rate eta0 / t^power:
//!   w <- (1 - eta·alpha)·w + eta·(y - p)·x,  b <- b + eta·(y - p).
//!   The decay of all weights is one factor kept aside, so that an update costs the active inputs only.
//! * [`PassiveAggressive`] (Crammer et al. 2006, PA-I; scikit-learn's `SGDRegressor(loss="epsilon_insensitive",
//!   penalty=None, learning_rate="pa1", eta0=C)`): loss = max(0, |y - p| - epsilon),
//!   w <- w + sign(y - p)·min(C, loss / |x|²)·x, and the same step for b.
//! * [`MlpLearner`] with one row at a time.

use super::mlp::MlpLearner;
use crate::{Act, Layer, Link, Mlp, Net, Row};
use serde::{Deserialize, Serialize};

/// Something that learns a number from one example at a time.
pub trait Regressor: Send {
    /// What it expects.
    fn predict(&self, row: Row) -> f64;
    /// Learns that this was the right answer.
    fn update(&mut self, row: Row, target: f64);
    /// The net as learned, for play.
    fn net(&self) -> Net;
    /// All that it remembers, from which [`Regressor::restore`] goes on as if nothing had happened.
    fn numbers(&self) -> Vec<f64>;
    /// Remembers what [`Regressor::numbers`] gave for the same settings; `false` if these are not as many.
    fn restore(&mut self, numbers: &[f64]) -> bool;
}

/// The settings of [`LinearSgd`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearSgdConfig {
    /// The L2 penalty.
    pub alpha: f64,
    /// The first rate.
    pub eta0: f64,
    /// How fast the rate falls: eta0 / t^power.
    pub power: f64,
}

impl Default for LinearSgdConfig {
    fn default() -> Self {
        LinearSgdConfig { alpha: 1e-4, eta0: 0.01, power: 0.25 }
    }
}

/// Linear regression by stochastic gradient descent.
#[derive(Clone, PartialEq, Debug)]
pub struct LinearSgd {
    config: LinearSgdConfig,
    weights: Vec<f64>, // the true ones divided by `scale`
    scale: f64,
    bias: f64,
    t: u64,
}

impl LinearSgd {
    /// All weights 0.
    pub fn new(config: LinearSgdConfig, inputs: usize) -> Self {
        LinearSgd { config, weights: vec![0.0; inputs], scale: 1.0, bias: 0.0, t: 1 }
    }

    /// The weights.
    pub fn weights(&self) -> Vec<f64> {
        self.weights.iter().map(|w| w * self.scale).collect()
    }

    /// The bias.
    pub fn bias(&self) -> f64 {
        self.bias
    }
}

impl Regressor for LinearSgd {
    #[inline]
    fn predict(&self, row: Row) -> f64 {
        row.iter().map(|(i, x)| self.weights[i] * x as f64).sum::<f64>() * self.scale + self.bias
    }

    fn update(&mut self, row: Row, target: f64) {
        let eta = self.config.eta0 / power(self.t, self.config.power);
        // As scikit-learn: a runaway gradient is cut off.
        let step = eta * (target - self.predict(row)).clamp(-1e12, 1e12);
        self.scale *= (1.0 - eta * self.config.alpha).max(0.0);
        if self.scale < 1e-9 {
            self.weights.iter_mut().for_each(|w| *w *= self.scale);
            self.scale = 1.0;
        }
        row.iter().for_each(|(i, x)| self.weights[i] += x as f64 * (step / self.scale));
        self.bias += step;
        self.t += 1;
    }

    fn net(&self) -> Net {
        linear(&self.weights(), self.bias)
    }

    fn numbers(&self) -> Vec<f64> {
        [&self.weights[..], &[self.scale, self.bias, self.t as f64]].concat()
    }

    fn restore(&mut self, numbers: &[f64]) -> bool {
        let Some((weights, &[scale, bias, t])) = numbers.split_last_chunk() else { return false };
        let fits = weights.len() == self.weights.len();
        if fits {
            self.weights.copy_from_slice(weights);
            (self.scale, self.bias, self.t) = (scale, bias, t as u64);
        }
        fits
    }
}

/// t^power; the usual quarter power by two square roots.
fn power(t: u64, power: f64) -> f64 {
    if power == 0.25 { (t as f64).sqrt().sqrt() } else { (t as f64).powf(power) }
}

/// The settings of [`PassiveAggressive`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassiveAggressiveConfig {
    /// The largest step.
    pub c: f64,
    /// Errors up to this are none.
    pub epsilon: f64,
}

impl Default for PassiveAggressiveConfig {
    fn default() -> Self {
        PassiveAggressiveConfig { c: 1.0, epsilon: 0.1 }
    }
}

/// Linear regression by the least change that mends the last error.
#[derive(Clone, PartialEq, Debug)]
pub struct PassiveAggressive {
    config: PassiveAggressiveConfig,
    weights: Vec<f64>,
    bias: f64,
}

impl PassiveAggressive {
    /// All weights 0.
    pub fn new(config: PassiveAggressiveConfig, inputs: usize) -> Self {
        PassiveAggressive { config, weights: vec![0.0; inputs], bias: 0.0 }
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The bias.
    pub fn bias(&self) -> f64 {
        self.bias
    }
}

impl Regressor for PassiveAggressive {
    #[inline]
    fn predict(&self, row: Row) -> f64 {
        row.iter().map(|(i, x)| self.weights[i] * x as f64).sum::<f64>() + self.bias
    }

    fn update(&mut self, row: Row, target: f64) {
        let norm: f64 = row.iter().map(|(_, x)| x as f64 * x as f64).sum();
        if norm == 0.0 {
            return;
        }
        let error = target - self.predict(row);
        let loss = (error.abs() - self.config.epsilon).max(0.0);
        let step = (loss / norm).min(self.config.c) * if error < 0.0 { -1.0 } else { 1.0 };
        row.iter().for_each(|(i, x)| self.weights[i] += step * x as f64);
        self.bias += step;
    }

    fn net(&self) -> Net {
        linear(&self.weights, self.bias)
    }

    fn numbers(&self) -> Vec<f64> {
        [&self.weights[..], &[self.bias]].concat()
    }

    fn restore(&mut self, numbers: &[f64]) -> bool {
        let Some((&bias, weights)) = numbers.split_last() else { return false };
        let fits = weights.len() == self.weights.len();
        if fits {
            self.weights.copy_from_slice(weights);
            self.bias = bias;
        }
        fits
    }
}

/// # Panics
/// If the net has more than one output.
impl Regressor for MlpLearner {
    fn predict(&self, row: Row) -> f64 {
        MlpLearner::predict(self, row)[0]
    }

    fn update(&mut self, row: Row, target: f64) {
        MlpLearner::update(self, row, &[target]);
    }

    fn net(&self) -> Net {
        MlpLearner::net(self)
    }

    fn numbers(&self) -> Vec<f64> {
        MlpLearner::numbers(self)
    }

    fn restore(&mut self, numbers: &[f64]) -> bool {
        MlpLearner::restore(self, numbers)
    }
}

fn linear(weights: &[f64], bias: f64) -> Net {
    let layer = Layer {
        inputs: weights.len(),
        outputs: 1,
        weights: weights.iter().map(|&w| w as f32).collect(),
        bias: vec![bias as f32],
    };
    Net::Mlp(Mlp { layers: vec![layer], hidden: Act::Identity, link: Link::Each(Act::Identity) })
}
