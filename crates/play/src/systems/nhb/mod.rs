//! NHB (Ghignone & Cancelliere): alpha-beta that learns its heuristic online.
//!
//! Alpha-beta with random values plays the first matches. What its searches and a backward deepening after each match proved,
//! and a ramp along the match, are the first training set of an extreme learning machine, whose size is found by
//! cross-validation. Then cycles alternate: matches of the learned heuristic (leaves and move order) against nets that never
//! learned, and one against itself; their examples are one more chunk for the machine.
//!
//! The heuristic changes between cycles only. So a match is a pure function of the options, the seed, its number and the model
//! of the cycle before, and matches of a cycle may be played in any order on any number of threads.

mod tables;

pub use tables::{Reproduce, reproduce};

use super::measure::grade;
use super::uct_ccnn::{View, encoder as facts_encoder};
use super::{Job, Report, Strength, summary};
use crate::arena::{Contest, Openings};
use crate::plot::{Frame, Series, svg};
use crate::spec::Spec;
use crate::store::{Examples, Json, Run, RunError};
use crate::study::{SOURCES, Side, Study, Vouch};
use crate::table::Table;
use ludex_core::{GameInfo, Player, Rng};
use ludex_learn::{Code, Data, Encoder, Head, HiddenSearch, Model, OsElm, OsElmConfig, Table as Codes, choose_hidden};
use ludex_search::backward;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// All options; `systems/nhb.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Alpha-beta, of both players.
    pub search: Searching,
    /// The first matches.
    pub initial: Initial,
    /// What follows.
    pub cycle: Cycle,
    /// What is learned from.
    pub examples: Extract,
    /// The net.
    pub net: Machine,
    /// What is measured.
    pub measure: Measure,
    /// The paper's experiments.
    pub reproduce: Reproduce,
}

/// Alpha-beta.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Searching {
    pub nodes: u64,
    pub cpu_ms: u64,
    pub order: String,
    pub table: u64,
}

/// The first matches, between random heuristics.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Initial {
    pub matches: usize,
    pub heuristic: Untrained,
}

/// Simulation and training in turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Cycle {
    pub cycles: usize,
    pub matches: usize,
    pub against: Untrained,
    pub self_match: bool,
    pub opening_plies: u32,
    pub batch: usize,
}

/// A heuristic that never learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Untrained {
    /// A fresh value at each call.
    Call,
    /// The same value for the same state.
    Hash,
    /// A net with random weights.
    Net,
}

/// What is learned from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Extract {
    pub heard: Heard,
    pub ends: bool,
    pub ramp: bool,
    pub most: usize,
    pub backward_nodes: u64,
    pub pruning: Pruning,
    pub join: bool,
    pub consistent_from: usize,
    pub tolerance: f32,
    pub depth: u32,
    pub consistent_nodes: u64,
}

/// Whose searches are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// Both players'.
    Both,
    /// The learner's.
    Learner,
}

/// What backward deepening need not search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pruning {
    /// Everything is searched.
    None,
    /// The brothers of a move that wins.
    Wins,
}

/// The net.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Machine {
    pub view: View,
    pub coding: Coding,
    pub hidden: usize,
    pub bound: f64,
    pub ridge: f64,
    pub keep: f64,
    pub search: HiddenSearch,
    pub search_examples: usize,
}

/// How facts become inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// One input a fact.
    Facts,
    /// One input for a fact and its image for the other player: 1, -1, or 0 if neither holds. The paper's cells and turn.
    Signed,
}

/// What is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Measure {
    pub games: usize,
    pub nodes: u64,
    pub levels: Vec<u64>,
    pub level_games: usize,
    pub opening_plies: u32,
}

impl Searching {
    /// Alpha-beta without its heuristic.
    fn agent(&self) -> Spec {
        let agent = Spec::word("minimax");
        let agent = match self.nodes {
            0 => agent.with("cpu_ms", self.cpu_ms.max(1)),
            n => agent.with("nodes", n),
        };
        agent.with("order", &self.order).with("table", self.table)
    }
}

/// The same search with a heuristic that never learned.
fn untrained(agent: &Spec, kind: Untrained, hidden: usize) -> Spec {
    let mut agent = agent.clone();
    agent.set("eval", "random");
    match kind {
        Untrained::Call => agent.set("eval.by", "call"),
        Untrained::Hash => agent.set("eval.by", "hash"),
        Untrained::Net => {
            agent.set("eval.by", "net");
            agent.set("eval.hidden", hidden);
        }
    }
    agent
}

/// The same search with what was learned.
fn learned(agent: &Spec, model: &Path) -> Spec {
    let mut agent = agent.clone();
    agent.set("model", model.display());
    agent
}

/// The hidden units of nets that never learned, in tests: the same for every seed.
const UNTRAINED_HIDDEN: usize = 100;

fn encoder(info: &GameInfo, net: &Machine) -> Result<Encoder, RunError> {
    // Where roles are not alike nothing can be mirrored: the net speaks for the first player.
    let view = if info.mirror.is_some() { net.view } else { View::Absolute };
    let facts = facts_encoder(info, view)?;
    match (net.coding, &info.mirror) {
        (Coding::Facts, _) => Ok(facts),
        (Coding::Signed, Some(mirror)) => Ok(facts.coded(signed(mirror))?),
        (Coding::Signed, None) => {
            Err(RunError::Config(format!("the roles of {} are not alike: net.coding must be facts", info.name)))
        }
    }
}

/// One input for each two facts that are images of one another, +1 for the first and -1 for the second; facts that are their
/// own image are 1 or 0.
fn signed(mirror: &ludex_core::Mirror) -> Codes {
    let mut codes = vec![None; mirror.facts.len()];
    let mut inputs = 0;
    for (f, image) in mirror.facts.iter().enumerate().filter(|(f, image)| *f <= image.index()) {
        codes[f] = Some((inputs, 1.0));
        if f != image.index() {
            codes[image.index()] = Some((inputs, -1.0));
        }
        inputs += 1;
    }
    Codes { base: vec![0.0; inputs as usize], codes }
}

/// One training set.
struct Lessons {
    data: Data,
    /// Rows before duplicates went.
    rows: usize,
    /// Different states by source, in the order of [`SOURCES`].
    sources: [usize; 3],
}

/// Joins what matches gave: each state once, by the source that stands highest; of equal ones the first.
fn lessons(parts: &[Examples], encoder: &Encoder) -> Result<Lessons, RunError> {
    let rank = |source: &str| SOURCES.iter().position(|s| *s == source).unwrap_or(SOURCES.len());
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut chosen: Vec<(usize, usize, usize)> = Vec::new();
    let mut rows = 0;
    for (p, part) in parts.iter().enumerate() {
        rows += part.len();
        for i in 0..part.len() {
            let mine = rank(part.source(i));
            let place = *known.entry(part.key(i)).or_insert_with(|| {
                chosen.push((mine, p, i));
                chosen.len() - 1
            });
            if mine < chosen[place].0 {
                chosen[place] = (mine, p, i);
            }
        }
    }
    let mut lessons = Lessons { data: Data::new(encoder.inputs(), 1), rows, sources: [0; 3] };
    let mut code = Code::default();
    for (rank, p, i) in chosen {
        let e = parts[p].row(i);
        encoder.encode(&e.facts, e.mover, &mut code);
        lessons.data.push_row(code.row(), &[e.payoffs[encoder.viewer(e.mover)]])?;
        lessons.sources[rank.min(2)] += 1;
    }
    Ok(lessons)
}

/// The hidden layer, and how it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    hidden: usize,
    seed: u64,
    /// Sizes with their mean errors on training and validation folds.
    tried: Vec<(usize, f64, f64)>,
}

/// The layer: as given, or by cross-validation on the first training set; and the time that took, if it was done now.
fn layer(job: &Job<'_>, net: &Machine, first: &Lessons) -> Result<(Layer, Option<Duration>), RunError> {
    const PART: &str = "hidden/0000";
    let seed = Rng::derive(job.plan.seed, 5);
    let n = first.data.len();
    if net.hidden > 0 || n < 2 * net.search.folds {
        let hidden = if net.hidden > 0 { net.hidden } else { net.search.first };
        return Ok((Layer { hidden, seed, tried: vec![] }, None));
    }
    if let Some(Json(layer)) = job.run.find::<Json<Layer>>(PART)? {
        return Ok((layer, None));
    }
    job.run.watch().note("cross-validating the hidden size");
    let start = Instant::now();
    let mut rows: Vec<u32> = (0..n as u32).collect();
    Rng::stream(seed, 1).shuffle(&mut rows);
    rows.truncate(if net.search_examples > 0 { net.search_examples.max(2 * net.search.folds) } else { n });
    let chosen = choose_hidden(net.config(0), &net.search, &first.data, &rows, seed)?;
    let tried = chosen.tried.iter().map(|(m, e)| (*m, e.train, e.validation.unwrap_or(f64::MAX))).collect();
    let layer = Layer { hidden: chosen.hidden, seed: chosen.seed, tried };
    job.run.keep(PART, &Json(layer.clone()))?;
    Ok((layer, Some(start.elapsed())))
}

impl Machine {
    fn config(&self, hidden: usize) -> OsElmConfig {
        OsElmConfig { hidden, bound: self.bound, ridge: self.ridge, keep: self.keep }
    }
}

/// What a cycle brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Training matches so far, the first ones apart.
    pub matches: usize,
    /// Rows of this cycle.
    pub rows: usize,
    /// Different states by source.
    pub sources: [usize; 3],
    /// Matches that the learner won, drew and lost in this cycle, those against itself apart.
    pub wdl: [usize; 3],
    /// The mean squared error on the new examples before they were learned from: nobody has seen them.
    pub before: Option<f64>,
    /// And after.
    pub after: f64,
}

/// The learner while it learns.
struct Pupil<'a> {
    job: &'a Job<'a>,
    config: &'a Config,
    encoder: Encoder,
    machine: OsElm,
    progress: Vec<Progress>,
}

/// What the net of a cycle is called.
fn model_name(cycle: usize) -> String {
    format!("cycle-{cycle:04}")
}

impl Pupil<'_> {
    /// Learns from the matches of a cycle and keeps the net.
    fn learn(&mut self, cycle: usize, matches: usize, lessons: &Lessons, wdl: [usize; 3]) -> Result<Model, RunError> {
        let data = &lessons.data;
        let rows: Vec<u32> = (0..data.len() as u32).collect();
        let before = (cycle > 0 && !data.is_empty()).then(|| self.machine.mse(data, &rows));
        self.machine.learn(data, &rows)?;
        let after = self.machine.mse(data, &rows);
        let progress = Progress { matches, rows: lessons.rows, sources: lessons.sources, wdl, before, after };
        let mut metrics = std::collections::BTreeMap::from([
            ("examples".to_string(), data.len() as f64),
            ("training_matches".to_string(), matches as f64),
            ("train_mse".to_string(), after),
        ]);
        metrics.extend(before.map(|e| ("new_mse".to_string(), e)));
        self.progress.push(progress);
        let model = self.job.model(&self.encoder, Head::Value { outputs: 1 }, self.machine.net(), data, metrics);
        keep_model(self.job.run, &model_name(cycle), &model)?;
        Ok(model)
    }

    /// The matches of a cycle.
    fn matches(&self, cycle: usize) -> Result<Vec<Examples>, RunError> {
        let (job, c) = (self.job, &self.config.cycle);
        let path = job.run.model_path(&model_name(cycle - 1)).expect("the cycle before is finished");
        let agent = self.config.search.agent();
        let hidden = self.machine.weights()[0].len();
        let (learner, rival) = (learned(&agent, &path), untrained(&agent, c.against, hidden));
        let x = &self.config.examples;
        let vouch = (cycle >= x.consistent_from && x.consistent_from > 0).then_some(Vouch {
            tolerance: x.tolerance,
            depth: x.depth,
            nodes: x.consistent_nodes,
        });
        let mine = Side { agent: &learner, heard: true, vouch };
        let other = Side { agent: &rival, heard: x.heard == Heard::Both, vouch: None };
        let first = self.config.initial.matches + (cycle - 1) * c.matches;
        played(job, self.config, &model_name(cycle), (first, c.matches), |i| match () {
            () if itself(c, i) => [mine, mine],
            () if i.is_multiple_of(2) => [mine, other],
            () => [other, mine],
        })
    }

    /// How the learner did in the matches of a cycle.
    fn results(&self, cycle: usize, parts: &[Examples]) -> [usize; 3] {
        let c = &self.config.cycle;
        let first = self.config.initial.matches + (cycle - 1) * c.matches;
        let mut results: HashMap<u32, f32> = HashMap::new();
        for part in parts {
            for e in (0..part.len()).map(|i| part.brief(i)) {
                let i = e.match_id as usize - first;
                if !itself(c, i) {
                    results.insert(e.match_id, e.result[Player((i % 2) as u8)]);
                }
            }
        }
        let count = |f: fn(f32) -> bool| results.values().filter(|v| f(**v)).count();
        [count(|v| v > 0.0), count(|v| v == 0.0), count(|v| v < 0.0)]
    }
}

/// Whether match `i` of a cycle is the one against itself: the last.
fn itself(c: &Cycle, i: usize) -> bool {
    c.self_match && c.matches > 1 && i + 1 == c.matches
}

/// Keeps a model that is not kept yet.
fn keep_model(run: &Run<'_>, name: &str, model: &Model) -> Result<(), RunError> {
    match run.find_model(name)? {
        Some(kept) if kept == *model => Ok(()),
        _ => run.keep_model(name, model),
    }
}

/// A stage of matches in parts of a batch; match `i` is played by `sides(i)`.
fn played<'a>(
    job: &Job<'_>,
    config: &Config,
    stage: &str,
    (first, matches): (usize, usize),
    sides: impl Fn(usize) -> [Side<'a>; 2] + Sync,
) -> Result<Vec<Examples>, RunError> {
    let (x, batch) = (&config.examples, config.cycle.batch.max(1));
    let study = |i: usize| Study {
        sides: sides(i),
        opening_plies: config.cycle.opening_plies,
        backward: backward::Options {
            cuts: if x.pruning == Pruning::Wins { backward::Cuts::Wins } else { backward::Cuts::None },
            join: x.join,
        },
        backward_nodes: x.backward_nodes,
        ends: x.ends,
        ramp: x.ramp,
        most: x.most,
    };
    job.run.stage(stage, matches.div_ceil(batch), |part| {
        let mut examples = Examples::new(job.table.info());
        for i in part * batch..((part + 1) * batch).min(matches) {
            let seed = Rng::derive(Rng::derive(job.plan.seed, 2), (first + i) as u64);
            job.table.study(&study(i), (first + i) as u32, seed, &mut examples).expect("the players have been checked");
        }
        examples
    })
}

/// One clear line, if the game is not for this system.
fn refuse(info: &GameInfo) -> Result<(), RunError> {
    match info.zero_sum && info.players() == 2 {
        true => Ok(()),
        false => Err(RunError::Config(format!("nhb learns zero-sum games of two players; {} is not one", info.name))),
    }
}

/// The strength of the final agent: against random moves and a net that never learned, and by graded levels.
fn strength(m: &Measure, run: &Run<'_>, table: &dyn Table, agent: &Spec, seed: u64) -> Result<Strength, RunError> {
    let at = |spec: &Spec, nodes: u64| {
        let mut spec = spec.clone();
        spec.args.retain(|(k, _)| k != "cpu_ms");
        spec.set("nodes", nodes);
        spec
    };
    let contest = |agents: Vec<Spec>, games: usize, n: u64| Contest {
        game: table.info().name.clone(),
        agents,
        pairs: games.div_ceil(2),
        openings: Openings::Random(m.opening_plies),
        seed: Rng::derive(seed, n),
        sprt: None,
    };
    let mut bare = at(agent, m.nodes);
    bare.args.retain(|(k, _)| k != "model");
    let rivals = [Spec::word("random"), untrained(&bare, Untrained::Net, UNTRAINED_HIDDEN)];
    let mut anchors = Vec::new();
    for (i, rival) in rivals.into_iter().enumerate() {
        let contest = contest(vec![at(agent, m.nodes), rival], m.games, i as u64);
        let results = run.contest(["against-random", "against-untrained"][i], table, &contest)?;
        anchors.push(summary(&contest, &results));
    }
    let levels = match m.levels.len() {
        0 | 1 => Vec::new(),
        _ => {
            let agents = m.levels.iter().map(|&n| at(agent, n)).collect();
            grade(run, table, &contest(agents, m.level_games, 2))?
        }
    };
    Ok(Strength { anchors, levels })
}

fn curve_plot(progress: &[Progress], game: &str) -> String {
    let points = |f: &dyn Fn(&Progress) -> Option<f64>| -> Vec<(f64, f64)> {
        progress.iter().filter_map(|p| Some((p.matches as f64, f(p)?))).collect()
    };
    let title = format!("Learning curve, {game}");
    let frame = Frame { title: &title, x: "training matches", y: "mean squared error", log_x: false };
    let series = [
        Series::line("new examples, before learning from them", points(&|p| p.before)),
        Series::line("after", points(&|p| Some(p.after))),
    ];
    svg(&frame, &series)
}

/// Carries out the cycles.
pub fn learn(job: &Job<'_>) -> Result<Report, RunError> {
    let config: Config = job.options()?;
    let (table, run, info, seed) = (job.table, job.run, job.table.info(), job.plan.seed);
    refuse(info)?;
    let encoder = encoder(info, &config.net)?;
    let agent = config.search.agent();
    let start = Instant::now();

    let random = untrained(&agent, config.initial.heuristic, UNTRAINED_HIDDEN);
    table.agent(&random, 0).map_err(|e| RunError::Config(format!("search: {e}")))?;
    let side = Side { agent: &random, heard: true, vouch: None };
    let parts = played(job, &config, "initial", (0, config.initial.matches), |_| [side; 2])?;
    let first = lessons(&parts, &encoder)?;
    drop(parts);
    if first.data.is_empty() {
        return Err(RunError::Learning("nothing to learn from: initial.matches or the examples allow none".into()));
    }
    let (layer, validated) = layer(job, &config.net, &first)?;
    let machine = OsElm::new(config.net.config(layer.hidden), encoder.inputs(), 1, layer.seed)?;
    let mut pupil = Pupil { job, config: &config, encoder, machine, progress: Vec::new() };
    let mut model = pupil.learn(0, 0, &first, [0; 3])?;
    drop(first);
    for cycle in 1..=config.cycle.cycles {
        let parts = pupil.matches(cycle)?;
        let lessons = lessons(&parts, &pupil.encoder)?;
        let wdl = pupil.results(cycle, &parts);
        model = pupil.learn(cycle, cycle * config.cycle.matches, &lessons, wdl)?;
    }
    keep_model(run, "final", &model)?;
    let took = start.elapsed();

    let progress = pupil.progress;
    let mut story = vec![format!(
        "{} first and {} training matches, {} hidden units{}",
        config.initial.matches,
        config.cycle.cycles * config.cycle.matches,
        layer.hidden,
        if layer.tried.is_empty() { "" } else { ", by cross-validation" }
    )];
    let rows: usize = progress.iter().map(|p| p.rows).sum();
    let by: Vec<String> =
        (0..3).map(|s| format!("{} {}", progress.iter().map(|p| p.sources[s]).sum::<usize>(), SOURCES[s])).collect();
    story.push(format!("{rows} examples; different ones by training set: {}", by.join(", ")));
    if let Some(last) = progress.last() {
        let before = last.before.map_or("-".into(), |e| format!("{e:.4}"));
        story.push(format!("mean squared error {before} on the last examples when new, {:.4} after", last.after));
    }
    let apart = validated.unwrap_or_default();
    let seconds = (took - apart).as_secs_f64();
    story.push(format!(
        "{seconds:.1} s for matches and learning now, {:.1} s for cross-validation apart",
        apart.as_secs_f64()
    ));
    run.report("curve.svg", curve_plot(&progress, &info.name).as_bytes())?;

    let agent = learned(&agent, run.dir());
    let strength = match run.auditing() || config.measure.games == 0 {
        true => None,
        false => Some(strength(&config.measure, run, table, &agent, Rng::derive(seed, 7))?),
    };
    job.report(Report {
        model: run.model_path("final").expect("just made"),
        agent,
        strength,
        story,
        plots: vec!["reports/curve.svg".to_string()],
        figures: json!({
            "hidden": layer.hidden, "tried": layer.tried, "progress": progress, "seconds": seconds,
            "cross_validation_seconds": apart.as_secs_f64(), "metrics": model.provenance.metrics,
        }),
        ..Report::of(job.plan)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Example;
    use ludex_core::{Fact, Move, Payoffs};

    #[test]
    fn a_training_set_has_each_state_once_by_its_best_source() {
        let table = crate::open("connect4").unwrap();
        let mut all = Examples::new(table.info());
        for (fact, value, source) in
            [(0, 0.1, "ramp"), (0, 1.0, "terminal"), (0, -1.0, "consistent"), (1, 0.2, "ramp"), (1, 0.3, "consistent")]
        {
            all.push(&Example {
                facts: vec![Fact(fact)],
                mover: Player(1),
                chooser: Player(1),
                mv: Move(0),
                visits: 1,
                payoffs: Payoffs::of(Player(0), value),
                match_id: 0,
                ply: 0,
                result: Payoffs::draw(2),
                source: source.into(),
            });
        }
        let net = |view| {
            let plan = crate::systems::Plan::new("connect4", "nhb", "tick", 1, &[]).unwrap();
            let config: Config = crate::systems::read(&plan.options).unwrap();
            Machine { view, coding: Coding::Facts, ..config.net }
        };
        for (view, sign) in [(View::Absolute, 1.0), (View::Mover, -1.0)] {
            let encoder = encoder(table.info(), &net(view)).unwrap();
            let lessons = lessons(&[all.clone(), all.clone()], &encoder).unwrap();
            assert_eq!((lessons.rows, lessons.data.len(), lessons.sources), (10, 2, [1, 1, 0]));
            assert_eq!(lessons.data.targets(0), [sign * 1.0]);
            assert!((lessons.data.targets(1)[0] - sign * 0.3).abs() < 1e-6);
        }
    }

    #[test]
    fn signed_cells_are_the_papers() {
        let table = crate::open("connect4").unwrap();
        let codes = signed(table.info().mirror.as_ref().unwrap());
        assert_eq!(codes.base.len(), 43, "one input a cell and one for the turn");
        let encoder = Encoder::facts(table.info().facts as usize).coded(codes).unwrap();
        let mut position = table.start();
        for m in ["4", "4", "3"] {
            position.play(table.parse_move(m).unwrap()).unwrap();
        }
        let mut code = Code::default();
        encoder.encode(&position.facts(), position.mover(), &mut code);
        let mut values: Vec<f32> = code.row().iter().map(|(_, v)| v).collect();
        values.sort_by(f32::total_cmp);
        assert_eq!(values, [-1.0, -1.0, 1.0, 1.0], "two discs and one disc, and the second player's turn");
    }
}
