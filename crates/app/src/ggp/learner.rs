//! Learning while the start clock runs, with any system.
//!
//! A run is made for the rules at hand and called off when the clock demands it. A system that can use what it has learned so
//! far is given its longest plan; others go through their presets from the shortest on, and the last that was finished plays.
//! Runs are kept by the hash of the rules if there is a folder for them: the next match of the same game goes on from there.

use super::mind::{Brief, Prepare};
use super::note;
use ludex_play::store::{Run, RunError, Watch};
use ludex_play::systems::{self, Plan};
use ludex_play::{Agent, Spec};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Learns with a system.
pub struct Learner {
    /// The system.
    pub system: String,
    /// Its preset, if only one is wanted.
    pub preset: Option<String>,
    /// Options that were set.
    pub settings: Vec<String>,
    /// Where runs are kept; nowhere if none is given.
    pub keep: Option<PathBuf>,
    /// Everything random comes from here.
    pub seed: u64,
}

/// Calls a run off when the time has come.
struct Until {
    at: Instant,
    stop: Arc<AtomicBool>,
}

impl Watch for Until {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.at
    }
}

/// The presets that may fit a start clock, from the shortest.
const LADDER: [&str; 4] = ["tick", "smoke", "quick", "hour"];

impl Learner {
    /// The plan for a preset. Nothing is measured: there is no time.
    pub fn plan(&self, game: &str, preset: &str) -> Result<Plan, RunError> {
        let settings = [&["measure.games=0".to_string()], &self.settings[..]].concat();
        Plan::new(game, &self.system, preset, self.seed, &settings)
    }

    fn presets(&self) -> Result<Vec<&str>, RunError> {
        Ok(match (&self.preset, systems::system(&self.system)?.anytime()) {
            (Some(preset), _) => vec![preset],
            (None, true) => vec!["hour"],
            (None, false) => LADDER.to_vec(),
        })
    }

    /// The agent that was learned below a folder until then.
    fn learned(&self, brief: &Brief<'_>, folder: &Path) -> Result<Spec, RunError> {
        let info = brief.table.info();
        // Something must be left for making the agent.
        let at = brief.until - brief.until.saturating_duration_since(Instant::now()) / 20;
        let watch = Until { at, stop: brief.stop.clone() };
        let mut agent = Err(RunError::Stopped);
        for preset in self.presets()? {
            let plan = self.plan(&info.name, preset)?;
            let dir = folder.join(format!("{:016x}-{}-{preset}", info.rules_hash, self.system));
            let run = Run::open(&dir, &plan.to_toml(), true, 1, &watch)?;
            match systems::learn(brief.table, &run, &plan) {
                Ok(report) => agent = Ok(report.agent),
                Err(RunError::Stopped) => {
                    return systems::so_far(brief.table, &run, &plan).map_or(agent, Ok);
                }
                Err(e) if agent.is_err() => return Err(e),
                Err(_) => break,
            }
        }
        agent
    }
}

impl Prepare for Learner {
    fn prepare(&self, brief: &Brief<'_>) -> Result<Box<dyn Agent>, String> {
        static PREPARED: AtomicU64 = AtomicU64::new(0);
        let own = || {
            let n = PREPARED.fetch_add(1, Ordering::Relaxed);
            std::env::temp_dir().join(format!("ludex-ggp-{}-{n}", std::process::id()))
        };
        let folder = self.keep.clone().unwrap_or_else(own);
        let agent = self.learned(brief, &folder).map_err(|e| e.to_string()).and_then(|spec| {
            note(&self.system, &format!("learned {spec}"));
            brief.table.agent(&spec, brief.seed).map_err(|e| e.to_string())
        });
        if self.keep.is_none() {
            // The agent has read what it needs.
            let _ = std::fs::remove_dir_all(&folder);
        }
        agent
    }
}
