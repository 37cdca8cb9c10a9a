//! How far the counts speak against a mean score, assuming nothing but that pairs are alike and independent.
//!
//! Let n_i pairs have scored a_i in {0, 1/4, 1/2, 3/4, 1}. Among all distributions on [0, 1] with mean m, the
//! likeliest one makes the counts less likely than the best distribution of any mean by exp(-R), where
//!
//! > R(m) = max over t in [-1/(1-m), 1/m] of  sum_i n_i ln(1 + t (a_i - m)).
//!
//! This is the dual of the empirical likelihood (Owen 1988) and of the multinomial maximum likelihood under a given
//! mean on which fishtest's sequential test rests (Van den Bergh's note "support_MLE_multinomial" to fishtest). The
//! closed range of t is what gives scores that were not seen their due: where fishtest replaces zero counts by 0.001,
//! this is the limit of such counts going to 0, and is finite for every 0 < m < 1 whatever the counts.
//!
//! Draws, and pairs whose games are correlated, need no model: they only shape the distribution.

/// R(mean) of the header for the counts `n`, which need not be whole: 0 at the observed score, growing on both sides,
/// infinite where the counts are impossible.
pub(super) fn evidence_against(mean: f64, n: &[f64; 5]) -> f64 {
    if mean <= 0.0 || mean >= 1.0 || mean.is_nan() {
        let possible =
            (mean == 0.0 && n[1..].iter().all(|&n| n == 0.0)) || (mean == 1.0 && n[..4].iter().all(|&n| n == 0.0));
        return if possible { 0.0 } else { f64::INFINITY };
    }
    let d = [0.0, 0.25, 0.5, 0.75, 1.0].map(|a| a - mean);
    // The slope of the sum in t, falling in t, and its own (negative) slope.
    let slope = |t: f64| {
        let (mut f, mut g) = (0.0, 0.0);
        for (n, d) in n.iter().zip(d) {
            if *n > 0.0 {
                let r = d / (1.0 + t * d);
                f += n * r;
                g -= n * r * r;
            }
        }
        (f, g)
    };
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    let rising = slope(0.0).0;
    let t = if rising == 0.0 {
        0.0
    } else if rising > 0.0 && n[0] == 0.0 && slope(high).0 >= 0.0 {
        high
    } else if rising < 0.0 && n[4] == 0.0 && slope(low).0 <= 0.0 {
        low
    } else {
        // Newton's method, kept between points where the slope is known to be positive and negative.
        let mut t = 0.0;
        for _ in 0..60 {
            let (f, g) = slope(t);
            if f > 0.0 {
                low = t;
            } else {
                high = t;
            }
            let step = t - f / g;
            let next = if step > low && step < high { step } else { 0.5 * (low + high) };
            let done = (next - t).abs() <= 1e-10 * (1.0 + t.abs());
            t = next;
            if done {
                break;
            }
        }
        t
    };
    n.iter().zip(d).filter(|(n, _)| **n > 0.0).map(|(n, d)| n * (t * d).ln_1p()).sum::<f64>().max(0.0)
}
