//! What a net's outputs mean, and the last step from weighted sums to outputs.
//!
//! A head says which outputs there are and how they become payoffs; a link is the activation of the output layer (the
//! inverse link function of a generalised linear model). Neither knows how the net was trained.

use crate::activation::exp_lanes;
use crate::{Activation, Error};
use ludex_core::{Payoffs, Player};
use serde::{Deserialize, Serialize};
use wide::f32x8;

/// What the outputs mean. They take the view of the player to move if the encoder is mover-relative, else of player 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Head {
    /// Expected payoffs in [-1, 1]: one output in a zero-sum game of two, otherwise one for each player in order.
    Value {
        /// The number of outputs.
        outputs: usize,
    },
    /// Three outputs: the probabilities of a win, a draw and a loss (WDL).
    WinDrawLoss,
    /// One score for each move of the game; if moves are inputs, one output: the score of the move given as input.
    MoveScores {
        /// The number of moves of the game.
        moves: usize,
    },
    /// One output for each move of the game, then the expected payoff in [-1, 1].
    PolicyValue {
        /// The number of moves of the game.
        moves: usize,
    },
}

impl Head {
    /// The number of outputs, for nets of which no move is an input.
    pub fn outputs(self) -> usize {
        match self {
            Head::Value { outputs } => outputs,
            Head::WinDrawLoss => 3,
            Head::MoveScores { moves } => moves,
            Head::PolicyValue { moves } => moves + 1,
        }
    }

    /// Each player's expected payoff, where the outputs take the view of `viewer`; `None` if this head has no value.
    /// Payoffs are clipped to [-1, 1].
    pub fn payoffs(self, out: &[f32], viewer: Player) -> Option<Payoffs> {
        let clip = |v: f32| v.clamp(-1.0, 1.0);
        match self {
            Head::Value { outputs: 1 } => Some(Payoffs::of(viewer, clip(out[0]))),
            Head::Value { outputs } => {
                let mut payoffs = Payoffs::draw(outputs);
                (0..outputs).for_each(|p| payoffs[Player(p as u8)] = clip(out[p]));
                Some(payoffs)
            }
            Head::WinDrawLoss => {
                let total = (out[0] + out[1] + out[2]).max(f32::MIN_POSITIVE);
                Some(Payoffs::of(viewer, clip((out[0] - out[2]) / total)))
            }
            Head::MoveScores { .. } => None,
            Head::PolicyValue { moves } => Some(Payoffs::of(viewer, clip(out[moves]))),
        }
    }
}

/// The activation of the output layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// The same activation for each output.
    Each(Activation),
    /// A softmax over all outputs.
    Softmax,
    /// A softmax over all outputs but the last, and an activation for the last: for [`Head::PolicyValue`].
    SoftmaxAnd(Activation),
}

impl Link {
    /// Sums to outputs, in place.
    pub(crate) fn apply(self, z: &mut [f32]) {
        match self {
            Link::Each(act) => each(act, z),
            Link::Softmax => softmax(z),
            Link::SoftmaxAnd(act) => {
                let (last, rest) = z.split_last_mut().expect("at least one output");
                softmax(rest);
                *last = act.apply(*last);
            }
        }
    }

    /// Sums to outputs in `f64`.
    pub(crate) fn apply64(self, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(z);
        let soft = |out: &mut [f64]| {
            let top = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.iter_mut().for_each(|v| *v = crate::activation::exp(*v - top));
            let total: f64 = out.iter().sum();
            out.iter_mut().for_each(|v| *v /= total);
        };
        match self {
            Link::Each(act) => out.iter_mut().for_each(|v| *v = act.apply_f64(*v)),
            Link::Softmax => soft(out),
            Link::SoftmaxAnd(act) => {
                let (last, rest) = out.split_last_mut().expect("at least one output");
                soft(rest);
                *last = act.apply_f64(*last);
            }
        }
    }

    /// Whether a net with this link can have this many outputs.
    pub(crate) fn check(self, outputs: usize) -> Result<(), Error> {
        let least = if matches!(self, Link::SoftmaxAnd(_)) { 2 } else { 1 };
        if outputs < least { Err(Error::Shape(format!("{outputs} outputs are too few for {self:?}"))) } else { Ok(()) }
    }
}

fn each(act: Activation, z: &mut [f32]) {
    if act == Activation::Identity {
        return;
    }
    for chunk in z.chunks_mut(8) {
        let mut lanes = [0.0; 8];
        lanes[..chunk.len()].copy_from_slice(chunk);
        chunk.copy_from_slice(&act.apply_x8(f32x8::new(lanes)).to_array()[..chunk.len()]);
    }
}

/// Probabilities in proportion to e^z, summed in order.
pub(crate) fn softmax(z: &mut [f32]) {
    let top = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for chunk in z.chunks_mut(8) {
        let mut lanes = [0.0; 8];
        lanes[..chunk.len()].copy_from_slice(chunk);
        let e = exp_lanes(f32x8::new(lanes) - f32x8::splat(top));
        chunk.copy_from_slice(&e.to_array()[..chunk.len()]);
    }
    let total: f32 = z.iter().sum();
    z.iter_mut().for_each(|v| *v /= total);
}
