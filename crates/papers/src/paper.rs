//! The papers.

use crate::experiment::Experiment;
use crate::paper_table::PaperTable;
use crate::{carl, cut, nhb, uct_ccnn, uct_nn};
use ludex_play::hint;
use ludex_train::store::RunError;

/// A published paper whose experiments can be carried out again.
#[derive(Debug)]
pub struct Paper {
    /// What to type.
    pub name: &'static str,
    /// The system that learns.
    pub system: &'static str,
    /// The games of the paper; others can be used as well.
    pub games: &'static [&'static str],
    /// The options of its experiments with their explanations and presets, as TOML.
    pub file: &'static str,
    /// Carries out an experiment.
    pub(crate) reproduce: fn(&Experiment) -> Result<Vec<PaperTable>, RunError>,
}

impl Paper {
    const fn new(
        [name, system]: [&'static str; 2],
        games: &'static [&'static str],
        file: &'static str,
        reproduce: fn(&Experiment) -> Result<Vec<PaperTable>, RunError>,
    ) -> Self {
        Paper { name, system, games, file, reproduce }
    }
}

/// All papers.
#[rustfmt::skip]
pub const PAPERS: &[Paper] = &[
    Paper::new(["uct-ccnn"; 2], &["othello", "morris"], include_str!("../papers/uct-ccnn.toml"), uct_ccnn::reproduce),
    Paper::new(["cut"; 2], &["dots"], include_str!("../papers/cut.toml"), cut::reproduce),
    Paper::new(["nhb"; 2], &["connect4", "othello"], include_str!("../papers/nhb.toml"), nhb::reproduce),
    Paper::new(["uct-nn"; 2], &["gomoku:5x5x5", "gomoku:5x5x4", "gomoku:9x9x5"], include_str!("../papers/uct-nn.toml"), uct_nn::reproduce),
    Paper::new(["carl", "carl-playout"], &["connect4", "breakthrough", "checkers"], include_str!("../papers/carl.toml"), carl::reproduce),
];

/// The paper of this name.
pub fn paper(name: &str) -> Result<&'static Paper, RunError> {
    // One paper has two systems.
    if matches!(name, "carl-playout" | "carl-selection") {
        return Err(RunError::Options(format!("the experiments with {name} are those of the paper carl")));
    }
    PAPERS.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = PAPERS.iter().map(|p| p.name).collect();
        RunError::Options(format!("no paper is called \"{name}\": {}", hint(name, "there are", &names)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_train::{PRESETS, options, systems::system};

    #[test]
    fn every_file_has_every_preset_and_every_name_leads_somewhere() {
        for p in PAPERS {
            assert!(system(p.system).is_ok(), "{}", p.name);
            assert!(p.games.iter().all(|g| ludex_play::open(g).is_ok()), "{}", p.name);
            for preset in PRESETS {
                options(p.file, preset, &[]).unwrap();
            }
        }
        let line = |name: &str| paper(name).unwrap_err().to_string();
        assert!(line("uct-nm").contains("uct-nn") && line("zero").contains("there are uct-ccnn"));
        assert!(line("carl-playout").contains("paper carl") && line("carl-selection").contains("paper carl"));
    }
}
