//! Regressors that learn from one example at a time, with scikit-learn's semantics and defaults: the prediction p of a
//! row x moves towards the target y.
//!
//! * [`LinearSgd`]: squared loss, L2 penalty alpha, rate eta0 / t^power:
//!   w <- (1 - eta·alpha)·w + eta·(y - p)·x,  b <- b + eta·(y - p).
//!   The decay of all weights is one factor, stored apart, so that an update costs the active inputs only.
//! * [`PassiveAggressive`] (Crammer et al. 2006, PA-I; scikit-learn's `SGDRegressor(loss="epsilon_insensitive",
//!   penalty=None, learning_rate="pa1", eta0=C)`): loss = max(0, |y - p| - epsilon),
//!   w <- w + sign(y - p)·min(C, loss / |x|²)·x, and the same step for b.
//! * [`MlpLearner`] with one row at a time.
//!
//! Each has one output; [`crate::ActionValues`] builds values of moves from them.

use super::mlp::MlpLearner;
use crate::{Activation, Layer, Link, Mlp, Net, Row};
use serde::{Deserialize, Serialize};

/// Learns to predict one number, from one example at a time.
pub trait Regressor: Send {
    /// The prediction for a row.
    fn predict(&self, row: Row) -> f64;
    /// Learns from one example.
    fn update(&mut self, row: Row, target: f64);
    /// The net as learned so far.
    fn net(&self) -> Net;
    /// Weights and optimiser state as numbers: with [`Regressor::set_training_state`], learning resumes to the same
    /// bits.
    fn training_state(&self) -> Vec<f64>;
    /// Sets the state to what [`Regressor::training_state`] gave for the same settings; `false` if the number of values
    /// differs.
    fn set_training_state(&mut self, numbers: &[f64]) -> bool;
}

/// The settings of [`LinearSgd`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearSgdConfig {
    /// The L2 penalty.
    pub alpha: f64,
    /// The learning rate of the first update.
    pub eta0: f64,
    /// The exponent by which the rate falls: eta0 / t^power at update t.
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
    weights: Vec<f64>, // the weights divided by `scale`
    scale: f64,
    bias: f64,
    t: u64,
}

impl LinearSgd {
    /// A regressor of this many inputs, all weights 0.
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
        // scikit-learn clips the gradient here.
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

    fn training_state(&self) -> Vec<f64> {
        [&self.weights[..], &[self.scale, self.bias, self.t as f64]].concat()
    }

    fn set_training_state(&mut self, numbers: &[f64]) -> bool {
        let Some((weights, &[scale, bias, t])) = numbers.split_last_chunk() else { return false };
        let fits = weights.len() == self.weights.len();
        if fits {
            self.weights.copy_from_slice(weights);
            (self.scale, self.bias, self.t) = (scale, bias, t as u64);
        }
        fits
    }
}

/// t^power; the default power of 1/4 by two square roots, which is faster.
fn power(t: u64, power: f64) -> f64 {
    if power == 0.25 { (t as f64).sqrt().sqrt() } else { (t as f64).powf(power) }
}

/// The settings of [`PassiveAggressive`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassiveAggressiveConfig {
    /// The largest step (aggressiveness).
    pub c: f64,
    /// Errors up to this are not corrected.
    pub epsilon: f64,
}

impl Default for PassiveAggressiveConfig {
    fn default() -> Self {
        PassiveAggressiveConfig { c: 1.0, epsilon: 0.1 }
    }
}

/// Passive-aggressive regression: the smallest change of the weights that corrects the last error.
#[derive(Clone, PartialEq, Debug)]
pub struct PassiveAggressive {
    config: PassiveAggressiveConfig,
    weights: Vec<f64>,
    bias: f64,
}

impl PassiveAggressive {
    /// A regressor of this many inputs, all weights 0.
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

    fn training_state(&self) -> Vec<f64> {
        [&self.weights[..], &[self.bias]].concat()
    }

    fn set_training_state(&mut self, numbers: &[f64]) -> bool {
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

    fn training_state(&self) -> Vec<f64> {
        MlpLearner::training_state(self)
    }

    fn set_training_state(&mut self, numbers: &[f64]) -> bool {
        MlpLearner::set_training_state(self, numbers)
    }
}

fn linear(weights: &[f64], bias: f64) -> Net {
    let layer = Layer {
        inputs: weights.len(),
        outputs: 1,
        weights: weights.iter().map(|&w| w as f32).collect(),
        bias: vec![bias as f32],
    };
    Net::Mlp(Mlp { layers: vec![layer], hidden: Activation::Identity, link: Link::Each(Activation::Identity) })
}
