//! The papers.

use crate::experiment::Experiment;
use crate::paper_table::PaperTable;
use crate::{carl, cut, nhb, uct_ccnn, uct_nn};
use ludex_play::hint;
use ludex_train::store::{Result, RunError};

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
    /// What is known of its tables beforehand, as TOML.
    pub(crate) tables: &'static str,
    /// Carries out an experiment.
    pub(crate) reproduce: fn(&Experiment) -> Result<Vec<PaperTable>>,
}

/// A paper and its files, which have its name.
macro_rules! paper {
    ($name:literal, $system:literal, $games:expr, $reproduce:expr) => {
        Paper {
            name: $name,
            system: $system,
            games: $games,
            file: include_str!(concat!("../papers/", $name, ".toml")),
            tables: include_str!(concat!("../papers/", $name, ".tables.toml")),
            reproduce: $reproduce,
        }
    };
}

/// All papers.
pub const PAPERS: &[Paper] = &[
    paper!("uct-ccnn", "uct-ccnn", &["othello", "morris"], uct_ccnn::reproduce),
    paper!("cut", "cut", &["dots"], cut::reproduce),
    paper!("nhb", "nhb", &["connect4", "othello"], nhb::reproduce),
    paper!("uct-nn", "uct-nn", &["gomoku:5x5x5", "gomoku:5x5x4", "gomoku:9x9x5"], uct_nn::reproduce),
    paper!("carl", "carl-playout", &["connect4", "breakthrough", "checkers"], carl::reproduce),
];

/// The paper of this name.
pub fn paper(name: &str) -> Result<&'static Paper> {
    // One paper has two systems.
    if matches!(name, "carl-playout" | "carl-selection") {
        return Err(RunError::Options(format!("the experiments with {name} are those of the paper carl")));
    }
    PAPERS.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = PAPERS.iter().map(|p| p.name).collect();
        RunError::Options(format!("no paper is called \"{name}\": {}", hint(name, "there are", &names)))
    })
}
