//! `ludex learn`: rules in, graded agents and a strength report out.

use crate::agents::unicode_path;
use crate::errors::{go_on, run_error, usage};
use crate::open;
use crate::shell::{program, shell_word};
use crate::verbs::say;
use crate::work::{ProgressBars, Threads, check_seed, file_name};
use anyhow::Result;
use clap::Parser;
use ludex_play::Table;
use ludex_train::store::{self, Run, RunObserver};
use ludex_train::systems::{SYSTEMS, TdNnue, system, system_for};
use ludex_train::{Job, Plan, Report};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex learn connect4\n  ludex learn othello --minutes 20\n  \
    ludex learn morris --system uct-ccnn --preset hour --seed 2 --set train.view=mover\n  \
    ludex learn --run runs/connect4-td-nnue-quick-1 --resume\n  \
    ludex learn --run runs/connect4-td-nnue-quick-1 --minutes 10   (goes on from what it learned, in a run of its own)\n\n\
    A run can be killed at any moment; --resume goes on and ends with the same model, bit for bit.")]
pub struct Learn {
    /// Which game; may be left out with --resume
    game: Option<String>,
    /// How to learn; by default td-nnue, or what can learn the game. `ludex learn --list` tells more
    #[arg(long)]
    system: Option<String>,
    /// How long it may take on two cores: tick (2 s), smoke (20 s), quick (5 min), hour, paper
    #[arg(long, default_value = "quick")]
    preset: String,
    /// How long it may take on this machine, instead of a preset
    #[arg(long, value_name = "M", conflicts_with = "preset")]
    minutes: Option<f64>,
    /// Where everything is kept; by default below runs/
    #[arg(long, value_name = "DIR", value_parser = unicode_path)]
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
    #[command(flatten)]
    threads: Threads,
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
            return SYSTEMS.iter().try_for_each(|s| say(format!("{:<16} {}", s.name(), s.about())));
        }
        if self.options {
            let name = self.system.as_deref().unwrap_or(SYSTEMS[0].name());
            return say(system(name).map_err(usage)?.file());
        }
        let threads = self.threads.count()?;
        let (table, plan, dir) = self.plan()?;
        end_at_once(&dir)?;
        let bars = Arc::new(ProgressBars::default());
        let run = Run::open(&dir, &plan.to_toml(), self.resume, threads, bars.clone());
        let job = Job { run: run.map_err(|e| run_error(&dir, e))?, plan, table };
        let report = job.learn().map_err(|e| {
            bars.end();
            run_error(&dir, e)
        })?;
        if self.json {
            return say(serde_json::to_string_pretty(&report)?);
        }
        show(&report, &dir, &*job.table)
    }

    /// The minutes as options: most for learning, the rest for measuring and levels.
    fn time(&self) -> Result<Vec<String>> {
        match self.minutes {
            None => Ok(Vec::new()),
            Some(m) if m > 0.0 && m <= 100_000.0 => {
                Ok(vec![format!("train.minutes={:?}", 0.7 * m), format!("measure.minutes={:?}", 0.3 * m)])
            }
            Some(m) => Err(usage(format!("--minutes is a number up to 100000, not {m}"))),
        }
    }

    /// What is to be learned and where it is kept: as typed, or as the run says that is gone on with.
    fn plan(&self) -> Result<(Arc<dyn Table>, Plan, PathBuf)> {
        let Some(game) = &self.game else {
            if let (Some(from), Some(minutes), false) = (&self.run, self.minutes, self.resume) {
                let failed = |e| run_error(from, e);
                let table = open(&store::config(from).and_then(|text| Plan::from_toml(&text)).map_err(failed)?.game)?;
                let plan = TdNnue::extended(&*table, from, &self.time()?).map_err(failed)?;
                let dir = format!("{}+{minutes}min", from.to_string_lossy().trim_end_matches('/'));
                return Ok((table, plan, dir.into()));
            }
            let dir = self.run.clone().filter(|_| self.resume);
            let dir = dir.ok_or_else(|| usage("name a game, or give --run DIR with --resume to go on with a run, or with --minutes M to extend it"))?;
            let plan = store::config(&dir).and_then(|text| Plan::from_toml(&text)).map_err(|e| run_error(&dir, e))?;
            return Ok((open(&plan.game)?, plan, dir));
        };
        check_seed(self.seed)?;
        let table = open(game)?;
        let system = match &self.system {
            Some(name) => system(name).map_err(usage)?,
            None => {
                let (found, refused) = system_for(&*table).map_err(usage)?;
                refused.first().map(|why| say(format!("{why}: {} learns it instead", found.name()))).transpose()?;
                found
            }
        };
        let set = [self.time()?, self.set.clone()].concat();
        let plan = Plan::new(&*table, system, &self.preset, self.seed, &set).map_err(|e| match self.minutes {
            Some(_) if !system.file().contains("\nminutes") => {
                usage(format!("{} has no minutes: give --preset", system.name()))
            }
            _ => usage(e),
        })?;
        let length = self.minutes.map_or(plan.preset.clone(), |m| format!("{m}min"));
        let own = || PathBuf::from(format!("runs/{}-{}-{length}-{}", file_name(game), plan.system, plan.seed));
        let dir = self.run.clone().unwrap_or_else(own);
        Ok((table, plan, dir))
    }
}

/// Ends the program at Ctrl-C or when it is asked to end, with the line that goes on. Nothing is lost: a run can be killed at
/// any moment.
fn end_at_once(dir: &Path) -> Result<()> {
    let line = go_on(dir);
    let end = move || {
        eprintln!("\nstopped: {line}");
        std::process::exit(130);
    };
    ctrlc::set_handler(end).map_err(|e| anyhow::anyhow!("cannot listen to signals: {e}"))
}

/// Prints the report for people, and what to type next.
fn show(report: &Report, dir: &Path, table: &dyn Table) -> Result<()> {
    let info = table.info();
    let (config, seed) = (&report.config, report.seed);
    say(format!("{}, {}, seed {seed}\n", info.name, config.system))?;
    say(report.text())?;
    let kept = [&["reports/report.json".to_string()], &report.plots[..]].concat().join(", ");
    let bundle = if report.bundle.is_some() { "bundle.ludex, " } else { "" };
    say(format!("\nkept in {}: {bundle}{kept}", dir.display()))?;
    let (ludex, game, run) = (program(), shell_word(&config.game), dir.to_string_lossy());
    let (level, run) = (shell_word(&format!("level:best@{run}")).into_owned(), shell_word(&run));
    let mut next = Vec::new();
    if info.players() == 2 {
        let medium = if report.levels.len() > 1 { " --level medium" } else { "" };
        next.push(format!("{ludex} play {game} --model {run}{medium}"));
        if report.bundle.is_some() {
            next.push(format!("{ludex} match {game} {level} 'uct(cpu_ms=10)'"));
        }
    }
    if config.system == SYSTEMS[0].name() {
        next.push(format!("{ludex} learn --run {run} --minutes 10"));
    }
    next.push(format!("{ludex} runs show {run}"));
    say(format!("next:  {}", next.join("\n       ")))
}
