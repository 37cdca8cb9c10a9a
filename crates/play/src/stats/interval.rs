//! Confidence intervals for rates and scores.
//!
//! **Rates** (k of n): Wilson's interval (1927), the p with (p - k/n)^2 <= z^2 p (1-p) / n, whose mean coverage is
//! close to nominal; at 0 of n and n of n the exact one of Clopper & Pearson (1934), which never covers less than it
//! says. Brown, Cai & DasGupta (2001) compare them.
//!
//! **Scores** with pairs as units: the m with 2 R(m) <= t^2, R being the likelihood ratio of `likelihood.rs` and t
//! the quantile of Student's distribution with one degree of freedom less than there are pairs (the small-sample
//! calibration Owen recommends for empirical likelihood). It never leaves [0, 1], follows the skewness near 0 and 1,
//! and asks no model of draws or of correlation within pairs. If all pairs scored the same v, there is no spread to
//! learn from: then other pairs have a share of at most q = 1 - (a/2)^(1/n), a being 1 - level (the Clopper-Pearson
//! bound), and could score anything, hence [v - v q, v + (1-v) q]; at v = 0 and 1 this is Clopper-Pearson itself. No
//! interval has zero width.
//!
//! Levels are two-sided confidence levels such as 0.95. A level outside (0, 1), or no data, yields [0, 1].

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::checked_beta_reg;

use super::likelihood::evidence_against;
use super::tally::{Pentanomial, Wdl};

/// A range of values that the data do not rule out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// All rates and scores there are.
    pub const ALL: Interval = Interval { low: 0.0, high: 1.0 };

    /// Whether the value lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A value and the range of values that the data do not rule out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Interval of the rate behind `k` of `n`: Wilson's, or Clopper and Pearson's at 0 and n.
pub fn rate_interval(k: u32, n: u32, level: f64) -> Interval {
    if k == 0 || k >= n { clopper_pearson(k, n, level) } else { wilson(k, n, level) }
}

/// Wilson's score interval of the rate behind `k` of `n`.
pub fn wilson(k: u32, n: u32, level: f64) -> Interval {
    if n == 0 || !is_level(level) {
        return Interval::ALL;
    }
    let (p, n) = (k.min(n) as f64 / n as f64, n as f64);
    let z2 = normal_quantile(0.5 + 0.5 * level).powi(2);
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// The exact interval of the rate behind `k` of `n`: each end is the rate at which a result at least as far away has
/// probability (1 - level) / 2.
pub fn clopper_pearson(k: u32, n: u32, level: f64) -> Interval {
    let tail = 0.5 + 0.5 * level;
    Interval { low: 1.0 - upper_bound(n.saturating_sub(k), n, tail), high: upper_bound(k, n, tail) }
}

/// The one-sided exact bound: at confidence `level` the rate behind `k` of `n` is no higher than this.
///
/// This is how "never loses" is printed: 0 losses in 300 games bound the loss rate below 1 % at 95 %.
pub fn upper_bound(k: u32, n: u32, level: f64) -> f64 {
    if k >= n || !is_level(level) {
        return 1.0;
    }
    let (k, n) = (k as f64, n as f64);
    if k == 0.0 {
        return -((1.0 - level).ln() / n).exp_m1();
    }
    // P(at most k | rate x) = 1 - I_x(k+1, n-k), which falls from 1 to 0.
    bisect(k / n, 1.0, |x| checked_beta_reg(k + 1.0, n - k, x).is_ok_and(|p| p < level))
}

/// Interval of the score behind these pairs.
pub fn score_interval(pairs: &Pentanomial, level: f64) -> Interval {
    let n = pairs.pairs();
    if n == 0 || !is_level(level) {
        return Interval::ALL;
    }
    let score = pairs.score();
    if pairs.counts.iter().any(|&c| c as u64 == n) {
        let other = -((0.5 - 0.5 * level).ln() / n as f64).exp_m1();
        return Interval { low: score - score * other, high: score + (1.0 - score) * other };
    }
    let limit = 0.5 * student_quantile(0.5 + 0.5 * level, (n - 1) as f64).powi(2);
    let counts = pairs.counts.map(f64::from);
    let outside = |m: f64| evidence_against(m, &counts) > limit;
    Interval { low: bisect(0.0, score, outside), high: bisect(score, 1.0, |m| !outside(m)) }
}

/// Interval of the score behind single games that were not played in pairs and share nothing.
pub fn games_interval(games: &Wdl, level: f64) -> Interval {
    score_interval(&games_as_units(games), level)
}

/// Single games on the scale of pairs: a game lost, drawn, won is a unit that scored 0, 1/2, 1.
pub(super) fn games_as_units(games: &Wdl) -> Pentanomial {
    Pentanomial::new([games.losses, 0, games.draws, 0, games.wins])
}

/// Whether this is a confidence level at all.
pub(super) fn is_level(level: f64) -> bool {
    level > 0.0 && level < 1.0
}

/// The value below which a standard normal variable falls with probability `p`, 0 < p < 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p.clamp(1e-16, 1.0 - 1e-16))
}

/// The value below which Student's t falls with probability `p` >= 1/2.
///
/// By bisection on the distribution function: the library's own inverse may not return for extreme arguments.
pub(super) fn student_quantile(p: f64, freedom: f64) -> f64 {
    let z = normal_quantile(p);
    match StudentsT::new(0.0, 1.0, freedom) {
        // z + (z^3 + z) / 4f, the start of the expansion in 1/f, is closer than the bisection from here on.
        Ok(_) if freedom > 1e5 => z + (z.powi(3) + z) / (4.0 * freedom),
        Ok(student) => {
            let mut high = 2.0 * z + 1.0;
            while student.cdf(high) < p && high < 1e12 {
                high *= 2.0;
            }
            bisect(z, high, |t| student.cdf(t) < p)
        }
        Err(_) => f64::INFINITY,
    }
}

/// The point between `low` and `high` up to which `below` holds.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if high - low <= 1e-13 * high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
