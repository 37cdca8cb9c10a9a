//! Games opened by name, agents from text, and an arena whose verdicts can be trusted.
//!
//! This crate forgets the type of a game ([`Table`]) so that whatever stands above needs none.
//!
//! ```
//! let table = ludex_play::open("connect4")?;
//! let mut position = table.start();
//! for column in ["4", "4", "3"] {
//!     position.play(table.parse_move(column).unwrap()).unwrap();
//! }
//! assert_eq!(position.text(), "443");
//! assert!(ludex_play::open("conect4").is_err());
//! # Ok::<(), ludex_play::OpenError>(())
//! ```

mod advice;
mod agent;
pub mod arena;
mod build;
mod nets;
mod open;
mod parts;
pub mod plot;
mod rivals;
pub mod sarsa;
pub mod selfplay;
mod signature;
mod spec;
pub mod stats;
pub mod store;
pub mod study;
pub mod systems;
mod table;
pub mod tune;

pub use agent::Agent;
pub use open::{GAMES, Listing, OpenError, open, table};
pub use parts::{Kind, Opt, PARTS, Part};
pub use signature::signature;
pub use spec::{Spec, SpecError};
pub use table::{Line, Position, Solution, Table, Worth};
