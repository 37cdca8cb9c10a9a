//! What the tests of learning share.
#![allow(dead_code)] // each test uses some of it

use ludex_play::Table;
use ludex_train::store::{Run, RunError, RunObserver, entries};
use ludex_train::systems::system;
use ludex_train::{Job, Plan, Report};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A folder that is not there yet.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

pub fn plan(table: &dyn Table, name: &str, preset: &str, settings: &[&str]) -> Result<Plan, RunError> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    Plan::new(table, system(name)?, preset, 1, &settings)
}

/// The job of a plan below a directory, whose learners are saved after every step.
pub fn job(
    table: &Arc<dyn Table>,
    plan: Plan,
    dir: &Path,
    threads: usize,
    observer: Arc<dyn RunObserver>,
) -> Result<Job, RunError> {
    let mut run = Run::open(dir, &plan.to_toml(), true, threads, observer)?;
    run.checkpoint_interval = Duration::ZERO;
    Ok(Job { table: table.clone(), run, plan })
}

/// Learns at the preset tick.
pub fn tick(table: &Arc<dyn Table>, name: &str, dir: &Path, settings: &[&str]) -> Report {
    let plan = plan(&**table, name, "tick", settings).unwrap_or_else(|e| panic!("{name} {settings:?}: {e}"));
    let job = job(table, plan, dir, 2, Arc::new(ludex_train::store::Silent)).unwrap();
    job.learn().unwrap_or_else(|e| panic!("{name} on {} {settings:?}: {e}", table.info().name))
}

/// Parts with their checksums.
pub fn sums(dir: &Path) -> BTreeMap<String, String> {
    entries(dir).unwrap().into_iter().map(|e| (e.part, e.sha256)).collect()
}

/// Stops a run after so many parts, and counts the parts of each stage.
#[derive(Default)]
pub struct Impatient {
    pub left: AtomicUsize,
    pub stage: Mutex<String>,
    pub done: Mutex<BTreeMap<String, usize>>,
}

impl Impatient {
    pub fn after(parts: usize) -> Arc<Self> {
        Arc::new(Impatient { left: AtomicUsize::new(parts), ..Impatient::default() })
    }
}

impl RunObserver for Impatient {
    fn stage(&self, name: &str, _: usize, _: usize) {
        *self.stage.lock().unwrap() = name.into();
    }

    fn part(&self) {
        *self.done.lock().unwrap().entry(self.stage.lock().unwrap().clone()).or_default() += 1;
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    }

    fn stopped(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}
