//! Logistic Elo: a lead of e points means an expected score of 1 / (1 + 10^(-e/400)), a draw being half a win.
//!
//! Elo here is a way to write a score down, for two players and nothing else: it takes no view of how draws come about.
//! Scores of 0 and 1 would be infinitely many points; they are cut at [`ELO_CAP`], so that reports and plots stay
//! finite. Ratings of more than two players are in `pool.rs`.

use super::interval::{Estimate, score_interval};
use super::tally::Pentanomial;

/// The largest difference that is written down: a score of 1 in 10^10, beyond what matches can tell from 0.
pub const ELO_CAP: f64 = 4000.0;

/// The lead, in Elo points, that an expected score means.
pub fn elo_of_score(score: f64) -> f64 {
    let score = score.clamp(0.0, 1.0);
    (400.0 * (score / (1.0 - score)).log10()).clamp(-ELO_CAP, ELO_CAP)
}

/// The expected score of a lead in Elo points.
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Our lead over the opponent of these pairs, with its interval.
pub fn match_elo(pairs: &Pentanomial, level: f64) -> Estimate {
    let interval = score_interval(pairs, level);
    Estimate { value: elo_of_score(pairs.score()), low: elo_of_score(interval.low), high: elo_of_score(interval.high) }
}
