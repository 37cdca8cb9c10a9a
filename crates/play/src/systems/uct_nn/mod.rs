//! UCT-NN (Burger, du Plessis & Cilliers): generate -> patterns -> train -> play.
//!
//! UCT plays itself. Every state that it searched becomes a pattern: the state as its mover sees it, and for each move that the
//! search tried a target in [0.1, 0.9] that says how much the search liked it. A net with one hidden layer and one output for
//! each move of the game learns the patterns by online gradient descent; outputs of other moves count in no error. In play the
//! net ranks the moves of each node that is expanded, and the worst get no child (`ranked(..)`).
//!
//! The paper chooses the epoch by the error on its generalisation set, which is then no longer untouched: a third set reports.
//! Patterns are joined before they are dealt out, so that no state stands in two sets.

mod sets;
mod tables;

pub use sets::Input;
pub use tables::{Reproduce, reproduce};

use super::measure::{Measure, simulations};
use super::{Job, Report};
use crate::plot::{Frame, Series, svg};
use crate::selfplay::SelfPlay;
use crate::spec::Spec;
use crate::store::{Examples, Json, RunError};
use crate::table::{Position, Table};
use ludex_core::Rng;
use ludex_learn::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sets::Lessons;
use std::time::{Duration, Instant};

/// All options; `systems/uct-nn.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Self-play.
    pub generate: Generate,
    /// The net.
    pub train: Train,
    /// How the net plays.
    pub play: Play,
    /// What is measured.
    pub measure: Measure,
    /// The paper's experiments.
    pub reproduce: Reproduce,
}

/// Self-play.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-nn.toml explains them
pub struct Generate {
    pub work: f64,
    pub sims: u64,
    pub least_sims: u64,
    pub most_sims: u64,
    pub matches: usize,
    pub opening_plies: u32,
    pub batch: usize,
}

/// The net.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-nn.toml explains them
pub struct Train {
    pub input: Input,
    pub target: Target,
    pub split: [f64; 3],
    pub most: usize,
    pub hidden: usize,
    pub rate: f64,
    pub last_rate: f64,
    pub decay: Decay,
    pub batch: usize,
    pub epochs: u32,
    pub work: f64,
    pub measures: u32,
}

/// What the net learns of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Its visits, as a share of the most visited move's.
    Visits,
    /// What it was worth to the player who chose, from 0 to 1.
    WinRate,
    /// Whether it was played.
    Played,
}

/// How the rate goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// By the same factor each epoch.
    Exponential,
    /// By the same amount each epoch.
    Linear,
}

/// How the net plays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The agent that is handed over.
    pub agent: Spec,
    /// The agent of the paper's tournaments.
    pub ranked: Spec,
    /// Its opponent.
    pub uct: Spec,
}

impl Train {
    /// The net and how it learns, over so many epochs.
    fn mlp(&self, epochs: u32) -> MlpConfig {
        let (from, to) = (self.rate, self.last_rate.min(self.rate));
        let rate = match self.decay {
            Decay::Exponential => Rate::Exponential { from, to, epochs },
            Decay::Linear => Rate::Linear { from, to, epochs },
        };
        MlpConfig {
            hidden: vec![self.hidden],
            act: Act::Logistic,
            link: Link::Each(Act::Logistic),
            loss: Loss::Squared,
            optimiser: Optimiser::sgd(rate),
            batch: self.batch.max(1),
            l2: 0.0,
            shuffle: true,
        }
    }

    /// Epochs that the work allows.
    fn affordable(&self, data: &Data, examples: usize) -> u32 {
        let weights = self.hidden * (data.inputs() + data.outputs());
        let most = self.work / (weights.max(1) * examples.max(1)) as f64;
        self.epochs.min(most as u32).max(1)
    }
}

/// The errors of the net after so many epochs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Epochs.
    pub epoch: u64,
    /// On what was learned from.
    pub train: f64,
    /// On what chooses.
    pub generalisation: Option<f64>,
    /// On what was never looked at.
    pub test: Option<f64>,
}

impl Epoch {
    fn of(learner: &MlpLearner, data: &Data, split: &Split) -> Epoch {
        let mse = |rows: &[u32]| (!rows.is_empty()).then(|| learner.mse(data, rows));
        let (generalisation, test) = (mse(&split.validation), mse(&split.test));
        Epoch { epoch: learner.epochs(), train: learner.mse(data, &split.train), generalisation, test }
    }

    /// What the choice goes by.
    fn score(&self) -> f64 {
        self.generalisation.unwrap_or(self.train)
    }
}

/// A net while it learns: the learner, the weights of the best epoch so far, and the errors.
struct Training {
    learner: MlpLearner,
    best: Vec<f64>,
    curve: Vec<Epoch>,
}

impl Training {
    fn new(config: MlpConfig, data: &Data, split: &Split, seed: u64) -> Result<Self, RunError> {
        let learner = MlpLearner::new(config, data.inputs(), data.outputs(), seed)?;
        let curve = vec![Epoch::of(&learner, data, split)];
        Ok(Training { best: learner.params().to_vec(), learner, curve })
    }

    /// As many epochs more, then the errors.
    fn go_on(&mut self, epochs: u64, data: &Data, split: &Split) -> Result<(), RunError> {
        for _ in 0..epochs {
            self.learner.epoch(data, &split.train)?;
        }
        let now = Epoch::of(&self.learner, data, split);
        if now.score() < self.chosen().score() {
            self.best.copy_from_slice(self.learner.params());
        }
        self.curve.push(now);
        Ok(())
    }

    /// The epoch with the least error on what chooses; of equals the first.
    fn chosen(&self) -> Epoch {
        let least = self.curve.iter().copied().reduce(|a, b| if b.score() < a.score() { b } else { a });
        least.expect("errors before the first epoch")
    }

    /// All that is needed to go on, in one file: it is there whole or not at all.
    fn save(&self) -> Vec<u8> {
        let learner = self.learner.save();
        let best: Vec<u8> = self.best.iter().flat_map(|w| w.to_le_bytes()).collect();
        let curve = serde_json::to_vec(&self.curve).expect("plain data");
        let mut bytes = Vec::new();
        for part in [learner, best, curve] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    fn resume(mut bytes: &[u8], examples: usize) -> Option<Self> {
        let mut part = || {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (part, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
            bytes = rest;
            Some(part)
        };
        let learner = MlpLearner::resume(part()?, examples).ok()?;
        let best: Vec<f64> = part()?.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let curve: Vec<Epoch> = serde_json::from_slice(part()?).ok()?;
        let sound = best.len() == learner.params().len() && curve.last().is_some_and(|e| e.epoch == learner.epochs());
        sound.then_some(Training { learner, best, curve })
    }
}

/// Time between two checkpoints: what a killed run loses at most.
const CHECKPOINT: Duration = Duration::from_secs(5);

fn train(job: &Job<'_>, config: &Train, lessons: &Lessons) -> Result<(Model, Vec<Epoch>), RunError> {
    const CURVE: &str = "curve/0000";
    let (run, info, seed) = (job.run, job.table.info(), job.plan.seed);
    if let (Some(model), Some(Json(curve))) = (run.find_model("final")?, run.find::<Json<Vec<Epoch>>>(CURVE)?) {
        return Ok((model, curve));
    }
    let (data, split) = (&lessons.data, &lessons.split);
    let epochs = config.affordable(data, split.train.len());
    let mlp = config.mlp(epochs);
    let saved = run.checkpoint("train").and_then(|bytes| Training::resume(&bytes, split.train.len()));
    let mut training = match saved {
        Some(training) if *training.learner.config() == mlp => training,
        _ => Training::new(mlp, data, split, Rng::derive(seed, 5))?,
    };
    let step = (epochs / config.measures.max(1)).max(1) as u64;
    let steps = (epochs as u64).div_ceil(step) as usize;
    run.watch().stage("train", steps, training.curve.len() - 1);
    let mut saved = Instant::now();
    while training.learner.epochs() < epochs as u64 {
        let left = epochs as u64 - training.learner.epochs();
        training.go_on(step.min(left), data, split)?;
        if saved.elapsed() > CHECKPOINT {
            run.save_checkpoint("train", &training.save())?;
            saved = Instant::now();
        }
        run.watch().part();
    }
    run.watch().end();
    let (chosen, curve) = (training.chosen(), training.curve.clone());
    training.learner.set_params(&training.best)?;
    let mut metrics = std::collections::BTreeMap::from([
        ("patterns".to_string(), data.len() as f64),
        ("epochs".to_string(), epochs as f64),
        ("epoch".to_string(), chosen.epoch as f64),
        ("train_mse".to_string(), chosen.train),
    ]);
    metrics.extend(chosen.generalisation.map(|e| ("generalisation_mse".to_string(), e)));
    metrics.extend(chosen.test.map(|e| ("test_mse".to_string(), e)));
    for (name, share) in [("kept_of_25", 0.25), ("kept_of_50", 0.5), ("kept_of_75", 0.75)] {
        metrics.extend(lessons.best_kept(&training.learner, share).map(|kept| (name.to_string(), kept)));
    }
    let model = job.model(
        &lessons.encoder,
        Head::MoveScores { moves: info.moves as usize },
        training.learner.net(),
        data,
        metrics,
    );
    run.keep(CURVE, &Json(curve.clone()))?;
    run.keep_model("final", &model)?;
    run.drop_checkpoint("train");
    Ok((model, curve))
}

fn curve_plot(curve: &[Epoch], game: &str) -> String {
    let line = |f: &dyn Fn(&Epoch) -> Option<f64>| -> Vec<(f64, f64)> {
        curve.iter().filter_map(|e| Some((e.epoch as f64, f(e)?))).collect()
    };
    let title = format!("Learning curve, {game}");
    svg(
        &Frame { title: &title, x: "epochs", y: "mean squared error", log_x: false },
        &[
            Series::line("train", line(&|e| Some(e.train))),
            Series::line("generalisation", line(&|e| e.generalisation)),
            Series::line("test", line(&|e| e.test)),
        ],
    )
}

/// A position after so many random plies at most; the game is not over there.
fn opening(table: &dyn Table, plies: u32, rng: &mut Rng) -> Box<dyn Position> {
    let mut position = table.start();
    for _ in 0..plies {
        let mut next = position.clone();
        let Some(&m) = rng.pick(&next.legal()) else { break };
        if next.play(m).is_err() || next.outcome().is_some() {
            break;
        }
        position = next;
    }
    position
}

/// The matches, part by part, and the simulations a move that they were played with.
fn generate(job: &Job<'_>, config: &Config) -> Result<(Vec<Examples>, u64), RunError> {
    let (table, seed, g) = (job.table, job.plan.seed, &config.generate);
    let sims = match g.sims {
        0 => simulations(table, g.work, g.matches, g.least_sims, g.most_sims),
        n => n,
    };
    let mut agent = config.play.uct.clone();
    agent.set("sims", sims);
    table.agent(&agent, 0).map_err(|e| RunError::Config(format!("self-play: {e}")))?;
    let play = SelfPlay { table, agent: &agent, children: true, states: true };
    let batch = g.batch.max(1);
    let parts = job.run.stage("play", g.matches.div_ceil(batch), |part| {
        let mut examples = Examples::new(table.info());
        for i in part * batch..((part + 1) * batch).min(g.matches) {
            let seed = Rng::derive(Rng::derive(seed, 2), i as u64);
            let plies = i as u32 % (g.opening_plies + 1);
            let start = opening(table, plies, &mut Rng::stream(seed, 1));
            play.play(&*start, i as u32, seed, &mut examples);
        }
        examples
    })?;
    Ok((parts, sims))
}

/// What there is to learn from, and the simulations a move behind it.
fn lessons(job: &Job<'_>, config: &Config) -> Result<(Lessons, u64), RunError> {
    let encoder = sets::encoder(job.table, config.train.input)?;
    let (parts, sims) = generate(job, config)?;
    let lessons = Lessons::new(&parts, job.table.info(), encoder, &config.train, job.plan.seed)?;
    match lessons.data.is_empty() {
        true => Err(RunError::Learning("nothing to learn from: no state was searched".into())),
        false => Ok((lessons, sims)),
    }
}

/// Carries out the pipeline.
pub fn learn(job: &Job<'_>) -> Result<Report, RunError> {
    let config: Config = job.options()?;
    let (table, run, info, seed) = (job.table, job.run, job.table.info(), job.plan.seed);
    let (lessons, sims) = lessons(job, &config)?;
    let mut story = vec![format!(
        "{} matches at {sims} simulations a move: {} states searched, {} different patterns",
        config.generate.matches,
        lessons.states,
        lessons.data.len()
    )];
    let (model, curve) = train(job, &config.train, &lessons)?;
    let metrics = &model.provenance.metrics;
    let shown = |name: &str| metrics.get(name).map_or("-".into(), |v| format!("{v:.6}"));
    story.push(format!(
        "a net {}-{}-{}, epoch {} of {}: mean squared error {} on training, {} on generalisation, {} on untouched patterns",
        lessons.data.inputs(),
        config.train.hidden,
        lessons.data.outputs(),
        metrics["epoch"],
        metrics["epochs"],
        shown("train_mse"),
        shown("generalisation_mse"),
        shown("test_mse")
    ));
    if let (Some(a), Some(b), Some(c)) =
        (metrics.get("kept_of_25"), metrics.get("kept_of_50"), metrics.get("kept_of_75"))
    {
        story.push(format!(
            "of untouched patterns, UCT's best move survives when the worst 25, 50 and 75 % are dropped in {:.1}, {:.1} and \
            {:.1} %",
            100.0 * a,
            100.0 * b,
            100.0 * c
        ));
    }
    run.report("curve.svg", curve_plot(&curve, &info.name).as_bytes())?;

    let path = run.model_path("final").expect("just made");
    let mut agent = config.play.agent.clone();
    agent.set("model", run.dir().display());
    let strength = match run.auditing() {
        true => None,
        false => config.measure.strength(run, table, &agent, Rng::derive(seed, 7))?,
    };
    let split = &lessons.split;
    let figures = json!({
        "sims": sims, "matches": config.generate.matches, "states": lessons.states, "patterns": lessons.data.len(),
        "train": split.train.len(), "generalisation": split.validation.len(), "test": split.test.len(),
        "inputs": lessons.data.inputs(), "hidden": config.train.hidden, "outputs": lessons.data.outputs(),
        "metrics": metrics, "curve": curve,
    });
    job.report(Report {
        model: path,
        agent,
        strength,
        story,
        plots: vec!["reports/curve.svg".into()],
        figures,
        ..Report::of(job.plan)
    })
}

/// A net of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swept {
    /// Hidden neurons.
    pub hidden: usize,
    /// The first rate.
    pub rate: f64,
    /// How it decays.
    pub decay: Decay,
    /// The errors of the epoch with the least generalisation error.
    pub chosen: Epoch,
}

/// Learns with every hidden size, rate and decay; each net is a part of the run.
fn sweep(job: &Job<'_>, config: &Config) -> Result<Vec<Swept>, RunError> {
    let r = &config.reproduce;
    let (mut lessons, _) = lessons(job, config)?;
    if r.sweep_patterns > 0 {
        lessons.split.train.truncate(r.sweep_patterns);
        lessons.split.validation.truncate(r.sweep_patterns);
    }
    lessons.split.test.clear();
    let decays = [Decay::Exponential, Decay::Linear];
    let mut grid = Vec::new();
    for &hidden in &r.hidden {
        for &rate in &r.rates {
            grid.extend(decays.map(|decay| Train {
                hidden,
                rate,
                last_rate: 0.01 * rate,
                decay,
                ..config.train.clone()
            }));
        }
    }
    let (data, split, epochs) = (&lessons.data, &lessons.split, r.sweep_epochs.max(1));
    let parts = job.run.stage("sweep", grid.len(), |i| {
        let t = &grid[i];
        let made = Training::new(t.mlp(epochs), data, split, Rng::derive(job.plan.seed, 8)).and_then(|mut training| {
            for _ in 0..epochs.div_ceil(5) {
                let left = epochs as u64 - training.learner.epochs();
                training.go_on(left.min(5), data, split)?;
            }
            Ok(Swept { hidden: t.hidden, rate: t.rate, decay: t.decay, chosen: training.chosen() })
        });
        Json(made.ok())
    })?;
    let all: Option<Vec<Swept>> = parts.into_iter().map(|Json(swept)| swept).collect();
    all.ok_or_else(|| RunError::Config("reproduce.hidden and reproduce.rates must be above 0".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_that_was_saved_goes_on_to_the_same_bits() {
        let mut data = Data::new(6, 4);
        let mut rng = Rng::new(3);
        for _ in 0..90 {
            let active: Vec<u32> = (0..6).filter(|_| rng.below(2) == 0).collect();
            let targets: Vec<f32> = (0..4).map(|o| if active.contains(&o) { 0.9 } else { 0.1 }).collect();
            data.push_masked(Row::ones(&active), &targets, &[true, true, true, active.len() > 2]).unwrap();
        }
        let split = Split { train: (0..60).collect(), validation: (60..75).collect(), test: (75..90).collect() };
        let plan = super::super::Plan::new("tictactoe", "uct-nn", "tick", 1, &["train.rate=0.5".into()]).unwrap();
        let config: Config = super::super::read(&plan.options).unwrap();
        let mut whole = Training::new(config.train.mlp(12), &data, &split, 7).unwrap();
        whole.go_on(5, &data, &split).unwrap();
        let mut resumed = Training::resume(&whole.save(), 60).unwrap();
        assert!(Training::resume(&whole.save()[..90], 60).is_none());
        for training in [&mut whole, &mut resumed] {
            training.go_on(7, &data, &split).unwrap();
        }
        assert_eq!(whole.learner.params(), resumed.learner.params());
        assert_eq!((&whole.best, &whole.curve), (&resumed.best, &resumed.curve));
        assert!(whole.chosen().score() < whole.curve[0].score());
    }
}
