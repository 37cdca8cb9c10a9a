//! The fan-out of each node, and the inner loop that propagates changes through it.
//!
//! A count is the number of true inputs of a gate less its threshold. So a negative count means off, and crossing the
//! threshold flips the sign bit. A gate that only one output bit reads is a *leaf*: crossing flips that bit at once. A leaf
//! that crosses twice ends where it was, so leaves need neither a queue entry nor a stored value.
//!
//! The inner loop does not check indices: [`Fanout::new`] checks every number once, and [`Fanout::propagate`] checks that the
//! slices it is given have the sizes that were checked. With checked indexing, checkers, the widest of the nets measured,
//! takes half as long again.

/// A count just below its threshold.
pub(crate) const OFF: u16 = u16::MAX;

/// Whether a count has reached its threshold.
#[inline]
pub(crate) fn is_on(count: u16) -> bool {
    count as i16 >= 0
}

/// For each node, the edges along which its changes propagate.
///
/// A node has a block: the number of edges of each of five kinds, then the edges. The kinds are: to gates that read the node,
/// to gates that read its negation, to leaves that read the node, to leaves that read its negation, and to output bits.
#[derive(Clone, Debug)]
pub(crate) struct Fanout {
    /// Where each node's block starts.
    starts: Vec<u32>,
    blocks: Blocks,
    /// How many nodes, leaves and words of output bits there are.
    sizes: [usize; 3],
}

/// The number of kinds of edges.
const EDGE_KINDS: usize = 5;

/// The blocks of all nodes. They are most of what a step reads, so they take 16 bits a number where all numbers fit.
#[derive(Clone, Debug)]
enum Blocks {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

/// The edges of one node, before they are laid out as a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFanout {
    /// Gates as `2 * gate + negated`.
    pub gates: Vec<u32>,
    /// Leaves as `2 * bit + negated`.
    pub leaves: Vec<u32>,
    /// Output bits.
    pub bits: Vec<u32>,
}

/// The tables of an evaluator that propagation changes, as in [`crate::event_driven::EventEvaluator`].
pub(crate) struct Counters<'a> {
    pub count: &'a mut [u16],
    pub value: &'a mut [u8],
    pub leaves: &'a mut [u16],
    pub outputs: &'a mut [u64],
    pub queue: &'a mut Vec<u32>,
}

impl Fanout {
    /// Lays out the edges of all nodes. Panics if an edge leads beyond the nodes, the leaves or the words of output bits.
    pub fn new(fanouts: &[NodeFanout], leaves: usize, words: usize) -> Fanout {
        let (mut starts, mut blocks) = (Vec::with_capacity(fanouts.len()), Vec::new());
        for t in fanouts {
            let start = blocks.len();
            starts.push(start as u32);
            blocks.resize(start + EDGE_KINDS, 0);
            let of = |list: &[u32], negated: u32| -> Vec<u32> {
                list.iter().filter(|&e| e & 1 == negated).map(|e| e >> 1).collect()
            };
            let kinds = [of(&t.gates, 0), of(&t.gates, 1), of(&t.leaves, 0), of(&t.leaves, 1), t.bits.clone()];
            for (kind, edges) in kinds.iter().enumerate() {
                blocks[start + kind] = edges.len() as u32;
                blocks.extend(edges);
            }
        }
        let below = |list: &[u32], limit: usize| list.iter().all(|&e| ((e >> 1) as usize) < limit);
        let sound = |t: &NodeFanout| {
            let bits = t.bits.iter().all(|&b| (b as usize) < words * 64);
            bits && below(&t.gates, fanouts.len()) && below(&t.leaves, leaves)
        };
        assert!(fanouts.iter().all(sound) && leaves <= words * 64 && blocks.len() < u32::MAX as usize);
        let narrow: Result<Vec<u16>, _> = blocks.iter().map(|&e| u16::try_from(e)).collect();
        let blocks = narrow.map_or(Blocks::Wide(blocks), Blocks::Narrow);
        Fanout { starts, blocks, sizes: [fanouts.len(), leaves, words] }
    }

    /// Propagates changes until the queue is empty; calls `changed` for every node that changes. Returns the edges followed.
    #[inline]
    pub fn propagate(&self, counters: Counters<'_>, queued: &mut usize, changed: impl FnMut(usize)) -> u64 {
        match &self.blocks {
            Blocks::Narrow(blocks) => self.propagate_by(blocks, counters, queued, changed),
            Blocks::Wide(blocks) => self.propagate_by(blocks, counters, queued, changed),
        }
    }

    #[allow(unsafe_code)]
    fn propagate_by<E: Copy + Into<u32>>(
        &self,
        blocks: &[E],
        counters: Counters<'_>,
        queued: &mut usize,
        mut changed: impl FnMut(usize),
    ) -> u64 {
        let Counters { count, value, leaves, outputs, queue } = counters;
        assert!([count.len(), leaves.len(), outputs.len()] == self.sizes && value.len() == count.len());
        assert!(*queued <= queue.len() && queue[..*queued].iter().all(|&n| (n as usize) < count.len()));
        let (mut next, mut end, mut cost) = (0, *queued, 0);
        let (mut room, mut waiting) = (queue.len(), queue.as_mut_ptr());
        let (count, value, leaves, outputs) =
            (count.as_mut_ptr(), value.as_mut_ptr(), leaves.as_mut_ptr(), outputs.as_mut_ptr());
        while next < end {
            // SAFETY: nodes in the queue are below `sizes[0]`: those given were checked above, the others are gates at the
            // ends of edges, which `new` checked, as it did leaves and bits. A block has as many edges as its head says.
            // Each edge to a gate moves the end of the queue by at most one, and there is room for all edges of a node
            // before the first is followed; `waiting` is asked for again when the queue has grown.
            unsafe {
                let n = *waiting.add(next) as usize;
                let v = is_on(*count.add(n));
                next += 1;
                if v as u8 == *value.add(n) {
                    continue;
                }
                *value.add(n) = v as u8;
                let block = blocks.as_ptr().add(*self.starts.get_unchecked(n) as usize);
                let many = |kind: usize| (*block.add(kind)).into() as usize;
                let asked = many(0) + many(1);
                if end + asked > room {
                    queue.resize(2 * (end + asked), 0);
                    (room, waiting) = (queue.len(), queue.as_mut_ptr());
                }
                cost += 1 + (asked + many(2) + many(3)) as u64;
                // Neither the direction of a change nor whether a count crosses its threshold can be predicted: the one
                // is added, and the queue is written always but grows only if the sign changed.
                let step = if v { 1 } else { u16::MAX };
                let mut edge = block.add(EDGE_KINDS);
                for (kind, step) in [(0, step), (1, step.wrapping_neg())] {
                    for _ in 0..many(kind) {
                        let gate = (*edge).into();
                        edge = edge.add(1);
                        let c = count.add(gate as usize);
                        let (old, new) = (*c, (*c).wrapping_add(step));
                        *c = new;
                        *waiting.add(end) = gate;
                        end += ((old ^ new) >> 15) as usize;
                    }
                }
                if many(2) + many(3) != 0 {
                    for (kind, step) in [(2, step), (3, step.wrapping_neg())] {
                        for _ in 0..many(kind) {
                            let bit = (*edge).into() as usize;
                            edge = edge.add(1);
                            let c = leaves.add(bit);
                            let (old, new) = (*c, (*c).wrapping_add(step));
                            *c = new;
                            *outputs.add(bit >> 6) ^= (((old ^ new) >> 15) as u64) << (bit & 63);
                        }
                    }
                }
                for _ in 0..many(4) {
                    let bit = (*edge).into() as usize;
                    edge = edge.add(1);
                    *outputs.add(bit >> 6) ^= 1 << (bit & 63);
                }
                changed(n);
            }
        }
        *queued = 0;
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_flips_the_leaves_and_bits_it_decides() {
        // Node 0 feeds gate 1 and the negation feeds gate 2; gate 1 feeds the leaf at bit 3, gate 2 flips bit 4.
        let fanouts = [
            NodeFanout { gates: vec![1 << 1, 2 << 1 | 1], ..NodeFanout::default() },
            NodeFanout { leaves: vec![3 << 1], ..NodeFanout::default() },
            NodeFanout { bits: vec![4], ..NodeFanout::default() },
        ];
        let fanout = Fanout::new(&fanouts, 4, 1);
        let (mut count, mut leaves, mut outputs) = (vec![OFF, OFF, 0], vec![OFF; 4], vec![1 << 4]);
        let mut value = vec![0, 0, 1];
        for (v, bits) in [(0, 1 << 3), (OFF, 1 << 4), (OFF, 1 << 4)] {
            count[0] = v;
            let (mut queue, mut queued) = (vec![0], 1);
            let counters = Counters {
                count: &mut count,
                value: &mut value,
                leaves: &mut leaves,
                outputs: &mut outputs,
                queue: &mut queue,
            };
            fanout.propagate(counters, &mut queued, |_| {});
            assert_eq!(outputs[0], bits);
        }
    }
}
