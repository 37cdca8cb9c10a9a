//! First-layer sums that are kept up to date move by move, instead of being summed afresh for each state.
//!
//! A move changes a few facts out of dozens, and the sums are integers: adding the columns of the facts that it turns
//! on and subtracting those of the facts that it turns off gives exactly the bits of a fresh sum, after any number of
//! moves. An [`Accumulator`] follows a line of play in one direction; an [`AccumulatorStack`] keeps one for each ply,
//! so that a search takes a move back without computing anything.
//!
//! If the encoder is mover-relative, an accumulator holds the sums of both views and each move updates both.

use super::{InferenceNet, Scratch};
use ludex_core::{Fact, Move, Player};
use wide::i32x8;

/// The first-layer sums of one state, in every view (the accumulator of NNUE).
#[derive(Clone, Debug)]
pub struct Accumulator {
    pub(super) sums: Vec<i32x8>, // one view after the other
}

impl Accumulator {
    /// Becomes a copy of another accumulator of the same net, without allocating.
    #[inline]
    pub fn copy_from(&mut self, from: &Accumulator) {
        self.sums.copy_from_slice(&from.sums);
    }
}

/// The accumulators of all states on the path of a search, one for each ply.
///
/// Popped accumulators are kept: nothing is allocated once the stack has been as deep before. All methods must be given
/// the net that made the stack.
///
/// ```
/// # use ludex_core::{Fact, Player};
/// # use ludex_learn::{Activation, Encoder, Head, InferenceNet, Layer, Link, Mlp, Net};
/// # let layer = Layer { inputs: 3, outputs: 1, weights: vec![0.1, 0.2, 0.4], bias: vec![0.0] };
/// # let net = Net::Mlp(Mlp { layers: vec![layer], hidden: Activation::Relu, link: Link::Each(Activation::Tanh) });
/// # let net = InferenceNet::new(&net, &Encoder::facts(3), Head::Value { outputs: 1 }).unwrap();
/// let (mut stack, mut scratch, mut out) = (net.accumulator_stack(), net.scratch(), [0.0]);
/// stack.refresh(&net, &[Fact(0)]);
/// stack.push(&net, &[Fact(1)], &[Fact(0)]); // a move turns fact 1 on and fact 0 off
/// stack.evaluate(&net, Player(1), &mut scratch, &mut out);
/// assert_eq!(out[..], net.plain(&[Fact(1)], Player(1)));
/// stack.pop(); // and is taken back
/// stack.evaluate(&net, Player(0), &mut scratch, &mut out);
/// assert_eq!(out[..], net.plain(&[Fact(0)], Player(0)));
/// ```
#[derive(Clone, Debug)]
pub struct AccumulatorStack {
    accumulators: Vec<Accumulator>, // those above `depth` wait to be used again
    depth: usize,
}

impl AccumulatorStack {
    /// Empties the stack and computes its first accumulator afresh, for the state with these facts.
    pub fn refresh(&mut self, net: &InferenceNet, facts: &[Fact]) {
        self.depth = 0;
        net.refresh(&mut self.accumulators[0], facts);
    }

    /// Adds the state after a move that turns the facts `on` on and the facts `off` off.
    pub fn push(&mut self, net: &InferenceNet, on: &[Fact], off: &[Fact]) {
        if self.depth + 1 == self.accumulators.len() {
            self.accumulators.push(net.accumulator());
        }
        let (below, above) = self.accumulators.split_at_mut(self.depth + 1);
        net.update_into(&below[self.depth], on, off, &mut above[0]);
        self.depth += 1;
    }

    /// Takes the last move back.
    ///
    /// # Panics
    /// If there is none since [`AccumulatorStack::refresh`].
    pub fn pop(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move to take back");
    }

    /// The outputs for the last state.
    pub fn evaluate(&self, net: &InferenceNet, mover: Player, scratch: &mut Scratch, out: &mut [f32]) {
        net.evaluate(self.top(), mover, scratch, out);
    }

    /// The accumulator of the last state, for [`InferenceNet::score_accumulated`] and [`InferenceNet::push_child`].
    #[inline]
    pub fn top(&self) -> &Accumulator {
        &self.accumulators[self.depth]
    }

    /// The number of moves since [`AccumulatorStack::refresh`].
    pub fn depth(&self) -> usize {
        self.depth
    }
}

impl InferenceNet {
    /// An accumulator for this net; [`InferenceNet::refresh`] fills it.
    pub fn accumulator(&self) -> Accumulator {
        Accumulator { sums: vec![i32x8::ZERO; self.first.width() * self.first.views()] }
    }

    /// A stack of accumulators for this net; [`AccumulatorStack::refresh`] fills it.
    pub fn accumulator_stack(&self) -> AccumulatorStack {
        AccumulatorStack { accumulators: vec![self.accumulator()], depth: 0 }
    }

    /// Computes an accumulator afresh, for the state with these facts.
    pub fn refresh(&self, accumulator: &mut Accumulator, facts: &[Fact]) {
        for (view, sums) in accumulator.sums.chunks_exact_mut(self.first.width()).enumerate() {
            self.first.sum(view, facts, self.first.bias(), sums);
        }
    }

    /// Applies a move that turns the facts `on` on and the facts `off` off. Exact: any number of updates gives the bits
    /// of a refresh.
    pub fn update(&self, accumulator: &mut Accumulator, on: &[Fact], off: &[Fact]) {
        for (view, sums) in accumulator.sums.chunks_exact_mut(self.first.width()).enumerate() {
            self.first.add(view, on, sums);
            self.first.remove(view, off, sums);
        }
    }

    /// Makes `to` the accumulator of the state that such a move leads to from that of `from`.
    fn update_into(&self, from: &Accumulator, on: &[Fact], off: &[Fact], to: &mut Accumulator) {
        let width = self.first.width();
        let views = from.sums.chunks_exact(width).zip(to.sums.chunks_exact_mut(width));
        for (view, (from, to)) in views.enumerate() {
            self.first.sum(view, on, from, to);
            self.first.remove(view, off, to);
        }
    }

    /// The outputs for the state of an accumulator.
    pub fn evaluate(&self, accumulator: &Accumulator, mover: Player, scratch: &mut Scratch, out: &mut [f32]) {
        let Scratch { z, y, out: raw, .. } = scratch;
        self.body.run(&self.first, self.view_sums(accumulator, self.view(mover)), z, y);
        self.write_outputs(mover, z, raw, out);
    }

    /// [`InferenceNet::score_moves`] for the state of an accumulator. Only for nets of which no move is an input.
    pub fn score_accumulated(
        &self,
        accumulator: &Accumulator,
        mover: Player,
        moves: &[Move],
        s: &mut Scratch,
        scores: &mut [f32],
    ) {
        debug_assert!(!self.moves_are_inputs());
        let view = self.view(mover);
        s.sums.copy_from_slice(self.view_sums(accumulator, view));
        self.move_sums(view, moves, s, scores);
        self.link_moves(scores);
    }

    /// The sums of one view.
    #[inline(always)]
    pub(super) fn view_sums<'a>(&self, accumulator: &'a Accumulator, view: usize) -> &'a [i32x8] {
        &accumulator.sums[view * self.first.width()..][..self.first.width()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::mlp_85_100_3;
    use crate::{Encoder, Head};

    #[test]
    fn a_stack_that_was_as_deep_before_allocates_nothing() {
        let net = InferenceNet::new(&mlp_85_100_3(), &Encoder::facts(85), Head::WinDrawLoss).unwrap();
        let mut stack = net.accumulator_stack();
        let mut descend = || {
            stack.refresh(&net, &[Fact(0)]);
            (0..40).for_each(|k| stack.push(&net, &[Fact(k + 1)], &[Fact(k)]));
            assert_eq!(stack.depth(), 40);
            (0..40).for_each(|_| stack.pop());
            (stack.accumulators.as_ptr(), stack.accumulators.iter().map(|a| a.sums.as_ptr()).collect::<Vec<_>>())
        };
        let first = descend();
        assert_eq!(descend(), first);
    }
}
