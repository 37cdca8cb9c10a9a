//! One way to bring a heuristic score into a value: monotone, odd, and short of the payoffs of a finished game.

use ludex_core::{Payoffs, Player};

/// The closest that a heuristic may come to a certain win.
const CEILING: f32 = 0.999;

/// A score in favour of `player` as a value: `x / (1 + |x|)` of `x = score / scale`.
///
/// Unlike tanh it still tells large scores apart in 32 bits; at `score == scale` the value is one half.
pub(crate) fn squash(player: Player, score: f32, scale: f32) -> Payoffs {
    let x = score / scale;
    Payoffs::of(player, CEILING * x / (1.0 + x.abs()))
}

/// A score in favour of `player` as a share of `bound`, the largest that it can be.
pub(crate) fn share(player: Player, score: f32, bound: f32) -> Payoffs {
    debug_assert!(score.abs() <= bound);
    Payoffs::of(player, CEILING * score / bound)
}
