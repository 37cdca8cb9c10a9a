//! Values as whole numbers, so that a null window (alpha, alpha + 1) holds nothing.
//!
//! A payoff p with |p| < 1, estimated or certain, is p * [`SCALE`]; a win is [`WIN`] less the plies to it, a loss the
//! negative. All fit into sixteen bits.

use super::DEEPEST;

/// A payoff of 1 that is not certain; every estimate is within plus and minus this.
pub(super) const SCALE: i32 = 10_000;
/// A win at the root; each ply to it takes one off.
pub(super) const WIN: i32 = 30_000;
/// Wins are above this, losses below its negative.
pub(super) const DECISIVE: i32 = WIN - 2 * DEEPEST as i32 - 10;
/// Beyond every value.
pub(super) const INFINITE: i32 = 32_000;

/// What a subtree is worth, and whether that is certain: no leaf that mattered was cut at the horizon or guessed. Of a
/// value outside the window, certain is that it is a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeValue {
    pub value: i32,
    pub complete: bool,
}

impl NodeValue {
    /// For the other player.
    #[inline]
    pub fn negated(self) -> Self {
        NodeValue { value: -self.value, ..self }
    }
}

/// An estimate within [-1, 1], rounded alike on both sides of zero.
#[inline]
pub(super) fn estimate(payoff: f32) -> i32 {
    let scaled = payoff.clamp(-1.0, 1.0) * SCALE as f32;
    (scaled + 0.5f32.copysign(scaled)) as i32
}

/// An outcome `ply` plies below the root, for a player who gets `payoff`.
#[inline]
pub(super) fn terminal(payoff: f32, ply: u32) -> i32 {
    match payoff {
        p if p >= 1.0 => WIN - ply as i32,
        p if p <= -1.0 => ply as i32 - WIN,
        p => estimate(p),
    }
}

/// A value as the table keeps it, wins counted from the node, and back again with a negative ply.
#[inline]
pub(super) fn shifted(value: i32, ply: i32) -> i32 {
    match value {
        v if v > DECISIVE => v + ply,
        v if v < -DECISIVE => v - ply,
        v => v,
    }
}

/// The payoff that a value stands for.
pub(super) fn payoff(value: i32) -> f32 {
    (value as f32 / SCALE as f32).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_alike_for_both_players_and_fit_the_table() {
        for p in [0.0, 0.3, 0.33333, 0.99999, 1.0, 7.0] {
            assert_eq!(estimate(-p), -estimate(p));
            assert!(estimate(p) <= SCALE && SCALE < DECISIVE);
        }
        for ply in [0, 1, DEEPEST] {
            let won = terminal(1.0, ply);
            assert!(won > DECISIVE && won < INFINITE && won <= i16::MAX as i32);
            assert_eq!(shifted(shifted(won, ply as i32), -(ply as i32)), won);
            assert_eq!((terminal(-1.0, ply), payoff(won)), (-won, 1.0));
        }
        assert_eq!(payoff(terminal(0.25, 9)), 0.25);
    }
}
