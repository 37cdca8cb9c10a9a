//! Training with early stopping, checkpoints and curves, once for every family of nets.
//!
//! A [`Learner`] learns step by step (an epoch, a unit, some games). [`Fit`] measures it now and then, keeps the best net, saves
//! the learner so that a killed run goes on to the same bits, and stops when it does not get better or the run is stopped.

use crate::driver::{Context, Curve};
use crate::plot::Series;
use crate::store::{Json, Result, RunError};
use ludex_learn::{Error, Model};
use ludex_play::manifest::role_model;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::time::Instant;

/// Something that learns step by step.
pub trait Learner: Sized {
    /// What is measured between steps.
    type Point: Clone + Serialize + DeserializeOwned + Send;

    /// One more step; `false` if there is none that makes sense, and none was made.
    fn step(&mut self) -> Result<bool, Error>;

    /// Steps so far.
    fn steps(&self) -> u64;

    /// How good it is now.
    fn measure(&self) -> Self::Point;

    /// What early stopping compares: less is better.
    fn error(point: &Self::Point) -> f64;

    /// What it is now is the best so far.
    fn keep_best(&mut self) {}

    /// Everything that is needed to go on to the same bits.
    fn save(&self) -> Vec<u8>;
}

/// Mean squared errors after so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorPoint {
    /// Steps: epochs, or units of a cascade.
    pub step: u64,
    /// On the examples learned from, where it was measured.
    pub train: Option<f64>,
    /// On the examples that choose the net.
    pub selection: Option<f64>,
    /// On the examples that were never looked at.
    pub test: Option<f64>,
}

/// How a learner is trained.
pub struct Fit<'a> {
    /// Where.
    pub cx: &'a Context<'a>,
    /// What its models are called: `final` are what the run is for.
    pub name: &'a str,
    /// Steps at most.
    pub steps: u64,
    /// Steps from one measurement to the next.
    pub every: u64,
    /// Measurements without a better net after which training ends; 0: none.
    pub patience: u64,
    /// Whether it is measured before the first step.
    pub measure_start: bool,
    /// Whether what was learned is kept as `stopped` when the run is stopped.
    pub anytime: bool,
}

impl Fit<'_> {
    /// Trains a learner, or goes on with one that was saved, and keeps its models: one, or one for each role. Gives the first
    /// of them and the curve.
    pub fn run<L: Learner>(
        &self,
        fresh: impl FnOnce() -> Result<L>,
        resume: impl FnOnce(&[u8]) -> Option<L>,
        models: impl Fn(&mut L, &[L::Point]) -> Result<Vec<Model>>,
    ) -> Result<(Model, Vec<L::Point>)> {
        let (run, curve_part, checkpoint) =
            (self.cx.run, format!("curve/{}", self.name), format!("train-{}", self.name));
        let kept = (run.find_model(self.name)?, run.find::<Json<Vec<L::Point>>>(&curve_part)?);
        if let (Some(model), Some(Json(curve))) = kept {
            return Ok((model, curve));
        }
        let saved = run.checkpoint(&checkpoint).and_then(|bytes| {
            let (curve, learner) = split_checkpoint(&bytes)?;
            Some((resume(learner)?, serde_json::from_slice(curve).ok()?))
        });
        let (mut learner, mut curve): (L, Vec<L::Point>) = match saved {
            Some(saved) => saved,
            None => {
                let learner = fresh()?;
                let curve = if self.measure_start { vec![learner.measure()] } else { Vec::new() };
                (learner, curve)
            }
        };
        let every = self.every.max(1);
        run.observer().stage("train", self.steps.div_ceil(every) as usize, (learner.steps() / every) as usize);
        let mut last_save = Instant::now();
        'fit: while learner.steps() < self.steps && !self.waited::<L>(&curve) {
            let until = (learner.steps() + every).min(self.steps);
            while learner.steps() < until {
                if run.observer().stopped() {
                    if self.anytime {
                        self.keep("stopped", &models(&mut learner, &curve)?)?;
                    }
                    return Err(RunError::Stopped);
                }
                if !learner.step()? {
                    break 'fit;
                }
            }
            let point = learner.measure();
            if curve.iter().all(|p| L::error(&point) < L::error(p)) {
                learner.keep_best();
            }
            curve.push(point);
            run.observer().part();
            if last_save.elapsed() >= run.checkpoint_interval {
                run.save_checkpoint(&checkpoint, &join_checkpoint(&curve, &learner.save()))?;
                last_save = Instant::now();
            }
        }
        run.observer().end();
        let mut models = models(&mut learner, &curve)?;
        run.keep(&curve_part, &Json(curve.clone()))?;
        self.keep(self.name, &models)?;
        run.drop_checkpoint(&checkpoint);
        Ok((models.swap_remove(0), curve))
    }

    /// Keeps a model for each role. The first role's comes last: once it is there, all are.
    fn keep(&self, name: &str, models: &[Model]) -> Result<()> {
        models.iter().enumerate().rev().try_for_each(|(r, m)| self.cx.run.keep_model(&role_model(name, r), m))
    }

    /// Whether the best net is too long ago.
    fn waited<L: Learner>(&self, curve: &[L::Point]) -> bool {
        let better = |a: usize, b: usize| if L::error(&curve[b]) < L::error(&curve[a]) { b } else { a };
        let best = (0..curve.len()).reduce(better);
        self.patience > 0 && best.is_some_and(|best| (curve.len() - 1 - best) as u64 >= self.patience)
    }
}

/// A checkpoint: the length of the curve, the curve, the learner.
fn join_checkpoint<P: Serialize>(curve: &[P], learner: &[u8]) -> Vec<u8> {
    let curve = serde_json::to_vec(curve).expect("plain data");
    [&(curve.len() as u64).to_le_bytes()[..], &curve, learner].concat()
}

pub(crate) fn split_checkpoint(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

/// The lines of a curve of errors, for a plot.
pub fn error_curve(points: &[ErrorPoint], step: &str) -> Curve {
    let line = |name: &str, error: fn(&ErrorPoint) -> Option<f64>| {
        Series::line(name, points.iter().filter_map(|p| Some((p.step as f64, error(p)?))).collect())
    };
    let lines = [line("train", |p| p.train), line("selection", |p| p.selection), line("test", |p| p.test)];
    Curve {
        file: "curve".into(),
        title: "Learning curve".into(),
        axes: [step.into(), "mean squared error".into()],
        series: lines.into_iter().filter(|s| !s.points.is_empty()).collect(),
    }
}
