//! An experiment: a paper carried out on one game.
//!
//! It learns with several seeds, each in a run of its own below one directory, plays the paper's matches, and shows both
//! results side by side. Everything is kept part by part and pair by pair, so that it can be killed and goes on where it was.

use crate::duels::Arena;
use crate::paper::Paper;
use crate::paper_table::{PaperTable, TableText};
use ludex_learn::{InferenceNet, Model};
use ludex_play::{ModelRef, Spec, Table};
use ludex_train::plot::{Frame, Series, svg};
use ludex_train::store::{Result, Run, RunError, RunObserver, Silent, branch};
use ludex_train::{Job, Plan, Report, check_bounds, options, read_options, systems::system};
use serde::de::DeserializeOwned;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A paper carried out on one game.
pub struct Experiment {
    /// The game, opened to learn.
    pub table: Arc<dyn Table>,
    /// The paper.
    pub paper: &'static Paper,
    /// How long it may take.
    pub preset: String,
    /// Training seeds; every one is reported.
    pub seeds: Vec<u64>,
    /// Options that the user set: `reproduce.` and `tables.` are the paper's, all others the system's.
    pub settings: Vec<String>,
    /// Where everything is kept.
    pub dir: PathBuf,
    /// Threads; results do not depend on it.
    pub threads: usize,
    /// Receives progress, and may stop the experiment.
    pub observer: Arc<dyn RunObserver>,
    /// Only tables whose names have this word.
    pub only: Option<String>,
}

/// Names of tables that are made together, and what makes them.
pub(crate) type Maker<'n, S> = (&'n [&'n str], fn(&S) -> Result<Vec<PaperTable>>);

/// Nobody learns with more seeds.
const MOST_SEEDS: usize = 10_000;
/// What tells a system to measure nothing after learning: the tables do that.
pub(crate) const UNMEASURED: &str = "measure.games=0";

impl Experiment {
    /// A paper on a game in a directory: with three seeds at the preset `quick`, on one thread, unobserved, all tables.
    pub fn new(table: Arc<dyn Table>, paper: &'static Paper, dir: impl Into<PathBuf>) -> Self {
        let (preset, seeds, settings, observer) = ("quick".into(), vec![1, 2, 3], Vec::new(), Arc::new(Silent));
        Experiment { table, paper, preset, seeds, settings, dir: dir.into(), threads: 1, observer, only: None }
    }

    /// Learns, plays and gives the tables that are wanted; none if the paper has no such table for this game. Every option is
    /// checked before any work.
    pub fn reproduce(&self) -> Result<Vec<PaperTable>> {
        let refuse = |line: String| Err(RunError::Options(line));
        let unique: BTreeSet<u64> = self.seeds.iter().copied().collect();
        if unique.is_empty() || unique.len() > MOST_SEEDS {
            return refuse(format!("an experiment has from 1 to {MOST_SEEDS} seeds, not {}", unique.len()));
        }
        if unique.len() < self.seeds.len() {
            return refuse("the seeds of an experiment differ from one another".into());
        }
        if let Some(seed) = unique.last().filter(|s| **s > i64::MAX as u64) {
            return refuse(format!("a seed is at most {}, not {seed}", i64::MAX));
        }
        self.plan(self.seeds[0], &[])?;
        (self.paper.reproduce)(self)
    }

    /// Whether this table is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.to_lowercase().split(' ').any(|w| w == only.to_lowercase()))
    }

    /// Whether one of these tables is wanted.
    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Makes the tables that are wanted of what `stage` learns for them; if there are none, it learns nothing.
    pub(crate) fn make<S>(
        &self,
        makers: &[Maker<'_, S>],
        stage: impl FnOnce() -> Result<S>,
    ) -> Result<Vec<PaperTable>> {
        if !makers.iter().any(|(names, _)| self.wants_any(names)) {
            return Ok(Vec::new());
        }
        let (stage, mut all) = (stage()?, Vec::new());
        for (names, make) in makers.iter().filter(|(names, _)| self.wants_any(names)) {
            // One table may stand for several of the paper's.
            let wanted = |t: &PaperTable| self.wants(&t.name) || !names.contains(&t.name.as_str());
            all.extend(make(&stage)?.into_iter().filter(wanted));
        }
        all.iter_mut().for_each(|t: &mut PaperTable| t.notes.append(&mut t.closing));
        Ok(all)
    }

    /// What is known of a table beforehand.
    pub(crate) fn text(&self, name: &str) -> TableText {
        let mut all: HashMap<String, TableText> = toml::from_str(self.paper.tables).expect("a well-formed file");
        all.remove(name).unwrap_or_else(|| panic!("{} has no table {name}", self.paper.name))
    }

    /// The table of this name before our rows, with these values in its title, columns and notes.
    pub(crate) fn table(&self, name: &str, values: &[&dyn Display]) -> PaperTable {
        self.text(name).table(name, values)
    }

    /// The cells that the paper has in a row of a table.
    pub(crate) fn quoted(&self, table: &str, row: impl Display) -> Option<Vec<String>> {
        self.text(table).quoted.remove(&row.to_string())
    }

    /// The same; dashes if the paper has no such row.
    pub(crate) fn quoted_cells<const N: usize>(&self, table: &str, row: impl Display) -> [String; N] {
        let cells = self.quoted(table, row).map(|cells| cells.try_into().expect("as many cells as columns"));
        cells.unwrap_or_else(|| [(); N].map(|()| "-".into()))
    }

    /// The settings of the paper, and those of the system.
    fn settings(&self) -> (Vec<String>, Vec<String>) {
        self.settings.iter().cloned().partition(|s| ["reproduce.", "tables."].iter().any(|p| s.trim().starts_with(p)))
    }

    /// The paper's options, the one section of its file.
    pub(crate) fn options<T: DeserializeOwned>(&self) -> Result<T> {
        let options = options(self.paper.file, &self.preset, &self.settings().0)?;
        check_lists(&options, "")?;
        check_bounds(&options, "", BOUNDS, (0.0, f64::MAX))?;
        let section = options.values().find_map(|v| v.as_table()).cloned().unwrap_or_default();
        read_options(&section)
    }

    /// One of the system's options, by its path.
    pub(crate) fn system_option<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let options = self.plan(self.seeds[0], &[])?.options;
        let found = path.split('.').try_fold(&toml::Value::Table(options), |at, key| at.get(key)).cloned();
        let found = found.and_then(|value| value.try_into().ok());
        found.ok_or_else(|| RunError::Options(format!("{} has no option {path} that is needed", self.paper.system)))
    }

    /// The plan of one seed, with settings of the experiment's own before those of the user.
    pub fn plan(&self, seed: u64, own: &[String]) -> Result<Plan> {
        let settings = [own, &self.settings().1].concat();
        Plan::new(&*self.table, system(self.paper.system)?, &self.preset, seed, &settings)
    }

    /// Where the run of this label and seed is; `label` tells apart runs with different settings.
    pub fn run_dir(&self, label: &str, seed: u64) -> PathBuf {
        self.dir.join(format!("{label}-seed{seed}"))
    }

    /// The run of this label and seed, as a model: what it ends with.
    pub(crate) fn model(&self, label: &str, seed: u64) -> ModelRef {
        ModelRef::new(self.run_dir(label, seed))
    }

    /// What is to be learned with one seed, or goes on.
    pub(crate) fn job(&self, label: &str, seed: u64, own: &[String]) -> Result<Job> {
        let plan = self.plan(seed, own)?;
        let dir = self.run_dir(label, seed);
        let run = Run::open(&dir, &plan.to_toml(), true, self.threads, self.observer.clone())?;
        Ok(Job { table: self.table.clone(), run, plan })
    }

    /// Learns with one seed, or goes on.
    pub(crate) fn learn(&self, label: &str, seed: u64, own: &[String]) -> Result<Report> {
        let job = self.job(label, seed, own)?;
        self.observer.note(&format!("learning {label}, seed {seed}, in {}", job.run.dir().display()));
        job.learn()
    }

    /// Learns with all seeds, one after the other.
    pub(crate) fn learn_seeds(&self, label: &str, own: &[String]) -> Result<Vec<Report>> {
        self.seeds.iter().map(|&seed| self.learn(label, seed, own)).collect()
    }

    /// Learns from the examples of the run `from`, with other settings of what comes after `stages`.
    pub(crate) fn learn_again(
        &self,
        (from, label): (&str, &str),
        seed: u64,
        stages: &[&str],
        own: &[String],
    ) -> Result<Report> {
        let [from, to] = [from, label].map(|l| self.run_dir(l, seed));
        branch(&from, &to, &self.plan(seed, own)?.to_toml(), stages)?;
        self.learn(label, seed, own)
    }

    /// The run in which matches between what was learned are kept. Its config has the options of system and paper.
    pub(crate) fn arena(&self) -> Result<Arena<'_>> {
        let mut plan = self.plan(self.seeds[0], &[])?;
        plan.options.extend(options(self.paper.file, &self.preset, &self.settings().0)?);
        let run = Run::open(&self.dir.join("arena"), &plan.to_toml(), true, self.threads, self.observer.clone())?;
        Ok(Arena { experiment: self, run })
    }

    /// A net that was learned.
    pub(crate) fn net(&self, model: &Path) -> Result<InferenceNet> {
        let bytes = std::fs::read(model).map_err(|e| RunError::File(model.into(), e))?;
        Ok(Model::for_game(&bytes, self.table.info())?.inference_net()?)
    }

    /// Draws a plot and tells where it is.
    pub(crate) fn plot(&self, file: &str, frame: &Frame<'_>, series: &[Series]) -> Result<Option<String>> {
        let (svg, path) = (svg(frame, series)?, self.dir.join(file));
        let written = std::fs::create_dir_all(&self.dir).and_then(|()| std::fs::write(&path, svg));
        written.map_err(|e| RunError::File(path.clone(), e))?;
        Ok(Some(path.display().to_string()))
    }

    /// Refuses games that are not zero-sum games of two.
    pub(crate) fn check_zero_sum(&self) -> Result<()> {
        let info = self.table.info();
        match info.zero_sum && info.players() == 2 {
            true => Ok(()),
            false => Err(RunError::Options("the paper's experiments are for zero-sum games of two players".into())),
        }
    }

    /// Refuses an agent of the options that cannot be built; a model need not be there yet.
    pub(crate) fn check_agent(&self, option: &str, spec: &Spec) -> Result<()> {
        self.table.check(spec).map_err(|e| RunError::Agent(option.into(), e))
    }
}

/// The least and the greatest value of options of these names, in any paper; lists by element. [`options`] has wider bounds.
const BOUNDS: &str = "
    literal_games 0 1e6   positions 1 1e6   accuracy_playouts 1 1e6   ratio 1 1e4   k_policies 1 1e4   profile_moves 1 1e4
    hidden 1 1e4   rates 1e-12 1e3   games 1 1e6   height_games 1 1e6   mcts_games 1 1e6   budget_games 1 1e6
    test_games 1 1e6   direct_games 1 1e6   least_games 1 1e6   tournament_games 1 1e6   regressor_games 1 1e6
    k_games 1 1e6   sweep_games 1 1e6   empty_games 1 1e6";

/// Refuses empty lists, apart from those of settings.
fn check_lists(options: &toml::Table, path: &str) -> Result<()> {
    options.iter().try_for_each(|(name, value)| match value {
        toml::Value::Table(inner) => check_lists(inner, &format!("{path}{name}.")),
        toml::Value::Array(list) if list.is_empty() && !matches!(name.as_str(), "literal" | "set") => {
            Err(RunError::Options(format!("{path}{name} is empty")))
        }
        _ => Ok(()),
    })
}

/// A number that a system reports.
pub(crate) fn figure(report: &Report, path: &str) -> Option<f64> {
    report.figures.pointer(path).and_then(|v| v.as_f64())
}

/// A number that may be missing, with so many digits.
pub(crate) fn optional(number: Option<f64>, digits: usize) -> String {
    number.map_or("-".into(), |n| format!("{n:.digits$}"))
}

/// A number that a system must report.
pub(crate) fn needed(report: &Report, path: &str) -> Result<f64> {
    let line = || RunError::Learning(format!("the report of {} has no figure {path}", report.config.system));
    figure(report, path).ok_or_else(line)
}

/// Where the run of a report is, as a model: what it ends with stands in a folder there.
pub(crate) fn run_model(report: &Report) -> ModelRef {
    ModelRef::new(report.model.parent().and_then(|p| p.parent()).unwrap_or(&report.model))
}

/// The spec with this option.
pub(crate) fn set(spec: &Spec, option: &str, value: impl Display) -> Spec {
    let mut spec = spec.clone();
    spec.set(option, value);
    spec
}
