//! Training a pool of candidate units against the residuals.
//!
//! With y a candidate's activation, e_o the residual (target minus output) of output o, bars for means, n examples s:
//! * covariance (Fahlman & Lebiere 1990), maximised:
//!   C = Σ_o |Σ_s (y - ȳ)(e_o - ē_o)|;
//! * normalised covariance, maximised: R = Σ_o (Σ_s (y - ȳ)(e_o - ē_o))² / (Σ_s (y - ȳ)² + n/1000), the amount by which
//!   the (slightly penalised) squared error falls when the unit is connected with the best weight. The penalty excludes
//!   units that are active on a handful of examples only;
//! * cascade 2 (Fahlman; Nissen 2007), minimised, by the weights w_o too:
//!   C2 = Σ_o Σ_s (e_o - w_o·y)².
//!
//! A candidate keeps the best weights at which it was measured, unlike in FANN, where the score is one update old. It
//! is selected by the objective on the validation examples if there are any: with some 200 weights, candidates fit the
//! noise of the training examples as well, and most of the overfitting of a cascade comes from there.

use super::pass::{GROUP, ObjectiveDerivative, Pass, Sums};
use crate::learn::optim::{Rprop, RpropState};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The penalty in the normalised covariance, per example.
const RIDGE: f64 = 1e-3;

/// What the training of candidate units optimises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The covariance with the residuals.
    Covariance,
    /// The fall in squared error when the unit is connected with the best weight.
    NormalisedCovariance,
    /// The squared difference between the residuals and the weighted unit, with output weights trained as well.
    Cascade2,
}

/// When a training phase stops: early stopping with a limit on epochs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopping {
    /// The largest number of epochs.
    pub epochs: u32,
    /// The phase stops after more than this many epochs in a row without a gain.
    pub patience: u32,
    /// The smallest relative fall of the error that counts as a gain.
    pub gain: f64,
}

impl Default for EarlyStopping {
    fn default() -> Self {
        EarlyStopping { epochs: 150, patience: 12, gain: 1e-3 }
    }
}

/// Sums of residuals (or targets) over a range of slots; they do not change while units train.
pub(super) struct ResidualSums {
    /// The number of examples.
    pub n: f64,
    /// Σe and Σe² of each output.
    pub e: Vec<f64>,
    pub ee: Vec<f64>,
}

impl ResidualSums {
    /// The sums over these slots.
    pub(super) fn new(residuals: &[Vec<f32>], slots: &Range<usize>) -> Self {
        let sum =
            |f: fn(f64) -> f64| residuals.iter().map(|r| r[slots.clone()].iter().map(|&e| f(e as f64)).sum()).collect();
        ResidualSums { n: slots.len() as f64, e: sum(|e| e), ee: sum(|e| e * e) }
    }
}

/// The error of one weight vector and its gradient.
pub(super) struct Measurement {
    /// The error on the training examples, and its gradient.
    pub error: f64,
    pub gradient: Vec<f64>,
    /// The error to select by: on the validation examples if there are any.
    pub selection_error: f64,
}

/// A minimisation problem of up to eight independent weight vectors.
pub(super) trait Problem {
    /// The errors and gradients at these weights.
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measurement>;
}

/// Minimises by Rprop; returns the best error and weights of each vector.
pub(super) fn minimise(
    problem: &mut dyn Problem,
    mut weights: Vec<Vec<f64>>,
    rprop: &Rprop,
    phase: &EarlyStopping,
) -> Vec<(f64, Vec<f64>)> {
    struct Run {
        state: RpropState,
        best: (f64, Vec<f64>),
        mark: f64, // the error from which a gain is measured
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
        for ((run, w), Measurement { error, gradient, selection_error }) in
            runs.iter_mut().zip(&mut weights).zip(measured)
        {
            if run.waited > phase.patience {
                continue;
            }
            if selection_error < run.best.0 {
                run.best = (selection_error, w.clone());
            }
            if run.mark == f64::INFINITY || selection_error < run.mark - phase.gain * run.mark.abs() {
                run.mark = selection_error;
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

/// Training of candidate units under an objective.
pub(super) struct Candidates<'a> {
    pub pass: Pass<'a>,
    pub objective: Objective,
    pub residuals: &'a ResidualSums,
    /// The slots to select by, and their sums.
    pub validation: Option<(Range<usize>, &'a ResidualSums)>,
}

impl Problem for Candidates<'_> {
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measurement> {
        self.pass.set_weights(weights);
        let sums = self.pass.forward();
        let extra = self.objective.output_weights(self.residuals.e.len());
        let output_weights: Vec<&[f64]> = weights.iter().map(|w| &w[w.len() - extra..]).collect();
        let (errors, derivative, by_output_weight) =
            self.objective.differentiate(&sums, self.residuals, &output_weights);
        let gradients = self.pass.backward(&derivative);
        let selection_errors = match &self.validation {
            Some((slots, sums)) => self.objective.differentiate(&self.pass.sums_over(slots), sums, &output_weights).0,
            None => errors.clone(),
        };
        let gradients = gradients.into_iter().zip(by_output_weight).map(|(own, to_outputs)| [own, to_outputs].concat());
        let all = errors.into_iter().zip(gradients).zip(selection_errors);
        all.map(|((error, gradient), selection_error)| Measurement { error, gradient, selection_error }).collect()
    }
}

impl Objective {
    /// How many weights to the outputs a candidate trains besides its own.
    pub(super) fn output_weights(self, outputs: usize) -> usize {
        if self == Objective::Cascade2 { outputs } else { 0 }
    }

    /// The error of each unit, its derivative by the unit's weighted sum, and by its weights to the outputs.
    fn differentiate(
        self,
        s: &Sums,
        f: &ResidualSums,
        output_weights: &[&[f64]],
    ) -> (Vec<f64>, ObjectiveDerivative, Vec<Vec<f64>>) {
        let outputs = f.e.len();
        let mut derivative = ObjectiveDerivative { a: vec![[0.0; GROUP]; outputs], b: [0.0; GROUP], k: [0.0; GROUP] };
        let mut errors = Vec::new();
        let mut by_output_weight = Vec::new();
        for (c, w) in output_weights.iter().enumerate() {
            let mean = s.y[c] / f.n;
            let covariance = |o: usize| s.ye[o][c] - mean * f.e[o];
            let mut own = Vec::new();
            match self {
                Objective::Covariance => {
                    errors.push(-(0..outputs).map(|o| covariance(o).abs()).sum::<f64>());
                    let mut k = 0.0;
                    for o in 0..outputs {
                        let sign = covariance(o).signum();
                        derivative.a[o][c] = -sign as f32;
                        k += sign * f.e[o] / f.n;
                    }
                    derivative.k[c] = k as f32;
                }
                Objective::NormalisedCovariance => {
                    let variance = s.yy[c] - mean * s.y[c] + RIDGE * f.n;
                    let gain = (0..outputs).map(|o| covariance(o).powi(2)).sum::<f64>() / variance;
                    errors.push(-gain);
                    let mut k = -2.0 * gain / variance * mean;
                    for o in 0..outputs {
                        let a = 2.0 * covariance(o) / variance;
                        derivative.a[o][c] = -a as f32;
                        k += a * f.e[o] / f.n;
                    }
                    derivative.b[c] = (2.0 * gain / variance) as f32;
                    derivative.k[c] = k as f32;
                }
                Objective::Cascade2 => {
                    let error = |o: usize| f.ee[o] - 2.0 * w[o] * s.ye[o][c] + w[o] * w[o] * s.yy[c];
                    errors.push((0..outputs).map(error).sum());
                    for o in 0..outputs {
                        derivative.a[o][c] = (-2.0 * w[o]) as f32;
                    }
                    derivative.b[c] = (2.0 * w.iter().map(|w| w * w).sum::<f64>()) as f32;
                    own.extend((0..outputs).map(|o| 2.0 * w[o] * s.yy[c] - 2.0 * s.ye[o][c]));
                }
            }
            by_output_weight.push(own);
        }
        (errors, derivative, by_output_weight)
    }
}

/// Training of outputs by squared error: unit c of the group is output `first + c`.
pub(super) struct Outputs<'a> {
    pub pass: Pass<'a>,
    pub targets: &'a ResidualSums,
    pub first: usize,
}

impl Problem for Outputs<'_> {
    fn measure(&mut self, weights: &[Vec<f64>]) -> Vec<Measurement> {
        self.pass.set_weights(weights);
        let sums = self.pass.forward();
        let mut derivative =
            ObjectiveDerivative { a: vec![[0.0; GROUP]; self.targets.e.len()], b: [2.0; GROUP], k: [0.0; GROUP] };
        (0..weights.len()).for_each(|c| derivative.a[self.first + c][c] = -2.0);
        let error = |c: usize| {
            let o = self.first + c;
            self.targets.ee[o] - 2.0 * sums.ye[o][c] + sums.yy[c]
        };
        let gradients = self.pass.backward(&derivative);
        let measurement = |(c, gradient)| Measurement { error: error(c), gradient, selection_error: error(c) };
        gradients.into_iter().take(weights.len()).enumerate().map(measurement).collect()
    }
}
