//! UCT-CCNN (Rezende & Chaimowicz): tune -> generate -> filter -> train -> play.
//!
//! UCT, its constant found by the cross-entropy method, plays itself from the start and from random states near it. All
//! children of each searched state are kept with visits and means; those that the winner chose become examples; a
//! cascade-correlation net learns their values. The net then judges leaves of alpha-beta (NeuralMinimax) and children in Monte
//! Carlo tree search (NeuralMCTS).
//!
//! Values are stored for every player. The net speaks for player 0, or for the player to move if roles are mirrored, so that
//! games in which a player moves twice in a row need nothing special.

mod tables;

pub use tables::{Reproduce, reproduce};

use super::measure::{Measure, simulations};
use super::{Job, Report};
use crate::plot::{Frame, Series, svg};
use crate::selfplay::{SelfPlay, random_states, winner};
use crate::spec::Spec;
use crate::store::{Examples, Json, RunError};
use crate::tune::{Axis, Cem, Tuned, tune_agent};
use ludex_core::{GameInfo, Player, Rng};
use ludex_learn::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;

/// All options; `systems/uct-ccnn.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The exploration constant.
    pub tune: Tune,
    /// Self-play.
    pub generate: Generate,
    /// Which examples are learned from.
    pub filter: Filter,
    /// The net.
    pub train: Train,
    /// How the net plays.
    pub play: Play,
    /// What is measured.
    pub measure: Measure,
    /// The paper's experiments.
    pub reproduce: Reproduce,
}

/// The exploration constant, by the cross-entropy method.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-ccnn.toml explains them
pub struct Tune {
    pub iterations: usize,
    pub population: usize,
    pub elites: usize,
    pub games: usize,
    pub smoothing: f64,
    pub uniform_start: bool,
    pub opening_plies: u32,
    pub sims: u64,
    pub low: f64,
    pub high: f64,
    pub against: f64,
}

/// Self-play.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-ccnn.toml explains them
pub struct Generate {
    pub work: f64,
    pub sims: u64,
    pub least_sims: u64,
    pub most_sims: u64,
    pub c: f64,
    pub matches: usize,
    pub states: usize,
    pub repeats: usize,
    pub final_move: String,
    pub batch: usize,
}

/// Which examples are learned from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-ccnn.toml explains them
pub struct Filter {
    pub matches: Whose,
    pub draws: Draws,
    pub duplicates: Duplicates,
    pub least_visits: u32,
    pub result_share: f32,
    pub most: usize,
}

/// Whose examples are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// Those that the winner chose.
    Winner,
    /// Everybody's.
    All,
}

/// What becomes of drawn matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// They have no winner, so no examples.
    Drop,
    /// Both players' examples.
    Keep,
}

/// What becomes of states seen more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// The one with most visits stays.
    MostVisits,
    /// Their mean.
    Mean,
    /// Their mean by visits.
    Weighted,
}

/// The net.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-ccnn.toml explains them
pub struct Train {
    pub view: View,
    pub split: By,
    pub selection: f64,
    pub test: f64,
    pub units: usize,
    pub patience: usize,
    pub candidates: usize,
    pub objective: Objective,
    pub output: OutputBy,
    pub shape: Shape,
    pub epochs: u32,
    pub epoch_patience: u32,
}

/// For whom the net speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// For player 0.
    Absolute,
    /// For the player to move, with roles mirrored.
    Mover,
}

/// What is kept together when examples are split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Nothing.
    Example,
    /// All examples of a match.
    Match,
}

/// How output weights are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputBy {
    /// tanh, by iRprop+.
    Rprop,
    /// Linear, by least squares.
    Ridge,
}

/// How the net plays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// NeuralMCTS as we play it.
    pub mcts: Spec,
    /// NeuralMCTS as printed.
    pub literal: Spec,
    /// NeuralMinimax.
    pub minimax: Spec,
}

/// The encoder for a view.
pub(super) fn encoder(info: &GameInfo, view: View) -> Result<Encoder, RunError> {
    let facts = Encoder::facts(info.facts as usize);
    match (view, &info.mirror) {
        (View::Absolute, _) => Ok(facts),
        (View::Mover, Some(mirror)) => Ok(facts.relative(mirror.clone())?),
        (View::Mover, None) => {
            let line = format!("the roles of {} are not alike: train.view must be absolute", info.name);
            Err(RunError::Config(line))
        }
    }
}

/// Examples as the net sees them, with the match each comes from.
struct Lessons {
    data: Data,
    matches: Vec<u64>,
    /// How many rows there were before, how many were the right player's, how many different.
    counts: [usize; 3],
}

/// One state while duplicates are joined.
struct Joined {
    payoffs: [f64; ludex_core::MAX_PLAYERS],
    weight: f64,
    visits: u32,
    row: (usize, usize),
}

fn filter(parts: &[Examples], info: &GameInfo, f: &Filter, encoder: &Encoder, seed: u64) -> Result<Lessons, RunError> {
    let players = info.players();
    let mut joined: Vec<Joined> = Vec::new();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut counts = [0; 3];
    for (p, part) in parts.iter().enumerate() {
        for i in 0..part.len() {
            counts[0] += 1;
            let e = part.brief(i);
            let kept = match winner(&e.result) {
                Some(w) => f.matches == Whose::All || w == e.chooser,
                None => f.draws == Draws::Keep,
            };
            if !kept || e.visits < f.least_visits {
                continue;
            }
            counts[1] += 1;
            let weight = if f.duplicates == Duplicates::Weighted { e.visits as f64 } else { 1.0 };
            let mut payoffs = [0.0; ludex_core::MAX_PLAYERS];
            for q in (0..players as u8).map(Player) {
                let value = (1.0 - f.result_share) * e.payoffs[q] + f.result_share * e.result[q];
                payoffs[q.index()] = weight * value as f64;
            }
            let new = Joined { payoffs, weight, visits: e.visits, row: (p, i) };
            match known.get(part.key(i)) {
                None => {
                    known.insert(part.key(i), joined.len());
                    joined.push(new);
                }
                Some(&at) if f.duplicates == Duplicates::MostVisits => {
                    if new.visits > joined[at].visits {
                        joined[at] = new;
                    }
                }
                Some(&at) => {
                    let old = &mut joined[at];
                    old.payoffs.iter_mut().zip(new.payoffs).for_each(|(a, b)| *a += b);
                    old.weight += new.weight;
                }
            }
        }
    }
    counts[2] = joined.len();
    if f.most > 0 && joined.len() > f.most {
        let mut order: Vec<usize> = (0..joined.len()).collect();
        Rng::stream(seed, 3).shuffle(&mut order);
        let mut keep = vec![false; joined.len()];
        order[..f.most].iter().for_each(|&i| keep[i] = true);
        let mut keep = keep.into_iter();
        joined.retain(|_| keep.next().unwrap_or(false));
    }
    let outputs = if info.zero_sum { 1 } else { players };
    let mut data = Data::new(encoder.inputs(), outputs);
    let (mut code, mut matches) = (Code::default(), Vec::new());
    for j in &joined {
        let e = parts[j.row.0].row(j.row.1);
        encoder.encode(&e.facts, e.mover, &mut code);
        let values: Vec<f32> = j.payoffs[..players].iter().map(|v| (v / j.weight) as f32).collect();
        match outputs {
            1 => data.push_row(code.row(), &[values[encoder.viewer(e.mover).index()]])?,
            _ => data.push_row(code.row(), &values)?,
        }
        matches.push(e.match_id as u64);
    }
    Ok(Lessons { data, matches, counts })
}

impl Train {
    fn cascade(&self, inputs: usize, examples: usize) -> CascadeConfig {
        let phase = Phase { epochs: self.epochs, patience: self.epoch_patience, ..Phase::default() };
        let few = examples < FEW;
        CascadeConfig {
            units: if self.units == 0 { inputs } else { self.units },
            patience: self.patience,
            candidates: self.candidates,
            objective: self.objective,
            phase,
            output: match self.output {
                OutputBy::Ridge if few => Output::Ridge { lambdas: vec![1e-3] },
                // With few matches only a heavy penalty keeps the net from learning them by heart.
                OutputBy::Ridge => Output::Ridge { lambdas: vec![1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0] },
                OutputBy::Rprop => Output::Rprop { act: Act::Tanh, phase },
            },
            shape: self.shape,
            choose: if few { Choose::Train } else { Choose::Validation },
            ..CascadeConfig::default()
        }
    }

    fn split(&self, lessons: &Lessons, seed: u64) -> Split {
        let mut rng = Rng::stream(seed, 4);
        let n = lessons.data.len();
        let split = match self.split {
            _ if n < FEW => return Split::all(n),
            By::Example => Split::random(n, self.selection, self.test, &mut rng),
            By::Match => Split::by_group(&lessons.matches, self.selection, self.test, &mut rng),
        };
        // With a handful of matches a share of them may be none.
        if split.validation.is_empty() || split.train.is_empty() {
            return Split::random(n, self.selection.max(0.1), self.test, &mut rng);
        }
        split
    }
}

/// With fewer examples nothing is held back to choose by.
const FEW: usize = 40;

/// The net after so many neurons, and its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neuron {
    /// Neurons.
    pub units: usize,
    /// On what was learned from.
    pub train: f64,
    /// On what chose the snapshot.
    pub selection: Option<f64>,
    /// On what was never looked at.
    pub test: Option<f64>,
}

fn train(
    job: &Job<'_>,
    config: &Config,
    lessons: &Lessons,
    encoder: &Encoder,
) -> Result<(Model, Vec<Neuron>), RunError> {
    const CURVE: &str = "curve/0000";
    let (run, seed) = (job.run, job.plan.seed);
    if let (Some(model), Some(Json(curve))) = (run.find_model("final")?, run.find::<Json<Vec<Neuron>>>(CURVE)?) {
        return Ok((model, curve));
    }
    let data = &lessons.data;
    let split = config.train.split(lessons, seed);
    let cascade = config.train.cascade(encoder.inputs(), data.len());
    let units = cascade.units;
    let saved = run.checkpoint("train").and_then(|bytes| CascadeLearner::resume(&bytes, data, &split).ok());
    let mut learner = match saved {
        Some(learner) if *learner.config() == cascade => learner,
        _ => CascadeLearner::new(cascade, data, &split, Rng::derive(seed, 5))?,
    };
    run.watch().stage("train", units, learner.steps().len() - 1);
    while learner.grow().is_some() {
        run.save_checkpoint("train", &learner.save())?;
        run.watch().part();
    }
    run.watch().end();
    let curve: Vec<Neuron> = learner
        .steps()
        .iter()
        .map(|s| Neuron { units: s.units, train: s.errors.train, selection: s.errors.validation, test: s.errors.test })
        .collect();
    let best = &curve[learner.best_step()];
    let mut metrics = std::collections::BTreeMap::from([
        ("units".to_string(), best.units as f64),
        ("examples".to_string(), data.len() as f64),
        ("train_mse".to_string(), best.train),
    ]);
    metrics.extend(best.selection.map(|e| ("selection_mse".to_string(), e)));
    metrics.extend(best.test.map(|e| ("test_mse".to_string(), e)));
    let model = job.model(encoder, Head::Value { outputs: data.outputs() }, learner.best(), data, metrics);
    run.keep(CURVE, &Json(curve.clone()))?;
    run.keep_model("final", &model)?;
    run.drop_checkpoint("train");
    Ok((model, curve))
}

/// `c=tuned` and `model=` filled in.
pub(super) fn composed(spec: &Spec, c: f64, model: &std::path::Path) -> Spec {
    let mut spec = spec.clone();
    if spec.get("c").is_some_and(|v| v.name == "tuned") {
        spec.set("c", c);
    }
    spec.set("model", model.display());
    spec
}

fn tune(job: &Job<'_>, t: &Tune) -> Result<Option<Tuned>, RunError> {
    if t.iterations == 0 || job.table.info().players() != 2 {
        return Ok(None);
    }
    let cem = Cem {
        iterations: t.iterations,
        population: t.population,
        elites: t.elites,
        games: t.games,
        smoothing: t.smoothing,
        uniform_start: t.uniform_start,
        opening_plies: t.opening_plies,
    };
    let agent = Spec::word("uct").with("sims", t.sims).with("form", "kocsis").with("reward", "signed");
    let against = agent.clone().with("c", t.against);
    let axes = [Axis { option: "c".into(), low: t.low, high: t.high }];
    tune_agent(job.run, job.table, (&agent, &against), &axes, &cem, Rng::derive(job.plan.seed, 1)).map(Some)
}

/// The plot of a tuning: all samples, and the mean after each iteration.
pub fn tuning_plot(tuned: &Tuned, axis: usize, name: &str) -> String {
    let means = tuned.rounds.iter().map(|r| r.mean[axis]).chain([tuned.values[axis]]);
    let mean = means.enumerate().map(|(t, v)| (t as f64, v)).collect();
    let samples = tuned.rounds.iter().enumerate();
    let samples = samples.flat_map(|(t, r)| r.samples.iter().map(move |s| (t as f64, s.values[axis]))).collect();
    let frame = Frame { title: "Cross-entropy method", x: "iteration", y: name, log_x: false };
    svg(&frame, &[Series::line("mean", mean), Series::cloud("samples", samples)])
}

fn curve_plot(curve: &[Neuron], game: &str) -> String {
    let line = |f: &dyn Fn(&Neuron) -> Option<f64>| -> Vec<(f64, f64)> {
        curve.iter().filter_map(|n| Some((n.units as f64, f(n)?))).collect()
    };
    let title = format!("Learning curve, {game}");
    svg(
        &Frame { title: &title, x: "neurons", y: "mean squared error", log_x: false },
        &[
            Series::line("train", line(&|n| Some(n.train))),
            Series::line("selection", line(&|n| n.selection)),
            Series::line("test", line(&|n| n.test)),
        ],
    )
}

/// How many targets fall into each tenth of [-1, 1].
fn histogram(data: &Data) -> [usize; 10] {
    let mut bins = [0; 10];
    (0..data.len()).for_each(|i| bins[((data.targets(i)[0] + 1.0) * 5.0).clamp(0.0, 9.0) as usize] += 1);
    bins
}

/// A stage of self-play in parts of `batch` matches; match `i` begins at `start(i)`.
fn self_play(
    job: &Job<'_>,
    stage: &str,
    agent: &Spec,
    (matches, batch, first): (usize, usize, usize),
    start: impl Fn(usize) -> Box<dyn crate::Position> + Sync,
) -> Result<Vec<Examples>, RunError> {
    let play = SelfPlay { table: job.table, agent, children: true, states: false };
    let batch = batch.max(1);
    job.run.stage(stage, matches.div_ceil(batch), |part| {
        let mut examples = Examples::new(job.table.info());
        for i in part * batch..((part + 1) * batch).min(matches) {
            let seed = Rng::derive(Rng::derive(job.plan.seed, 2), (first + i) as u64);
            play.play(&*start(i), (first + i) as u32, seed, &mut examples);
        }
        examples
    })
}

/// Mean plies of matches.
fn mean_length(parts: &[Examples]) -> f64 {
    let mut last: HashMap<u32, u32> = HashMap::new();
    for part in parts {
        for i in 0..part.len() {
            let e = part.brief(i);
            let plies = last.entry(e.match_id).or_default();
            *plies = e.ply.max(*plies);
        }
    }
    last.values().map(|&n| n as f64).sum::<f64>() / last.len().max(1) as f64
}

/// Carries out the pipeline.
pub fn learn(job: &Job<'_>) -> Result<Report, RunError> {
    let config: Config = job.options()?;
    let (table, run, info, seed) = (job.table, job.run, job.table.info(), job.plan.seed);
    let mut story = Vec::new();
    let mut plots = Vec::new();
    let encoder = encoder(info, config.train.view)?;

    let tuned = tune(job, &config.tune)?;
    let c = tuned.as_ref().map_or(config.generate.c, |t| t.values[0]);
    if let Some(t) = &tuned {
        story.push(format!(
            "exploration constant {c:.4} (deviation {:.4}), by the cross-entropy method",
            t.deviation[0]
        ));
        run.report("tuning.svg", tuning_plot(t, 0, "exploration constant").as_bytes())?;
        run.report("tuning.json", &serde_json::to_vec_pretty(t).expect("plain data"))?;
        plots.push("reports/tuning.svg".to_string());
    }

    let g = &config.generate;
    let matches = g.matches + g.states * g.repeats;
    let sims = match g.sims {
        0 => simulations(table, g.work, matches, g.least_sims, g.most_sims),
        n => n,
    };
    let agent = Spec::word("uct")
        .with("sims", sims)
        .with("c", c)
        .with("form", "kocsis")
        .with("reward", "signed")
        .with("final", &g.final_move);
    table.agent(&agent, 0).map_err(|e| RunError::Config(format!("self-play: {e}")))?;
    let mut parts = self_play(job, "start", &agent, (g.matches, g.batch, 0), |_| table.start())?;
    let length = mean_length(&parts);
    let states = run.stage("states", 1, |_| Json(random_states(table, g.states, length, Rng::derive(seed, 6))))?;
    let Json(states) = &states[0];
    let more = states.len() * g.repeats;
    parts.extend(self_play(job, "random", &agent, (more, g.batch, g.matches), |i| {
        table.position(&states[i / g.repeats]).expect("the state was a position")
    })?);

    let lessons = filter(&parts, info, &config.filter, &encoder, seed)?;
    let [rows, chosen, unique] = lessons.counts;
    drop(parts);
    if lessons.data.is_empty() {
        let line = format!(
            "nothing to learn from: none of {rows} examples is left; with filter.draws=keep drawn matches count"
        );
        return Err(RunError::Learning(line));
    }
    story.push(format!(
        "{} matches at {sims} simulations a move: {rows} examples, {chosen} by the filter, {unique} different",
        g.matches + more
    ));
    let (model, curve) = train(job, &config, &lessons, &encoder)?;
    let metric = |name: &str| model.provenance.metrics.get(name).copied();
    let shown = |name: &str| metric(name).map_or("-".into(), |v| format!("{v:.6}"));
    story.push(format!(
        "a cascade of {} neurons: mean squared error {} on training, {} on selection, {} on untouched test examples",
        model.net.units(),
        shown("train_mse"),
        shown("selection_mse"),
        shown("test_mse")
    ));
    run.report("curve.svg", curve_plot(&curve, &info.name).as_bytes())?;
    plots.push("reports/curve.svg".to_string());

    let path = run.model_path("final").expect("just made");
    let agent = composed(&config.play.mcts, c, run.dir());
    let strength = match run.auditing() {
        true => None,
        false => config.measure.strength(run, table, &agent, Rng::derive(seed, 7))?,
    };
    let split = config.train.split(&lessons, seed);
    let figures = json!({
        "c": c, "sims": sims, "matches": g.matches + more, "mean_length": length, "rows": rows, "filtered": chosen,
        "examples": unique, "train": split.train.len(), "selection": split.validation.len(), "test": split.test.len(),
        "targets": histogram(&lessons.data), "units": model.net.units(), "metrics": model.provenance.metrics,
        "curve": curve, "literal": composed(&config.play.literal, c, run.dir()),
        "minimax": composed(&config.play.minimax, c, run.dir()),
    });
    job.report(Report { model: path, agent, strength, story, plots, figures, ..Report::of(job.plan) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Example;
    use crate::table::Table;
    use ludex_core::{Fact, Move, Payoffs};

    fn examples(table: &dyn Table, rows: &[(u32, u8, u32, f32, f32)]) -> Examples {
        let mut all = Examples::new(table.info());
        for (i, &(fact, chooser, visits, value, result)) in rows.iter().enumerate() {
            all.push(&Example {
                facts: vec![Fact(fact)],
                mover: Player(1 - chooser),
                chooser: Player(chooser),
                mv: Move(0),
                visits,
                payoffs: Payoffs::of(Player(0), value),
                match_id: i as u32,
                ply: 1,
                result: Payoffs::of(Player(0), result),
                source: "child".into(),
            });
        }
        all
    }

    fn targets(f: Filter, view: View) -> Vec<f32> {
        let table = crate::open("connect4").unwrap();
        let rows = [
            (0, 0, 10, 0.5, 1.0),   // chosen by the winner
            (0, 0, 30, 0.1, 1.0),   // the same state, more visits
            (1, 1, 10, 0.5, 1.0),   // chosen by the loser
            (2, 1, 10, -0.5, -1.0), // chosen by the winner, player 1
            (3, 0, 10, 0.25, 0.0),  // a draw
        ];
        let encoder = encoder(table.info(), view).unwrap();
        let lessons = filter(&[examples(&*table, &rows)], table.info(), &f, &encoder, 1).unwrap();
        (0..lessons.data.len()).map(|i| lessons.data.targets(i)[0]).collect()
    }

    #[test]
    fn the_filter_keeps_what_the_paper_keeps() {
        let literal = Filter {
            matches: Whose::Winner,
            draws: Draws::Drop,
            duplicates: Duplicates::MostVisits,
            least_visits: 1,
            result_share: 0.0,
            most: 0,
        };
        let close = |a: Vec<f32>, b: &[f32]| {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} {b:?}");
        };
        close(targets(literal.clone(), View::Absolute), &[0.1, -0.5]);
        let keep = Filter { draws: Draws::Keep, ..literal.clone() };
        close(targets(keep, View::Absolute), &[0.1, -0.5, 0.25]);
        let mean = Filter { duplicates: Duplicates::Mean, ..literal.clone() };
        close(targets(mean, View::Absolute), &[0.3, -0.5]);
        let weighted = Filter { duplicates: Duplicates::Weighted, ..literal.clone() };
        close(targets(weighted, View::Absolute), &[0.2, -0.5]);
        let all = Filter { matches: Whose::All, ..literal.clone() };
        close(targets(all, View::Absolute), &[0.1, 0.5, -0.5]);
        let result = Filter { result_share: 1.0, ..literal.clone() };
        close(targets(result, View::Absolute), &[1.0, -1.0]);
        // Seen by the mover: after player 0 chose, player 1 is to move, and the other way round.
        close(targets(literal, View::Mover), &[-0.1, -0.5]);
    }
}
