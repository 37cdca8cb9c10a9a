//! One Monte Carlo tree search and one alpha-beta, both generic over the game and made of small exchangeable parts.
//!
//! A system is a composition: MCTS takes a [`mcts::Select`], an [`mcts::Expand`], a [`mcts::Playout`] and a
//! [`mcts::Backup`]; alpha-beta takes any `Evaluator`. A [`Watch`] hears what alpha-beta and [`backward`] deepening find
//! out for certain. Neither knows a game, and a value always belongs to a player,
//! never to a depth: turns need not alternate.
//!
//! ```
//! use ludex_core::{Game, Limit, Rng, Search, toy::Nim};
//! use ludex_search::{AlphaBeta, mcts::Mcts};
//! let nim = Nim::new(7);
//! let state = nim.initial();
//! let mut rng = Rng::new(1);
//! let by_simulation = Mcts::uct(&nim, 1.4).search(&nim, &state, &Limit::simulations(2_000), &mut rng);
//! let by_proof = AlphaBeta::plain().search(&nim, &state, &Limit::depth(7), &mut rng);
//! assert_eq!(nim.move_name(by_simulation.mv), "3"); // leaves four: a multiple of four loses
//! assert_eq!(by_proof.mv, by_simulation.mv);
//! ```

pub mod alphabeta;
pub mod backward;
mod clock;
pub mod eval;
mod greedy;
pub mod mcts;
mod random;
mod table;
mod watch;

pub use alphabeta::{AlphaBeta, Order, Ties};
pub use clock::Clock;
pub use greedy::Greedy;
pub use mcts::Mcts;
pub use random::Random;
pub use watch::{Source, Unwatched, Watch};
