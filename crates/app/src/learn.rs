//! `ludex learn`, `ludex runs`, `ludex tune` and `ludex reproduce`.

use crate::verbs::{SCHEMA, say};
use crate::{Usage, open, spec};
use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use ludex_play::Table;
use ludex_play::store::{self, Run, RunError, Wanted, Watch};
use ludex_play::systems::exhibit::{Experiment, reproduce};
use ludex_play::systems::{self, PRESETS, Plan, Report, SYSTEMS};
use ludex_play::tune::{Axis, Cem, setting, tune_agent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// What the user can mend is theirs, the rest is ours.
fn sorted(e: RunError) -> anyhow::Error {
    match e {
        RunError::File(..) | RunError::Learning(_) => e.into(),
        RunError::Contest(ludex_play::arena::ContestError::File(..)) => e.into(),
        _ => Usage(e.to_string()).into(),
    }
}

fn threads(given: Option<usize>) -> usize {
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// A bar for each stage, on a terminal; elsewhere silence, but for what must be read.
#[derive(Default)]
pub struct Bars(Mutex<Option<ProgressBar>>);

impl Bars {
    fn bar(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Watch for Bars {
    fn stage(&self, name: &str, parts: usize, done: usize) {
        if done == parts {
            return; // nothing to do, nothing to show
        }
        let style = ProgressStyle::with_template("{msg:<18} {bar:30} {pos}/{len}  {elapsed} elapsed, {eta} left");
        let bar = ProgressBar::new(parts as u64).with_message(name.to_string());
        bar.set_style(style.expect("the template is well formed"));
        bar.set_position(done as u64);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(500));
        *self.bar() = Some(bar);
    }

    fn part(&self) {
        if let Some(bar) = &*self.bar() {
            bar.inc(1);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    fn note(&self, line: &str) {
        match &*self.bar() {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }
}

/// A name that every file system takes.
fn plain(text: &str) -> String {
    let stem = Path::new(text).file_stem().filter(|_| text.contains(['/', '\\']) || text.ends_with(".kif"));
    let text = stem.map_or(text.into(), |s| s.to_string_lossy());
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex learn connect4\n  ludex learn othello --system uct-ccnn --preset hour --seed 2\n  \
    ludex learn morris --set train.view=mover --set filter.draws=keep\n  \
    ludex learn --run runs/connect4-uct-ccnn-quick-1 --resume\n\n\
    A run can be killed at any moment; --resume goes on and ends with the same model, bit for bit."
)]
pub struct Learn {
    /// Which game; may be left out with --resume
    game: Option<String>,
    /// How to learn; `ludex learn --list` tells more
    #[arg(long, default_value = "uct-ccnn")]
    system: String,
    /// How long it may take on two cores: tick (2 s), smoke (20 s), quick (5 min), hour, paper
    #[arg(long, default_value = "quick")]
    preset: String,
    /// Where everything is kept; by default below runs/
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Go on with a run that was interrupted
    #[arg(long)]
    resume: bool,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Change an option of the system, such as train.units=20
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    set: Vec<String>,
    /// Threads; the results do not depend on it
    #[arg(long)]
    threads: Option<usize>,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// List the systems
    #[arg(long)]
    list: bool,
    /// Print the system's options with their explanations
    #[arg(long)]
    options: bool,
}

impl Learn {
    pub fn run(&self) -> Result<()> {
        if self.list {
            return SYSTEMS.iter().try_for_each(|s| say(format!("{:<16} {}", s.name, s.about)));
        }
        if self.options {
            return say(systems::system(&self.system).map_err(sorted)?.file);
        }
        let (plan, dir) = match (&self.game, &self.run) {
            (None, Some(dir)) if self.resume => {
                (Plan::from_toml(&store::config(dir).map_err(sorted)?).map_err(sorted)?, dir.clone())
            }
            (None, _) => {
                return Err(Usage("name a game, or give --run DIR --resume to go on with a run".into()).into());
            }
            (Some(game), dir) => {
                let name = open(game)?.info().name.clone();
                let plan = Plan::new(&name, &self.system, &self.preset, self.seed, &self.set).map_err(sorted)?;
                let own =
                    || PathBuf::from(format!("runs/{}-{}-{}-{}", plain(game), self.system, self.preset, self.seed));
                (plan, dir.clone().unwrap_or_else(own))
            }
        };
        let table = open(&plan.game)?;
        let bars = Bars::default();
        let run = Run::open(&dir, &plan.to_toml(), self.resume, threads(self.threads), &bars).map_err(sorted)?;
        let report = systems::learn(&*table, &run, &plan).map_err(|e| {
            bars.end();
            sorted(e)
        })?;
        if self.json {
            return say(serde_json::to_string_pretty(&report)?);
        }
        show(&report, &dir, &*table)
    }
}

/// The report for people, and what to type next.
fn show(report: &Report, dir: &Path, table: &dyn Table) -> Result<()> {
    let (game, dir) = (&table.info().name, dir.display());
    say(format!("{game}, {}, preset {}, seed {}\n", report.config.system, report.config.preset, report.seed))?;
    say(report.text())?;
    say(format!("\nkept in {dir}: reports/report.json, {}", report.plots.join(", ")))?;
    let sims = report.strength.as_ref().and_then(|s| s.levels.last()).and_then(|l| l.agent.get("sims"));
    let sims = sims.map_or("1000".into(), |s| s.to_string());
    say(format!(
        "next:  ludex play {game} --model {dir} --level 2\n       ludex match {game} --model {dir} 'uct(sims={sims})'\n       \
        ludex runs show {dir}"
    ))
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex runs\n  ludex runs show runs/connect4-uct-ccnn-quick-1\n  \
    ludex runs verify runs/connect4-uct-ccnn-quick-1 --part start/0001")]
pub struct Runs {
    #[command(subcommand)]
    verb: Option<RunsVerb>,
    /// Where the runs are
    #[arg(long, value_name = "DIR", default_value = "runs")]
    dir: PathBuf,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum RunsVerb {
    /// What a run made and found
    Show {
        /// The run
        run: PathBuf,
    },
    /// Check every file, make parts again and compare them byte by byte
    Verify {
        /// The run
        run: PathBuf,
        /// Only this part, such as start/0001
        #[arg(long, conflicts_with = "all")]
        part: Option<String>,
        /// All parts; by default the last of each stage
        #[arg(long)]
        all: bool,
        /// Threads; the results do not depend on it
        #[arg(long)]
        threads: Option<usize>,
    },
}

/// All runs below a directory, one level of experiments included.
fn find(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let folders = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_dir()).collect();
        all.sort();
        all
    };
    for folder in folders(dir) {
        match folder.join("config.toml").exists() {
            true => found.push(folder),
            false => found.extend(folders(&folder).into_iter().filter(|f| f.join("config.toml").exists())),
        }
    }
    found
}

impl Runs {
    pub fn run(&self) -> Result<()> {
        match &self.verb {
            None => self.list(),
            Some(RunsVerb::Show { run }) => self.show(run),
            Some(RunsVerb::Verify { run, part, all, threads: t }) => {
                let wanted = match (part, all) {
                    (Some(part), _) => Wanted::Part(part.clone()),
                    (None, true) => Wanted::All,
                    (None, false) => Wanted::Last,
                };
                self.verify(run, wanted, threads(*t))
            }
        }
    }

    fn list(&self) -> Result<()> {
        let mut rows = Vec::new();
        for dir in find(&self.dir) {
            let text = store::config(&dir).map_err(sorted)?;
            let config: toml::Table = text.parse().unwrap_or_default();
            let word = |key: &str| config.get(key).and_then(|v| v.as_str()).unwrap_or("-").to_string();
            let entries = store::entries(&dir).map_err(sorted)?;
            let rows_made: u64 = entries.iter().filter(|e| e.file.ends_with(".parquet")).map(|e| e.rows).sum();
            let done = dir.join("reports/report.json").exists();
            let model = store::last_model(&dir).ok();
            rows.push(json!({"run": dir, "game": word("game"), "system": word("system"), "preset": word("preset"),
                "seed": config.get("seed").and_then(|v| v.as_integer()), "parts": entries.len(), "examples": rows_made,
                "model": model, "finished": done}));
        }
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "runs": rows});
            return say(serde_json::to_string_pretty(&object)?);
        }
        if rows.is_empty() {
            return say(format!("no runs below {}; `ludex learn connect4` makes one", self.dir.display()));
        }
        for r in rows {
            let state = match (r["finished"].as_bool(), r["model"].is_null()) {
                (Some(true), _) => "finished",
                (_, false) => "has a model, not measured",
                _ => "interrupted: go on with --resume",
            };
            let text = |key: &str| r[key].as_str().unwrap_or("-").to_string();
            say(format!(
                "{:<44} {:<22} {:<14} {:>5} parts {:>9} examples  {state}",
                text("run"),
                text("game"),
                text("system"),
                r["parts"],
                r["examples"]
            ))?;
        }
        Ok(())
    }

    fn show(&self, dir: &Path) -> Result<()> {
        let entries = store::entries(dir).map_err(sorted)?;
        let report = dir.join("reports/report.json");
        let report: Option<serde_json::Value> =
            std::fs::read(&report).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "run": dir, "parts": entries,
                "config": store::config(dir).map_err(sorted)?, "report": report});
            return say(serde_json::to_string_pretty(&object)?);
        }
        say(store::config(dir).map_err(sorted)?)?;
        let mut stages: Vec<(String, usize, u64)> = Vec::new();
        for e in &entries {
            let stage = e.part.split('/').next().unwrap_or(&e.part).to_string();
            match stages.iter_mut().find(|s| s.0 == stage) {
                Some(s) => (s.1, s.2) = (s.1 + 1, s.2 + e.rows),
                None => stages.push((stage, 1, e.rows)),
            }
        }
        for (stage, parts, rows) in stages {
            say(format!("{stage:<12} {parts:>5} parts {rows:>9} rows"))?;
        }
        match report {
            None => say("\nnot finished yet: go on with `ludex learn --run .. --resume`"),
            Some(report) => {
                let lines = report["story"].as_array().into_iter().flatten().filter_map(|l| l.as_str());
                say(format!("\n{}", lines.collect::<Vec<_>>().join("\n")))?;
                say(format!("agent: {}", report["agent"].as_str().unwrap_or("-")))?;
                for a in report["strength"]["anchors"].as_array().into_iter().flatten() {
                    say(format!(
                        "{:.1} % against {}  (+{} ={} -{})",
                        100.0 * a["score"].as_f64().unwrap_or(f64::NAN),
                        a["opponent"].as_str().unwrap_or("-"),
                        a["wdl"]["wins"],
                        a["wdl"]["draws"],
                        a["wdl"]["losses"]
                    ))?;
                }
                Ok(())
            }
        }
    }

    fn verify(&self, dir: &Path, wanted: Wanted, threads: usize) -> Result<()> {
        let text = store::config(dir).map_err(sorted)?;
        let bars = Bars::default();
        let run = Run::audit(dir, wanted.clone(), threads, &bars).map_err(sorted)?;
        if let Wanted::Part(name) = &wanted
            && !store::entries(dir).map_err(sorted)?.iter().any(|e| e.part == *name)
        {
            return Err(
                Usage(format!("{} has no part \"{name}\"; `ludex runs show` lists the stages", dir.display())).into()
            );
        }
        match Tuning::from_toml(&text) {
            Some(tuning) => drop(tuning.run(&run)?),
            None => {
                let plan = Plan::from_toml(&text).map_err(sorted)?;
                systems::learn(&*open(&plan.game)?, &run, &plan).map_err(sorted)?;
            }
        }
        let found = run.findings();
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "run": dir,
                "checked": found.checked, "wrong": found.wrong});
            say(serde_json::to_string_pretty(&object)?)?;
        } else {
            say(format!("{} parts were made again, byte by byte the same unless listed below", found.checked.len()))?;
            found.wrong.iter().try_for_each(say)?;
        }
        match found.wrong.len() {
            0 => Ok(()),
            n => anyhow::bail!("{n} parts of {} do not agree with its manifest", dir.display()),
        }
    }
}

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
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Go on with a tuning that was interrupted
    #[arg(long)]
    resume: bool,
    /// Threads; the results do not depend on it
    #[arg(long)]
    threads: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The config of a tuning's run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tuning {
    schema: u32,
    version: String,
    tuning: bool,
    game: String,
    agent: String,
    against: String,
    seed: u64,
    cem: Cem,
    axes: Vec<Axis>,
}

impl Tuning {
    fn from_toml(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    fn run(&self, run: &Run<'_>) -> Result<ludex_play::tune::Tuned> {
        let table = open(&self.game)?;
        let (agent, against) = (spec(&self.agent)?, spec(&self.against)?);
        tune_agent(run, &*table, (&agent, &against), &self.axes, &self.cem, self.seed).map_err(sorted)
    }
}

fn axis(text: &str) -> Result<Axis> {
    let read = || {
        let (option, range) = text.split_once('=')?;
        let (low, high) = range.split_once("..")?;
        Some(Axis { option: option.trim().into(), low: low.trim().parse().ok()?, high: high.trim().parse().ok()? })
    };
    read().ok_or_else(|| Usage(format!("--option reads OPTION=LOW..HIGH, such as c=0.2..2.0, not \"{text}\"")).into())
}

impl Tune {
    pub fn run(&self) -> Result<()> {
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
        cem.check(&axes).map_err(Usage)?;
        let agent = spec(&self.agent)?;
        let tuning = Tuning {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            tuning: true,
            game: open(&self.game)?.info().name.clone(),
            agent: agent.to_string(),
            against: self.against.as_deref().map_or(Ok(agent.clone()), spec)?.to_string(),
            seed: self.seed,
            cem,
            axes,
        };
        let text = toml::to_string(&tuning).context("writing the configuration")?;
        let own = || PathBuf::from(format!("runs/tune-{}-{}", plain(&self.game), &store::sha256(text.as_bytes())[..8]));
        let dir = self.run.clone().unwrap_or_else(own);
        let bars = Bars::default();
        let run = Run::open(&dir, &text, self.resume, threads(self.threads), &bars).map_err(sorted)?;
        let tuned = tuning.run(&run)?;
        run.report("tuning.json", &serde_json::to_vec_pretty(&tuned)?).map_err(sorted)?;
        for (i, a) in tuning.axes.iter().enumerate() {
            let plot = systems::uct_ccnn::tuning_plot(&tuned, i, &a.option);
            run.report(&format!("tuning-{}.svg", a.option), plot.as_bytes()).map_err(sorted)?;
        }
        let result = setting(&agent, &tuning.axes, &tuned.values);
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "config": tuning, "seed": self.seed,
                "values": tuned.values, "deviation": tuned.deviation, "agent": result, "rounds": tuned.rounds});
            return say(serde_json::to_string_pretty(&object)?);
        }
        for (i, a) in tuning.axes.iter().enumerate() {
            say(format!("{:<12} {:.4}  (deviation {:.4})", a.option, tuned.values[i], tuned.deviation[i]))?;
        }
        say(format!("agent: {result}\nkept in {}: reports/tuning.json and a plot for each option", dir.display()))
    }
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex reproduce uct-ccnn --game othello --preset hour\n  \
    ludex reproduce uct-ccnn --game morris --preset smoke --table 6 --markdown")]
pub struct Reproduce {
    /// Which system
    system: String,
    /// Which of the paper's games (or any other); all of the paper's if not given
    #[arg(long)]
    game: Option<String>,
    /// Only this table or figure
    #[arg(long, value_name = "N")]
    table: Option<String>,
    /// How long it may take on two cores, for each game: tick, smoke, quick, hour, paper
    #[arg(long, default_value = "quick")]
    preset: String,
    /// How many training seeds
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where everything is kept; by default below runs/. What is there is not done again
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Change an option of the system, such as train.units=20
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    set: Vec<String>,
    /// Threads; the results do not depend on it
    #[arg(long)]
    threads: Option<usize>,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Reproduce {
    pub fn run(&self) -> Result<()> {
        let system = systems::system(&self.system).map_err(sorted)?;
        if !PRESETS.contains(&self.preset.as_str()) {
            return Err(
                Usage(format!("no preset is called \"{}\": there are {}", self.preset, PRESETS.join(", "))).into()
            );
        }
        if self.seeds == 0 {
            return Err(Usage("--seeds must be at least 1".into()).into());
        }
        let games: Vec<&str> = self.game.as_deref().map_or(system.games.to_vec(), |g| vec![g]);
        let bars = Bars::default();
        let (mut all, mut found) = (Vec::new(), false);
        for game in games {
            let table = open(game)?;
            let own = || PathBuf::from(format!("runs/reproduce-{}-{}-{}", self.system, plain(game), self.preset));
            let dir = self.run.as_ref().map_or_else(own, |d| d.join(plain(game)));
            let experiment = Experiment {
                table: &*table,
                system: system.name,
                preset: &self.preset,
                seeds: (self.seed..self.seed + self.seeds).collect(),
                settings: self.set.clone(),
                dir: &dir,
                threads: threads(self.threads),
                watch: &bars,
                only: self.table.clone(),
            };
            let exhibits = reproduce(&experiment).map_err(|e| {
                bars.end();
                sorted(e)
            })?;
            let shown = json!({"game": table.info().name, "exhibits": exhibits});
            std::fs::write(dir.join("exhibits.json"), serde_json::to_vec_pretty(&shown)?)
                .with_context(|| format!("writing {}", dir.join("exhibits.json").display()))?;
            if !self.json {
                say(match self.markdown {
                    true => format!("## {}, {}, preset {}\n", self.system, table.info().name, self.preset),
                    false => format!("{}, {}, preset {}\n", self.system, table.info().name, self.preset),
                })?;
                for e in &exhibits {
                    say(if self.markdown { e.markdown() } else { e.text() })?;
                }
            }
            found |= !exhibits.is_empty();
            all.push(shown);
        }
        if let Some(name) = self.table.as_ref().filter(|_| !found) {
            return Err(Usage(format!(
                "{} has no table or figure {name:?}; without --table all are printed",
                self.system
            ))
            .into());
        }
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "seed": self.seed,
                "config": {"system": self.system, "preset": self.preset, "seeds": self.seeds, "set": self.set,
                    "table": self.table}, "games": all});
            say(serde_json::to_string_pretty(&object)?)?;
        }
        Ok(())
    }
}

/// The agent that a run learned, at one of its levels if there are any.
pub fn learned(model: &Path, level: Option<usize>) -> Result<ludex_play::Spec> {
    let report = model.join("reports/report.json");
    if !model.is_dir() || !report.exists() {
        if let Some(level) = level {
            let line =
                format!("{} has no levels: it is not a finished run, so leave out --level {level}", model.display());
            return Err(Usage(line).into());
        }
        return Ok(ludex_play::Spec::word("neural").with("model", model.display()));
    }
    let bytes = std::fs::read(&report).with_context(|| format!("reading {}", report.display()))?;
    let report: serde_json::Value =
        serde_json::from_slice(&bytes).with_context(|| format!("reading {}", report.display()))?;
    let levels = report["strength"]["levels"].as_array().cloned().unwrap_or_default();
    let text = match level {
        None => report["agent"].as_str().map(String::from),
        Some(n) => levels.get(n.wrapping_sub(1)).and_then(|l| l["agent"].as_str()).map(String::from),
    };
    let Some(text) = text else {
        return Err(Usage(format!("{} has levels 1 to {}", model.display(), levels.len())).into());
    };
    let mut spec = spec(&text)?;
    // The run may have been moved since; its model may be a playout's.
    if !spec.replace("model", &model.display().to_string()) {
        spec.set("model", model.display());
    }
    Ok(spec)
}
