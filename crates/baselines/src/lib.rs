//! Baselines: fixed opponents written by hand, one file a game.
//!
//! Learners are measured against them, so nothing that learns may use them, and they are frozen before anything is
//! trained: change one and every number measured against it is void. All are deterministic for a given seed. Each has one
//! setting of strength; [`BASELINES`] lists them.
//!
//! Evaluators are for minimax, [`Chains`] is a search of its own. Here it takes what a blunder offers:
//!
//! ```
//! use ludex_core::{Control, Game, Player, Rng, Search};
//! use ludex_games::{Dots, Score};
//! use ludex_baselines::Chains;
//! let game = Dots::<u64>::new(5, 5, Score::Win)?;
//! let (mut state, mut rng) = (game.initial(), Rng::new(7));
//! let mut chains = Chains::new(100);
//! while game.outcome(&state).is_none() {
//!     let blunder = game.sample(&state, &mut rng).unwrap();
//!     let m = match game.mover(&state) {
//!         Player(1) => chains.search(&game, &state, &Control::default(), &mut rng).mv,
//!         _ => blunder,
//!     };
//!     game.play(&mut state, m);
//! }
//! assert_eq!(game.outcome(&state).unwrap()[Player(1)], 1.0);
//! # Ok::<(), ludex_core::TextError>(())
//! ```

mod dots;
mod morris;
mod othello;
mod squash;

pub use dots::exact::{Exact, MOST_FREE, Solved};
pub use dots::family::{FAMILY, make as make_family};
pub use dots::{Chains, NetBoxes};
pub use morris::MorrisClassic;
pub use othello::{OthelloClassic, PieceAdvantage, Positional};

/// What a baseline is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An [`ludex_core::Evaluator`], to be searched by minimax; the setting is its depth.
    Evaluator,
    /// A [`ludex_core::Search`]; the setting is its number of playouts.
    Search,
}

/// A baseline, for help pages and specs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Baseline {
    /// As specs call it; unique within its game.
    pub name: &'static str,
    /// The game's family: `othello`.
    pub game: &'static str,
    /// How it plays.
    pub kind: Kind,
    /// One line for people.
    pub about: &'static str,
    /// Its one setting of strength.
    pub setting: &'static str,
    /// The standard setting, with which others are measured.
    pub default: u64,
}

/// All of them.
pub const BASELINES: [Baseline; 7] = [
    Baseline {
        name: "positional",
        game: "othello",
        kind: Kind::Evaluator,
        about: "the positional table of old Windows Reversi programs (Ghignone & Cancelliere, Figure 2)",
        setting: "depth",
        default: 3,
    },
    Baseline {
        name: "pieces",
        game: "othello",
        kind: Kind::Evaluator,
        about: "disc difference (Ghignone & Cancelliere)",
        setting: "depth",
        default: 3,
    },
    Baseline {
        name: "classic",
        game: "othello",
        kind: Kind::Evaluator,
        about: "mobility, corners, stable discs and parity, weighed by hand",
        setting: "depth",
        default: 3,
    },
    Baseline {
        name: "classic",
        game: "morris",
        kind: Kind::Evaluator,
        about: "mills, open and double mills, blocked men and mobility by phase (Petcu & Holban, Kukreja)",
        setting: "depth",
        default: 3,
    },
    Baseline {
        name: "chains",
        game: "dots",
        kind: Kind::Search,
        about: "safe edges by UCT, greedy closing, double deals, exact play of chains and loops",
        setting: "playouts",
        default: Chains::<u64>::STRENGTH,
    },
    Baseline {
        name: "exact",
        game: "dots",
        kind: Kind::Search,
        about: "exhaustive search once 20 edges are free, chains before: the ceiling",
        setting: "playouts",
        default: Chains::<u64>::STRENGTH,
    },
    Baseline {
        name: "boxes",
        game: "dots",
        kind: Kind::Evaluator,
        about: "net boxes, and those that can be taken at once",
        setting: "depth",
        default: 3,
    },
];
