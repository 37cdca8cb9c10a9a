//! Native rules of eight games, one file per game (tictactoe and gomoku are both [`Mnk`]).
//!
//! Boards are bitboards, moves do not allocate, states are small and cheap to clone. The header of each file states the
//! rules, their source and the format of positions. Facts are named in GDL style, `(cell 3 4 x)`, `(control o)`. Columns
//! count from the left, rows as in the notation of the game.
//!
//! ```
//! use ludex_core::{Game, Player};
//! use ludex_games::Connect4;
//! let game = Connect4::<u64>::new(7, 6, 4)?;
//! let mut state = game.initial();
//! for column in "4455667".chars() {
//!     let m = game.parse_move(&column.to_string()).unwrap();
//!     game.play(&mut state, m);
//! }
//! assert_eq!(game.outcome(&state).unwrap()[Player(0)], 1.0);
//! println!("{}", game.show(&state));
//! # Ok::<(), ludex_core::TextError>(())
//! ```

mod bits;
mod breakthrough;
mod checkers;
mod connect4;
mod dots;
mod mnk;
mod morris;
mod othello;
mod text;

pub use bits::Word;
pub use breakthrough::{Breakthrough, BreakthroughState};
pub use checkers::{Checkers, CheckersState};
pub use connect4::{Connect4, Connect4State};
pub use dots::{Codes, Dots, DotsState, Score, paper_codes};
pub use mnk::{Mnk, MnkState};
pub use morris::{Draw, Morris, MorrisState};
pub use othello::{Othello, OthelloState};
