//! `ludex reproduce`: a paper's experiments, its tables beside ours.

use crate::agents::unicode_path;
use crate::errors::{run_error, usage};
use crate::open;
use crate::verbs::{SCHEMA, say};
use crate::work::{ProgressBars, Threads, check_bounds, check_seed, file_name};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_papers::{Experiment, paper};
use ludex_train::PRESETS;
use ludex_train::store::{RunError, RunObserver};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex reproduce uct-ccnn --game othello --preset hour\n  \
    ludex reproduce uct-ccnn --game morris --preset smoke --table 6 --markdown")]
pub struct Reproduce {
    /// Which paper, by its system
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
    seeds: usize,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where everything is kept; by default below runs/. What is there is not done again
    #[arg(long, value_name = "DIR", value_parser = unicode_path)]
    run: Option<PathBuf>,
    /// Change an option of the system, such as train.units=20, or of the experiments
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    threads: Threads,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// More training seeds than this are a slip.
const MOST_SEEDS: usize = 1_000;

impl Reproduce {
    pub fn run(&self) -> Result<()> {
        let paper = paper(&self.system).map_err(usage)?;
        if !PRESETS.contains(&self.preset.as_str()) {
            let line = format!("no preset is called \"{}\": there are {}", self.preset, PRESETS.join(", "));
            return Err(usage(line));
        }
        check_bounds("--seeds", self.seeds, (1, MOST_SEEDS))?;
        check_seed(self.seed.saturating_add(self.seeds as u64))?;
        let threads = self.threads.count()?;
        let games: Vec<&str> = self.game.as_deref().map_or(paper.games.to_vec(), |g| vec![g]);
        let bars = Arc::new(ProgressBars::default());
        let (mut all, mut found) = (Vec::new(), false);
        for game in games {
            let table = open(game)?;
            let name = table.info().name.clone();
            let own = || PathBuf::from(format!("runs/reproduce-{}-{}-{}", paper.name, file_name(game), self.preset));
            let dir = self.run.as_ref().map_or_else(own, |d| d.join(file_name(game)));
            let experiment = Experiment {
                table,
                paper,
                preset: self.preset.clone(),
                seeds: (self.seed..self.seed + self.seeds as u64).collect(),
                settings: self.set.clone(),
                dir: dir.clone(),
                threads,
                observer: bars.clone(),
                only: self.table.clone(),
            };
            let tables = experiment.reproduce().map_err(|e| {
                bars.end();
                match &e {
                    RunError::OtherConfig(_) => usage(format!("{e}: choose another --run")),
                    RunError::Stopped => anyhow::anyhow!("{e}: the same command goes on with it"),
                    _ => run_error(&dir, e),
                }
            })?;
            let shown = json!({"game": name, "exhibits": tables});
            if !tables.is_empty() {
                let file = dir.join("exhibits.json");
                let written = std::fs::write(&file, serde_json::to_vec_pretty(&shown)?);
                written.with_context(|| format!("writing {}", file.display()))?;
            }
            if !self.json {
                let heading = format!("{}, {name}, preset {}\n", self.system, self.preset);
                say(if self.markdown { format!("## {heading}") } else { heading })?;
                tables.iter().try_for_each(|t| say(if self.markdown { t.markdown() } else { t.text() }))?;
            }
            found |= !tables.is_empty();
            all.push(shown);
        }
        if let Some(name) = self.table.as_ref().filter(|_| !found) {
            let line = format!("{} has no table or figure {name:?}; without --table all are printed", self.system);
            return Err(usage(line));
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
