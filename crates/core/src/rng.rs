//! Every random choice comes from a seed.
//!
//! One fixed generator (xoshiro256++, Blackman & Vigna 2019), so that a seed means the same thing in every version, and
//! streams that depend only on (seed, number), so that match 17 is the same match on one thread or many.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded, reproducible source of random choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Stream `n` of this seed: independent of every other stream, whatever has been drawn from them.
    pub fn stream(seed: u64, n: u64) -> Self {
        Rng::new(Rng::derive(seed, n))
    }

    /// The seed of stream `n`, for passing on: streams may have streams of their own.
    pub fn derive(seed: u64, n: u64) -> u64 {
        mix(mix(seed ^ 0x6c75_6465_7800_0001) ^ n)
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; `n` must not be 0. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0);
        ((self.bits() as u128 * n as u128) >> 64) as u32
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Standard normal (Box-Muller, one value a call).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.unit();
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A uniformly chosen element, or `None` of an empty slice.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        (!items.is_empty()).then(|| &items[self.below(items.len() as u32) as usize])
    }

    /// A uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

/// A bijective scrambling of 64 bits (the finaliser of SplitMix64): good enough to hash keys and derive seeds.
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_forever() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(drawn, [14971601782005023387, 13781649495232077965, 1847458086238483744]);
    }

    #[test]
    fn streams_do_not_depend_on_draws_from_others() {
        let mut a = Rng::stream(5, 0);
        a.bits();
        assert_eq!(Rng::stream(5, 1), Rng::stream(5, 1));
        assert_ne!(Rng::stream(5, 1).bits(), Rng::stream(5, 2).bits());
        assert_ne!(Rng::stream(5, 1).bits(), Rng::stream(6, 1).bits());
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[rng.below(7) as usize] += 1);
        let chi2: f64 = counts.iter().map(|&c| (c as f64 - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 22.5, "chi-square {chi2} with 6 degrees of freedom (99.9 %)");
    }
}
