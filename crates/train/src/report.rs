//! What a run found, for people and for machines, and the agents that it left.

use crate::measure::{MatchSummary, Strength};
use crate::plan::Plan;
use crate::store::{Result, Run, RunError, config, entries};
use ludex_play::{ModelRef, Spec, manifest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// The program.
    pub version: String,
    /// What was run.
    pub config: Plan,
    /// Everything random came from here.
    pub seed: u64,
    /// Where the model is.
    pub model: PathBuf,
    /// The learned agent.
    pub agent: Spec,
    /// How strong it is, where that can be measured.
    pub strength: Option<Strength>,
    /// Lines for people: what was made and found on the way.
    pub log: Vec<String>,
    /// Plots, below the run's directory.
    pub plots: Vec<String>,
    /// Whatever the system counts.
    pub figures: Value,
}

/// A run as listings show it.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    /// Where it is.
    pub run: PathBuf,
    /// The game, system and preset of the config; `-` where it says nothing, as tunings do of systems.
    pub game: String,
    /// The system.
    pub system: String,
    /// The preset.
    pub preset: String,
    /// The seed.
    pub seed: Option<i64>,
    /// Parts that are finished.
    pub parts: usize,
    /// Rows of all tables.
    pub examples: u64,
    /// The model that it ended with, or has so far.
    pub model: Option<PathBuf>,
    /// Whether there is a report.
    pub finished: bool,
    /// Why the run cannot be read.
    pub error: Option<String>,
}

impl RunView {
    /// The view of the run in a directory, as far as it can be read.
    pub fn new(dir: &Path) -> Self {
        let config = config(dir).map_err(|e| e.to_string()).and_then(|text| {
            let broken = |e: toml::de::Error| format!("config.toml: {}", e.message().replace('\n', " "));
            text.parse::<toml::Table>().map_err(broken)
        });
        let entries = entries(dir).map_err(|e| e.to_string());
        let error = config.as_ref().err().or(entries.as_ref().err()).cloned();
        let (config, entries) = (config.unwrap_or_default(), entries.unwrap_or_default());
        let word = |key: &str| config.get(key).and_then(|v| v.as_str()).unwrap_or("-").to_string();
        let report = if config.contains_key("tuning") { "tuning.json" } else { "report.json" };
        RunView {
            run: dir.into(),
            game: word("game"),
            system: word("system"),
            preset: word("preset"),
            seed: config.get("seed").and_then(|v| v.as_integer()),
            parts: entries.len(),
            examples: entries.iter().filter(|e| e.file.ends_with(".parquet")).map(|e| e.rows).sum(),
            model: manifest::final_models(dir).ok().map(|mut models| models.swap_remove(0)),
            finished: dir.join("reports").join(report).exists(),
            error,
        }
    }

    /// All runs below a directory, one level of experiments included.
    pub fn all(dir: &Path) -> Vec<RunView> {
        let folders = |dir: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_dir()).collect();
            all.sort();
            all
        };
        let is_run = |dir: &PathBuf| dir.join("config.toml").exists();
        let below = |dir: PathBuf| if is_run(&dir) { vec![dir] } else { folders(&dir) };
        folders(dir).into_iter().flat_map(below).filter(is_run).map(|dir| RunView::new(&dir)).collect()
    }
}

impl Run {
    /// The agent of one of its levels, from 1, or the strongest, once it is finished.
    pub fn agent(&self, level: Option<usize>) -> Result<Spec> {
        match Report::read(self.dir())? {
            Some(report) => report.agent(self.dir(), level),
            None => Err(RunError::Learning(format!("{} is not finished", self.dir().display()))),
        }
    }
}

impl MatchSummary {
    /// One line for people.
    pub fn line(&self) -> String {
        let percent = |x: f64| 100.0 * x;
        let (interval, elo) = (&self.interval, &self.elo);
        format!(
            "{:.1} % [{:.1}, {:.1}] against {}   +{} ={} -{}   Elo {:+.0} [{:+.0}, {:+.0}]   {:.2} and {:.2} ms a move",
            percent(self.score),
            percent(interval.low),
            percent(interval.high),
            self.opponent,
            self.wdl.wins,
            self.wdl.draws,
            self.wdl.losses,
            elo.value,
            elo.low,
            elo.high,
            self.ms[0],
            self.ms[1],
        )
    }
}

impl Report {
    /// The report of a finished run; `None` if the run is not finished.
    pub fn read(dir: &Path) -> Result<Option<Report>> {
        let path = dir.join("reports/report.json");
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(RunError::File(path, e)),
        };
        let damaged = |e: serde_json::Error| RunError::Learning(format!("{} cannot be read: {e}", path.display()));
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    /// The agent of a level, from 1, or the strongest; with the run's model as it is found below `dir` now.
    pub fn agent(&self, dir: &Path, level: Option<usize>) -> Result<Spec> {
        let levels = self.strength.as_ref().map_or(&[][..], |s| &s.levels);
        let mut spec = match level {
            None => self.agent.clone(),
            Some(n) => match levels.get(n.wrapping_sub(1)) {
                Some(level) => level.agent.clone(),
                None if levels.is_empty() => {
                    return Err(RunError::Options(format!("{} has no levels", dir.display())));
                }
                None => return Err(RunError::Options(format!("{} has levels 1 to {}", dir.display(), levels.len()))),
            },
        };
        spec.set_model(&ModelRef::new(dir));
        Ok(spec)
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut lines = self.log.clone();
        match &self.strength {
            None => lines
                .push("strength: not measured (no games were asked for, or the game is not for two players)".into()),
            Some(strength) => {
                lines.push(format!("strength of {}:", self.agent));
                lines.extend(strength.anchors.iter().map(|a| format!("  {}", a.line())));
                if !strength.levels.is_empty() {
                    lines.push("levels, level 1 at 0 Elo:".into());
                }
                for l in &strength.levels {
                    let e = &l.elo;
                    let elo = format!("{:+5.0} [{:+.0}, {:+.0}]", e.value, e.low, e.high);
                    lines.push(format!("  level {}  {elo}   {}", l.level, l.agent));
                }
            }
        }
        lines.join("\n")
    }
}
