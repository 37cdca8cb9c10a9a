//! Straight-line code for gates that are evaluated on demand: formulas of tapes, goals at the end.

use crate::net::{Kind, Lit, Net, Node};
use std::slice::SliceIndex;

/// Triples of literals: the third gets what the first two have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code(Vec<[Lit; 3]>);

impl Code {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a gate, whose inputs must be known or come before it.
    pub fn push(&mut self, net: &Net, n: Node) {
        // An OR fails if all its inputs fail; a wide gate gathers its inputs in its own value.
        let or = (net.kinds[n as usize] == Kind::Or) as Lit;
        let (node, inputs) = (n << 1, net.inputs(n));
        for (i, &l) in inputs.iter().enumerate().skip(1) {
            let so_far = if i == 1 { inputs[0] ^ or } else { node };
            let last = i + 1 == inputs.len();
            self.0.push([so_far, l ^ or, if last { node ^ or } else { node }]);
        }
    }

    /// Evaluates a part. Without branches, as what holds cannot be predicted.
    #[inline]
    pub fn evaluate(&self, part: impl SliceIndex<[[Lit; 3]], Output = [[Lit; 3]]>, value: &mut [u8]) {
        for &[a, b, c] in &self.0[part] {
            let holds = |l: Lit| value[(l >> 1) as usize] ^ (l & 1) as u8;
            value[(c >> 1) as usize] = (holds(a) & holds(b)) ^ (c & 1) as u8;
        }
    }
}
