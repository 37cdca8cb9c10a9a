//! Optimisers: stochastic gradient descent, Adam, and the Rprop family.
//!
//! With w a weight and g its gradient:
//! * SGD: v <- momentum·v - rate·g;  w <- w + v  (Nesterov: w <- w + momentum·v - rate·g).
//! * Adam (Kingma & Ba 2015), with the bias correction applied to the rate as in scikit-learn.
//! * Rprop (Riedmiller & Braun 1993), iRprop+ and iRprop- (Igel & Hüsken 2000). Each weight has a step size s:
//!   w <- w - sign(g)·s. While the sign of g stays, s grows by the factor 1.2; when it changes, s shrinks by half, and
//!   * `Minus` (Rprop-) steps by the new s;
//!   * `IMinus` (iRprop-) makes no step in this epoch and treats the last sign as 0 in the next;
//!   * `IPlus` (iRprop+) does the same, and undoes the last step of this weight if the error has grown.
//!
//! FANN's "iRprop-" adds the minimal step after a sign change; this one does not. All arithmetic is elementwise and in
//! `f64`: the same bits with any vector width. There is no line search and no second-order method.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The rule that turns gradients into steps of the weights.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Optimiser {
    /// Stochastic gradient descent.
    Sgd {
        /// The learning rate by epoch.
        rate: LearningRate,
        /// The share of the last step that is added to the next.
        momentum: f64,
        /// Nesterov's momentum instead of the classical one.
        nesterov: bool,
    },
    /// Resilient propagation, which uses the signs of gradients only; for full batches.
    Rprop(Rprop),
    /// Adaptive moment estimation.
    Adam {
        /// The learning rate by epoch.
        rate: LearningRate,
        /// The decay of the running mean of gradients.
        beta1: f64,
        /// The decay of the running mean of their squares.
        beta2: f64,
        /// Added to the denominator, against division by 0.
        epsilon: f64,
    },
}

impl Optimiser {
    /// Adam with its authors' defaults: rate 0.001, 0.9, 0.999, 1e-8.
    pub const fn adam() -> Self {
        Optimiser::Adam { rate: LearningRate::Constant(1e-3), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// Stochastic gradient descent without momentum.
    pub const fn sgd(rate: LearningRate) -> Self {
        Optimiser::Sgd { rate, momentum: 0.0, nesterov: false }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let good = match self {
            Optimiser::Sgd { rate, momentum, .. } => rate.is_valid() && (0.0..1.0).contains(momentum),
            Optimiser::Adam { rate, beta1, beta2, epsilon } => {
                rate.is_valid() && (0.0..1.0).contains(beta1) && (0.0..1.0).contains(beta2) && *epsilon > 0.0
            }
            Optimiser::Rprop(r) => r.is_valid(),
        };
        if good { Ok(()) } else { Err(Error::Config(format!("a setting out of range: {self:?}"))) }
    }
}

/// The learning rate of each epoch.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LearningRate {
    /// The same rate in every epoch.
    Constant(f64),
    /// Linear from `from` to `to` over `epochs` epochs, then `to`.
    Linear {
        /// The rate of the first epoch.
        from: f64,
        /// The last rate.
        to: f64,
        /// The number of epochs from the first rate to the last.
        epochs: u32,
    },
    /// Exponential from `from` to `to` over `epochs` epochs, then `to`.
    Exponential {
        /// The rate of the first epoch.
        from: f64,
        /// The last rate.
        to: f64,
        /// The number of epochs from the first rate to the last.
        epochs: u32,
    },
}

impl LearningRate {
    /// The rate of epoch `e`; the first epoch is 0.
    pub fn at(self, e: u64) -> f64 {
        let share = |epochs: u32| (e as f64 / epochs.max(1) as f64).min(1.0);
        match self {
            LearningRate::Constant(rate) => rate,
            LearningRate::Linear { from, to, epochs } => from + (to - from) * share(epochs),
            LearningRate::Exponential { from, to, epochs } => from * (to / from).powf(share(epochs)),
        }
    }

    fn is_valid(self) -> bool {
        let (from, to) = match self {
            LearningRate::Constant(rate) => (rate, rate),
            LearningRate::Linear { from, to, .. } | LearningRate::Exponential { from, to, .. } => (from, to),
        };
        from.is_finite() && to.is_finite() && from > 0.0 && to > 0.0
    }
}

/// The settings of resilient propagation; the defaults are those of its authors.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rprop {
    /// What happens when a gradient changes its sign.
    pub kind: RpropKind,
    /// The factor by which steps grow.
    pub up: f64,
    /// The factor by which steps shrink.
    pub down: f64,
    /// The smallest step size.
    pub least: f64,
    /// The largest step size.
    pub most: f64,
    /// The first step size.
    pub first: f64,
}

/// What happens when a gradient changes its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RpropKind {
    /// Rprop-: a smaller step in the new direction.
    Minus,
    /// iRprop-: no step in this epoch.
    IMinus,
    /// iRprop+: no step in this epoch, and the last step is undone if the error has grown.
    IPlus,
}

impl Default for Rprop {
    fn default() -> Self {
        Rprop { kind: RpropKind::IPlus, up: 1.2, down: 0.5, least: 1e-6, most: 50.0, first: 0.1 }
    }
}

impl Rprop {
    pub(crate) fn is_valid(&self) -> bool {
        let steps = 0.0 < self.least && self.least <= self.first && self.first <= self.most && self.most.is_finite();
        steps && self.up >= 1.0 && 0.0 < self.down && self.down < 1.0
    }
}

/// The state of Rprop: step sizes, last signs and last steps of each weight, and the last error.
#[derive(Clone, Debug)]
pub(crate) struct RpropState {
    steps: Vec<f64>,
    signs: Vec<f64>,
    last_steps: Vec<f64>,
    error: f64,
}

impl RpropState {
    pub(crate) fn new(weights: usize, config: &Rprop) -> Self {
        RpropState {
            steps: vec![config.first; weights],
            signs: vec![0.0; weights],
            last_steps: vec![0.0; weights],
            error: f64::INFINITY,
        }
    }

    /// One step from `weights`, where the error and its gradient are as given.
    pub(crate) fn step(&mut self, config: &Rprop, weights: &mut [f64], gradient: &[f64], error: f64) {
        let grown = error > self.error;
        self.error = error;
        for (k, (w, &g)) in weights.iter_mut().zip(gradient).enumerate() {
            let sign = if g > 0.0 { 1.0 } else { -((g < 0.0) as u8 as f64) };
            if sign * self.signs[k] < 0.0 {
                self.steps[k] = (self.steps[k] * config.down).max(config.least);
                if config.kind != RpropKind::Minus {
                    if config.kind == RpropKind::IPlus && grown {
                        *w -= self.last_steps[k];
                    }
                    self.signs[k] = 0.0;
                    self.last_steps[k] = 0.0;
                    continue;
                }
            } else if sign * self.signs[k] > 0.0 {
                self.steps[k] = (self.steps[k] * config.up).min(config.most);
            }
            self.last_steps[k] = -sign * self.steps[k];
            *w += self.last_steps[k];
            self.signs[k] = sign;
        }
    }
}

/// The state of an optimiser.
#[derive(Clone, Debug)]
pub(crate) enum OptimiserState {
    Sgd { velocity: Vec<f64> },
    Rprop(RpropState),
    Adam { m: Vec<f64>, v: Vec<f64>, t: i32 },
}

impl OptimiserState {
    pub(crate) fn new(optimiser: &Optimiser, weights: usize) -> Self {
        match optimiser {
            Optimiser::Sgd { .. } => OptimiserState::Sgd { velocity: vec![0.0; weights] },
            Optimiser::Rprop(config) => OptimiserState::Rprop(RpropState::new(weights, config)),
            Optimiser::Adam { .. } => OptimiserState::Adam { m: vec![0.0; weights], v: vec![0.0; weights], t: 0 },
        }
    }

    /// The state as numbers in a fixed order.
    pub(crate) fn training_state(&self) -> Vec<f64> {
        match self {
            OptimiserState::Sgd { velocity } => velocity.clone(),
            OptimiserState::Rprop(s) => [&s.steps[..], &s.signs, &s.last_steps, &[s.error]].concat(),
            OptimiserState::Adam { m, v, t } => [&m[..], v, &[*t as f64]].concat(),
        }
    }

    /// Sets the state to what [`OptimiserState::training_state`] gave for as many weights; `false` if the number of
    /// values differs.
    pub(crate) fn set_training_state(&mut self, numbers: &[f64]) -> bool {
        if numbers.len() != self.training_state().len() {
            return false;
        }
        let mut at = 0;
        let mut fill = |into: &mut Vec<f64>| {
            let end = at + into.len();
            into.copy_from_slice(&numbers[at..end]);
            at = end;
        };
        match self {
            OptimiserState::Sgd { velocity } => fill(velocity),
            OptimiserState::Rprop(s) => {
                [&mut s.steps, &mut s.signs, &mut s.last_steps].into_iter().for_each(&mut fill);
                s.error = numbers[at];
            }
            OptimiserState::Adam { m, v, t } => {
                [m, v].into_iter().for_each(&mut fill);
                *t = numbers[at] as i32;
            }
        }
        true
    }

    /// One step in this epoch from the weights `w`, where the gradient is g·scale plus the decay of each range of
    /// weights. Sets `g` to 0 in the same pass over memory.
    pub(crate) fn step(&mut self, optimiser: &Optimiser, epoch: u64, w: &mut [f64], g: &mut [f64], input: &StepInput) {
        let ranges = input.decay.iter();
        match (self, optimiser) {
            (OptimiserState::Sgd { velocity }, Optimiser::Sgd { rate, momentum, nesterov }) => {
                let rate = rate.at(epoch);
                let (carry, kick) = if *nesterov { (*momentum, rate) } else { (1.0, 0.0) };
                for (range, decay) in ranges {
                    let all = w[range.clone()].iter_mut().zip(&mut g[range.clone()]).zip(&mut velocity[range.clone()]);
                    for ((w, g), v) in all {
                        let gradient = *g * input.scale + decay * *w;
                        *v = momentum * *v - rate * gradient;
                        *w += carry * *v - kick * gradient;
                        *g = 0.0;
                    }
                }
            }
            (OptimiserState::Rprop(state), Optimiser::Rprop(config)) => {
                for (range, decay) in ranges {
                    let all = w[range.clone()].iter().zip(&mut g[range.clone()]);
                    all.for_each(|(w, g)| *g = *g * input.scale + decay * w);
                }
                state.step(config, w, g, input.error);
                g.fill(0.0);
            }
            (OptimiserState::Adam { m, v, t }, Optimiser::Adam { rate, beta1, beta2, epsilon }) => {
                *t += 1;
                let rate = rate.at(epoch) * (1.0 - beta2.powi(*t)).sqrt() / (1.0 - beta1.powi(*t));
                let epsilon = *epsilon as f32;
                for (range, decay) in ranges {
                    let moments = m[range.clone()].iter_mut().zip(&mut v[range.clone()]);
                    let all = w[range.clone()].iter_mut().zip(&mut g[range.clone()]).zip(moments);
                    for ((w, g), (m, v)) in all {
                        let gradient = *g * input.scale + decay * *w;
                        *m = beta1 * *m + (1.0 - beta1) * gradient;
                        *v = beta2 * *v + (1.0 - beta2) * (gradient * gradient);
                        // The quotient in f32 takes a third of the time, and is off by 1e-7 of a step.
                        *w -= rate * (*m as f32 / ((*v as f32).sqrt() + epsilon)) as f64;
                        *g = 0.0;
                    }
                }
            }
            _ => unreachable!("the state is made for its optimiser"),
        }
    }
}

/// What a step needs besides the sums of gradients.
pub(crate) struct StepInput {
    /// One over the number of examples.
    pub scale: f64,
    /// The weight decay, per example, of each range of weights.
    pub decay: Vec<(Range<usize>, f64)>,
    /// The error at the weights before the step; only Rprop uses it.
    pub error: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A narrow valley: 0.5·(x² + 100·y²).
    fn valley(w: &[f64]) -> (f64, Vec<f64>) {
        (0.5 * (w[0] * w[0] + 100.0 * w[1] * w[1]), vec![w[0], 100.0 * w[1]])
    }

    #[test]
    fn every_optimiser_finds_the_bottom_of_a_narrow_valley() {
        let rprop = |kind| Optimiser::Rprop(Rprop { kind, ..Rprop::default() });
        let decay = LearningRate::Exponential { from: 0.01, to: 0.005, epochs: 100 };
        for optimiser in [
            rprop(RpropKind::Minus),
            rprop(RpropKind::IMinus),
            rprop(RpropKind::IPlus),
            Optimiser::sgd(decay),
            Optimiser::Sgd { rate: LearningRate::Constant(0.005), momentum: 0.9, nesterov: true },
            Optimiser::Adam { rate: LearningRate::Constant(0.02), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ] {
            let mut w = vec![3.0, -2.0];
            let mut state = OptimiserState::new(&optimiser, 2);
            for epoch in 0..3000 {
                let (error, mut gradient) = valley(&w);
                let input = StepInput { scale: 1.0, decay: vec![(0..2, 0.0)], error };
                state.step(&optimiser, epoch, &mut w, &mut gradient, &input);
            }
            assert!(valley(&w).0 < 1e-6, "{optimiser:?} ended at {w:?}");
        }
    }

    #[test]
    fn a_sign_change_is_followed_by_what_the_variant_promises() {
        let after = |kind, second_error| {
            let config = Rprop { kind, ..Rprop::default() };
            let mut state = RpropState::new(1, &config);
            let mut w = [1.0];
            state.step(&config, &mut w, &[1.0], 5.0); // to 0.9
            state.step(&config, &mut w, &[-1.0], second_error);
            let turned = w[0];
            state.step(&config, &mut w, &[-1.0], second_error);
            (turned, w[0])
        };
        let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12;
        assert!(near(after(RpropKind::Minus, 4.0), (0.95, 1.01)));
        assert!(near(after(RpropKind::IMinus, 4.0), (0.9, 0.95)), "waits, then steps by the halved step");
        assert!(near(after(RpropKind::IPlus, 4.0), (0.9, 0.95)), "the error fell: no way back");
        assert!(near(after(RpropKind::IPlus, 6.0), (1.0, 1.05)), "the error grew: back, then on");
    }

    #[test]
    fn rates_decay_as_named() {
        let linear = LearningRate::Linear { from: 1.0, to: 0.0, epochs: 4 };
        assert_eq!([0, 1, 2, 4, 9].map(|e| linear.at(e)), [1.0, 0.75, 0.5, 0.0, 0.0]);
        let exponential = LearningRate::Exponential { from: 1.0, to: 0.01, epochs: 2 };
        assert!((exponential.at(1) - 0.1).abs() < 1e-12 && (exponential.at(5) - 0.01).abs() < 1e-12);
    }
}
