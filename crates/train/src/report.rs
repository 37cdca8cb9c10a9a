//! What a run found, for people and for machines, and the agents that it left.

use crate::measure::MatchSummary;
use crate::plan::Plan;
use crate::store::{Result, Run, RunError, config, entries};
use ludex_play::stats::{Estimate, Wdl};
use ludex_play::{Level, ModelRef, Spec, manifest};
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
    /// What learning was worth: matches with equal processor time, where contests of two can be held.
    pub worth: Vec<MatchSummary>,
    /// The graded levels, the weakest first.
    pub levels: Vec<Level>,
    /// The bundle with models and levels.
    pub bundle: Option<PathBuf>,
    /// The moves of a game of the best level against the next one.
    pub sample: Vec<String>,
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
    /// The agent of one of its levels, by number or name, or the strongest, once it is finished.
    pub fn agent(&self, level: Option<&str>) -> Result<Spec> {
        match (Report::read(self.dir())?, level) {
            (None, _) => Err(RunError::Learning(format!("{} is not finished", self.dir().display()))),
            (Some(report), None) => Ok(report.agent(self.dir())),
            (Some(_), Some(level)) => Ok(Spec::word(format!("level:{level}@{}", self.dir().display()))),
        }
    }
}

/// A difference in Elo for people: where all games were won or lost there is only a bound.
fn elo_text(elo: &Estimate, wdl: &Wdl) -> String {
    match (wdl.wins + wdl.draws, wdl.draws + wdl.losses) {
        (0, 0) => "-".into(),
        (0, _) => format!("at most {:+.0}", elo.high),
        (_, 0) => format!("at least {:+.0}", elo.low),
        _ => format!("{:+.0} [{:+.0}, {:+.0}]", elo.value, elo.low, elo.high),
    }
}

/// A score for people, in percent with where it lies.
fn score_text(score: f64, low: f64, high: f64) -> String {
    format!("{:.0} % [{:.0}, {:.0}]", 100.0 * score, 100.0 * low, 100.0 * high)
}

impl MatchSummary {
    /// Whether the game is not for two, and the agent was compared with another in the same place.
    pub fn in_place(&self) -> bool {
        self.as_first.games() + self.as_second.games() == 0
    }

    /// A row for people.
    fn row(&self) -> [String; 4] {
        let Wdl { wins, draws, losses } = self.wdl;
        [
            self.name.clone(),
            score_text(self.score, self.interval.low, self.interval.high),
            format!("{wins}/{draws}/{losses}"),
            elo_text(&self.elo, &self.wdl),
        ]
    }
}

/// Rows with aligned columns.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}")).collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
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

    /// The learned agent, with the run's model as it is found below `dir` now.
    pub fn agent(&self, dir: &Path) -> Spec {
        let mut spec = self.agent.clone();
        spec.set_model(&ModelRef::new(dir));
        spec
    }

    /// The row of this opponent.
    pub fn against(&self, name: &str) -> Option<&MatchSummary> {
        self.worth.iter().find(|row| row.name == name)
    }

    /// What learning was worth, in plain words.
    pub fn verdict(&self) -> String {
        let mut lines = Vec::new();
        if let Some(uct) = self.against("uct") {
            let (points, games) = (uct.wdl.wins as f64 + 0.5 * uct.wdl.draws as f64, uct.wdl.games());
            let verb = match (uct.interval, uct.in_place()) {
                (i, false) if i.low > 0.5 => "beats plain UCT",
                (i, false) if i.high < 0.5 => "loses to plain UCT",
                (_, false) => "is not shown to differ from plain UCT",
                (i, true) if i.low > 0.5 => "gets more than plain UCT in its place",
                (i, true) if i.high < 0.5 => "gets less than plain UCT in its place",
                (_, true) => "is not shown to get more than plain UCT in its place",
            };
            lines.push(format!("With equal processor time it {verb}: {points} points in {games} games."));
        }
        if let Some(row) = self.against("same search").or(self.against("uct")) {
            let elo = elo_text(&row.elo, &row.wdl);
            lines.push(match row.interval.low > 0.5 || row.interval.high < 0.5 {
                true => format!("Learning is worth {elo} Elo over the same search without it."),
                false => format!("Learning is not shown to be worth anything over the same search: {elo} Elo."),
            });
        }
        if let (Some(first), Some(best)) = (self.levels.first(), self.levels.last()) {
            let (n, low, high) = (self.levels.len(), first.elo.value, best.elo.value);
            lines.push(match n {
                1 => format!("There is one level, {high:+.0} Elo above random play."),
                _ => format!("There are {n} levels, from {low:+.0} to {high:+.0} Elo above random play."),
            });
        }
        if lines.is_empty() {
            lines.push("Strength was not measured: no games were asked for.".into());
        }
        lines.join("\n")
    }

    /// The report as text: plain words, then what learning was worth, then the levels.
    pub fn text(&self) -> String {
        let mut lines = vec![self.verdict()];
        if !self.worth.is_empty() {
            let head = ["against", "score", "won/drawn/lost", "Elo"].map(String::from);
            let rows: Vec<[String; 4]> =
                std::iter::once(head).chain(self.worth.iter().map(MatchSummary::row)).collect();
            lines.push(match self.worth[0].in_place() {
                false => "\nWith equal processor time for both sides:".into(),
                true => "\nGames in which it got more than one of these in the same place, with equal processor time:"
                    .into(),
            });
            lines.extend(aligned(&rows));
        }
        if !self.levels.is_empty() {
            let head = ["level", "", "Elo", "against the level below"].map(String::from);
            let row = |l: &Level| {
                let Estimate { value, low, high } = l.elo;
                let score = score_text(l.score.value, l.score.low, l.score.high);
                let below = if l.level == 1 { " (random)" } else { "" };
                let name = l.name.clone().unwrap_or_default();
                [l.level.to_string(), name, format!("{value:+.0} [{low:+.0}, {high:+.0}]"), format!("{score}{below}")]
            };
            let rows: Vec<[String; 4]> = std::iter::once(head).chain(self.levels.iter().rev().map(row)).collect();
            lines.push(format!("\nLevels, random play being 0 Elo, in {} fresh games each:", self.levels[0].games));
            lines.extend(aligned(&rows));
        }
        lines.push(String::new());
        lines.extend(self.log.iter().cloned());
        if !self.sample.is_empty() {
            lines.push(format!("a game of the best level against the one below: {}", self.sample.join(" ")));
        }
        lines.join("\n")
    }
}
