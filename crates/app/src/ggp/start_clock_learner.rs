//! Learning while the start clock runs, with any system.
//!
//! A run is made for the rules at hand and stopped when the clock demands it. A system that can plan by the clock is told how
//! long it has; another whose unfinished runs can be used is given its longest plan. Others go through their presets from the shortest on, and the last one that was finished plays.
//! With a folder, runs are kept there by the hash of the rules: the next match of the same game goes on from there.

use super::note;
use super::prepare::{Prepare, PrepareRequest, PreparedAgent};
use ludex_play::{Spec, Stop, Table};
use ludex_train::store::{Run, RunError, RunObserver};
use ludex_train::systems::System;
use ludex_train::{Job, Plan};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Learns with a system.
pub struct StartClockLearner {
    /// The system.
    pub system: &'static dyn System,
    /// Its preset, if only one is wanted.
    pub preset: Option<String>,
    /// Options that were set.
    pub settings: Vec<String>,
    /// Where runs are kept; if nowhere, they are removed.
    pub keep: Option<PathBuf>,
    /// Everything random comes from here.
    pub seed: u64,
}

/// Stops a run at a deadline, or when the match is called off.
struct DeadlineObserver {
    system: &'static str,
    deadline: Instant,
    stop: Stop,
}

impl RunObserver for DeadlineObserver {
    fn note(&self, line: &str) {
        note(self.system, line);
    }

    fn stopped(&self) -> bool {
        self.stop.raised() || Instant::now() >= self.deadline
    }
}

/// The presets that may fit a start clock, from the shortest.
const CLOCK_PRESETS: [&str; 4] = ["tick", "smoke", "quick", "hour"];

impl StartClockLearner {
    /// The plan of a preset for a game. Strength is not measured: there is no time.
    pub fn plan(&self, table: &dyn Table, preset: &str, seconds: f64) -> Result<Plan, RunError> {
        let clock = if self.preset.is_none() { self.system.for_clock(seconds) } else { Vec::new() };
        let settings = [&["measure.games=0".to_string()], &clock[..], &self.settings].concat();
        Plan::new(table, self.system, preset, self.seed, &settings)
    }

    fn presets(&self) -> Vec<&str> {
        match &self.preset {
            Some(preset) => vec![preset],
            None if self.system.anytime() => vec!["hour"],
            None => CLOCK_PRESETS.to_vec(),
        }
    }

    /// Learns below a folder, preset by preset, and gives the last agent that can be used.
    fn learn(&self, request: &PrepareRequest, folder: &Path) -> Result<Spec, RunError> {
        // Some of the time is left for building the agent.
        let deadline = request.deadline - request.deadline.saturating_duration_since(Instant::now()) / 20;
        let observer = DeadlineObserver { system: self.system.name(), deadline, stop: request.stop.clone() };
        let observer: Arc<dyn RunObserver> = Arc::new(observer);
        let mut learned = Err(RunError::Stopped);
        for preset in self.presets() {
            match self.learn_preset(request, folder, preset, &observer) {
                Ok(agent) => learned = Ok(agent),
                Err(e) => return learned.or(Err(e)),
            }
        }
        learned
    }

    /// Carries out the plan of one preset, and gives the agent: if it is stopped, the agent with what was learned until then.
    fn learn_preset(
        &self,
        request: &PrepareRequest,
        folder: &Path,
        preset: &str,
        observer: &Arc<dyn RunObserver>,
    ) -> Result<Spec, RunError> {
        let table = request.table.clone();
        // Clocks that are nearly the same make the same plan, so that a run that was kept is found again.
        let seconds = request.deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let seconds = if seconds > 10.0 { (seconds / 5.0).floor() * 5.0 } else { seconds.ceil() };
        let plan = self.plan(&*table, preset, seconds)?;
        let by_clock = self.preset.is_none() && !self.system.for_clock(seconds).is_empty();
        let length = if by_clock { format!("{seconds}s") } else { preset.to_string() };
        let dir = folder.join(format!("{:016x}-{}-{length}", table.info().rules_hash, self.system.name()));
        let run = Run::open(&dir, &plan.to_toml(), true, 1, observer.clone())?;
        let job = Job { table, run, plan };
        match job.learn_with(self.system) {
            Ok(report) => Ok(report.agent),
            Err(RunError::Stopped) => self.system.stopped_agent(&job.context()).ok_or(RunError::Stopped),
            Err(e) => Err(e),
        }
    }
}

impl Prepare for StartClockLearner {
    fn prepare(&self, request: &PrepareRequest) -> Result<PreparedAgent, String> {
        static TEMPORARY: AtomicU64 = AtomicU64::new(0);
        let temporary = || {
            let n = TEMPORARY.fetch_add(1, Ordering::Relaxed);
            std::env::temp_dir().join(format!("ludex-ggp-{}-{n}", std::process::id()))
        };
        let folder = self.keep.clone().unwrap_or_else(temporary);
        let name = self.system.name();
        let learned = self.learn(request, &folder).map_err(|e| match e {
            RunError::Stopped => format!("{name} learned nothing in the start clock"),
            e => format!("{name}: {e}"),
        });
        let agent = learned.and_then(|spec| {
            note(name, &format!("learned {spec}"));
            PreparedAgent::build(&*request.table, &spec, request.seed).map_err(|e| format!("{name}: {e}"))
        });
        if self.keep.is_none() {
            // The models are in memory now.
            let _ = std::fs::remove_dir_all(&folder);
        }
        agent
    }
}
