//! CARL (Loftsdóttir, Hjaltadóttir & Ívarsson): SARSA learns before the match what moves are worth to each role, and what it
//! learned guides Monte Carlo tree search: its playouts, or its selection.
//!
//! A run is one policy: a pure function of the options and the seed. It can be called off at any time (by the start clock of a
//! match, say) and keeps what was learned until then.

mod tables;

pub use tables::{Reproduce, reproduce};

use super::{Job, Measure, Report};
use crate::plot::{Frame, Series, svg};
use crate::sarsa::{Point, Sarsa, SarsaConfig};
use crate::spec::Spec;
use crate::store::{Json, RunError, role_model};
use cpu_time::ThreadTime;
use ludex_core::Rng;
use ludex_learn::{Data, Head, Model};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// All options; `systems/carl-playout.toml` explains them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How action values are learned.
    pub train: SarsaConfig,
    /// Who plays with them.
    pub play: Play,
    /// What is measured.
    pub measure: Measure,
    /// The paper's experiments; they stand in one file for both systems.
    #[serde(default)]
    pub reproduce: Option<Reproduce>,
}

/// Who plays; `model=` is added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/carl-playout.toml explains them
pub struct Play {
    pub agent: Spec,
}

/// The agent with what was learned.
pub(crate) fn with_model(agent: &Spec, model: &Path) -> Spec {
    let mut agent = agent.clone();
    let place = if agent.name == "uct" { "playout.model" } else { "model" };
    agent.set(place, model.display());
    agent
}

/// Time between two checkpoints: what a killed run loses at most.
const CHECKPOINT: Duration = Duration::from_secs(5);

/// Steps that are shown as progress.
const STEPS: u64 = 50;

/// The models of all roles as they are now.
fn models(job: &Job<'_>, sarsa: &Sarsa) -> Result<Vec<Model>, RunError> {
    let last = sarsa.curve().pop().unwrap_or_default();
    let (branching, depth) = sarsa.shape();
    let metrics = BTreeMap::from(
        [
            ("games", last.games as f64),
            ("expansions", last.expansions as f64),
            ("error_over_time", last.error),
            ("expected_exploration", last.exploration),
            ("branching", branching),
            ("plies", depth),
        ]
        .map(|(k, v)| (k.to_string(), v)),
    );
    let head = Head::MoveScores { moves: job.table.info().moves as usize };
    let model = |(encoder, net)| job.model(&encoder, head, net, &Data::new(encoder.inputs(), 1), metrics.clone());
    Ok(sarsa.nets()?.into_iter().map(model).collect())
}

/// Keeps a model for each role.
fn keep(job: &Job<'_>, name: &str, models: &[Model]) -> Result<(), RunError> {
    // The first role's comes last: once it is there, all are.
    models.iter().enumerate().rev().try_for_each(|(r, m)| job.run.keep_model(&role_model(name, r), m))
}

/// Learns, or goes on; the measurements and the first role's model.
fn train(job: &Job<'_>, config: &SarsaConfig) -> Result<(Vec<Point>, Model), RunError> {
    const CURVE: &str = "curve/0000";
    let run = job.run;
    if let (Some(model), Some(Json(curve))) = (run.find_model("final")?, run.find::<Json<Vec<Point>>>(CURVE)?) {
        return Ok((curve, model));
    }
    let fresh = || {
        let made = Sarsa::new(config.clone(), job.table.info(), job.plan.seed);
        made.map_err(|e| RunError::Config(format!("train: {e}")))
    };
    let mut sarsa = fresh()?;
    if let Some(bytes) = run.checkpoint("train") {
        sarsa = sarsa.resume(&bytes).map_or_else(fresh, Ok)?;
    }
    let step = config.games.div_ceil(STEPS).max(1);
    run.watch().stage("train", config.games.div_ceil(step) as usize, (sarsa.games() / step) as usize);
    let mut saved = Instant::now();
    while sarsa.games() < config.games {
        let next = ((sarsa.games() / step + 1) * step).min(config.games);
        job.table.train(&mut sarsa, next, &|| run.watch().stopped() || saved.elapsed() > CHECKPOINT);
        if sarsa.games() == next {
            run.watch().part();
        }
        if run.watch().stopped() && sarsa.games() < config.games {
            run.save_checkpoint("train", &sarsa.save())?;
            keep(job, "stopped", &models(job, &sarsa)?)?;
            return Err(RunError::Stopped);
        }
        if saved.elapsed() > CHECKPOINT {
            run.save_checkpoint("train", &sarsa.save())?;
            saved = Instant::now();
        }
    }
    run.watch().end();
    let curve = sarsa.curve();
    let mut models = models(job, &sarsa)?;
    run.keep(CURVE, &Json(curve.clone()))?;
    keep(job, "final", &models)?;
    run.drop_checkpoint("train");
    Ok((curve, models.swap_remove(0)))
}

/// Error over time and expected exploration factor.
fn plots(curve: &[Point], game: &str) -> [(&'static str, String); 2] {
    let plot = |y: &str, value: fn(&Point) -> f64| {
        let title = format!("{y}, {game}");
        let points = curve.iter().map(|p| (p.expansions as f64, value(p))).collect();
        svg(&Frame { title: &title, x: "expansions", y, log_x: false }, &[Series::line("", points)])
    };
    [
        ("error.svg", plot("error over time", |p| p.error)),
        ("exploration.svg", plot("expected exploration factor", |p| p.exploration)),
    ]
}

/// The agent with what a run that was called off has learned.
pub fn so_far(job: &Job<'_>) -> Result<Spec, RunError> {
    let config: Config = job.options()?;
    crate::store::last_models(job.run.dir())?;
    Ok(with_model(&config.play.agent, job.run.dir()))
}

/// Carries out the pipeline.
pub fn learn(job: &Job<'_>) -> Result<Report, RunError> {
    let config: Config = job.options()?;
    let (table, run, seed) = (job.table, job.run, job.plan.seed);
    let begun = ThreadTime::now();
    let (curve, model) = train(job, &config.train)?;
    let seconds = begun.elapsed().as_secs_f64();
    let last = curve.last().copied().unwrap_or_default();
    let metrics = &model.provenance.metrics;
    let story = vec![
        format!(
            "{} games in which {} moves were chosen, of {:.1} on average, {:.1} plies a game; {seconds:.1} s of processor time now",
            last.games, last.expansions, metrics["branching"], metrics["plies"]
        ),
        format!("error over time {:.2} of 100, expected exploration factor {:.3}", last.error, last.exploration),
    ];
    for (name, plot) in plots(&curve, &table.info().name) {
        run.report(name, plot.as_bytes())?;
    }
    let agent = with_model(&config.play.agent, run.dir());
    table.agent(&agent, 0).map_err(|e| RunError::Config(format!("play.agent: {e}")))?;
    let strength = match run.auditing() {
        true => None,
        false => config.measure.strength(run, table, &agent, Rng::derive(seed, 7))?,
    };
    job.report(Report {
        model: run.model_path("final").expect("just made"),
        agent,
        strength,
        story,
        plots: vec!["reports/error.svg".into(), "reports/exploration.svg".into()],
        figures: json!({ "metrics": metrics, "curve": curve, "seconds": seconds }),
        ..Report::of(job.plan)
    })
}
