//! What the verbs with long work have in common: threads, seeds, progress bars, and names for directories.

use crate::errors::usage;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ludex_train::store::RunObserver;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// More threads than this are a slip.
const MOST_THREADS: usize = 1024;

/// `--threads`.
#[derive(clap::Args)]
pub struct Threads {
    /// Threads; the results do not depend on it
    #[arg(long)]
    threads: Option<usize>,
}

impl Threads {
    /// How many: all cores if nothing was typed.
    pub fn count(&self) -> Result<usize> {
        match self.threads {
            None => Ok(std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS)),
            Some(n @ 1..=MOST_THREADS) => Ok(n),
            Some(n) => Err(usage(format!("--threads is a number from 1 to {MOST_THREADS}, not {n}"))),
        }
    }
}

/// Refuses a seed that the config of a run cannot hold: TOML's numbers end there.
pub fn check_seed(seed: u64) -> Result<()> {
    match i64::try_from(seed) {
        Ok(_) => Ok(()),
        Err(_) => Err(usage(format!("--seed is a number from 0 to {}, not {seed}", i64::MAX))),
    }
}

/// Refuses a number outside its bounds.
pub fn check_bounds(option: &str, n: usize, (low, high): (usize, usize)) -> Result<()> {
    match (low..=high).contains(&n) {
        true => Ok(()),
        false => Err(usage(format!("{option} is a number from {low} to {high}, not {n}"))),
    }
}

/// Shows a progress bar for each stage of a run on a terminal, and nothing elsewhere; notes go to standard error.
#[derive(Default)]
pub struct ProgressBars(Mutex<Option<ProgressBar>>);

impl ProgressBars {
    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl RunObserver for ProgressBars {
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

/// The name of a game, or of its rulesheet's file, in letters, digits and hyphens: a file name that every system takes.
pub fn file_name(game: &str) -> String {
    let stem = Path::new(game).file_stem().filter(|_| game.contains(['/', '\\']) || game.ends_with(".kif"));
    let name = stem.map_or(game.into(), |s| s.to_string_lossy());
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
