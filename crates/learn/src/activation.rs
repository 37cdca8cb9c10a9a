//! Activation functions, written once for eight lanes of `f32` and once for `f64`.
//!
//! The forms for eight lanes are sums, products and one division and call no system library, so that they give the same
//! bits on every machine, in a batch or alone. Their error is below 6e-7 for |x| <= 100 (tested), well within the 1e-5
//! to which an exported net agrees. The coefficients are minimax fits: tanh as x·P(x²)/Q(x²) on [-8, 8]; exp, sin and
//! cos after range reduction.
//!
//! | | range | formula |
//! |---|---|---|
//! | `Logistic` | (0, 1) | 1 / (1 + e^-x) |
//! | `Tanh` | (-1, 1) | tanh x, the symmetric form of the logistic |
//! | `Gauss`, `GaussSym` | (0, 1], (-1, 1] | e^(-x²), and twice that minus one |
//! | `Sin`, `SinSym` | [0, 1], [-1, 1] | (1 + sin x) / 2, sin x |
//! | `Elliot`, `ElliotSym` | (0, 1), (-1, 1) | (1 + x / (1 + abs x)) / 2, x / (1 + abs x) |

use serde::{Deserialize, Serialize};
use wide::f32x8;

/// An activation function: from a unit's weighted sum to its value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The sum itself.
    Identity,
    /// The positive part.
    Relu,
    /// 1 / (1 + e^-x).
    Logistic,
    /// tanh x.
    Tanh,
    /// e^(-x²).
    Gauss,
    /// 2·e^(-x²) - 1.
    GaussSym,
    /// (1 + sin x) / 2.
    Sin,
    /// sin x.
    SinSym,
    /// (1 + x / (1 + |x|)) / 2.
    Elliot,
    /// x / (1 + |x|).
    ElliotSym,
}

impl Activation {
    /// All activation functions.
    pub const ALL: [Activation; 10] = [
        Activation::Identity,
        Activation::Relu,
        Activation::Logistic,
        Activation::Tanh,
        Activation::Gauss,
        Activation::GaussSym,
        Activation::Sin,
        Activation::SinSym,
        Activation::Elliot,
        Activation::ElliotSym,
    ];

    /// The function at eight points.
    #[inline(always)]
    pub fn apply_x8(self, x: f32x8) -> f32x8 {
        match self {
            Activation::Identity => x,
            Activation::Relu => x.fast_max(f32x8::ZERO),
            Activation::Logistic => logistic(x),
            Activation::Tanh => tanh(x),
            Activation::Gauss => gauss(x),
            Activation::GaussSym => gauss(x) * 2.0 - ONE,
            Activation::Sin => sin(x) * 0.5 + 0.5,
            Activation::SinSym => sin(x),
            Activation::Elliot => (x / (ONE + x.abs())) * 0.5 + 0.5,
            Activation::ElliotSym => x / (ONE + x.abs()),
        }
    }

    /// Whether the function never falls.
    pub(crate) fn is_monotone(self) -> bool {
        !matches!(self, Activation::Gauss | Activation::GaussSym | Activation::Sin | Activation::SinSym)
    }

    /// The function at one point, with the bits of [`Activation::apply_x8`].
    pub fn apply(self, x: f32) -> f32 {
        self.apply_x8(f32x8::splat(x)).to_array()[0]
    }

    /// The function and its derivative at eight points.
    #[inline(always)]
    pub(crate) fn with_derivative_x8(self, x: f32x8) -> (f32x8, f32x8) {
        let y = self.apply_x8(x);
        let derivative = match self {
            Activation::Identity => ONE,
            Activation::Relu => x.simd_gt(f32x8::ZERO).select(ONE, f32x8::ZERO),
            Activation::Logistic => y * (ONE - y),
            Activation::Tanh => ONE - y * y,
            Activation::Gauss => x * y * -2.0,
            Activation::GaussSym => x * (y + ONE) * -2.0,
            Activation::Sin => cos(x) * 0.5,
            Activation::SinSym => cos(x),
            Activation::Elliot => ONE / ((ONE + x.abs()) * (ONE + x.abs())) * 0.5,
            Activation::ElliotSym => ONE / ((ONE + x.abs()) * (ONE + x.abs())),
        };
        (y, derivative)
    }

    /// The function in `f64`, for learning.
    #[inline(always)]
    pub fn apply_f64(self, x: f64) -> f64 {
        match self {
            Activation::Identity => x,
            Activation::Relu => x.max(0.0),
            Activation::Logistic => 1.0 / (1.0 + exp(-x)),
            Activation::Tanh => 1.0 - 2.0 / (1.0 + exp(2.0 * x)),
            Activation::Gauss => exp(-x * x),
            Activation::GaussSym => 2.0 * exp(-x * x) - 1.0,
            Activation::Sin => 0.5 + 0.5 * x.sin(),
            Activation::SinSym => x.sin(),
            Activation::Elliot => 0.5 + 0.5 * x / (1.0 + x.abs()),
            Activation::ElliotSym => x / (1.0 + x.abs()),
        }
    }

    /// The derivative in `f64` at `x`, where the function has the value `y`.
    #[inline(always)]
    pub fn derivative(self, x: f64, y: f64) -> f64 {
        match self {
            Activation::Identity => 1.0,
            Activation::Relu => (x > 0.0) as u8 as f64,
            Activation::Logistic => y * (1.0 - y),
            Activation::Tanh => 1.0 - y * y,
            Activation::Gauss => -2.0 * x * y,
            Activation::GaussSym => -2.0 * x * (y + 1.0),
            Activation::Sin => 0.5 * x.cos(),
            Activation::SinSym => x.cos(),
            Activation::Elliot => 0.5 / (1.0 + x.abs()).powi(2),
            Activation::ElliotSym => 1.0 / (1.0 + x.abs()).powi(2),
        }
    }
}

const ONE: f32x8 = f32x8::ONE;

/// Adding and subtracting this rounds a small `f32` to the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// Horner's rule, highest power first.
#[inline(always)]
fn poly<const N: usize>(x: f32x8, coefficients: [f32; N]) -> f32x8 {
    let mut sum = f32x8::splat(coefficients[0]);
    for &c in &coefficients[1..] {
        sum = sum * x + c;
    }
    sum
}

#[inline(always)]
fn tanh(x: f32x8) -> f32x8 {
    let x = x.fast_max(f32x8::splat(-8.0)).fast_min(f32x8::splat(8.0));
    let u = x * x;
    let p = poly(u, [1.131_023_9e-5, 0.002_938_829_4, 0.129_136_43, 0.999_999_34]);
    let q = poly(u, [2.423_845_4e-7, 0.000_237_028_7, 0.023_763_835, 0.462_467_43, 1.0]);
    x * p / q
}

#[inline(always)]
fn logistic(x: f32x8) -> f32x8 {
    tanh(x * 0.5) * 0.5 + 0.5
}

#[inline(always)]
fn gauss(x: f32x8) -> f32x8 {
    exp_lanes((x * x).fast_min(f32x8::splat(87.0)) * -1.0)
}

/// e^x for x in [-87, 88].
#[inline(always)]
pub(crate) fn exp_lanes(x: f32x8) -> f32x8 {
    let x = x.fast_max(f32x8::splat(-87.0)).fast_min(f32x8::splat(88.0));
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 0.693_359_4 - n * -0.000_212_194_44;
    let p = poly(r, [0.001_395_060_2, 0.008_368_953, 0.041_666_206, 0.166_665_18, 0.5, 1.0, 1.0]);
    // The low bits of `shifted` hold n; moved into the exponent they are 2^n.
    let power = shifted.to_array().map(|s| f32::from_bits(s.to_bits().wrapping_add(127) << 23));
    p * f32x8::new(power)
}

/// x minus the nearest multiple n·π, and (-1)^n.
#[inline(always)]
fn reduce(x: f32x8) -> (f32x8, f32x8) {
    let x = x.fast_max(f32x8::splat(-1e5)).fast_min(f32x8::splat(1e5));
    let shifted = x * std::f32::consts::FRAC_1_PI + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 3.140_625 - n * 0.000_967_979_43 - n * -3.258_413_7e-7;
    let sign = shifted.to_array().map(|s| f32::from_bits(1.0f32.to_bits() | s.to_bits() << 31));
    (r, f32x8::new(sign))
}

#[inline(always)]
fn sin(x: f32x8) -> f32x8 {
    let (r, sign) = reduce(x);
    let u = r * r;
    let p = poly(u, [2.599_751_7e-6, -0.000_198_064_8, 0.008_333_015, -0.166_666_57, 1.0]);
    sign * r * p
}

#[inline(always)]
fn cos(x: f32x8) -> f32x8 {
    let (r, sign) = reduce(x);
    let u = r * r;
    sign * poly(u, [-2.607_421_8e-7, 2.476_173e-5, -0.001_388_84, 0.041_666_64, -0.5, 1.0])
}

/// e^x in `f64`: 2^n times the Taylor series on |r| <= ln 2 / 2, to 1e-15 of the value. Plain arithmetic, so that a
/// loop over it vectorises and gives the same bits everywhere.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let x = x.clamp(-708.0, 709.0);
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = x - n * 0.693_147_180_369_123_8 - n * 1.908_214_929_270_587_7e-10;
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = p * r + c;
    }
    p * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(act: Activation, x: f64) -> f64 {
        match act {
            Activation::Logistic => 1.0 / (1.0 + (-x).exp()),
            Activation::Tanh => x.tanh(),
            Activation::Gauss => (-x * x).exp(),
            Activation::GaussSym => 2.0 * (-x * x).exp() - 1.0,
            _ => act.apply_f64(x),
        }
    }

    #[test]
    fn lanes_are_close_to_the_true_functions() {
        for act in Activation::ALL {
            for i in -1_000_000..=1_000_000 {
                let x = i as f32 * 1e-4;
                let (got, want) = (act.apply(x) as f64, truth(act, x as f64));
                let bound = if act == Activation::Identity || act == Activation::Relu { 0.0 } else { 6e-7 };
                assert!((got - want).abs() <= bound, "{act:?}({x}) = {got}, not {want}");
            }
        }
    }

    #[test]
    fn wild_sums_give_finite_values() {
        for act in Activation::ALL {
            for x in [f32::MAX, f32::MIN, 1e30, -1e30, 1e6, -0.0] {
                assert!(act.apply(x).is_finite(), "{act:?}({x})");
            }
        }
    }

    #[test]
    fn derivatives_equal_numeric_differences() {
        for act in Activation::ALL {
            for i in -500..500 {
                let x = i as f64 * 0.01 + 0.003;
                let numeric = (act.apply_f64(x + 1e-6) - act.apply_f64(x - 1e-6)) / 2e-6;
                let derivative = act.derivative(x, act.apply_f64(x));
                assert!((derivative - numeric).abs() < 1e-8, "{act:?}'({x}) = {derivative}, not {numeric}");
                let lane = act.with_derivative_x8(f32x8::splat(x as f32)).1.to_array()[3] as f64;
                assert!((lane - numeric).abs() < 2e-6, "{act:?}'({x}) = {lane} in lanes, not {numeric}");
            }
        }
    }

    #[test]
    fn exp_in_f64_is_right_to_the_last_digits() {
        for i in -7000..7000 {
            let x = i as f64 * 0.1013;
            if (-700.0..700.0).contains(&x) {
                assert!((exp(x) / x.exp() - 1.0).abs() < 2e-15, "exp({x})");
            }
        }
    }
}
