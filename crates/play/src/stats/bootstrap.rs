//! The mean of anything measured once per pair: disc margins, nodes per move, ratios of time.
//!
//! The percentile bootstrap (Efron 1979): units are drawn with replacement, and the interval holds the middle share of
//! the means so drawn. Percentiles of n units are too narrow by about sqrt((n-1)/n) z/t, so distances from the observed
//! mean are stretched by the inverse (the correction behind Hesterberg's expanded percentile interval, 2015).
//!
//! In simulation, 95 % covered 93 % for 60 values as skewed as squares of normal variables.
//!
//! For scores use `score_interval`, which also knows that scores end at 0 and 1; units that all measure the same get an
//! interval of zero width here, since nothing is known about the range they could have come from.

use ludex_core::Rng;

use super::interval::{Interval, is_level, normal_quantile, student_quantile};

/// Interval of the mean behind these values, one per independent unit; `None` if there are fewer than two values, no
/// resamples, or a value or the level is nonsense. With 2 000 resamples the ends are stable to about 2 % of the width.
pub fn bootstrap_interval(values: &[f64], level: f64, resamples: u32, rng: &mut Rng) -> Option<Interval> {
    let n = u32::try_from(values.len()).ok().filter(|&n| n >= 2)?;
    if resamples == 0 || !is_level(level) || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let mut drawn: Vec<f64> =
        (0..resamples).map(|_| (0..n).map(|_| values[rng.below(n) as usize]).sum::<f64>() / n as f64 - mean).collect();
    drawn.sort_by(f64::total_cmp);
    let upper = 0.5 + 0.5 * level;
    let freedom = (n - 1) as f64;
    let stretch = (n as f64 / freedom).sqrt() * student_quantile(upper, freedom) / normal_quantile(upper);
    let end = |p: f64| mean + stretch * percentile(&drawn, p);
    Some(Interval { low: end(1.0 - upper), high: end(upper) })
}

/// The value below which a share `p` of the sorted values lies, interpolated.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let at = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}
