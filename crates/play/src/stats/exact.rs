//! Exact tests on counts.
//!
//! [`fisher_exact`] asks whether two rates differ: with all margins of the 2x2 table fixed, the first cell is
//! hypergeometric if they do not, and the two-tailed p-value is the sum over all tables no likelier than the observed
//! one (Fisher 1934; "no likelier" up to a relative 1e-7, as in R's `fisher.test`).
//!
//! [`sign_test`] asks the same of *paired* results, where Fisher's test would be wrong: of the pairs that favour one
//! side, each favours either with probability 1/2 if the sides are equal. On a 2x2 table of paired yes/no answers it is
//! the exact test of McNemar (1947).
//!
//! Both ignore the size of a difference, and neither corrects for how many tests the reader has seen.

use statrs::distribution::{Discrete, Hypergeometric};
use statrs::function::factorial::ln_binomial;

/// Two-tailed p-value of Fisher's exact test on `[[a, b], [c, d]]`, rows being the two samples.
pub fn fisher_exact(table: [[u32; 2]; 2]) -> f64 {
    let [[a, b], [c, d]] = table.map(|row| row.map(u64::from));
    let Ok(law) = Hypergeometric::new(a + b + c + d, a + b, a + c) else { return 1.0 };
    let observed = law.ln_pmf(a);
    let (low, high) = ((a + c).saturating_sub(c + d), (a + b).min(a + c));
    let tail: f64 = (low..=high).map(|x| law.ln_pmf(x)).filter(|&p| p <= observed + 1e-7).map(f64::exp).sum();
    tail.min(1.0)
}

/// Two-tailed p-value of the sign test: `plus` pairs favour one side, `minus` the other; ties are left out.
pub fn sign_test(plus: u64, minus: u64) -> f64 {
    let (few, n) = (plus.min(minus), plus.saturating_add(minus));
    if plus == minus {
        return 1.0;
    }
    // Twice the binomial tail: terms shrink by k / (n - k + 1) on the way down from `few`.
    let mut term = (ln_binomial(n, few) - n as f64 * std::f64::consts::LN_2).exp();
    let (mut tail, mut k) = (term, few);
    while k > 0 && term > tail * 1e-17 {
        term *= k as f64 / (n - k + 1) as f64;
        tail += term;
        k -= 1;
    }
    (2.0 * tail).min(1.0)
}
