//! What a run found, for people and for machines.

use super::{Anchor, Plan, Strength};
use crate::spec::Spec;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// The end of a run.
#[derive(Clone, Debug, Serialize)]
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
    pub story: Vec<String>,
    /// Plots, below the run's directory.
    pub plots: Vec<String>,
    /// Whatever the system counts.
    pub figures: Value,
}

impl Anchor {
    /// One line for people.
    pub fn line(&self) -> String {
        format!(
            "{:.1} % [{:.1}, {:.1}] against {}   +{} ={} -{}   Elo {:+.0} [{:+.0}, {:+.0}]   {:.2} and {:.2} ms a move",
            100.0 * self.score,
            100.0 * self.interval.low,
            100.0 * self.interval.high,
            self.opponent,
            self.wdl.wins,
            self.wdl.draws,
            self.wdl.losses,
            self.elo.value,
            self.elo.low,
            self.elo.high,
            self.ms[0],
            self.ms[1],
        )
    }
}

impl Report {
    /// The report of a plan of which nothing is known yet.
    pub(super) fn of(plan: &Plan) -> Self {
        Report {
            schema: 1,
            version: plan.version.clone(),
            config: plan.clone(),
            seed: plan.seed,
            model: PathBuf::new(),
            agent: Spec::word("random"),
            strength: None,
            story: Vec::new(),
            plots: Vec::new(),
            figures: Value::Null,
        }
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut lines = self.story.clone();
        match &self.strength {
            None => lines
                .push("strength: not measured (no games were asked for, or the game is not for two players)".into()),
            Some(strength) => {
                lines.push(format!("strength of {}:", self.agent));
                lines.extend(strength.anchors.iter().map(|a| format!("  {}", a.line())));
                if !strength.levels.is_empty() {
                    lines.push("graded levels, level 1 at 0 Elo:".into());
                }
                for l in &strength.levels {
                    lines.push(format!(
                        "  level {}  {:+5.0} [{:+.0}, {:+.0}]   {}",
                        l.level, l.elo.value, l.elo.low, l.elo.high, l.agent
                    ));
                }
            }
        }
        lines.join("\n")
    }
}
