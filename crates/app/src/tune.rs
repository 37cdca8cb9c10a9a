//! `ludex tune`: the cross-entropy method over numeric options of any agent.

use crate::agents::unicode_path;
use crate::contest::{LEVEL, percent, tally_json};
use crate::errors::{contest_error, run_error, usage};
use crate::verbs::{SCHEMA, say};
use crate::work::{ProgressBars, Threads, check_bounds, check_seed, file_name};
use crate::{open, spec};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::Rng;
use ludex_play::arena::{Contest, Tally, tally};
use ludex_play::stats::{match_elo, score_interval};
use ludex_play::{Spec, Table};
use ludex_train::plot::{Frame, svg};
use ludex_train::store::{self, Run, RunError};
use ludex_train::tune::{Axis, Cem, Tuned, check_axes, probes, setting, tune_agent, tuning_curve};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex tune othello --agent 'uct(sims=200, form=kocsis, reward=signed)' --option c=0.2..2.0\n  \
    ludex tune connect4 --agent 'uct(sims=500, playout=mast)' --option c=0.1..2 --option playout.eps=0..1 --against 'uct(sims=500)'\n\n\
    A tournament instead, every constant against every other on several boards and at several limits:\n  \
    ludex reproduce uct-nn --table 3 --set 'reproduce.constants=[0.5, 1.0, 1.41, 2.0]' --set 'reproduce.limits=[610, 1221]'"
)]
pub struct Tune {
    /// Which game
    game: String,
    /// The agent whose options are tuned
    #[arg(long, value_name = "SPEC", default_value = "uct(sims=200)")]
    agent: String,
    /// An option and its range, such as c=0.2..2.0; may be given several times
    #[arg(long = "option", value_name = "OPTION=LOW..HIGH", required = true)]
    options: Vec<String>,
    /// The fixed opponent; the agent as it stands if not given
    #[arg(long, value_name = "SPEC")]
    against: Option<String>,
    /// How often the distribution is moved
    #[arg(long, default_value_t = 8)]
    iterations: usize,
    /// Settings drawn in each iteration
    #[arg(long, default_value_t = 16)]
    population: usize,
    /// How many of them the next distribution is made of
    #[arg(long, default_value_t = 4)]
    elites: usize,
    /// Games that each setting plays
    #[arg(long, default_value_t = 20)]
    games: usize,
    /// How far the distribution moves towards the elites, from 0 to 1
    #[arg(long, default_value_t = 0.7)]
    smoothing: f64,
    /// Games in the end, in which the result plays the agent as it stands; 0 leaves them out
    #[arg(long, value_name = "GAMES", default_value_t = 200)]
    confirm: usize,
    /// Draw the first settings uniformly
    #[arg(long)]
    uniform: bool,
    /// Random plies before each pair of games
    #[arg(long, default_value_t = 2)]
    opening_plies: u32,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where everything is kept; by default below runs/
    #[arg(long, value_name = "DIR", value_parser = unicode_path)]
    run: Option<PathBuf>,
    /// Go on with a tuning that was interrupted
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The stream of the games that confirm a result; those of the tuning itself begin at 1000.
const FRESH: u64 = 999;

/// More iterations, or settings in each, than this are a slip.
const MOST: usize = 10_000;

/// The config of a tuning's run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    schema: u32,
    version: String,
    tuning: bool,
    game: String,
    agent: String,
    against: String,
    seed: u64,
    /// Games of the result against the agent as it stands; 0 in runs of versions that played none.
    #[serde(default)]
    confirm: usize,
    cem: Cem,
    axes: Vec<Axis>,
}

impl Tuning {
    /// The config of a run, if it is that of a tuning.
    pub fn from_toml(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    fn agents(&self) -> Result<(Spec, Spec)> {
        Ok((spec(&self.agent)?, spec(&self.against)?))
    }

    /// Refuses what cannot be tuned, before anything is written: the agent is built at the ends and in the middle of every range.
    fn check(&self, table: &dyn Table) -> Result<()> {
        check_seed(self.seed)?;
        check_bounds("--iterations", self.cem.iterations, (1, MOST))?;
        check_bounds("--population", self.cem.population, (1, MOST))?;
        self.cem.check(&self.axes).map_err(usage)?;
        let (agent, against) = self.agents()?;
        let contest = |a: &Spec, b: &Spec, games: usize| {
            let contest = Contest::new(table, vec![a.clone(), b.clone()], (games, self.cem.opening_plies), self.seed);
            contest.check(table).map_err(|e| contest_error(table, e))
        };
        contest(&agent, &against, self.confirm)?;
        for values in probes(&self.axes) {
            contest(&setting(table, &agent, &self.axes, &values), &against, self.cem.games)?;
        }
        check_axes(table, &agent, &self.axes).map_err(usage)
    }

    /// Plays the result against the agent as it stands, in games that had no part in the tuning.
    fn confirm(&self, run: &Run, table: &dyn Table, result: &Spec) -> Result<Option<Tally>> {
        let (agent, _) = self.agents()?;
        if self.confirm == 0 || *result == agent {
            return Ok(None);
        }
        let games = (self.confirm, self.cem.opening_plies);
        let contest = Contest::new(table, vec![result.clone(), agent], games, Rng::derive(self.seed, FRESH));
        let results = run.contest("confirmation", table, &contest).map_err(|e| {
            run.observer().end();
            error(e, run.dir())
        })?;
        Ok(tally(&contest, &results).into_iter().next())
    }

    /// Tunes, or does what is missing.
    pub fn run(&self, run: &Run) -> Result<Tuned> {
        let table = open(&self.game)?;
        let (agent, against) = self.agents()?;
        let tuned = tune_agent(run, &*table, (&agent, &against), &self.axes, &self.cem, self.seed);
        tuned.map_err(|e| {
            run.observer().end();
            error(e, run.dir())
        })
    }
}

/// An error of a tuning's run. A tuning is gone on with by the same command.
fn error(e: RunError, dir: &std::path::Path) -> anyhow::Error {
    match &e {
        RunError::OtherConfig(_) => usage(format!("{e}: choose another --run")),
        RunError::Stopped => anyhow::anyhow!("{e}: go on with the same `ludex tune` and --resume"),
        _ => run_error(dir, e),
    }
}

fn axis(text: &str) -> Result<Axis> {
    let read = || {
        let (option, range) = text.split_once('=')?;
        let (low, high) = range.split_once("..")?;
        Some(Axis { option: option.trim().into(), low: low.trim().parse().ok()?, high: high.trim().parse().ok()? })
    };
    read().ok_or_else(|| usage(format!("--option reads OPTION=LOW..HIGH, such as c=0.2..2.0, not \"{text}\"")))
}

impl Tune {
    pub fn run(&self) -> Result<()> {
        let threads = self.threads.count()?;
        let axes = self.options.iter().map(|o| axis(o)).collect::<Result<Vec<_>>>()?;
        let cem = Cem {
            iterations: self.iterations,
            population: self.population,
            elites: self.elites,
            games: self.games,
            smoothing: self.smoothing,
            uniform_start: self.uniform,
            opening_plies: self.opening_plies,
        };
        let table = open(&self.game)?;
        let agent = spec(&self.agent)?;
        let tuning = Tuning {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            tuning: true,
            game: table.info().name.clone(),
            agent: agent.to_string(),
            against: self.against.as_deref().map_or(Ok(agent.clone()), spec)?.to_string(),
            seed: self.seed,
            confirm: self.confirm,
            cem,
            axes,
        };
        tuning.check(&*table)?;
        let text = toml::to_string(&tuning).context("writing the configuration")?;
        let hash = &store::sha256(text.as_bytes())[..8];
        let own = || PathBuf::from(format!("runs/tune-{}-{hash}", file_name(&self.game)));
        let dir = self.run.clone().unwrap_or_else(own);
        let failed = |e| error(e, &dir);
        let run = Run::open(&dir, &text, self.resume, threads, Arc::new(ProgressBars::default())).map_err(failed)?;
        let tuned = tuning.run(&run)?;
        let result = setting(&*table, &agent, &tuning.axes, &tuned.values);
        let confirmed = tuning.confirm(&run, &*table, &result)?;
        run.report("tuning.json", &serde_json::to_vec_pretty(&tuned)?).map_err(failed)?;
        for (i, a) in tuning.axes.iter().enumerate() {
            let curve = tuning_curve(&tuned, i, &a.option);
            let frame = Frame { title: &curve.title, x: &curve.axes[0], y: &curve.axes[1], log_x: false };
            let plot = svg(&frame, &curve.series).map_err(failed)?;
            run.report(&format!("tuning-{}.svg", a.option), plot.as_bytes()).map_err(failed)?;
        }
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "config": tuning, "seed": self.seed,
                "values": tuned.values, "deviation": tuned.deviation, "agent": result, "rounds": tuned.rounds,
                "confirmation": confirmed.as_ref().map(tally_json)});
            return say(serde_json::to_string_pretty(&object)?);
        }
        for (i, a) in tuning.axes.iter().enumerate() {
            say(format!("{:<12} {:.4}  (deviation {:.4})", a.option, tuned.values[i], tuned.deviation[i]))?;
        }
        say(format!("agent: {result}"))?;
        match &confirmed {
            Some(t) => say(verdict(t, &agent))?,
            None => say("not confirmed: no fresh games were played against the agent as it stands")?,
        }
        say(format!("kept in {}: reports/tuning.json and a plot for each option", dir.display()))
    }
}

/// What fresh games say about the result, with a 95 % interval.
fn verdict(t: &Tally, default: &Spec) -> String {
    let (p, wdl) = (t.pairs.pentanomial(), t.pairs.wdl());
    let (score, elo) = (score_interval(&p, LEVEL), match_elo(&p, LEVEL));
    let verdict = match () {
        _ if score.low > 0.5 => "confirmed: it is better than",
        _ if score.high < 0.5 => "refuted: it is worse than",
        _ => "not confirmed: it cannot be told apart from",
    };
    let interval = format!("{} % [{}, {}]", percent(wdl.score()), percent(score.low), percent(score.high));
    let elo = format!("Elo {:+.0} [{:+.0}, {:+.0}]", elo.value, elo.low, elo.high);
    format!(
        "{verdict} {default} in {} fresh games: {interval}   +{} ={} -{}   {elo}",
        wdl.games(),
        wdl.wins,
        wdl.draws,
        wdl.losses
    )
}
