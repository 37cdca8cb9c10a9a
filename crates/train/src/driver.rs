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
use ludex_play::{ModelRef, Spec, Table};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
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
    /// Opponents that its strength is measured against.
    pub opponents: Vec<Spec>,
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

/// Carries out a plan, or what is missing of it: learning, then measuring, then the report. Training uses no more threads than
/// the run has.
pub fn learn(cx: &Context<'_>, system: &dyn System) -> Result<Report> {
    system.check(&cx.plan.options, cx.table)?;
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
    let Learned { agent, opponents, measure, log, figures, .. } = learned;
    let strength = match cx.run.auditing() {
        true => None,
        false => measure.strength(cx, &agent, &opponents)?,
    };
    let model = cx.run.model_path("final").ok_or_else(|| RunError::Learning("no final model was kept".into()))?;
    let (config, seed) = (cx.plan.clone(), cx.plan.seed);
    let version = config.version.clone();
    let report = Report { schema: 1, version, config, seed, model, agent, strength, log, plots, figures };
    cx.run.report("report.json", &serde_json::to_vec_pretty(&report).expect("plain data"))?;
    Ok(report)
}
