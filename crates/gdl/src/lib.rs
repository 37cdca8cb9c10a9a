//! Any rulesheet in the Game Description Language (GDL-I; Genesereth & Love 2005) becomes one more [`ludex_core::Game`].
//!
//! The path of a sheet: text → nested lists (`kif`) → rules (`sheet`) → what depends on what (`strata`) → everything that
//! is possible (`datalog`, `ground`) → a propositional network (`gates`, `extract`, `net`) → evaluators (`event` for single
//! lines, with `tapes` for moves; `lanes` for 256 positions at once; `interpreter` where the net would be too large) →
//! [`GdlGame`]. Beside it: [`check`] explains what is wrong with a sheet, [`facts`] what any two engines must agree on,
//! [`show`](show()) and [`dot`] what became of it.
//!
//! ```
//! use ludex_core::{Game, Rng};
//! use ludex_gdl::{GdlGame, Options};
//! let sheet = "(role you) (init (left 3)) (succ 0 1) (succ 1 2) (succ 2 3)
//!     (<= (legal you (take ?n)) (true (left ?m)) (succ ?n ?m))
//!     (<= (next (left ?n)) (does you (take ?n)))
//!     (<= terminal (true (left 0))) (<= (goal you 100) terminal)";
//! let game = GdlGame::new("countdown", sheet, &Options::default()).unwrap();
//! let mut state = game.initial();
//! while let Some(m) = game.sample(&state, &mut Rng::new(7)) {
//!     game.play(&mut state, m);
//! }
//! assert_eq!((game.position(&state).as_str(), game.goals(&state)), ("(left 0)", vec![vec![100]]));
//! ```

mod bits;
mod budget;
mod check;
mod code;
mod datalog;
mod desk;
mod draw;
mod error;
mod event;
mod exclusive;
mod extract;
mod facts;
mod fans;
mod game;
mod gates;
mod ground;
mod habits;
mod interpreter;
mod kif;
mod lanes;
mod net;
mod places;
mod playouts;
mod restrict;
mod sheet;
mod show;
mod strata;
mod tapes;
mod terms;

pub use budget::Budget;
pub use check::{CheckOptions, Finding, Severity, check};
pub use error::{Error, ErrorKind, Place};
pub use facts::{FactsOptions, FactsReport, HabitFacts, PlayoutFacts, Size, facts, joint_perft, size};
pub use game::{GdlGame, GdlState, Options};
pub use habits::Habits;
pub use sheet::Reading;
pub use show::{dot, show};
