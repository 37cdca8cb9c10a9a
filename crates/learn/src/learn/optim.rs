//! How weights follow a gradient: plain and momentum descent, Adam, and the Rprop family.
//!
//! * Sgd: v <- momentum·v - rate·g;  w <- w + v  (Nesterov: w <- w + momentum·v - rate·g).
//! * Adam (Kingma & Ba 2015), bias correction folded into the rate as scikit-learn does it.
//! * Rprop (Riedmiller & Braun 1993) and its improvements iRprop+ and iRprop- (Igel & Hüsken 2000). Each weight has its
//!   own step s: while the sign of its gradient stays, s grows by 1.2; when it changes, s shrinks by half, and
//!   * `Minus` (Rprop-) steps on by the new s;
//!   * `IMinus` (iRprop-) stays where it is for this once and forgets the sign;
//!   * `IPlus` (iRprop+) also forgets the sign, and takes the last step back if the error has grown.
//!
//! FANN's "iRprop-" adds the minimal step after a sign change; ours does not. All arithmetic is elementwise and in
//! `f64`: the same bits whatever the vector width.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How weights follow a gradient.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Optimiser {
    /// Stochastic gradient descent.
    Sgd {
        /// The learning rate by epoch.
        rate: Rate,
        /// The share of the last step that is kept.
        momentum: f64,
        /// Whether the gradient is taken as of the place that momentum leads to.
        nesterov: bool,
    },
    /// Resilient propagation: signs only, for full batches.
    Rprop(Rprop),
    /// Adaptive moments.
    Adam {
        /// The learning rate by epoch.
        rate: Rate,
        /// Decay of the mean of gradients.
        beta1: f64,
        /// Decay of the mean of their squares.
        beta2: f64,
        /// Keeps the division sane.
        epsilon: f64,
    },
}

impl Optimiser {
    /// Adam with its authors' defaults: rate 0.001, 0.9, 0.999, 1e-8.
    pub const fn adam() -> Self {
        Optimiser::Adam { rate: Rate::Constant(1e-3), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// Descent without momentum.
    pub const fn sgd(rate: Rate) -> Self {
        Optimiser::Sgd { rate, momentum: 0.0, nesterov: false }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let good = match self {
            Optimiser::Sgd { rate, momentum, .. } => rate.good() && (0.0..1.0).contains(momentum),
            Optimiser::Adam { rate, beta1, beta2, epsilon } => {
                rate.good() && (0.0..1.0).contains(beta1) && (0.0..1.0).contains(beta2) && *epsilon > 0.0
            }
            Optimiser::Rprop(r) => r.good(),
        };
        if good { Ok(()) } else { Err(Error::Config(format!("a setting out of range: {self:?}"))) }
    }
}

/// The learning rate, epoch by epoch.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rate {
    /// Always the same.
    Constant(f64),
    /// A straight line from `from` to `to` over so many epochs, then `to`.
    Linear {
        /// At the first epoch.
        from: f64,
        /// At the end.
        to: f64,
        /// How long it takes.
        epochs: u32,
    },
    /// The same factor each epoch, from `from` to `to`, then `to`.
    Exponential {
        /// At the first epoch.
        from: f64,
        /// At the end.
        to: f64,
        /// How long it takes.
        epochs: u32,
    },
}

impl Rate {
    /// The rate of epoch `e`, counted from 0.
    pub fn at(self, e: u64) -> f64 {
        let share = |epochs: u32| (e as f64 / epochs.max(1) as f64).min(1.0);
        match self {
            Rate::Constant(rate) => rate,
            Rate::Linear { from, to, epochs } => from + (to - from) * share(epochs),
            Rate::Exponential { from, to, epochs } => from * (to / from).powf(share(epochs)),
        }
    }

    fn good(self) -> bool {
        let (from, to) = match self {
            Rate::Constant(rate) => (rate, rate),
            Rate::Linear { from, to, .. } | Rate::Exponential { from, to, .. } => (from, to),
        };
        from.is_finite() && to.is_finite() && from > 0.0 && to > 0.0
    }
}

/// The settings of resilient propagation; the defaults are its authors'.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rprop {
    /// What happens when a gradient changes its sign.
    pub kind: RpropKind,
    /// The factor by which steps grow.
    pub up: f64,
    /// The factor by which steps shrink.
    pub down: f64,
    /// The smallest step.
    pub least: f64,
    /// The largest step.
    pub most: f64,
    /// The first step.
    pub first: f64,
}

/// What happens when a gradient changes its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RpropKind {
    /// Rprop-: step on, more carefully.
    Minus,
    /// iRprop-: wait for one epoch.
    IMinus,
    /// iRprop+: go back if the error has grown, and wait.
    IPlus,
}

impl Default for Rprop {
    fn default() -> Self {
        Rprop { kind: RpropKind::IPlus, up: 1.2, down: 0.5, least: 1e-6, most: 50.0, first: 0.1 }
    }
}

impl Rprop {
    pub(crate) fn good(&self) -> bool {
        let steps = 0.0 < self.least && self.least <= self.first && self.first <= self.most && self.most.is_finite();
        steps && self.up >= 1.0 && 0.0 < self.down && self.down < 1.0
    }
}

/// What Rprop remembers of each weight.
#[derive(Clone, Debug)]
pub(crate) struct RpropState {
    steps: Vec<f64>,
    signs: Vec<f64>,
    moved: Vec<f64>,
    error: f64,
}

impl RpropState {
    pub(crate) fn new(weights: usize, config: &Rprop) -> Self {
        RpropState {
            steps: vec![config.first; weights],
            signs: vec![0.0; weights],
            moved: vec![0.0; weights],
            error: f64::INFINITY,
        }
    }

    /// One step down the gradient that was taken at `weights`, where the error is `error`.
    pub(crate) fn step(&mut self, config: &Rprop, weights: &mut [f64], gradient: &[f64], error: f64) {
        let grown = error > self.error;
        self.error = error;
        for (k, (w, &g)) in weights.iter_mut().zip(gradient).enumerate() {
            let sign = if g > 0.0 { 1.0 } else { -((g < 0.0) as u8 as f64) };
            let turned = sign * self.signs[k] < 0.0;
            if turned {
                self.steps[k] = (self.steps[k] * config.down).max(config.least);
                if config.kind != RpropKind::Minus {
                    if config.kind == RpropKind::IPlus && grown {
                        *w -= self.moved[k];
                    }
                    self.signs[k] = 0.0;
                    self.moved[k] = 0.0;
                    continue;
                }
            } else if sign * self.signs[k] > 0.0 {
                self.steps[k] = (self.steps[k] * config.up).min(config.most);
            }
            self.moved[k] = -sign * self.steps[k];
            *w += self.moved[k];
            self.signs[k] = sign;
        }
    }
}

/// What an optimiser remembers.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    Sgd { velocity: Vec<f64> },
    Rprop(RpropState),
    Adam { m: Vec<f64>, v: Vec<f64>, t: i32 },
}

impl Memory {
    pub(crate) fn new(optimiser: &Optimiser, weights: usize) -> Self {
        match optimiser {
            Optimiser::Sgd { .. } => Memory::Sgd { velocity: vec![0.0; weights] },
            Optimiser::Rprop(config) => Memory::Rprop(RpropState::new(weights, config)),
            Optimiser::Adam { .. } => Memory::Adam { m: vec![0.0; weights], v: vec![0.0; weights], t: 0 },
        }
    }

    /// Everything remembered, as numbers in a fixed order.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        match self {
            Memory::Sgd { velocity } => velocity.clone(),
            Memory::Rprop(s) => [&s.steps[..], &s.signs, &s.moved, &[s.error]].concat(),
            Memory::Adam { m, v, t } => [&m[..], v, &[*t as f64]].concat(),
        }
    }

    /// Remembers what [`Memory::numbers`] gave for as many weights; `false` if these are not that many.
    pub(crate) fn restore(&mut self, numbers: &[f64]) -> bool {
        if numbers.len() != self.numbers().len() {
            return false;
        }
        let mut at = 0;
        let mut fill = |into: &mut Vec<f64>| {
            let end = at + into.len();
            into.copy_from_slice(&numbers[at..end]);
            at = end;
        };
        match self {
            Memory::Sgd { velocity } => fill(velocity),
            Memory::Rprop(s) => {
                [&mut s.steps, &mut s.signs, &mut s.moved].into_iter().for_each(&mut fill);
                s.error = numbers[at];
            }
            Memory::Adam { m, v, t } => {
                [m, v].into_iter().for_each(&mut fill);
                *t = numbers[at] as i32;
            }
        }
        true
    }

    /// One step, in this epoch, down the gradient at `w`, which is g·scale plus the decay of each span of weights. `g` is
    /// all 0 afterwards, ready to add up the next one: everything happens in one pass over memory.
    pub(crate) fn step(&mut self, optimiser: &Optimiser, epoch: u64, w: &mut [f64], g: &mut [f64], at: &Place) {
        let spans = at.decay.iter();
        match (self, optimiser) {
            (Memory::Sgd { velocity }, Optimiser::Sgd { rate, momentum, nesterov }) => {
                let rate = rate.at(epoch);
                let (carry, kick) = if *nesterov { (*momentum, rate) } else { (1.0, 0.0) };
                for (span, decay) in spans {
                    let all = w[span.clone()].iter_mut().zip(&mut g[span.clone()]).zip(&mut velocity[span.clone()]);
                    for ((w, g), v) in all {
                        let gradient = *g * at.scale + decay * *w;
                        *v = momentum * *v - rate * gradient;
                        *w += carry * *v - kick * gradient;
                        *g = 0.0;
                    }
                }
            }
            (Memory::Rprop(state), Optimiser::Rprop(config)) => {
                for (span, decay) in spans {
                    let all = w[span.clone()].iter().zip(&mut g[span.clone()]);
                    all.for_each(|(w, g)| *g = *g * at.scale + decay * w);
                }
                state.step(config, w, g, at.error);
                g.fill(0.0);
            }
            (Memory::Adam { m, v, t }, Optimiser::Adam { rate, beta1, beta2, epsilon }) => {
                *t += 1;
                let rate = rate.at(epoch) * (1.0 - beta2.powi(*t)).sqrt() / (1.0 - beta1.powi(*t));
                let epsilon = *epsilon as f32;
                for (span, decay) in spans {
                    let moments = m[span.clone()].iter_mut().zip(&mut v[span.clone()]);
                    let all = w[span.clone()].iter_mut().zip(&mut g[span.clone()]).zip(moments);
                    for ((w, g), (m, v)) in all {
                        let gradient = *g * at.scale + decay * *w;
                        *m = beta1 * *m + (1.0 - beta1) * gradient;
                        *v = beta2 * *v + (1.0 - beta2) * (gradient * gradient);
                        // The quotient in f32 takes a third of the time, and is off by 1e-7 of a step.
                        *w -= rate * (*m as f32 / ((*v as f32).sqrt() + epsilon)) as f64;
                        *g = 0.0;
                    }
                }
            }
            _ => unreachable!("the memory is made for its optimiser"),
        }
    }
}

/// What a step needs to know besides the sums of gradients.
pub(crate) struct Place {
    /// One over the number of examples.
    pub scale: f64,
    /// The weight decay (already per example) of each span of weights.
    pub decay: Vec<(Range<usize>, f64)>,
    /// The error at the weights before the step; only Rprop looks at it.
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
        let decay = Rate::Exponential { from: 0.01, to: 0.005, epochs: 100 };
        for optimiser in [
            rprop(RpropKind::Minus),
            rprop(RpropKind::IMinus),
            rprop(RpropKind::IPlus),
            Optimiser::sgd(decay),
            Optimiser::Sgd { rate: Rate::Constant(0.005), momentum: 0.9, nesterov: true },
            Optimiser::Adam { rate: Rate::Constant(0.02), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ] {
            let mut w = vec![3.0, -2.0];
            let mut memory = Memory::new(&optimiser, 2);
            for epoch in 0..3000 {
                let (error, mut gradient) = valley(&w);
                let at = Place { scale: 1.0, decay: vec![(0..2, 0.0)], error };
                memory.step(&optimiser, epoch, &mut w, &mut gradient, &at);
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
        let linear = Rate::Linear { from: 1.0, to: 0.0, epochs: 4 };
        assert_eq!([0, 1, 2, 4, 9].map(|e| linear.at(e)), [1.0, 0.75, 0.5, 0.0, 0.0]);
        let exponential = Rate::Exponential { from: 1.0, to: 0.01, epochs: 2 };
        assert!((exponential.at(1) - 0.1).abs() < 1e-12 && (exponential.at(5) - 0.01).abs() < 1e-12);
    }
}
