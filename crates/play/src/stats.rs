//! The statistics that verdicts rest on.
//!
//! What a match may claim, and how sure it is. A match counts its games in colour-swapped pairs ([`Pairs`],
//! [`Pentanomial`], [`Wdl`]); from the counts come
//!
//! * intervals: [`rate_interval`] for a rate, [`score_interval`] for a score with draws, pairs being the unit,
//!   [`upper_bound`] for "never loses", [`seeds_interval`] for a learning method over its training seeds,
//!   [`bootstrap_interval`] for the mean of anything else that a pair yields;
//! * exact tests: [`fisher_exact`] between two rates, [`sign_test`] between two sides of the same pairs;
//! * strength: [`match_elo`] of two players, [`Pool`] for more (Bradley-Terry with draws, cycles, loose ends);
//! * a sequential test, [`Sprt`], that stops a match as soon as it is decided.
//!
//! Everything is a pure function of counts: no input or output, no clock, randomness only from a seeded generator that
//! the caller hands in. No input panics; a sample that says nothing gets the interval that says nothing.
//!
//! Intervals and the sequential test were checked by simulation, with and without draws and with games of a pair
//! correlated either way (`tests/stats.rs`). They assume that *pairs* are independent and alike: two players that
//! repeat the same game from the same opening break that, and no formula here notices. A fixed-size interval is valid
//! only for a number of games decided beforehand; peeking belongs to [`Sprt`].

mod bootstrap;
mod davidson;
mod elo;
mod exact;
mod interval;
mod likelihood;
mod pool;
mod seeds;
mod sprt;
mod tally;

pub use bootstrap::bootstrap_interval;
pub use elo::{ELO_CAP, elo_of_score, match_elo, score_of_elo};
pub use exact::{fisher_exact, sign_test};
pub use interval::{
    Estimate, Interval, clopper_pearson, games_interval, rate_interval, score_interval, upper_bound, wilson,
};
pub use pool::{Encounter, Pool, PoolError, Ratings, Record};
pub use seeds::seeds_interval;
pub use sprt::{BadPlan, Sprt, SprtPlan, Verdict};
pub use tally::{Outcome, Pair, Pairs, Pentanomial, Wdl};
