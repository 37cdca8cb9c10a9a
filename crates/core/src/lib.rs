//! The vocabulary of Ludex: what a game is, and the few nouns that searches, learners and faces share.
//!
//! Rules are a value: every rule method takes `&self`, so a board size is a field and a rulesheet is one more [`Game`].
//! Moves and facts are dense numbers, so that only [`Game::State`] is generic and trees, records, nets and protocols
//! need no type parameter. Turns need not alternate: whoever reads a value asks [`Game::mover`], never the depth.
//!
//! This crate does no I/O and knows no game. Here is a whole game, and one random match of it:
//!
//! ```
//! use ludex_core::{laws, playout, Game, Rng, toy::Nim};
//! let nim = Nim::new(15);
//! laws::check(&nim, &laws::Effort::default()).unwrap();
//! let mut state = nim.initial();
//! let (payoffs, plies) = playout(&nim, &mut state, &mut Rng::new(7));
//! assert!(nim.outcome(&state) == Some(payoffs) && (5..=15).contains(&plies));
//! ```

mod game;
mod hasher;
mod info;
pub mod laws;
mod limit;
mod payoffs;
mod perft;
mod playout;
mod rng;
mod search;
pub mod symmetry;
pub mod toy;

pub use game::{Fact, Game, Move, Player, TextError};
pub use hasher::StableHasher;
pub use info::{GameInfo, Horizon, Mirror, rules_hash};
pub use limit::{Control, Limit, LimitKind, Progress, Stop};
pub use payoffs::{MAX_PLAYERS, Payoffs};
pub use perft::{divide, perft};
pub use playout::{playout, playouts};
pub use rng::{Rng, mix};
pub use search::{ALPHABETA_LIMITS, Choice, Evaluator, EvaluatorFactory, INSTANT, RootMove, Search, TREE_LIMITS};
