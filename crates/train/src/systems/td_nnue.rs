//! TD-NNUE: an accumulator net on the game's facts learns by temporal differences and judges the leaves of alpha-beta.
//!
//! A short survey of random play and a measurement of speed choose what the options leave open; then the net is
//! trained, generation by generation, by `td_trainer`.

use super::{TypedSystem, check_spec, check_zero_sum, with_model};
use crate::driver::{Context, Curve, Learned, Stream};
use crate::fit::Fit;
use crate::measure::Measure;
use crate::native::native;
use crate::plan::{Plan, change};
use crate::plot::Series;
use crate::store::{Json, RunError, config};
use crate::td::{Survey, TdConfig};
use crate::td_trainer::{
    Choices, NetOptions, SearchPhase, TdTrainer, TdTraining, Train, affordable, net_config, weights_of,
};
use ludex_learn::{NnueLearner, Phases, WIDTHS};
use ludex_play::{Spec, Table};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Temporal differences, an accumulator net, and alpha-beta.
pub struct TdNnue;

/// `systems/td-nnue.toml` explains them.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    net: NetOptions,
    selfplay: SelfPlayOptions,
    train: Train,
    search: SearchPhase,
    play: Play,
    measure: Measure,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SelfPlayOptions {
    opening_plies: u32,
    epsilon: f32,
    lambda: f32,
    margin: f32,
    wins: Wins,
    symmetries: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wins {
    Auto,
    On,
    Off,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    agent: Spec,
}

/// Random games that show what the rules are like.
const SURVEY_GAMES: u64 = 2000;
/// Where random play has a win in one in this share of states, self-play looks for those of the opponent.
const OFTEN: f64 = 0.05;

/// Chooses what the options leave open.
fn choose(cx: &Context<'_>, o: &Options) -> Result<Choices, RunError> {
    let survey = native(cx.table)?.survey(SURVEY_GAMES, cx.seed(Stream::States));
    let wins = match o.selfplay.wins {
        Wins::Auto => survey.wins > OFTEN,
        wins => wins == Wins::On,
    };
    let opening_plies = match o.selfplay.opening_plies {
        0 => (3.5 * survey.plies.sqrt()).round() as u32,
        n => n,
    };
    let margin = if survey.margin { o.selfplay.margin } else { 0.0 };
    let (epsilon, lambda) = (o.selfplay.epsilon, o.selfplay.lambda);
    let selfplay = TdConfig { opening_plies, epsilon, lambda, margin, wins, nodes: 0 };
    let phases = o.net.phases.max(1);
    let (width, positions) = (o.net.width, o.train.positions);
    let mut choices =
        Choices { width, phases, selfplay, positions, generation: 1, searched: 0, searched_generation: 1, survey };
    if choices.width == 0 {
        choices.width = 128;
        let positions = match choices.positions {
            0 => affordable(cx, o.training(), &choices, false)?,
            n => n,
        };
        choices.width = match positions {
            0..40_000_000 => 128,
            40_000_000..160_000_000 => 256,
            _ => 512,
        };
    }
    let share = o.search.share;
    if share > 0.0 {
        choices.searched = match positions {
            0 => (affordable(cx, o.training(), &choices, true)? as f64 * share) as u64,
            // A search of so many nodes costs about as much as so many positions one ply ahead.
            n => (n as f64 * share * choices.survey.branching / o.search.nodes as f64) as u64,
        };
        choices.searched_generation = (choices.searched / 50).clamp(500, 50_000);
    }
    if positions == 0 {
        choices.positions = affordable(cx, o.training(), &choices, false)?;
    }
    choices.positions = ((choices.positions as f64 * (1.0 - share)) as u64).max(1);
    choices.generation = match o.train.generation {
        0 => (choices.positions / 100).clamp(5000, 200_000),
        n => n,
    }
    .min(choices.positions);
    Ok(choices)
}

/// The search that plays, without what was learned: what the options say, with what was found about the game.
fn search(o: &Options, choices: Option<&Choices>) -> Spec {
    let mut agent = o.play.agent.clone();
    if agent.name == "pvs" && agent.get("wins").is_none() && choices.is_some_and(|c| c.selfplay.wins) {
        agent.set("wins", "on");
    }
    agent
}

impl Options {
    /// How the net is trained.
    fn training(&self) -> TdTraining<'_> {
        let Options { net, train, search, .. } = self;
        TdTraining { net, train, search, symmetries: self.selfplay.symmetries }
    }
}

impl TdNnue {
    /// A plan that goes on from what a finished run of this system learned, for so many minutes more.
    pub fn extended(table: &dyn Table, run: &Path, minutes: &[String]) -> Result<Plan, RunError> {
        let plan = Plan::from_toml(&config(run)?)?;
        if plan.system != Self::NAME {
            return Err(RunError::Options(format!(
                "only runs of {} can be extended; {} is one of {}",
                Self::NAME,
                run.display(),
                plan.system
            )));
        }
        let (_, sum) = weights_of(run)?;
        let choices = std::fs::read(run.join("parts/choices.json")).ok();
        let choices: Option<Choices> = choices.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let choices =
            choices.ok_or_else(|| RunError::Options(format!("{} does not say what was chosen", run.display())))?;
        let run = std::path::absolute(run).map_err(|e| RunError::File(run.into(), e))?;
        let start = [
            format!("net.width={}", choices.width),
            format!("train.start={:?}", run.to_string_lossy()),
            format!("train.start_sha256={sum}"),
            "train.positions=0".into(),
            "train.rate=5e-4".into(),
        ];
        let options = change(plan.options, &[&start, minutes].concat())?;
        TdNnue::check(&crate::plan::read(&options)?, table)?;
        Ok(Plan { options, version: env!("CARGO_PKG_VERSION").into(), ..plan })
    }
}

impl TypedSystem for TdNnue {
    type Options = Options;
    const NAME: &'static str = "td-nnue";
    const ABOUT: &'static str =
        "temporal differences teach an accumulator net (NNUE) by self-play, and alpha-beta searches with it";
    const FILE: &'static str = include_str!("../../systems/td-nnue.toml");
    const ANYTIME: bool = true;

    fn check(o: &Options, table: &dyn Table) -> Result<(), RunError> {
        check_zero_sum(table, Self::NAME)?;
        if native(table)?.survey(3, 1).hidden {
            let line =
                format!("{} learns games in which one moves at a time; {} is not one", Self::NAME, table.info().name);
            return Err(RunError::Options(line));
        }
        let refuse = |line: String| Err(RunError::Options(line));
        if o.net.width != 0 && !WIDTHS.contains(&o.net.width) {
            return refuse(format!("net.width={}: 0 or one of {WIDTHS:?}", o.net.width));
        }
        if o.train.positions == 0 && o.train.minutes <= 0.0 {
            return refuse("train.minutes and train.positions are both 0: there is nothing to learn from".into());
        }
        o.train.start_weights()?;
        let facts = table.info().facts as usize;
        let survey = Survey { most_active: facts, ..Survey::default() };
        let width = if o.net.width == 0 { 64 } else { o.net.width };
        NnueLearner::new(net_config(o.training(), &survey, width, &Phases::default(), facts), 0)
            .map_err(|e| RunError::Options(format!("train: {e}")))?;
        if o.search.share > 0.0 && o.search.nodes == 0 {
            return refuse("search.nodes=0: a search has one node at least".into());
        }
        check_spec(table, "play.agent", &o.play.agent)
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        let choices = cx.run.recorded::<Json<Choices>>("choices").ok().flatten();
        with_model(&search(o, choices.as_ref().map(|Json(c)| c)), &cx.learned_model())
    }

    fn for_clock(seconds: f64) -> Vec<String> {
        // The survey, the measurement of speed and a search for symmetries come first; the latter may take many seconds.
        vec![
            format!("train.minutes={:?}", (seconds * 0.8 / 60.0).max(0.01)),
            format!("selfplay.symmetries={}", seconds >= 60.0),
            "search.share=0.0".into(),
        ]
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned, RunError> {
        let choices = match cx.run.recorded::<Json<Choices>>("choices")? {
            Some(Json(choices)) => choices,
            None => {
                let choices = choose(cx, o)?;
                cx.run.keep("choices", &Json(choices.clone()))?;
                choices
            }
        };
        let c = &choices;
        let steps = c.generations();
        let every = steps.div_ceil(100);
        let fit = Fit { cx, name: "final", steps, every, patience: 0, measure_start: false, anytime: true };
        let fresh = || TdTrainer::new(cx, o.training(), c);
        let start = Instant::now();
        let (model, points) = fit.run(
            fresh,
            |bytes| fresh().ok()?.resume(bytes),
            |trainer, curve| {
                trainer.keep_weights()?;
                Ok(vec![trainer.model(curve)])
            },
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let log = vec![
            format!(
                "{} positions of self-play in {steps} generations, {} of them by searches, accumulator of width {}, \
                 {seconds:.0} s now",
                c.played(steps),
                c.played(steps) - c.played(c.first_phase()),
                c.width
            ),
            format!(
                "up to {} random plies before a game, wins in one {}, margin {}",
                c.selfplay.opening_plies,
                if c.selfplay.wins { "looked for" } else { "not looked for" },
                if c.selfplay.margin > 0.0 { "learned too" } else { "not used" },
            ),
        ];
        let line = points.iter().map(|p| (p.positions as f64, p.loss)).collect();
        let axes = ["positions", "cross-entropy"].map(String::from);
        let series = vec![Series::line("", line)];
        let curves = vec![Curve { file: "curve".into(), title: "Learning curve".into(), axes, series }];
        let figures = json!({ "choices": c, "curve": points, "seconds": seconds, "metrics": model.provenance.metrics });
        let unlearned = search(o, Some(c));
        Ok(Learned { agent: Self::agent(o, cx), unlearned, measure: o.measure.clone(), curves, log, figures })
    }
}
