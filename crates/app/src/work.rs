//! What the verbs with long work have in common: threads, seeds, progress bars, and names for directories.

use crate::errors::usage;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use ludex_train::STEPS;
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

/// Shows one line of progress for a whole run on a terminal, and nothing elsewhere; notes go to standard error.
#[derive(Default)]
pub struct ProgressBars(Mutex<Shown>);

/// What is shown now.
#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
    /// The step of the run and how long the steps after it may take.
    step: Option<(usize, Duration)>,
}

impl ProgressBars {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Minutes and seconds, or hours and minutes.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        s if s < 3600 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{} h {:02}", s / 3600, s / 60 % 60),
    }
}

impl RunObserver for ProgressBars {
    fn step(&self, number: usize, seconds_after: f64) {
        self.shown().step = Some((number, Duration::from_secs_f64(seconds_after.clamp(0.0, 1e9))));
    }

    fn stage(&self, name: &str, parts: usize, done: usize) {
        if done == parts {
            return; // nothing to do, nothing to show
        }
        let mut shown = self.shown();
        let (words, after) = match shown.step {
            Some((n, after)) => (format!("{}/{} {}", n + 1, STEPS.len(), STEPS[n]), after),
            None => (name.to_string(), Duration::ZERO),
        };
        // At fifty columns the words give way to the numbers.
        let style = ProgressStyle::with_template("{wide_msg} {bar:10} {percent:>3}% {left}");
        let style = style.expect("the template is well formed").with_key(
            "left",
            move |state: &ProgressState, w: &mut dyn std::fmt::Write| {
                let left = match state.pos() {
                    0 => "  --".to_string(),
                    _ => clock(state.eta() + after),
                };
                let _ = write!(w, "{left} left");
            },
        );
        let bar = ProgressBar::new(parts as u64).with_message(words);
        bar.set_style(style);
        bar.set_position(done as u64);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(500));
        shown.bar = Some(bar);
    }

    fn part(&self) {
        if let Some(bar) = &self.shown().bar {
            bar.inc(1);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.shown().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn note(&self, line: &str) {
        match &self.shown().bar {
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
