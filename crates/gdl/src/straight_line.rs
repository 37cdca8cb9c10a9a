//! Straight-line code for gates that are evaluated on demand: the formulas of move deltas, and goals at the end of a game.
//!
//! A gate becomes one two-input AND with optional negations per input after the first (an and-inverter graph). Evaluation
//! has no branches, because whether a gate holds cannot be predicted. Loops cannot be expressed.

use crate::propnet::{Kind, Lit, Node, Propnet};
use std::slice::SliceIndex;

/// Instructions `[a, b, c]` over literals: `c = a AND b`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StraightLineCode(Vec<[Lit; 3]>);

impl StraightLineCode {
    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends a gate. Its inputs must be known before the code runs, or have been appended before.
    pub fn push(&mut self, net: &Propnet, n: Node) {
        // By De Morgan, an OR is the negation of an AND of negations. A wide gate accumulates its inputs in its own value.
        let or = (net.kinds[n as usize] == Kind::Or) as Lit;
        let (node, inputs) = (n << 1, net.inputs(n));
        for (i, &l) in inputs.iter().enumerate().skip(1) {
            let so_far = if i == 1 { inputs[0] ^ or } else { node };
            let last = i + 1 == inputs.len();
            self.0.push([so_far, l ^ or, if last { node ^ or } else { node }]);
        }
    }

    /// Runs a range of instructions on the values of nodes.
    #[inline]
    pub fn evaluate(&self, part: impl SliceIndex<[[Lit; 3]], Output = [[Lit; 3]]>, value: &mut [u8]) {
        for &[a, b, c] in &self.0[part] {
            let holds = |l: Lit| value[(l >> 1) as usize] ^ (l & 1) as u8;
            value[(c >> 1) as usize] = (holds(a) & holds(b)) ^ (c & 1) as u8;
        }
    }
}
