//! Vector loops with one fixed order of summation, so that the same numbers give the same bits on any number of threads
//! and with any register width.

use wide::f32x8;

/// Lanes of `f32` in a register; widths are padded to a multiple of this.
pub(crate) const LANES: usize = 8;

/// `n` rounded up to a multiple of [`LANES`].
pub(crate) const fn padded(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

/// The first eight numbers of a slice.
#[inline(always)]
pub(crate) fn load(x: &[f32]) -> f32x8 {
    f32x8::new(x[..LANES].try_into().expect("eight lanes"))
}

/// Writes the first eight numbers of a slice.
#[inline(always)]
pub(crate) fn store(x: f32x8, out: &mut [f32]) {
    out[..LANES].copy_from_slice(&x.to_array());
}

/// The sum of the lanes: lane k and k + 4 first.
#[inline(always)]
pub(crate) fn sum(x: f32x8) -> f32 {
    let x = x.to_array();
    let (a, b, c, d) = (x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]);
    (a + c) + (b + d)
}

/// `y += c·x` over slices of equal length.
#[inline(always)]
pub(crate) fn axpy(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// The inner product in `f64`, as eight interleaved sums.
#[inline(always)]
pub(crate) fn dot64(a: &[f64], b: &[f64]) -> f64 {
    let mut s = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for k in 0..8 {
            s[k] += a[k] * b[k];
        }
    }
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + tail
}
