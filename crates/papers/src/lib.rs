//! The experiments of published papers, carried out again: their tables with ours beside them.
//!
//! A [`Paper`] names the system that learns, the games and a commented file of options. An [`Experiment`] carries a paper out on
//! one game: it learns with several seeds, plays the paper's matches and gives [`PaperTable`]s. All knowledge of particular
//! papers, and of the games that they chose, is in this crate.
//!
//! ```
//! use ludex_papers::{Experiment, paper};
//! let dir = std::env::temp_dir().join(format!("ludex-papers-doc-{}", std::process::id()));
//! let experiment = Experiment {
//!     preset: "tick".into(),
//!     only: Some("5".into()),
//!     ..Experiment::new(ludex_train::open("gomoku:5x5x5")?, paper("uct-nn")?, &dir)
//! };
//! let tables = experiment.reproduce()?;
//! assert_eq!(tables[0].name, "Figure 5");
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod annotated_games;
mod carl;
mod cut;
mod duels;
mod experiment;
mod nhb;
mod paper;
mod paper_table;
mod uct_ccnn;
mod uct_nn;

/// What every paper needs.
mod common {
    pub(crate) use crate::duels::*;
    pub(crate) use crate::experiment::*;
    pub(crate) use crate::paper_table::PaperTable;
    pub(crate) use cpu_time::ThreadTime;
    pub(crate) use ludex_core::{Control, Rng};
    pub(crate) use ludex_play::{ModelRef, Position, Spec, Table};
    pub(crate) use ludex_train::Report;
    pub(crate) use ludex_train::plot::{Frame, Series};
    pub(crate) use ludex_train::store::{Json, Result, RunError, entries};
    pub(crate) use ludex_train::systems::with_model;
    pub(crate) use serde::Deserialize;
    pub(crate) use std::fmt::Display;
}

pub use experiment::Experiment;
pub use paper::{PAPERS, Paper, paper};
pub use paper_table::PaperTable;
