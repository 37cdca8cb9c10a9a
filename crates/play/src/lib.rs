//! Games opened by name, agents from text, one match loop, and an arena whose verdicts can be trusted.
//!
//! This crate forgets the type of a game ([`Table`]) so that whatever stands above needs none.
//!
//! ```
//! use ludex_play::{open, Control, Limit};
//! let table = open("connect4")?;
//! let mut position = table.start();
//! for column in ["4", "4", "3"] {
//!     position.play(table.parse_move(column).unwrap()).unwrap();
//! }
//! let mut agent = table.agent(&"uct(c=0.7)".parse()?, 1)?;
//! let choice = agent.choose(&*position, &Control::from(Limit::simulations(200)))?;
//! assert!(position.legal().contains(&choice.mv));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod action_values;
mod agent;
pub mod arena;
mod baselines;
pub mod bundle;
pub mod manifest;
mod models;
mod nets;
mod nnue;
mod open;
pub mod openings;
mod parallel;
mod parts;
mod play_match;
pub mod regret;
mod session;
pub mod signature;
pub mod solve;
mod spec;
pub mod stats;
mod table;
pub mod views;

pub use agent::{Agent, AgentError};
pub use bundle::{Bundle, BundleError, Level};
pub use ludex_core::{Choice, Control, Limit, LimitKind, Progress, Stop};
pub use models::{LoadedModel, ModelError, ModelRef};
pub use nnue::NnueEvaluator;
pub use open::{GAMES, Listing, NativeVisitor, OpenError, listing, open, rulesheet_table, visit_native};
pub use parallel::{in_parallel, lock, try_in_parallel};
pub use parts::{Args, OptionInfo, OptionType, PartInfo, PartKind, Prior, hint, near};
pub use play_match::{Cost, Episode, Fault, Ply, PlyView, play_match, ply_cap, winner};
pub use session::Session;
pub use spec::{Spec, SpecError};
pub use table::{Extensions, NativeTable, Position, Solution, Table, TableBuilder, TypedPosition, Worth};
