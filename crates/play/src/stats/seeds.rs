//! What a learning *method* scores, as opposed to one player it has trained.
//!
//! A learned player is one draw from what its training may yield, so a claim about the method varies with the training
//! seed first and with the games second. The score of each seed's player carries both kinds of noise, hence
//!
//! > mean over seeds  +-  t sqrt(s^2 / k)
//!
//! with s^2 the variance of the k seeds' scores and t Student's quantile with k - 1 degrees of freedom: for 3 to 5
//! seeds a bootstrap over seeds would cover some 75 to 85 % instead of 95 %, and drawing pairs again within drawn seeds
//! would count the noise of the games twice (Davison & Hinkley 1997, section 3.8). Seeds that agree by chance do not
//! make the games exact: the interval is never narrower than that of all pairs taken together.
//!
//! Two seeds say next to nothing, as they should. One seed is given the interval of its pairs, which is about that one
//! player and not about the method.

use super::interval::{Interval, is_level, score_interval, student_quantile};
use super::tally::Pentanomial;

/// Interval of the mean score over training seeds, each given by the pairs that its player played.
pub fn seeds_interval(seeds: &[Pentanomial], level: f64) -> Interval {
    let played = seeds.iter().filter(|pairs| pairs.pairs() > 0);
    let all = played.clone().fold(Pentanomial::default(), |sum, pairs| sum.plus(pairs));
    let games = score_interval(&all, level);
    let scores: Vec<f64> = played.map(Pentanomial::score).collect();
    if scores.len() < 2 || !is_level(level) {
        return games;
    }
    let k = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / k;
    let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (k - 1.0);
    let half = student_quantile(0.5 + 0.5 * level, k - 1.0) * (variance / k).sqrt();
    // Seeds with unequal numbers of pairs may have another mean than all pairs; the width is what counts.
    let shift = mean - all.score();
    Interval {
        low: (mean - half).min(games.low + shift).max(0.0),
        high: (mean + half).max(games.high + shift).min(1.0),
    }
}
