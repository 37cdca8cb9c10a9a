//! Many states in one call: the children of a node, or leaves of several searches.
//!
//! [`InferenceNet::push`] and [`InferenceNet::push_child`] put the first-layer sums of a state into a [`Batch`];
//! [`InferenceNet::run`] computes the rest for all of them. A cascade gains most: its units depend on one another, so
//! that one state leaves the lanes of a register idle, while a batch has one state in each. Layers of an MLP fill the
//! lanes by themselves; their states are evaluated one after the other.

use super::body::Body;
use super::{Accumulator, InferenceNet, Scratch};
use ludex_core::{Fact, Player};
use wide::{f32x8, i32x8};

/// States that are to be evaluated together; made by [`InferenceNet::batch`].
#[derive(Clone, Debug)]
pub struct Batch {
    sums: Vec<i32x8>,
    movers: Vec<Player>,
    scratch: Scratch,
    buffer: Vec<f32x8>,
}

impl Batch {
    /// The number of states.
    pub fn len(&self) -> usize {
        self.movers.len()
    }

    /// Whether there are no states.
    pub fn is_empty(&self) -> bool {
        self.movers.is_empty()
    }
}

impl InferenceNet {
    /// An empty batch for this net. It allocates only while it holds more states than ever before.
    pub fn batch(&self) -> Batch {
        Batch { sums: vec![], movers: vec![], scratch: self.scratch(), buffer: vec![f32x8::ZERO; self.body.buffer()] }
    }

    /// Adds the state with these facts and this player to move.
    pub fn push(&self, batch: &mut Batch, facts: &[Fact], mover: Player) {
        let row = self.new_row(batch, mover);
        self.first.sum(self.view(mover), facts, self.first.bias(), row);
    }

    /// Adds a child of an accumulator's state: the state after a move that turns the facts `on` on and the facts `off`
    /// off, with `mover` to move there.
    pub fn push_child(&self, batch: &mut Batch, accumulator: &Accumulator, on: &[Fact], off: &[Fact], mover: Player) {
        let view = self.view(mover);
        let row = self.new_row(batch, mover);
        self.first.sum(view, on, self.view_sums(accumulator, view), row);
        self.first.remove(view, off, row);
    }

    fn new_row<'a>(&self, batch: &'a mut Batch, mover: Player) -> &'a mut [i32x8] {
        let start = batch.movers.len() * self.first.width();
        batch.movers.push(mover);
        if batch.sums.len() < start + self.first.width() {
            batch.sums.resize(start + self.first.width(), i32x8::ZERO);
        }
        &mut batch.sums[start..][..self.first.width()]
    }

    /// Evaluates all states of the batch, in the order in which they were added, and empties it. State `i` has the
    /// outputs `out[i * outputs..(i + 1) * outputs]`.
    ///
    /// # Panics
    /// If `out` does not hold exactly that many numbers.
    pub fn run(&self, batch: &mut Batch, out: &mut [f32]) {
        let (n, width) = (batch.movers.len(), self.first.width());
        assert_eq!(out.len(), n * self.outputs, "room for the outputs of each state");
        match &self.body {
            Body::Cascade(cascade) => {
                cascade.run_batch(&self.first, &batch.sums[..n * width], &mut batch.buffer, out);
                for (out, &mover) in out.chunks_exact_mut(self.outputs).zip(&batch.movers) {
                    batch.scratch.out.copy_from_slice(out);
                    self.apply_link(mover, &mut batch.scratch.out, out);
                }
            }
            Body::Layers(_) => {
                for ((out, &mover), sums) in
                    out.chunks_exact_mut(self.outputs).zip(&batch.movers).zip(batch.sums.chunks_exact(width))
                {
                    let Scratch { z, y, out: raw, .. } = &mut batch.scratch;
                    self.body.run(&self.first, sums, z, y);
                    self.write_outputs(mover, z, raw, out);
                }
            }
        }
        batch.movers.clear();
    }
}
