//! Sets of small numbers as bits of 64-bit words.

/// The number of words that `n` bits take.
pub(crate) fn words(n: usize) -> usize {
    n.div_ceil(64)
}

/// Whether bit `i` is set.
#[inline]
pub(crate) fn get(bits: &[u64], i: usize) -> bool {
    bits[i >> 6] >> (i & 63) & 1 != 0
}

/// Flips bit `i`.
#[inline]
pub(crate) fn flip(bits: &mut [u64], i: usize) {
    bits[i >> 6] ^= 1 << (i & 63);
}

/// Sets bit `i`.
#[inline]
pub(crate) fn set(bits: &mut [u64], i: usize) {
    bits[i >> 6] |= 1 << (i & 63);
}

/// The indices of the bits that are set, in increasing order.
pub(crate) fn ones(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(i, &w)| Ones(w).map(move |b| i * 64 + b))
}

/// Iterates over the indices of the bits of a word that are set.
pub(crate) struct Ones(pub u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let b = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(b as usize)
    }
}

/// The index of the `n`th set bit of a word, from 0; the word must have that many. Drawing moves takes a tenth of a
/// bit-parallel playout, and bit deposit makes this three instructions.
#[inline]
#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
#[allow(unsafe_code)]
pub(crate) fn select(w: u64, n: u32) -> u32 {
    // SAFETY: compiled only where the build says that every target machine has BMI2.
    unsafe { std::arch::x86_64::_pdep_u64(1 << n, w) }.trailing_zeros()
}

/// The index of the `n`th set bit of a word, from 0; the word must have that many.
#[inline]
#[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
pub(crate) fn select(mut w: u64, mut n: u32) -> u32 {
    // Halves the range by counting bits down to a byte, then goes bit by bit.
    let mut at = 0;
    for half in [32, 16, 8] {
        let low = (w & ((1u64 << half) - 1)).count_ones();
        if n >= low {
            n -= low;
            w >>= half;
            at += half;
        }
    }
    for _ in 0..n {
        w &= w - 1;
    }
    at + w.trailing_zeros()
}

/// Transposes a 64 x 64 matrix of bits (Warren, Hacker's Delight, 7-3).
pub(crate) fn transpose(m: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = u64::MAX >> 32;
    while width > 0 {
        let mut k = 0;
        while k < 64 {
            let t = ((m[k] >> width) ^ m[k + width]) & mask;
            m[k] ^= t << width;
            m[k + width] ^= t;
            k = (k + width + 1) & !width;
        }
        width >>= 1;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    #[test]
    fn select_finds_every_bit() {
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            let w = rng.bits() & rng.bits();
            for (n, b) in Ones(w).enumerate() {
                assert_eq!(select(w, n as u32) as usize, b);
            }
        }
    }

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        let mut rng = Rng::new(2);
        let m: [u64; 64] = std::array::from_fn(|_| rng.bits());
        let mut t = m;
        transpose(&mut t);
        assert!((0..64).all(|i| (0..64).all(|j| m[i] >> j & 1 == t[j] >> i & 1)));
    }
}
