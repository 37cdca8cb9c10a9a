//! From rules to players: the run store, self-play, datasets, one learning driver and the systems that it drives.
//!
//! A [`System`](systems::System) says how to check its options and how to go from a [`Context`] to models, an agent and
//! curves. The driver owns the rest: stages that can be killed at any moment and resumed, audits, strength, levels and the
//! report. Everything is kept in a [`Run`](store::Run), a directory.
//!
//! ```
//! use ludex_train::{Job, Plan, open, store::{Run, Silent}, systems::system};
//! let table = open("tictactoe")?;
//! let plan = Plan::new(&*table, system("nhb")?, "tick", 1, &["measure.games=0".into()])?;
//! let dir = std::env::temp_dir().join(format!("ludex-doc-{}", std::process::id()));
//! let run = Run::open(&dir, &plan.to_toml(), false, 1, std::sync::Arc::new(Silent))?;
//! let report = Job { table: table.clone(), run, plan }.learn()?;
//! assert!(table.agent(&report.agent, 1).is_ok());
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dataset;
pub mod driver;
pub mod encoders;
pub mod fit;
pub mod levels;
pub mod measure;
mod native;
pub mod nets;
mod plan;
pub mod plot;
pub mod policy_dataset;
pub mod proof_selfplay;
pub mod records;
mod report;
pub mod sarsa;
pub mod selfplay;
pub mod store;
pub mod systems;
pub mod td;
mod td_speed;
mod td_trainer;
pub mod tune;

pub use driver::{Context, Curve, Job, Learned, STEPS, Stream, learn};
pub use native::{NativeLearning, learnable, learnable_as, native, open, table};
pub use plan::{PRESETS, Plan, check_bounds, options, read as read_options};
pub use report::{Report, RunView};
pub use td_speed::{TdSpeed, td_speed};
