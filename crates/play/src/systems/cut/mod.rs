//! Cut playouts (Cotarelo et al. 2021): UCT plays itself, a net learns from the results who wins where, and ends playouts of
//! the same UCT as soon as it is sure.
//!
//! A match begins with an opening of random length by a weak player that ends with a few random moves, so that the net sees
//! states that good players avoid but playouts reach; from there on every state is an example, labelled with the match's result. A multilayer perceptron with
//! three outputs (win, draw, loss) learns them, split by match. Later rounds are played by the search with the net of the round
//! before, whose results are nearer to best play, and a new net learns from them.
//!
//! Rows of self-play are parts of the run, and the learner saves itself after every few epochs, so that a run that was
//! killed goes on to the same bytes.

mod bouts;
mod tables;

pub use tables::reproduce;

use super::measure::{Measure, simulations};
use super::uct_ccnn::View;
use super::{Job, Report};
use crate::plot::{Frame, Series, svg};
use crate::selfplay::{SelfPlay, random_length};
use crate::spec::Spec;
use crate::store::{Examples, Json, Run, RunError};
use crate::table::{Position, Table};
use ludex_core::{GameInfo, Limit, Move, Payoffs, Rng};
use ludex_learn::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// All options; `systems/cut.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Self-play.
    pub generate: Generate,
    /// The net.
    pub train: Train,
    /// How the net plays.
    pub play: Play,
    /// What is measured at the end of a run.
    pub measure: Measure,
    /// The paper's tables.
    pub tables: Tables,
}

/// Self-play.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/cut.toml explains them
pub struct Generate {
    pub matches: usize,
    pub work: f64,
    pub sims: u64,
    pub least_sims: u64,
    pub most_sims: u64,
    pub agent: Spec,
    pub opening: Spec,
    pub opening_share: [f64; 2],
    pub opening_random: u32,
    pub opening_uses: usize,
    pub batch: usize,
    pub rounds: usize,
    pub again: Spec,
    pub again_matches: usize,
    pub again_sims: u64,
}

impl Generate {
    /// What the net of a round is called: the last one is what the run is for.
    fn net(&self, round: usize) -> String {
        if round == self.rounds { "final".into() } else { format!("round-{round}") }
    }
}

/// The net.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/cut.toml explains them
pub struct Train {
    pub inputs: Inputs,
    pub turn_input: bool,
    pub view: View,
    pub mirror: bool,
    pub hidden: Vec<usize>,
    pub act: Act,
    pub output: Output3,
    pub loss: Loss,
    pub optimiser: Descent,
    pub rprop: RpropKind,
    pub batch: usize,
    pub rate: f64,
    pub last_rate: f64,
    pub l2: f64,
    pub epochs: u32,
    pub patience: u32,
    pub selection: f64,
    pub test: f64,
    pub most: usize,
}

/// How weights follow the gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Descent {
    /// Resilient propagation on all examples at once, as in the paper.
    Rprop,
    /// Adaptive moments on small batches: far fewer passes over many examples.
    Adam,
}

/// What the net sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// One input for each fact of the game.
    Facts,
    /// The paper's own codes, for games that have them.
    Paper,
}

/// What the three outputs do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output3 {
    /// Each is a sigmoid of its own.
    Sigmoid,
    /// They add up to 1.
    Softmax,
}

/// How the net plays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The search with the cut playout that is handed over; the net is added.
    pub agent: Spec,
    /// The same as far as it needs no net, to tell what the search gains and what the net.
    pub bare: Spec,
    /// The same as the paper has it.
    pub literal: Spec,
    /// The paper's search without the net.
    pub plain: Spec,
}

/// The paper's tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/cut.toml explains them
pub struct Tables {
    pub games: usize,
    pub rival: Spec,
    pub unique: Vec<u64>,
    pub plain: Vec<u64>,
    pub net: Vec<u64>,
    pub compare: u64,
    pub sweep: Vec<f64>,
    pub sweep_sims: u64,
    pub sweep_games: usize,
    pub empty_games: usize,
    pub empty_sims: u64,
    pub accuracy_playouts: usize,
    pub opening_share: [f64; 2],
}

/// The encoder that the options describe.
fn encoder(info: &GameInfo, t: &Train) -> Result<Encoder, RunError> {
    let refuse = |line: String| Err(RunError::Config(line));
    let mut encoder = Encoder::facts(info.facts as usize);
    if t.inputs == Inputs::Paper {
        let Some(codes) = ludex_games::paper_codes(info, t.turn_input) else {
            return refuse(format!("the paper has no codes for {}: train.inputs must be facts", info.name));
        };
        encoder = encoder.coded(ludex_learn::Table { base: codes.base, codes: codes.codes })?;
    }
    match (t.view, &info.mirror) {
        (View::Mover, Some(mirror)) => Ok(encoder.relative(mirror.clone())?),
        // Where roles are not alike there is only one view.
        _ => Ok(encoder),
    }
}

/// A position after an opening of random length by a weak player, in which the game is not over.
fn opening(table: &dyn Table, g: &Generate, length: f64, seed: u64) -> Box<dyn Position> {
    let mut position = table.start();
    let [least, most] = g.opening_share;
    let plies = ((least + Rng::stream(seed, 0).unit() * (most - least).max(0.0)) * length) as u32;
    let mut weak = table.agent(&g.opening, Rng::derive(seed, 1)).expect("the agent has been checked");
    weak.start(&*position);
    for _ in 0..plies {
        let m = weak.choose(&Limit::default()).mv;
        if !goes_on(&mut position, m) {
            break;
        }
        weak.observe(m);
    }
    position
}

/// Plays random moves, so many at most, as long as the game is not over.
fn astray(mut position: Box<dyn Position>, most: u32, rng: &mut Rng) -> Box<dyn Position> {
    for _ in 0..rng.below(most + 1) {
        let m = *rng.pick(&position.legal()).expect("the game is not over");
        if !goes_on(&mut position, m) {
            break;
        }
    }
    position
}

/// Plays a move unless it ends the game.
fn goes_on(position: &mut Box<dyn Position>, m: Move) -> bool {
    let mut next = position.clone();
    let goes_on = next.play(m).is_ok() && next.outcome().is_none();
    if goes_on {
        *position = next;
    }
    goes_on
}

/// Plays the matches of a round that are missing, and gives the states of all: plain UCT in round 0, later the search with the
/// net of the round before, which must be there.
fn generate(
    table: &dyn Table,
    run: &Run<'_>,
    g: &Generate,
    round: usize,
    seed: u64,
) -> Result<(Vec<Examples>, Spec), RunError> {
    let before = round.checked_sub(1).and_then(|r| run.model_path(&g.net(r)));
    let (stage, mut agent, matches, sims) = match &before {
        None => ("generate".to_string(), g.agent.clone(), g.matches, g.sims),
        Some(net) => (format!("generate-{round}"), composed(&g.again, net), g.again_matches, g.again_sims),
    };
    let sims = match sims {
        0 => simulations(table, g.work, matches, g.least_sims, g.most_sims),
        n => n,
    };
    agent.set("sims", sims);
    for spec in [&agent, &g.opening] {
        table.agent(spec, 0).map_err(|e| RunError::Config(format!("self-play: {e}")))?;
    }
    let play = SelfPlay { table, agent: &agent, children: false, states: true };
    let (batch, length) = (g.batch.max(1), random_length(table));
    let seed = Rng::derive(seed, 2 + 100 * round as u64);
    let parts = run.stage(&stage, matches.div_ceil(batch), |part| {
        let mut examples = Examples::new(table.info());
        let mut opened = (usize::MAX, table.start());
        for i in part * batch..((part + 1) * batch).min(matches) {
            let group = i / g.opening_uses.max(1);
            if opened.0 != group {
                opened = (group, opening(table, g, length, Rng::derive(Rng::derive(seed, 1), group as u64)));
            }
            let seed = Rng::derive(seed, i as u64);
            let start = astray(opened.1.clone(), g.opening_random, &mut Rng::stream(seed, 1));
            // Matches with one opening stand together when they are dealt out: they go by its number.
            play.play(&*start, group as u32, Rng::derive(seed, 2), &mut examples);
        }
        examples
    })?;
    Ok((parts, agent))
}

/// Examples as the net sees them, with the match each comes from.
struct Lessons {
    data: Data,
    matches: Vec<u64>,
    /// Won, drawn and lost by the player for whom the net speaks.
    results: [usize; 3],
}

/// Which of win, draw and loss a result is for a player.
fn class(result: &Payoffs, viewer: ludex_core::Player) -> usize {
    match result[viewer] - result[viewer.other()] {
        d if d > 0.0 => 0,
        d if d < 0.0 => 2,
        _ => 1,
    }
}

fn lessons(parts: &[Examples], info: &GameInfo, t: &Train, encoder: &Encoder, seed: u64) -> Result<Lessons, RunError> {
    let mut rows: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(p, part)| (0..part.len()).map(move |i| (p, i))).collect();
    if t.most > 0 && rows.len() > t.most {
        Rng::stream(seed, 3).shuffle(&mut rows);
        rows.truncate(t.most);
        rows.sort_unstable();
    }
    let mut lessons = Lessons { data: Data::new(encoder.inputs(), 3), matches: Vec::new(), results: [0; 3] };
    let mut code = Code::default();
    // A net that speaks for player 0 sees each state with the roles exchanged as well, where the game allows it.
    let mirror = info.mirror.as_ref().filter(|_| t.mirror && encoder.mirror().is_none());
    for (p, i) in rows {
        let e = parts[p].row(i);
        let mut add = |facts: &[ludex_core::Fact], mover, class: usize| -> Result<(), RunError> {
            encoder.encode(facts, mover, &mut code);
            let mut target = [0.0; 3];
            target[class] = 1.0;
            lessons.data.push_row(code.row(), &target)?;
            lessons.matches.push(e.match_id as u64);
            lessons.results[class] += 1;
            Ok(())
        };
        let result = class(&e.result, encoder.viewer(e.mover));
        add(&e.facts, e.mover, result)?;
        if let Some(mirror) = mirror {
            let mut facts: Vec<_> = e.facts.iter().map(|f| mirror.facts[f.index()]).collect();
            facts.sort_unstable();
            add(&facts, e.mover.other(), 2 - result)?;
        }
    }
    Ok(lessons)
}

impl Train {
    fn mlp(&self) -> MlpConfig {
        let rate = Rate::Exponential { from: self.rate, to: self.last_rate.min(self.rate), epochs: self.epochs };
        let (optimiser, batch) = match self.optimiser {
            Descent::Rprop => (Optimiser::Rprop(Rprop { kind: self.rprop, first: 0.01, ..Rprop::default() }), 0),
            Descent::Adam => (Optimiser::Adam { rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }, self.batch.max(1)),
        };
        MlpConfig {
            hidden: self.hidden.clone(),
            act: self.act,
            link: match self.output {
                Output3::Sigmoid => Link::Each(Act::Logistic),
                Output3::Softmax => Link::Softmax,
            },
            loss: self.loss,
            optimiser,
            batch,
            l2: self.l2,
            shuffle: batch > 0,
        }
    }

    fn split(&self, lessons: &Lessons, seed: u64) -> Split {
        let split = Split::by_group(&lessons.matches, self.selection, self.test, &mut Rng::stream(seed, 4));
        // With a handful of matches a share of them may be none.
        if split.validation.is_empty() || split.train.is_empty() { Split::all(lessons.data.len()) } else { split }
    }
}

/// Errors after an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Epochs learned.
    pub epoch: u64,
    /// Mean squared error on the examples that choose the net; on those learned from, if none are held back.
    pub selection: f64,
}

/// A learner on its way, with the best net so far.
struct Progress {
    learner: MlpLearner,
    best: Vec<f64>,
    curve: Vec<Epoch>,
}

/// Epochs from one save to the next.
const SAVE: u64 = 10;

impl Progress {
    fn least(&self) -> f64 {
        self.curve.iter().map(|e| e.selection).fold(f64::INFINITY, f64::min)
    }

    /// Epochs since the best one.
    fn waited(&self) -> u64 {
        let best = self.curve.iter().position(|e| e.selection == self.least());
        best.map_or(0, |i| (self.curve.len() - 1 - i) as u64)
    }

    /// Learner, best weights and curve, each after its length. Numbers are kept as bits: text would round them.
    fn save(&self) -> Vec<u8> {
        let bits = |numbers: Vec<f64>| numbers.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let curve = bits(self.curve.iter().map(|e| e.selection).collect());
        let parts = [self.learner.save(), bits(self.best.clone()), curve];
        parts.iter().flat_map(|p| [&(p.len() as u64).to_le_bytes()[..], p].concat()).collect()
    }

    fn resume(mut bytes: &[u8], examples: usize) -> Option<Progress> {
        let mut part = || {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            bytes = rest;
            Some(part)
        };
        let numbers = |b: &[u8]| b.as_chunks::<8>().0.iter().map(|c| f64::from_le_bytes(*c)).collect::<Vec<f64>>();
        let learner = MlpLearner::resume(part()?, examples).ok()?;
        let best = numbers(part()?);
        let curve =
            numbers(part()?).into_iter().zip(1..).map(|(selection, epoch)| Epoch { epoch, selection }).collect();
        Some(Progress { learner, best, curve })
    }
}

/// Learns the net of a round, or goes on.
fn train(
    job: &Job<'_>,
    config: &Config,
    round: usize,
    lessons: &Lessons,
    encoder: &Encoder,
) -> Result<(Model, Vec<Epoch>), RunError> {
    let (run, seed, t) = (job.run, job.plan.seed, &config.train);
    let (name, saved_as, drawn) = (config.generate.net(round), format!("train-{round}"), format!("curve/{round:04}"));
    if let (Some(model), Some(Json(curve))) = (run.find_model(&name)?, run.find::<Json<Vec<Epoch>>>(&drawn)?) {
        return Ok((model, curve));
    }
    let (data, split, config) = (&lessons.data, t.split(lessons, seed), t.mlp());
    let judged = if split.validation.is_empty() { &split.train } else { &split.validation };
    let saved = run.checkpoint(&saved_as).and_then(|bytes| Progress::resume(&bytes, split.train.len()));
    let mut at = match saved {
        Some(saved) if *saved.learner.config() == config => saved,
        _ => {
            let learner = MlpLearner::new(config, encoder.inputs(), 3, Rng::derive(seed, 5))?;
            Progress { best: learner.params().to_vec(), learner, curve: Vec::new() }
        }
    };
    run.watch().stage("train", t.epochs as usize, at.curve.len());
    while at.learner.epochs() < t.epochs as u64 && at.waited() < t.patience.max(1) as u64 {
        at.learner.epoch(data, &split.train)?;
        let (epoch, selection) = (at.learner.epochs(), at.learner.mse(data, judged));
        if selection < at.least() {
            at.best.copy_from_slice(at.learner.params());
        }
        at.curve.push(Epoch { epoch, selection });
        if epoch.is_multiple_of(SAVE) {
            run.save_checkpoint(&saved_as, &at.save())?;
        }
        run.watch().part();
    }
    run.watch().end();
    at.learner.set_params(&at.best)?;
    let mut metrics = std::collections::BTreeMap::from([
        ("examples".to_string(), data.len() as f64),
        ("epochs".to_string(), at.curve.len() as f64),
        ("train_mse".to_string(), at.learner.mse(data, &split.train)),
    ]);
    let held = [("selection_mse", &split.validation), ("test_mse", &split.test)];
    metrics.extend(held.iter().filter(|h| !h.1.is_empty()).map(|h| (h.0.to_string(), at.learner.mse(data, h.1))));
    let model = job.model(encoder, Head::WinDrawLoss, at.learner.net(), data, metrics);
    run.keep(&drawn, &Json(at.curve.clone()))?;
    run.keep_model(&name, &model)?;
    run.drop_checkpoint(&saved_as);
    Ok((model, at.curve))
}

/// The agent with its net: that of its playouts alone, or that of the whole search, whose playouts use it too.
fn composed(spec: &Spec, model: &std::path::Path) -> Spec {
    let place = if spec.name == "neural" { "model" } else { "playout.model" };
    let mut spec = spec.clone();
    spec.set(place, model.display());
    spec
}

/// What a round gave.
struct Learned {
    player: Spec,
    states: usize,
    lessons: Lessons,
    model: Model,
    curve: Vec<Epoch>,
}

/// Plays and learns one round, and tells of it.
fn learn_round(
    job: &Job<'_>,
    config: &Config,
    round: usize,
    encoder: &Encoder,
    story: &mut Vec<String>,
) -> Result<Learned, RunError> {
    let (parts, player) = generate(job.table, job.run, &config.generate, round, job.plan.seed)?;
    let lessons = lessons(&parts, job.table.info(), &config.train, encoder, job.plan.seed)?;
    if lessons.data.is_empty() {
        return Err(RunError::Learning("nothing to learn from: no state was played".into()));
    }
    let states: usize = parts.iter().map(Examples::len).sum();
    let [won, drawn, lost] = lessons.results;
    let matches = if round == 0 { config.generate.matches } else { config.generate.again_matches };
    story.push(format!(
        "{matches} matches of {player}: {states} states, {} examples ({won} won, {drawn} drawn, {lost} lost)",
        lessons.data.len()
    ));
    drop(parts);
    let (model, curve) = train(job, config, round, &lessons, encoder)?;
    let shown = |name: &str| model.provenance.metrics.get(name).map_or("-".into(), |v| format!("{v:.5}"));
    story.push(format!(
        "a net {}-{}-3 after {} epochs: mean squared error {} on training, {} on selection, {} on untouched test matches",
        encoder.inputs(),
        config.train.hidden.iter().map(usize::to_string).collect::<Vec<_>>().join("-"),
        curve.len(),
        shown("train_mse"),
        shown("selection_mse"),
        shown("test_mse")
    ));
    Ok(Learned { player, states, lessons, model, curve })
}

/// Carries out the pipeline.
pub fn learn(job: &Job<'_>) -> Result<Report, RunError> {
    let config: Config = job.options()?;
    let (table, run, info, seed) = (job.table, job.run, job.table.info(), job.plan.seed);
    if !info.zero_sum {
        let line = format!("cut playouts need a zero-sum game of two players, which {} is not", info.name);
        return Err(RunError::Config(line));
    }
    let encoder = encoder(info, &config.train)?;
    let (mut story, mut last) = (Vec::new(), None);
    for round in 0..=config.generate.rounds {
        last = Some(learn_round(job, &config, round, &encoder, &mut story)?);
    }
    let Learned { player, states, lessons, model, curve } = last.expect("there is at least one round");
    let metrics = &model.provenance.metrics;
    let points = curve.iter().map(|e| (e.epoch as f64, e.selection)).collect();
    let title = format!("Learning curve, {}", info.name);
    let frame = Frame { title: &title, x: "epoch", y: "mean squared error", log_x: false };
    run.report("curve.svg", svg(&frame, &[Series::line("selection", points)]).as_bytes())?;

    let path = run.model_path("final").expect("just made");
    let agent = composed(&config.play.agent, &path);
    let strength = match run.auditing() {
        true => None,
        false => config.measure.strength(run, table, &agent, Rng::derive(seed, 7))?,
    };
    let figures = json!({
        "matches": config.generate.matches, "self_play": player, "states": states, "examples": lessons.data.len(),
        "results": lessons.results, "metrics": metrics, "curve": curve, "inputs": encoder.inputs(),
    });
    job.report(Report {
        model: path,
        agent,
        strength,
        story,
        plots: vec!["reports/curve.svg".to_string()],
        figures,
        ..Report::of(job.plan)
    })
}
