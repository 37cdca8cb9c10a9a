//! The cross-entropy method (Rubinstein 1999) over numeric options of an agent.
//!
//! Each iteration draws a population of settings from a normal distribution truncated to the bounds, lets each play a match
//! against a fixed opponent, and moves mean and deviation towards those of the best scores (the elites), smoothed:
//! new = smoothing * elites + (1 - smoothing) * old. The samples of an iteration are independent parts of a run.

use crate::driver::Curve;
use crate::plot::Series;
use crate::store::{Json, Result, Run, RunError};
use ludex_core::{Rng, Stop};
use ludex_play::arena::{Contest, tally};
use ludex_play::{OptionType, Spec, Table};
use serde::{Deserialize, Serialize};

/// An option to be tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The option's path, such as `c` or `playout.eps`.
    pub option: String,
    /// Its least value.
    pub low: f64,
    /// Its greatest value.
    pub high: f64,
}

/// How to tune.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cem {
    /// How often the distribution is moved.
    pub iterations: usize,
    /// Settings drawn each time.
    pub population: usize,
    /// How many of them the next distribution is made of.
    pub elites: usize,
    /// Games that each setting plays, in colour-swapped pairs.
    pub games: usize,
    /// How far the distribution moves: 1 all the way to the elites.
    pub smoothing: f64,
    /// Whether the first settings are drawn uniformly.
    pub uniform_start: bool,
    /// Random plies before each pair of games.
    pub opening_plies: u32,
}

/// A setting and how it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Values, in the order of the axes.
    pub values: Vec<f64>,
    /// Its score, from 0 to 1.
    pub score: f64,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The distribution from which the settings were drawn.
    pub mean: Vec<f64>,
    /// Its deviations.
    pub deviation: Vec<f64>,
    /// All settings.
    pub samples: Vec<Sample>,
}

/// Everything that was tried, and the mean in the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The iterations.
    pub rounds: Vec<Round>,
    /// The result.
    pub values: Vec<f64>,
    /// How sure it is: the last deviations.
    pub deviation: Vec<f64>,
}

impl Cem {
    /// Whether this makes sense, or one line.
    pub fn check(&self, axes: &[Axis]) -> Result<(), String> {
        if axes.is_empty() {
            return Err("there is nothing to tune: name an option with its bounds".into());
        }
        if let Some(a) = axes.iter().find(|a| !(a.high - a.low).is_finite() || a.low >= a.high) {
            return Err(format!("the bounds of {} are not a range: {}..{}", a.option, a.low, a.high));
        }
        if self.population == 0 || self.elites == 0 || self.elites > self.population {
            return Err(format!("of {} settings {} cannot be the elites", self.population, self.elites));
        }
        if self.games == 0 || self.iterations == 0 {
            return Err("a tuning needs at least one iteration and one game for each setting".into());
        }
        if !(0.0..=1.0).contains(&self.smoothing) {
            return Err(format!("smoothing is a number from 0 to 1, not {}", self.smoothing));
        }
        Ok(())
    }

    /// The settings of an iteration.
    fn draw(&self, axes: &[Axis], mean: &[f64], deviation: &[f64], first: bool, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut one = |i: usize| {
            let Axis { low, high, .. } = axes[i];
            if first && self.uniform_start {
                return low + (high - low) * rng.unit();
            }
            // Truncated by drawing again; a distribution far outside its bounds ends at the nearest of them.
            let inside = (0..1000).map(|_| mean[i] + deviation[i] * rng.normal()).find(|v| (low..=high).contains(v));
            inside.unwrap_or_else(|| mean[i].clamp(low, high))
        };
        (0..self.population).map(|_| (0..axes.len()).map(&mut one).collect()).collect()
    }

    /// Tunes an objective: `score` rates all settings of an iteration.
    pub fn tune<E>(
        &self,
        axes: &[Axis],
        seed: u64,
        mut score: impl FnMut(usize, &[Vec<f64>]) -> Result<Vec<f64>, E>,
    ) -> Result<Tuned, E> {
        let mut mean: Vec<f64> = axes.iter().map(|a| (a.low + a.high) / 2.0).collect();
        let mut deviation: Vec<f64> = axes.iter().map(|a| (a.high - a.low) / 2.0).collect();
        let mut rounds = Vec::new();
        for t in 0..self.iterations {
            let drawn = self.draw(axes, &mean, &deviation, t == 0, &mut Rng::stream(seed, t as u64));
            let scores = score(t, &drawn)?;
            let sample = |(values, score): (Vec<f64>, f64)| Sample { values, score };
            let samples: Vec<Sample> = drawn.into_iter().zip(scores).map(sample).collect();
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.sort_by(|&a, &b| samples[b].score.total_cmp(&samples[a].score).then(a.cmp(&b)));
            let elites: Vec<&Sample> = order[..self.elites].iter().map(|&i| &samples[i]).collect();
            let (old_mean, old_deviation) = (mean.clone(), deviation.clone());
            for i in 0..axes.len() {
                let n = elites.len() as f64;
                let m = elites.iter().map(|e| e.values[i]).sum::<f64>() / n;
                let v = elites.iter().map(|e| (e.values[i] - m).powi(2)).sum::<f64>() / n;
                mean[i] = self.smoothing * m + (1.0 - self.smoothing) * mean[i];
                deviation[i] = self.smoothing * v.sqrt() + (1.0 - self.smoothing) * deviation[i];
            }
            rounds.push(Round { mean: old_mean, deviation: old_deviation, samples });
        }
        Ok(Tuned { rounds, values: mean, deviation })
    }
}

/// The agent with these values of the options; whole numbers where the option takes no others.
pub fn setting(table: &dyn Table, agent: &Spec, axes: &[Axis], values: &[f64]) -> Spec {
    let mut spec = agent.clone();
    for (axis, value) in axes.iter().zip(values) {
        match table.option(agent, &axis.option).map(|o| o.ty) {
            Some(OptionType::Whole(..)) => spec.set(&axis.option, value.round()),
            _ => spec.set(&axis.option, value),
        }
    }
    spec
}

/// Refuses options that are no numbers of the agent or are named twice, bounds beyond theirs, and bounds that are no whole
/// numbers where the option takes no others.
pub fn check_axes(table: &dyn Table, agent: &Spec, axes: &[Axis]) -> Result<()> {
    for (i, a) in axes.iter().enumerate() {
        let refuse = |what: String| Err(RunError::Options(format!("{}: {what}", a.option)));
        if axes[..i].iter().any(|b| b.option == a.option) {
            return refuse("named twice".into());
        }
        let (low, high) = match table.option(agent, &a.option).map(|o| o.ty) {
            Some(OptionType::Whole(low, high)) => {
                if a.low.fract() != 0.0 || a.high.fract() != 0.0 {
                    return refuse(format!("it takes whole numbers, not {}..{}", a.low, a.high));
                }
                (low as f64, high as f64)
            }
            Some(OptionType::Real(low, high)) => (low, high),
            Some(_) => return refuse("only numbers can be tuned".into()),
            None => return refuse(format!("{} has no such option", agent.name)),
        };
        if a.low < low || a.high > high {
            return refuse(format!("it lies between {low} and {high}, not {} and {}", a.low, a.high));
        }
    }
    Ok(())
}

/// Settings at which an agent is built before the first game: the middle of all ranges, and their ends in every
/// combination of the first few.
pub fn probes(axes: &[Axis]) -> Vec<Vec<f64>> {
    const FEW: usize = 6;
    let middle = axes.iter().map(|a| (a.low + a.high) / 2.0).collect();
    let ends = |corner: usize| {
        let end = |(i, a): (usize, &Axis)| if corner >> (i % FEW) & 1 == 0 { a.low } else { a.high };
        axes.iter().enumerate().map(end).collect()
    };
    (0..1 << axes.len().min(FEW)).map(ends).chain([middle]).collect()
}

/// Tunes options of an agent by matches against an opponent, inside a run.
pub fn tune_agent(
    run: &Run,
    table: &dyn Table,
    (agent, against): (&Spec, &Spec),
    axes: &[Axis],
    cem: &Cem,
    seed: u64,
) -> Result<Tuned> {
    cem.check(axes).map_err(RunError::Options)?;
    check_axes(table, agent, axes)?;
    let contest = |values: &[f64], t: usize, i: usize| {
        let seed = Rng::derive(Rng::derive(seed, 1000 + t as u64), i as u64);
        let agents = vec![setting(table, agent, axes, values), against.clone()];
        Contest::new(table, agents, (cem.games, cem.opening_plies), seed)
    };
    for values in probes(axes) {
        contest(&values, 0, 0).check(table)?;
    }
    cem.tune(axes, seed, |t, drawn| {
        let parts = run.stage(&format!("tune-{t:02}"), drawn.len(), |i| {
            let contest = contest(&drawn[i], t, i);
            let results = contest.run(table, Vec::new(), 1, &Stop::new(), |_| {})?;
            Ok(Json(tally(&contest, &results)[0].pairs.wdl().score()))
        })?;
        parts.iter().map(|part| part.map(|Json(score)| score)).collect()
    })
}

/// The plot of a tuning: all samples, and the mean after each iteration.
pub fn tuning_curve(tuned: &Tuned, axis: usize, name: &str) -> Curve {
    let means = tuned.rounds.iter().map(|r| r.mean[axis]).chain([tuned.values[axis]]);
    let mean = means.enumerate().map(|(t, v)| (t as f64, v)).collect();
    let samples = tuned.rounds.iter().enumerate();
    let samples = samples.flat_map(|(t, r)| r.samples.iter().map(move |s| (t as f64, s.values[axis]))).collect();
    let series = vec![Series::line("mean", mean), Series::cloud("samples", samples)];
    Curve {
        file: "tuning".into(),
        title: "Cross-entropy method".into(),
        axes: ["iteration".into(), name.into()],
        series,
    }
}
