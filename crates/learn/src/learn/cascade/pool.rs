//! Training a pool of candidate units against the residuals, and picking one.
//!
//! With e the residual (target - output), centred ē removed where written, n examples:
//! * covariance (Fahlman & Lebiere 1990):       C  = Σ_o |Σ_s (y - ȳ)(e_o - ē_o)|               is made large;
//! * normalised covariance:          R  = Σ_o (Σ_s (y - ȳ)(e_o - ē_o))² / (Σ_s (y - ȳ)² + n/1000)  is made large: what the
//!   (slightly penalised) squared error falls by when the unit is connected with the best weight. The penalty keeps out
//!   units that fire on a handful of examples;
//! * cascade 2 (Fahlman; Nissen 2007):          C2 = Σ_o Σ_s (e_o - w_o·y)²                       is made small, by w_o too.
//!
//! A candidate keeps the best weights it was *measured* with, unlike FANN's, which are scored one update too early. What
//! counts is the objective on the validation examples if there are any: with some 200 weights each, candidates learn the
//! noise of the training examples as well, and this is where most of the overfitting of a cascade comes from.

use super::pass::{GROUP, Pass, Slope, Sums};
use crate::learn::optim::{Rprop, RpropState};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The penalty in the normalised covariance, per example.
const RIDGE: f64 = 1e-3;

/// What candidates strive for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Covariance with the residuals.
    Covariance,
    /// The fall in squared error that the best connection brings.
    NormalisedCovariance,
    /// Being the residual, up to a weight that is trained as well.
    Cascade2,
}

/// How long a phase may last.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The most epochs.
    pub epochs: u32,
    /// Epochs without a gain that end it.
    pub patience: u32,
    /// The relative gain that counts as one.
    pub gain: f64,
}

impl Default for Phase {
    fn default() -> Self {
        Phase { epochs: 150, patience: 12, gain: 1e-3 }
    }
}

/// Residual sums that do not change while candidates train.
pub(super) struct Fixed {
    pub n: f64,
    /// Σe and Σe² of each output.
    pub e: Vec<f64>,
    pub ee: Vec<f64>,
}

impl Fixed {
    /// Over these places.
    pub(super) fn new(residuals: &[Vec<f32>], places: &Range<usize>) -> Self {
        let sum = |f: fn(f64) -> f64| {
            residuals.iter().map(|r| r[places.clone()].iter().map(|&e| f(e as f64)).sum()).collect()
        };
        Fixed { n: places.len() as f64, e: sum(|e| e), ee: sum(|e| e * e) }
    }
}

/// One weight vector, measured.
pub(super) struct Measured {
    /// The error on the training examples, and its gradient.
    pub error: f64,
    pub gradient: Vec<f64>,
    /// The error that counts: on the validation examples if there are any.
    pub judged: f64,
}

/// A training problem of up to eight independent weight vectors, each with an error to make small.
pub(super) trait Problem {
    /// What there is to know at these weights.
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measured>;
}

/// Follows the gradients by Rprop; gives the best error and weights seen of each.
pub(super) fn descend(
    problem: &mut dyn Problem,
    mut weights: Vec<Vec<f64>>,
    rprop: &Rprop,
    phase: &Phase,
) -> Vec<(f64, Vec<f64>)> {
    struct Run {
        state: RpropState,
        best: (f64, Vec<f64>),
        mark: f64, // the error that a gain is counted from
        waited: u32,
    }
    let start = |w: &Vec<f64>| Run {
        state: RpropState::new(w.len(), rprop),
        best: (f64::INFINITY, w.clone()),
        mark: f64::INFINITY,
        waited: 0,
    };
    let mut runs: Vec<Run> = weights.iter().map(start).collect();
    for _ in 0..phase.epochs.max(1) {
        let measured = problem.measure(&weights);
        for ((run, w), Measured { error, gradient, judged }) in runs.iter_mut().zip(&mut weights).zip(measured) {
            if run.waited > phase.patience {
                continue;
            }
            if judged < run.best.0 {
                run.best = (judged, w.clone());
            }
            if run.mark == f64::INFINITY || judged < run.mark - phase.gain * run.mark.abs() {
                run.mark = judged;
                run.waited = 0;
            } else {
                run.waited += 1;
            }
            if run.waited <= phase.patience {
                run.state.step(rprop, w, &gradient, error);
            }
        }
        if runs.iter().all(|r| r.waited > phase.patience) {
            break;
        }
    }
    runs.into_iter().map(|r| r.best).collect()
}

/// Candidates under an objective.
pub(super) struct Candidates<'a> {
    pub pass: Pass<'a>,
    pub objective: Objective,
    pub fixed: &'a Fixed,
    /// The places to judge by, and their sums.
    pub judge: Option<(Range<usize>, &'a Fixed)>,
}

impl Problem for Candidates<'_> {
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measured> {
        self.pass.set(weights);
        let sums = self.pass.forward();
        let extra = self.objective.extra(self.fixed.e.len());
        let sent: Vec<&[f64]> = weights.iter().map(|w| &w[w.len() - extra..]).collect();
        let (errors, slope, by_sent) = self.objective.differentiate(&sums, self.fixed, &sent);
        let gradients = self.pass.backward(&slope);
        let judged = match &self.judge {
            Some((places, fixed)) => self.objective.differentiate(&self.pass.judge(places), fixed, &sent).0,
            None => errors.clone(),
        };
        let joined = gradients.into_iter().zip(by_sent).map(|(units, sent)| [units, sent].concat());
        let all = errors.into_iter().zip(joined).zip(judged);
        all.map(|((error, gradient), judged)| Measured { error, gradient, judged }).collect()
    }
}

impl Objective {
    /// How many weights a candidate has besides those of its sum.
    pub(super) fn extra(self, outputs: usize) -> usize {
        if self == Objective::Cascade2 { outputs } else { 0 }
    }

    /// The error to make small of each unit, its derivative by the sums, and by the weights sent to the outputs.
    fn differentiate(self, s: &Sums, f: &Fixed, sent: &[&[f64]]) -> (Vec<f64>, Slope, Vec<Vec<f64>>) {
        let outputs = f.e.len();
        let mut slope = Slope { a: vec![[0.0; GROUP]; outputs], b: [0.0; GROUP], k: [0.0; GROUP] };
        let mut errors = Vec::new();
        let mut by_sent = Vec::new();
        for (c, w) in sent.iter().enumerate() {
            let mean = s.y[c] / f.n;
            let covariance = |o: usize| s.ye[o][c] - mean * f.e[o];
            let mut own = Vec::new();
            match self {
                Objective::Covariance => {
                    errors.push(-(0..outputs).map(|o| covariance(o).abs()).sum::<f64>());
                    let mut k = 0.0;
                    for o in 0..outputs {
                        let sign = covariance(o).signum();
                        slope.a[o][c] = -sign as f32;
                        k += sign * f.e[o] / f.n;
                    }
                    slope.k[c] = k as f32;
                }
                Objective::NormalisedCovariance => {
                    let variance = s.yy[c] - mean * s.y[c] + RIDGE * f.n;
                    let gain = (0..outputs).map(|o| covariance(o).powi(2)).sum::<f64>() / variance;
                    errors.push(-gain);
                    let mut k = -2.0 * gain / variance * mean;
                    for o in 0..outputs {
                        let a = 2.0 * covariance(o) / variance;
                        slope.a[o][c] = -a as f32;
                        k += a * f.e[o] / f.n;
                    }
                    slope.b[c] = (2.0 * gain / variance) as f32;
                    slope.k[c] = k as f32;
                }
                Objective::Cascade2 => {
                    let error = |o: usize| f.ee[o] - 2.0 * w[o] * s.ye[o][c] + w[o] * w[o] * s.yy[c];
                    errors.push((0..outputs).map(error).sum());
                    for o in 0..outputs {
                        slope.a[o][c] = (-2.0 * w[o]) as f32;
                    }
                    slope.b[c] = (2.0 * w.iter().map(|w| w * w).sum::<f64>()) as f32;
                    own.extend((0..outputs).map(|o| 2.0 * w[o] * s.yy[c] - 2.0 * s.ye[o][c]));
                }
            }
            by_sent.push(own);
        }
        (errors, slope, by_sent)
    }
}

/// Outputs that learn their targets by squared error: output c of the group has target `first + c`.
pub(super) struct Outputs<'a> {
    pub pass: Pass<'a>,
    pub fixed: &'a Fixed,
    pub first: usize,
}

impl Problem for Outputs<'_> {
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measured> {
        self.pass.set(weights);
        let sums = self.pass.forward();
        let mut slope = Slope { a: vec![[0.0; GROUP]; self.fixed.e.len()], b: [2.0; GROUP], k: [0.0; GROUP] };
        (0..weights.len()).for_each(|c| slope.a[self.first + c][c] = -2.0);
        let error = |c: usize| {
            let o = self.first + c;
            self.fixed.ee[o] - 2.0 * sums.ye[o][c] + sums.yy[c]
        };
        let gradients = self.pass.backward(&slope);
        let measured = |(c, gradient)| Measured { error: error(c), gradient, judged: error(c) };
        gradients.into_iter().take(weights.len()).enumerate().map(measured).collect()
    }
}
