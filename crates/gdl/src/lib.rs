//! Opens any rulesheet of the Game Description Language (GDL-I; Genesereth & Love 2005) as a [`ludex_core::Game`].
//!
//! The stages, in order:
//!
//! | modules | from | to |
//! |---|---|---|
//! | `kif` | text | nested lists |
//! | `rulesheet`, `strata`, `specialise` | lists | rules, their dependencies, specialised to the constants in use |
//! | `datalog`, `ground` | rules | possible facts and moves, rule instances |
//! | `propnet`, `gate_builder`, `cube_extraction` | rule instances | a propositional network |
//! | `event_driven`, `fanout`, `move_deltas`, `straight_line` | the network | an evaluator of single positions |
//! | `bit_parallel` | the network | an evaluator of 256 positions at once |
//! | `interpreter`, `domains` | rules | an evaluator for sheets whose network would be too large |
//! | `evaluator`, `playouts`, `inferred`, `exclusive` | evaluators | [`GdlGame`] |
//!
//! [`check()`] reports what is wrong with a sheet, [`facts()`] what any two engines must agree on; [`summary()`] and [`dot()`]
//! describe an opened game. GDL-II (chance and imperfect information) is refused.
//!
//! ```
//! use ludex_core::{Game, Rng};
//! use ludex_gdl::{GdlGame, GdlOptions};
//! let sheet = "(role you) (init (left 3)) (succ 0 1) (succ 1 2) (succ 2 3)
//!     (<= (legal you (take ?n)) (true (left ?m)) (succ ?n ?m))
//!     (<= (next (left ?n)) (does you (take ?n)))
//!     (<= terminal (true (left 0))) (<= (goal you 100) terminal)";
//! let game = GdlGame::new("countdown", sheet, &GdlOptions::default()).unwrap();
//! let mut state = game.initial();
//! while let Some(m) = game.sample(&state, &mut Rng::new(7)) {
//!     game.play(&mut state, m);
//! }
//! assert_eq!((game.position(&state).as_str(), game.goals(&state)), ("(left 0)", vec![vec![100]]));
//! ```

mod bit_parallel;
mod bits;
mod budget;
mod check;
mod cube_extraction;
mod datalog;
mod domains;
mod dot;
mod error;
mod evaluator;
mod event_driven;
mod exclusive;
mod facts;
mod fanout;
mod game;
mod gate_builder;
mod ground;
mod inferred;
mod interpreter;
mod kif;
mod move_deltas;
mod never_true;
mod playouts;
mod propnet;
mod render;
mod rulesheet;
mod specialise;
mod straight_line;
mod strata;
mod summary;
mod terms;

pub use budget::Budget;
pub use check::{CheckOptions, Checked, Finding, Severity, check, check_game};
pub use dot::dot;
pub use error::{Error, ErrorKind, Place};
pub use facts::{FactsOptions, FactsReport, GameSize, InferredSummary, PlayoutStats, facts, joint_perft, size};
pub use game::{GdlGame, GdlOptions, GdlState};
pub use inferred::InferredProperties;
pub use rulesheet::Reading;
pub use summary::summary;
