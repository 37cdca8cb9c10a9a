//! CARL (Loftsdóttir, Hjaltadóttir & Ívarsson): SARSA learns before the match what moves are worth to each role, and what it
//! learned guides Monte Carlo tree search: its playouts, or its selection.
//!
//! A run is one policy: a pure function of the options and the seed. It can be stopped at any time (by the start clock of a
//! match, say) and keeps what was learned until then.

use super::{TypedSystem, check_spec, with_model};
use crate::driver::{Context, Curve, Learned};
use crate::fit::Fit;
use crate::measure::Measure;
use crate::native::native;
use crate::nets::check_mlp;
use crate::plot::Series;
use crate::sarsa::{Sarsa, SarsaConfig, SarsaPoint, SarsaTrainer};
use crate::store::{Result, RunError};
use cpu_time::ThreadTime;
use ludex_learn::{Data, Head, Method, Model};
use ludex_play::{Spec, Table};
use serde::Deserialize;
use serde_json::json;

/// SARSA learns what moves are worth; playouts draw moves by it, or selection begins with it.
pub struct Carl<const SELECTION: bool>;

/// `systems/carl-playout.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    train: SarsaConfig,
    play: Play,
    measure: Measure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    agent: Spec,
}

/// Steps of training that are shown as progress and measured.
const STEPS: u64 = 50;

/// The models of all roles as they are now.
fn models(cx: &Context<'_>, sarsa: &Sarsa) -> Result<Vec<Model>> {
    let (last, (branching, plies)) = (sarsa.point(), sarsa.shape());
    let metrics = [
        ("games", Some(last.games as f64)),
        ("expansions", Some(last.expansions as f64)),
        ("error_over_time", Some(last.error)),
        ("expected_exploration", Some(last.exploration)),
        ("branching", Some(branching)),
        ("plies", Some(plies)),
    ];
    let head = Head::MoveScores { moves: cx.info().moves as usize };
    let model = |(encoder, net)| cx.model(&encoder, head, net, &Data::new(encoder.inputs(), 1), &metrics);
    Ok(sarsa.nets()?.into_iter().map(model).collect())
}

/// Error over time or expected exploration factor, as a curve.
fn curve(points: &[SarsaPoint], file: &str, y: &str, value: fn(&SarsaPoint) -> f64) -> Curve {
    let line = points.iter().map(|p| (p.expansions as f64, value(p))).collect();
    let axes = ["expansions".into(), y.into()];
    Curve { file: file.into(), title: y.into(), axes, series: vec![Series::line("", line)] }
}

impl<const SELECTION: bool> TypedSystem for Carl<SELECTION> {
    type Options = Options;
    const NAME: &'static str = if SELECTION { "carl-selection" } else { "carl-playout" };
    const ABOUT: &'static str = match SELECTION {
        true => "SARSA learns what moves are worth, and selection begins with it",
        false => "SARSA learns what moves are worth, and playouts draw moves by it",
    };
    const FILE: &'static str = match SELECTION {
        true => include_str!("../../systems/carl-selection.toml"),
        false => include_str!("../../systems/carl-playout.toml"),
    };
    const ANYTIME: bool = true;

    fn check(o: &Options, table: &dyn Table) -> Result<()> {
        native(table)?;
        if let Method::Mlp(mlp) = o.train.method() {
            let info = table.info();
            check_mlp(&mlp, (info.facts + info.moves) as usize, info.moves as usize)?;
        }
        Sarsa::new(o.train.clone(), table.info(), 0).map_err(|e| RunError::Options(format!("train: {e}")))?;
        check_spec(table, "play.agent", &o.play.agent)
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        with_model(&o.play.agent, &cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned> {
        let begun = ThreadTime::now();
        let (native, stop) = (native(cx.table)?, || cx.run.observer().stopped());
        let every = o.train.games.div_ceil(STEPS).max(1);
        let fresh = || Sarsa::new(o.train.clone(), cx.info(), cx.plan.seed);
        let fit =
            Fit { cx, name: "final", steps: o.train.games, every, patience: 0, measure_start: false, anytime: true };
        let trainer = |sarsa| SarsaTrainer { sarsa, native: &*native, block: every, most: o.train.games, stop: &stop };
        let (model, points) = fit.run(
            || Ok(trainer(fresh()?)),
            |bytes| fresh().ok()?.resume(bytes).map(trainer),
            |trainer, _| models(cx, &trainer.sarsa),
        )?;
        let (seconds, metrics) = (begun.elapsed().as_secs_f64(), &model.provenance.metrics);
        let log = vec![
            format!(
                "{} games in which {} moves were chosen, of {:.1} on average, {:.1} plies a game; {seconds:.1} s of processor time now",
                metrics["games"], metrics["expansions"], metrics["branching"], metrics["plies"]
            ),
            format!(
                "error over time {:.2} of 100, expected exploration factor {:.3}",
                metrics["error_over_time"], metrics["expected_exploration"]
            ),
        ];
        let curves = vec![
            curve(&points, "error", "error over time", |p| p.error),
            curve(&points, "exploration", "expected exploration factor", |p| p.exploration),
        ];
        let figures = json!({ "metrics": metrics, "curve": points, "seconds": seconds });
        let (agent, unlearned, measure) = (Self::agent(o, cx), Spec::word("uct"), o.measure.clone());
        Ok(Learned { agent, unlearned, measure, curves, log, figures })
    }
}
