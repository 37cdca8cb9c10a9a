//! A paper's tables and figures with ours beside them.
//!
//! [`reproduce`] learns with several seeds, each in a run of its own below one directory, plays the paper's matches, and shows
//! both results side by side. Everything is kept pair by pair, so that it can be killed and goes on where it was.

use super::{Anchor, Plan, Report, learn, system};
use crate::arena::{Contest, Openings};
use crate::spec::Spec;
use crate::stats::{Interval, seeds_interval};
use crate::store::{Run, RunError, Watch};
use crate::table::Table;
use ludex_core::Rng;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A table of a paper, with our figures.
#[derive(Clone, Debug, Serialize)]
pub struct Exhibit {
    /// What the paper calls it: `Table 6`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// What readers must know: what differs, what is only quoted, where we fall short.
    pub notes: Vec<String>,
    /// A plot, below the directory.
    pub plot: Option<String>,
}

/// An experiment of a paper on one game.
pub struct Experiment<'a> {
    /// The game.
    pub table: &'a dyn Table,
    /// The system.
    pub system: &'a str,
    /// How long it may take.
    pub preset: &'a str,
    /// Training seeds; every one is reported.
    pub seeds: Vec<u64>,
    /// Options that the user set.
    pub settings: Vec<String>,
    /// Where everything is kept.
    pub dir: &'a Path,
    /// Threads; results do not depend on it.
    pub threads: usize,
    /// Who is told.
    pub watch: &'a dyn Watch,
    /// Only tables whose names contain this.
    pub only: Option<String>,
}

impl Experiment<'_> {
    /// Whether this table is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.to_lowercase().split(' ').any(|w| w == only.to_lowercase()))
    }

    /// The plan of one seed, with settings of the experiment's own before those of the user.
    pub fn plan(&self, seed: u64, own: &[String]) -> Result<Plan, RunError> {
        let settings = [own, &self.settings].concat();
        Plan::new(&self.table.info().name, self.system, self.preset, seed, &settings)
    }

    /// Learns with one seed, or goes on; `label` tells apart runs with different settings.
    pub fn learn(&self, label: &str, seed: u64, own: &[String]) -> Result<Report, RunError> {
        let plan = self.plan(seed, own)?;
        let dir = self.run_dir(label, seed);
        self.watch.note(&format!("learning {label}, seed {seed}, in {}", dir.display()));
        let run = Run::open(&dir, &plan.to_toml(), true, self.threads, self.watch)?;
        learn(self.table, &run, &plan)
    }

    /// Where the run of this label and seed is.
    pub fn run_dir(&self, label: &str, seed: u64) -> PathBuf {
        self.dir.join(format!("{label}-seed{seed}"))
    }

    /// Learns with several seeds, as many at a time as there are threads; for systems that learn on one.
    pub fn learn_all(&self, label: &str, seeds: &[u64], own: &[String]) -> Result<Vec<Report>, RunError> {
        let one = |&seed: &u64| self.learn(label, seed, own);
        let mut all = Vec::new();
        for group in seeds.chunks(self.threads.max(1)) {
            let done: Vec<Result<Report, RunError>> = std::thread::scope(|scope| {
                let started: Vec<_> = group.iter().map(|seed| scope.spawn(move || one(seed))).collect();
                started.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
            });
            all.extend(done.into_iter().collect::<Result<Vec<_>, _>>()?);
        }
        Ok(all)
    }

    /// Learns from the examples of a run that [`Experiment::learn`] made, with other settings of what comes after `stages`.
    pub fn learn_again(
        &self,
        (from, label): (&str, &str),
        seed: u64,
        stages: &[&str],
        own: &[String],
    ) -> Result<Report, RunError> {
        let plan = self.plan(seed, own)?;
        let [from, to] = [from, label].map(|l| self.run_dir(l, seed));
        crate::store::branch(&from, &to, &plan.to_toml(), stages)?;
        self.learn(label, seed, own)
    }

    /// The run in which matches between what was learned are kept.
    pub fn arena(&self) -> Result<Run<'_>, RunError> {
        let mut plan = self.plan(0, &[])?;
        plan.seed = self.seeds.first().copied().unwrap_or(1);
        Run::open(&self.dir.join("arena"), &plan.to_toml(), true, self.threads, self.watch)
    }

    /// A contest of two, kept under this name.
    pub fn duel(
        &self,
        arena: &Run<'_>,
        name: &str,
        agents: [&Spec; 2],
        games: usize,
        openings: Openings,
        seed: u64,
    ) -> Result<Duel, RunError> {
        let contest = Contest {
            game: self.table.info().name.clone(),
            agents: agents.map(Spec::clone).to_vec(),
            pairs: games.div_ceil(2),
            openings,
            seed: Rng::derive(seed, 99),
            sprt: None,
        };
        let results = arena.contest(name, self.table, &contest)?;
        let pairs = crate::arena::tally(&contest, &results)[0].pairs.pentanomial();
        Ok(Duel { anchor: super::summary(&contest, &results), pairs })
    }
}

/// A match of an experiment.
pub struct Duel {
    /// What it says about the first agent.
    pub anchor: Anchor,
    /// Its pairs.
    pub pairs: crate::stats::Pentanomial,
}

/// The mean score over training seeds and where it lies: seeds first, pairs second.
pub fn over_seeds(duels: &[Duel]) -> (f64, Interval) {
    let pairs: Vec<_> = duels.iter().map(|d| d.pairs).collect();
    let mean = duels.iter().map(|d| d.anchor.score).sum::<f64>() / duels.len().max(1) as f64;
    (mean, seeds_interval(&pairs, super::measure::LEVEL))
}

/// Learns, plays and shows everything.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    match system(experiment.system)?.reproduce {
        Some(reproduce) => reproduce(experiment),
        None => Err(RunError::Config(format!(
            "{} has no experiments of its own: `ludex reproduce carl` carries them out for both uses",
            experiment.system
        ))),
    }
}

/// `12.3 % [10.0, 14.6]`
pub fn percent(score: f64, interval: Interval) -> String {
    format!("{:.1} % [{:.1}, {:.1}]", 100.0 * score, 100.0 * interval.low, 100.0 * interval.high)
}

impl Exhibit {
    /// An exhibit without rows.
    pub fn new(name: &str, title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|c| c.to_string()).collect();
        Exhibit { name: name.into(), title: title.into(), columns, rows: vec![], notes: vec![], plot: None }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The exhibit as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}: {}\n\n", self.name, self.title);
        if !self.columns.is_empty() {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            text += &line(&self.columns);
            text += &line(&vec!["---".to_string(); self.columns.len()]);
            self.rows.iter().for_each(|row| text += &line(row));
            text += "\n";
        }
        self.notes.iter().for_each(|note| text += &format!("* {note}\n"));
        if let Some(plot) = &self.plot {
            text += &format!("* plot: {plot}\n");
        }
        text
    }

    /// The exhibit as text for a terminal.
    pub fn text(&self) -> String {
        let all = || [&self.columns].into_iter().chain(&self.rows);
        let width = |c: usize| all().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells =
                row.iter().enumerate().map(|(c, cell)| format!("{cell:w$}", w = widths.get(c).copied().unwrap_or(0)));
            format!("  {}\n", cells.collect::<Vec<_>>().join("   ").trim_end())
        };
        let mut text = format!("{}: {}\n\n", self.name, self.title);
        all().for_each(|row| text += &line(row));
        self.notes.iter().for_each(|note| text += &format!("  - {note}\n"));
        text
    }
}

/// Where plots of an experiment go.
pub fn plot_file(experiment: &Experiment<'_>, name: &str, svg: &str) -> Result<String, RunError> {
    let path: PathBuf = experiment.dir.join(name);
    std::fs::create_dir_all(experiment.dir)
        .and_then(|()| std::fs::write(&path, svg))
        .map_err(|e| RunError::File(path.clone(), e))?;
    Ok(path.display().to_string())
}
