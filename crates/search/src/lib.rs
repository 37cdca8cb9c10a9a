//! One Monte Carlo tree search and one alpha-beta, both generic over the game and made of small exchangeable parts.
//!
//! A system is a composition: MCTS takes a [`mcts::Select`], an [`mcts::Expand`], a [`mcts::Playout`] and a
//! [`mcts::Backup`]; alpha-beta takes any `Evaluator`. An [`ExactObserver`] receives the values that alpha-beta and
//! [`backward`] deepening have proven. Neither search knows a game, and a value always belongs to a player, never to a depth:
//! turns need not alternate.
//!
//! Every search obeys a `Control`: it ends at its limit or when the stop is raised, and reports its progress.
//!
//! ```
//! use ludex_core::{Game, Limit, Rng, Search, toy::Nim};
//! use ludex_search::{AlphaBeta, mcts::Mcts};
//! let nim = Nim::new(7);
//! let state = nim.initial();
//! let mut rng = Rng::new(1);
//! let by_simulation = Mcts::uct(&nim, 1.4).search(&nim, &state, &Limit::simulations(2_000).into(), &mut rng);
//! let by_proof = AlphaBeta::plain().search(&nim, &state, &Limit::depth(7).into(), &mut rng);
//! assert_eq!(nim.move_name(by_simulation.mv), "3"); // leaves four: a multiple of four loses
//! assert_eq!(by_proof.mv, by_simulation.mv);
//! ```

pub mod alphabeta;
pub mod backward;
mod clock;
pub mod eval;
mod greedy;
mod limited;
pub mod mcts;
mod observer;
pub mod pvs;
mod random;

pub use alphabeta::{AlphaBeta, Order, Ties};
pub use clock::{Clock, effective_limit};
pub use greedy::Greedy;
pub use limited::LimitedStrength;
pub use mcts::Mcts;
pub use observer::{ExactObserver, Source, Unobserved};
pub use pvs::{Pvs, PvsOptions};
pub use random::Random;
