//! Bitboards of one or two machine words: iteration, selection of the n-th bit, detection of lines.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, Not, Shl, Shr};

/// By mover: the number that is combined with the key of a position by XOR.
pub(crate) const MOVER: [u64; 2] = [0, 0x9ddf_ea08_eb38_2d69];

/// The bitboard type of a game, `u64` or `u128`, chosen by the size of the board.
pub trait Word:
    Copy
    + Eq
    + Hash
    + Debug
    + Send
    + Sync
    + 'static
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitAndAssign
    + BitOrAssign
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The empty board.
    const ZERO: Self;
    /// The number of bits.
    const BITS: u32;
    /// The board with bit `i` alone.
    fn bit(i: u32) -> Self;
    /// The sum, modulo the size of the type.
    fn plus(self, other: Self) -> Self;
    /// The number of bits that are set.
    fn count(self) -> u32;
    /// The index of the lowest set bit.
    fn lowest(self) -> u32;
    /// The index of the `n`-th set bit, from 0; there must be one.
    fn select(self, n: u32) -> u32;
    /// The low and the high word, for hashing.
    fn halves(self) -> (u64, u64);
}

impl Word for u64 {
    const ZERO: u64 = 0;
    const BITS: u32 = 64;

    #[inline]
    fn bit(i: u32) -> u64 {
        1 << i
    }

    #[inline]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    #[inline]
    fn count(self) -> u32 {
        self.count_ones()
    }

    #[inline]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }

    #[inline]
    fn select(self, n: u32) -> u32 {
        select(self, n)
    }

    #[inline]
    fn halves(self) -> (u64, u64) {
        (self, 0)
    }
}

impl Word for u128 {
    const ZERO: u128 = 0;
    const BITS: u32 = 128;

    #[inline]
    fn bit(i: u32) -> u128 {
        1 << i
    }

    #[inline]
    fn plus(self, other: u128) -> u128 {
        self.wrapping_add(other)
    }

    #[inline]
    fn count(self) -> u32 {
        self.count_ones()
    }

    #[inline]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }

    #[inline]
    fn select(self, n: u32) -> u32 {
        let low = self as u64;
        match n.checked_sub(low.count_ones()) {
            None => select(low, n),
            Some(rest) => 64 + select((self >> 64) as u64, rest),
        }
    }

    #[inline]
    fn halves(self) -> (u64, u64) {
        (self as u64, (self >> 64) as u64)
    }
}

/// The index of the `n`-th set bit of `x`.
///
/// Bit deposit takes three cycles; the portable loop takes 15 % of a Connect Four playout and 25 % of a Dots playout.
#[inline]
#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
#[allow(unsafe_code)]
pub(crate) fn select(x: u64, n: u32) -> u32 {
    debug_assert!(n < x.count_ones());
    // SAFETY: compiled only where the build says that every target machine has BMI2.
    unsafe { std::arch::x86_64::_pdep_u64(1 << n, x) }.trailing_zeros()
}

/// The index of the `n`-th set bit of `x`.
#[inline]
#[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
pub(crate) fn select(x: u64, n: u32) -> u32 {
    select_plain(x, n)
}

/// [`select`] without bit deposit: clears the lowest bit `n` times. Also the oracle of its test.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "bmi2"))))]
fn select_plain(mut x: u64, n: u32) -> u32 {
    debug_assert!(n < x.count_ones());
    (0..n).for_each(|_| x &= x - 1);
    x.trailing_zeros()
}

/// Whether `b` has a line of `k` bits at one of four distances from bit to bit. It has no early exit, because mispredicted
/// branches cost more than the shifts. It is always inlined, because a call costs a fifth of a Connect Four playout.
#[inline(always)]
pub(crate) fn has_run<W: Word>(b: W, distances: [u32; 4], k: u32) -> bool {
    let [p, q, r, s] = distances;
    match k {
        3 => {
            let run = |d| b & (b >> d) & (b >> (2 * d));
            run(p) | run(q) | run(r) | run(s) != W::ZERO
        }
        4 => {
            let run = |d| {
                let two = b & (b >> d);
                two & (two >> (2 * d))
            };
            run(p) | run(q) | run(r) | run(s) != W::ZERO
        }
        _ => distances.into_iter().any(|d| has_long_run(b, d, k)),
    }
}

/// [`has_run`] for one distance and any length.
fn has_long_run<W: Word>(b: W, d: u32, k: u32) -> bool {
    // `run` has the bits at which a line of `length` starts; `length` doubles until it reaches `k`.
    let (mut run, mut length) = (b, 1);
    while length < k {
        let more = length.min(k - length);
        run = if more * d < W::BITS { run & (run >> (more * d)) } else { W::ZERO };
        length += more;
    }
    run != W::ZERO
}

/// The bits that complete a line of `k` at distance `d` with bits of `b`, whether set or not.
#[inline(always)]
pub(crate) fn completes_run<W: Word>(b: W, d: u32, k: u32) -> W {
    let (below, above) = (b << d, b >> d);
    let (two_below, two_above) = ((b & below) << d, (b & above) >> d);
    if k == 3 {
        return two_below | below & above | two_above;
    }
    if k == 4 {
        return (b & two_below) << d | two_below & above | below & two_above | (b & two_above) >> d;
    }
    // `below` has the bits with `i` bits of `b` right below them; the rest of the line is above.
    let (mut found, mut below) = (W::ZERO, !W::ZERO);
    for i in 0..k {
        found |= (0..k - 1 - i).fold(!W::ZERO, |above, _| (b & above) >> d) & below;
        below = (b & below) << d;
    }
    found
}

/// The indices of the set bits, in increasing order.
#[inline]
pub(crate) fn ones<W: Word>(mut w: W) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (w != W::ZERO).then(|| {
            let i = w.lowest();
            w &= !W::bit(i);
            i
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    #[test]
    fn select_is_the_nth_of_the_ones() {
        let mut rng = Rng::new(1);
        for _ in 0..2_000 {
            let x = rng.bits() & rng.bits();
            let wide = (x as u128) << 64 | rng.bits() as u128;
            for (n, i) in ones(x).enumerate() {
                assert_eq!((x.select(n as u32), select_plain(x, n as u32)), (i, i));
            }
            assert!(ones(wide).enumerate().all(|(n, i)| wide.select(n as u32) == i));
        }
    }
}
