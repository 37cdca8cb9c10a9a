//! `ludex learn`: rules in, graded agents and a strength report out.

use crate::agents::unicode_path;
use crate::errors::{run_error, usage};
use crate::open;
use crate::shell::shell_word;
use crate::verbs::say;
use crate::work::{ProgressBars, Threads, check_seed, file_name};
use anyhow::Result;
use clap::Parser;
use ludex_play::Table;
use ludex_train::store::{self, Run, RunObserver};
use ludex_train::systems::{SYSTEMS, system};
use ludex_train::{Job, Plan, Report};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
            return say(system(&self.system).map_err(usage)?.file());
        }
        let threads = self.threads.count()?;
        let (table, plan, dir) = self.plan()?;
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

    /// What is to be learned and where it is kept: as typed, or as the run says that is gone on with.
    fn plan(&self) -> Result<(Arc<dyn Table>, Plan, PathBuf)> {
        let Some(game) = &self.game else {
            let dir = self.run.clone().filter(|_| self.resume);
            let dir = dir.ok_or_else(|| usage("name a game, or give --run DIR --resume to go on with a run"))?;
            let plan = store::config(&dir).and_then(|text| Plan::from_toml(&text)).map_err(|e| run_error(&dir, e))?;
            return Ok((open(&plan.game)?, plan, dir));
        };
        check_seed(self.seed)?;
        let table = open(game)?;
        let system = system(&self.system).map_err(usage)?;
        let plan = Plan::new(&*table, system, &self.preset, self.seed, &self.set).map_err(usage)?;
        let own = || PathBuf::from(format!("runs/{}-{}-{}-{}", file_name(game), plan.system, plan.preset, plan.seed));
        let dir = self.run.clone().unwrap_or_else(own);
        Ok((table, plan, dir))
    }
}

/// Prints the report for people, and what to type next.
fn show(report: &Report, dir: &Path, table: &dyn Table) -> Result<()> {
    let info = table.info();
    let (config, seed) = (&report.config, report.seed);
    say(format!("{}, {}, preset {}, seed {seed}\n", info.name, config.system, config.preset))?;
    say(report.text())?;
    let kept = [&["reports/report.json".to_string()], &report.plots[..]].concat().join(", ");
    say(format!("\nkept in {}: {kept}", dir.display()))?;
    let (game, run) = (shell_word(&info.name), dir.to_string_lossy());
    let run = shell_word(&run);
    if info.players() == 2 {
        let levels = report.strength.as_ref().map_or(&[][..], |s| &s.levels);
        let level = if levels.len() > 1 { " --level 2" } else { "" };
        let sims = levels.last().and_then(|l| l.agent.get("sims")).map_or("1000".into(), |s| s.to_string());
        say(format!("next:  ludex play {game} --model {run}{level}"))?;
        say(format!("       ludex match {game} --model {run} 'uct(sims={sims})'"))?;
        return say(format!("       ludex runs show {run}"));
    }
    say(format!("next:  ludex runs show {run}"))
}
