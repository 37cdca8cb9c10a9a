//! `ludex runs`: lists, shows and verifies what was learned.

use crate::agents::unicode_path;
use crate::errors::{go_on, run_error, usage};
use crate::open;
use crate::tune::Tuning;
use crate::verbs::{SCHEMA, say};
use crate::work::{ProgressBars, Threads};
use anyhow::Result;
use clap::{Parser, Subcommand};
use ludex_play::manifest::Entry;
use ludex_train::store::{self, Audited, Run, RunObserver};
use ludex_train::{Job, Plan, Report, RunView};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
        #[arg(value_parser = unicode_path)]
        run: PathBuf,
    },
    /// Check every file, make parts again and compare them byte by byte
    Verify {
        /// The run
        #[arg(value_parser = unicode_path)]
        run: PathBuf,
        /// Only this part, such as start/0001
        #[arg(long, conflicts_with = "all")]
        part: Option<String>,
        /// All parts; by default the last of each stage
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        threads: Threads,
    },
}

/// One line about a run, for people.
fn run_line(run: &RunView) -> String {
    let state = match (&run.error, run.finished, &run.model) {
        (Some(error), ..) => error.as_str(),
        (None, true, _) => "finished",
        (None, false, Some(_)) => "has a model, not measured",
        (None, false, None) => "interrupted: go on with --resume",
    };
    let RunView { game, system, parts, examples, .. } = run;
    let dir = run.run.display().to_string();
    format!("{dir:<44} {game:<22} {system:<14} {parts:>5} parts {examples:>9} examples  {state}")
}

/// The same run with paths that JSON can hold: what is no Unicode in them is replaced.
fn in_unicode(run: RunView) -> RunView {
    let lossy = |path: &Path| PathBuf::from(path.to_string_lossy().into_owned());
    RunView { run: lossy(&run.run), model: run.model.as_deref().map(lossy), ..run }
}

/// The stages of a run: name, parts, rows.
fn stages(entries: &[Entry]) -> Vec<(&str, usize, u64)> {
    let mut stages: Vec<(&str, usize, u64)> = Vec::new();
    for e in entries {
        let stage = e.part.split('/').next().unwrap_or(&e.part);
        match stages.iter_mut().find(|s| s.0 == stage) {
            Some(s) => (s.1, s.2) = (s.1 + 1, s.2 + e.rows),
            None => stages.push((stage, 1, e.rows)),
        }
    }
    stages
}

impl Runs {
    pub fn run(&self) -> Result<()> {
        match &self.verb {
            None => self.list(),
            Some(RunsVerb::Show { run }) => self.show(run),
            Some(RunsVerb::Verify { run, part, all, threads }) => {
                let wanted = match (part, all) {
                    (Some(part), _) => Audited::Part(part.clone()),
                    (None, true) => Audited::All,
                    (None, false) => Audited::Last,
                };
                self.verify(run, wanted, threads.count()?)
            }
        }
    }

    fn list(&self) -> Result<()> {
        let runs = RunView::all(&self.dir);
        if self.json {
            let runs: Vec<RunView> = runs.into_iter().map(in_unicode).collect();
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "runs": runs});
            return say(serde_json::to_string_pretty(&object)?);
        }
        if runs.is_empty() {
            return say(format!("no runs below {}; `ludex learn connect4` makes one", self.dir.display()));
        }
        runs.iter().try_for_each(|r| say(run_line(r)))
    }

    fn show(&self, dir: &Path) -> Result<()> {
        let failed = |e| run_error(dir, e);
        let (config, entries) = (store::config(dir).map_err(failed)?, store::entries(dir).map_err(failed)?);
        if self.json {
            let report = std::fs::read(dir.join("reports/report.json")).ok();
            let report: Option<serde_json::Value> = report.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "run": dir, "parts": entries,
                "config": config, "report": report});
            return say(serde_json::to_string_pretty(&object)?);
        }
        if Tuning::from_toml(&config).is_some() {
            say(match RunView::new(dir).finished {
                true => "finished: reports/tuning.json\n",
                false => "not finished yet: go on with the same `ludex tune` and --resume\n",
            })?;
        } else {
            match Report::read(dir) {
                // The report of another version, say: the parts are there nevertheless.
                Err(e) => say(format!("{e}; {} to write it anew\n", go_on(dir)))?,
                Ok(None) => say(format!("not finished yet: {}\n", go_on(dir)))?,
                Ok(Some(report)) => show_report(&report, dir)?,
            }
        }
        for (stage, parts, rows) in stages(&entries) {
            say(format!("{stage:<12} {parts:>5} parts {rows:>9} rows"))?;
        }
        say(format!("\n{config}"))
    }

    fn verify(&self, dir: &Path, wanted: Audited, threads: usize) -> Result<()> {
        let failed = |e| run_error(dir, e);
        let text = store::config(dir).map_err(failed)?;
        if let Audited::Part(name) = &wanted
            && !store::entries(dir).map_err(failed)?.iter().any(|e| e.part == *name)
        {
            let line = format!("{} has no part \"{name}\"; `ludex runs show` lists the stages", dir.display());
            return Err(usage(line));
        }
        let bars = Arc::new(ProgressBars::default());
        let run = Run::audit(dir, wanted, threads, bars.clone()).map_err(failed)?;
        let found = match Tuning::from_toml(&text) {
            Some(tuning) => {
                tuning.run(&run)?;
                run.findings()
            }
            None => {
                let plan = Plan::from_toml(&text).map_err(failed)?;
                let job = Job { table: open(&plan.game)?, run, plan };
                let learned = job.learn();
                bars.end();
                learned.map_err(failed)?;
                job.run.findings()
            }
        };
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

fn show_report(report: &Report, dir: &Path) -> Result<()> {
    say(report.text())?;
    say(format!("agent: {}", report.agent(dir)))
}
