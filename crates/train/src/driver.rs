//! The one learning driver: it owns stages, resuming, auditing, strength, levels and the report. A system only says how to go
//! from a [`Context`] to models, an agent and curves.

use crate::measure::Measure;
use crate::plan::Plan;
use crate::plot::{Frame, Series, svg};
use crate::report::Report;
use crate::store::{Result, Run, RunError};
use crate::systems::System;
use ludex_core::{GameInfo, Rng};
use ludex_learn::{Data, Encoder, Head, Model, Net, Provenance};
use ludex_play::bundle::{self, BundleProvenance};
use ludex_play::{Bundle, Control, Level, ModelRef, Spec, Table, manifest, play_match};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The streams of random numbers of a run, by what they are for. The numbers are part of every result: none is changed.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Tuning.
    Tune = 1,
    /// Self-play.
    SelfPlay = 2,
    /// Which examples are drawn.
    Sample = 3,
    /// How they are split.
    Split = 4,
    /// First weights, and the order of examples.
    Weights = 5,
    /// Random states.
    States = 6,
    /// Matches that measure strength.
    Measure = 7,
    /// Sweeps over settings of nets.
    Sweep = 8,
}

/// What a system is given.
pub struct Context<'a> {
    /// The game.
    pub table: &'a dyn Table,
    /// Where everything is kept.
    pub run: &'a Run,
    /// What to do.
    pub plan: &'a Plan,
}

/// What a system gives back. Its models are in the run, as `final`.
pub struct Learned {
    /// The agent with what was learned.
    pub agent: Spec,
    /// The same search with nothing learned.
    pub unlearned: Spec,
    /// What is measured, and how often.
    pub measure: Measure,
    /// Curves to plot.
    pub curves: Vec<Curve>,
    /// Lines for people: what was made and found on the way.
    pub log: Vec<String>,
    /// Whatever the system counts.
    pub figures: serde_json::Value,
}

/// A curve to plot.
pub struct Curve {
    /// The file, without its ending.
    pub file: String,
    /// What it shows, before the name of the game.
    pub title: String,
    /// The axes.
    pub axes: [String; 2],
    /// Its lines.
    pub series: Vec<Series>,
}

impl<'a> Context<'a> {
    /// Names and sizes of the game.
    pub fn info(&self) -> &'a GameInfo {
        self.table.info()
    }

    /// The seed of a stream.
    pub fn seed(&self, stream: Stream) -> u64 {
        Rng::derive(self.plan.seed, stream as u64)
    }

    /// The generator of a stream.
    pub fn rng(&self, stream: Stream) -> Rng {
        Rng::stream(self.plan.seed, stream as u64)
    }

    /// The options, as the system knows them.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T> {
        crate::plan::read(&self.plan.options)
    }

    /// Refuses an agent that cannot be built; `what` says what it is for.
    pub fn check_agent(&self, what: &str, spec: &Spec) -> Result<()> {
        self.table.agent(spec, 0).map(|_| ()).map_err(|e| RunError::Agent(what.into(), e))
    }

    /// The run as a model: what it ends with.
    pub fn learned_model(&self) -> ModelRef {
        ModelRef::new(self.run.dir())
    }

    /// A net with all that is needed to use it, and where it came from.
    pub fn model(
        &self,
        encoder: &Encoder,
        head: Head,
        net: Net,
        data: &Data,
        metrics: &[(&str, Option<f64>)],
    ) -> Model {
        let (info, plan) = (self.info(), self.plan);
        let metrics: BTreeMap<String, f64> = metrics.iter().filter_map(|(k, v)| Some((k.to_string(), (*v)?))).collect();
        let (system, config, version) = (plan.system.clone(), plan.to_toml(), env!("CARGO_PKG_VERSION").into());
        let provenance = Provenance { system, config, seed: plan.seed, data_hash: data.hash(), metrics, version };
        let (game, encoder) = (info.name.clone(), encoder.clone());
        Model { game, rules_hash: info.rules_hash, encoder, head, net, provenance }
    }
}

/// A plan that is carried out, owned: what a server or a thread of its own can hold.
pub struct Job {
    /// The game.
    pub table: Arc<dyn Table>,
    /// Where everything is kept.
    pub run: Run,
    /// What to do.
    pub plan: Plan,
}

impl Job {
    /// What a system is given.
    pub fn context(&self) -> Context<'_> {
        Context { table: &*self.table, run: &self.run, plan: &self.plan }
    }

    /// Carries out the plan with one of the built-in systems, or what is missing of it.
    pub fn learn(&self) -> Result<Report> {
        self.learn_with(crate::systems::system(&self.plan.system)?)
    }

    /// Carries out the plan with a system of one's own, or what is missing of it.
    pub fn learn_with(&self, system: &dyn System) -> Result<Report> {
        learn(&self.context(), system)
    }
}

/// The steps of a run, in order, in words for people.
pub const STEPS: [&str; 3] = ["learning", "measuring what it is worth", "making graded levels"];

/// Carries out a plan, or what is missing of it: learning, then measuring, then the report. Training uses no more threads than
/// the run has.
pub fn learn(cx: &Context<'_>, system: &dyn System) -> Result<Report> {
    system.check(&cx.plan.options, cx.table)?;
    let measure = cx.plan.options.get("measure").and_then(|m| m.clone().try_into::<Measure>().ok());
    cx.run.observer().step(0, measure.map_or(0.0, |m| m.worth_seconds(cx) + m.level_seconds(cx)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cx.run.threads()).build();
    let pool = pool.map_err(|e| RunError::Learning(format!("cannot start threads: {e}")))?;
    let learned = pool.install(|| system.learn(cx))?;
    let mut plots = Vec::new();
    for c in &learned.curves {
        let title = format!("{}, {}", c.title, cx.info().name);
        let [x, y] = &c.axes;
        let file = format!("{}.svg", c.file);
        cx.run.report(&file, svg(&Frame { title: &title, x, y, log_x: false }, &c.series)?.as_bytes())?;
        plots.push(format!("reports/{file}"));
    }
    let Learned { agent, unlearned, measure, log, figures, .. } = learned;
    let (mut worth, mut levels) = (Vec::new(), Vec::new());
    if !cx.run.auditing() {
        cx.run.observer().step(1, measure.level_seconds(cx));
        worth = measure.worth(cx, &agent, &unlearned)?;
        cx.run.observer().step(2, 0.0);
        levels = crate::levels::levels(cx, &measure, &agent)?;
    }
    let model = cx.run.model_path("final").ok_or_else(|| RunError::Learning("no final model was kept".into()))?;
    let (config, seed) = (cx.plan.clone(), cx.plan.seed);
    let version = config.version.clone();
    let mut report = Report {
        schema: 2,
        version,
        config,
        seed,
        model,
        agent,
        worth,
        levels,
        bundle: None,
        log,
        plots,
        figures,
        sample: Vec::new(),
    };
    if !report.levels.is_empty() {
        report.bundle = Some(cx.run.leave(bundle::FILE, &bundle_of(cx, &report)?.to_bytes())?);
        report.sample = sample_game(cx, &report.levels)?;
    }
    cx.run.report("report.json", &serde_json::to_vec_pretty(&report).expect("plain data"))?;
    Ok(report)
}

/// The bundle of a run: its models and levels.
fn bundle_of(cx: &Context<'_>, report: &Report) -> Result<Bundle> {
    let files = manifest::final_models(cx.run.dir()).map_err(|e| RunError::Learning(e.to_string()))?;
    let read = |file: PathBuf| std::fs::read(&file).map_err(|e| RunError::File(file, e));
    let models = files.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    let own = |level: &Level| {
        let mut level = level.clone();
        level.agent.set_model(&ModelRef::new(bundle::FILE));
        level
    };
    let (info, plan) = (cx.info(), cx.plan);
    let (system, config, seed) = (plan.system.clone(), plan.to_toml(), plan.seed);
    let provenance = BundleProvenance { system, config, seed, version: plan.version.clone() };
    let levels = report.levels.iter().map(own).collect();
    Ok(Bundle { game: info.name.clone(), rules_hash: info.rules_hash, levels, provenance, models })
}

/// The moves of a game of the best level against the next one.
fn sample_game(cx: &Context<'_>, levels: &[Level]) -> Result<Vec<String>> {
    let [.., rival, best] = levels else { return Ok(Vec::new()) };
    let agent = |level: &Level, n: u64| {
        let made = cx.table.agent(&level.agent, Rng::derive(cx.seed(Stream::Measure), n));
        made.map_err(|e| RunError::Agent("a level".into(), e))
    };
    let mut agents = [agent(best, 1)?, agent(rival, 2)?];
    let episode = play_match(cx.table, &*cx.table.start(), &mut agents, &Control::default(), &mut |_| {});
    Ok(episode.plies.iter().map(|ply| cx.table.move_name(ply.choice.mv)).collect())
}
