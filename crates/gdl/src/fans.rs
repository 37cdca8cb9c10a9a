//! Passing changes on: where the change of each node goes, and the inner loop of the event-driven evaluator.
//!
//! A count is the number of true inputs less the threshold, so that "below zero" means off and crossing the threshold is a
//! carry. Gates whose value nobody reads but one output bit are *leaves*: a crossing flips the bit at once, and flipping it
//! twice is as good as never, so leaves need neither queue nor value.
//!
//! Indices are not checked in the inner loop: [`Fans::new`] checks every number once, [`Fans::spread`] that what it is given
//! has the sizes that were checked. With checked indexing it takes 4,870 instructions a step of checkers, without 3,180.

/// A count just below its threshold.
pub(crate) const OFF: u16 = u16::MAX;

/// Whether a count has reached its threshold.
#[inline]
pub(crate) fn is_on(count: u16) -> bool {
    count as i16 >= 0
}

/// Where a node's change goes: edges to gates that ask for the node, to gates that ask for its negation, to leaves of both
/// kinds, then output bits; the next node's start where these end.
#[derive(Clone, Copy, Debug, Default)]
struct Fan {
    gates: u32,
    gates_not: u32,
    leaves: u32,
    leaves_not: u32,
    bits: u32,
}

/// Where all changes go.
#[derive(Clone, Debug)]
pub(crate) struct Fans {
    fans: Vec<Fan>,
    edges: Edges,
    /// How many nodes, leaves and words of output bits there are.
    sizes: [usize; 3],
}

/// Numbers of gates and bits, of half the width where they fit: edges are most of what a step reads.
#[derive(Clone, Debug)]
enum Edges {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

/// What a node's change touches, before it is laid out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Gates as `2 * gate + negated`.
    pub gates: Vec<u32>,
    /// Leaves as `2 * bit + negated`.
    pub leaves: Vec<u32>,
    /// Output bits.
    pub bits: Vec<u32>,
}

/// A machine's numbers, and the nodes that wait to be looked at.
pub(crate) struct Counters<'a> {
    pub count: &'a mut [u16],
    pub value: &'a mut [u8],
    pub leaves: &'a mut [u16],
    pub out: &'a mut [u64],
    pub queue: &'a mut Vec<u32>,
}

impl Fans {
    /// Lays out what each node touches, for so many leaves and words of output bits.
    pub fn new(touched: &[Touched], leaves: usize, words: usize) -> Fans {
        let (mut fans, mut edges) = (Vec::with_capacity(touched.len() + 1), Vec::new());
        for t in touched {
            let gates = edges.len() as u32;
            let mut push = |list: &[u32], negated: u32| {
                edges.extend(list.iter().filter(|&e| e & 1 == negated).map(|e| e >> 1));
                edges.len() as u32
            };
            let (gates_not, leaves) = (push(&t.gates, 0), push(&t.gates, 1));
            let (leaves_not, bits) = (push(&t.leaves, 0), push(&t.leaves, 1));
            edges.extend(&t.bits);
            fans.push(Fan { gates, gates_not, leaves, leaves_not, bits });
        }
        fans.push(Fan { gates: edges.len() as u32, ..Fan::default() });
        let below = |list: &[u32], limit: usize| list.iter().all(|&e| ((e >> 1) as usize) < limit);
        let sound = |t: &Touched| {
            let bits = t.bits.iter().all(|&b| (b as usize) < words * 64);
            bits && below(&t.gates, touched.len()) && below(&t.leaves, leaves)
        };
        assert!(touched.iter().all(sound) && leaves <= words * 64 && edges.len() < u32::MAX as usize);
        let narrow: Result<Vec<u16>, _> = edges.iter().map(|&e| u16::try_from(e)).collect();
        let edges = narrow.map_or(Edges::Wide(edges), Edges::Narrow);
        Fans { fans, edges, sizes: [touched.len(), leaves, words] }
    }

    /// Passes changes on until no node is left in the queue; `changed` hears of every node that changes. Gives the cost in
    /// edges.
    #[inline]
    pub fn spread(&self, counters: Counters<'_>, queued: &mut usize, changed: impl FnMut(usize)) -> u64 {
        match &self.edges {
            Edges::Narrow(edges) => self.spread_by(edges, counters, queued, changed),
            Edges::Wide(edges) => self.spread_by(edges, counters, queued, changed),
        }
    }

    #[allow(unsafe_code)]
    fn spread_by<E: Copy + Into<u32>>(
        &self,
        edges: &[E],
        counters: Counters<'_>,
        queued: &mut usize,
        mut changed: impl FnMut(usize),
    ) -> u64 {
        let Counters { count, value, leaves, out, queue } = counters;
        assert!([count.len(), leaves.len(), out.len()] == self.sizes && value.len() == count.len());
        assert!(*queued <= queue.len() && queue[..*queued].iter().all(|&n| (n as usize) < count.len()));
        let (mut next, mut end, mut cost) = (0, *queued, 0);
        while next < end {
            // SAFETY: nodes in the queue are below `sizes[0]`: those given were checked above, the others are gates at the
            // ends of edges, which `new` checked. `fans` has one more entry than there are nodes, its numbers increase and
            // end at `edges.len()`. Leaves and bits were checked by `new`. Each edge to a gate moves the end of the queue by
            // at most one, and there is room for all edges of a node before the first is followed.
            unsafe {
                let n = *queue.get_unchecked(next) as usize;
                let v = is_on(*count.get_unchecked(n));
                next += 1;
                if v as u8 == *value.get_unchecked(n) {
                    continue;
                }
                *value.get_unchecked_mut(n) = v as u8;
                let (fan, last) = (*self.fans.get_unchecked(n), self.fans.get_unchecked(n + 1).gates);
                let part = |from: u32, to: u32| edges.get_unchecked(from as usize..to as usize);
                let room = end + (fan.leaves - fan.gates) as usize;
                if room > queue.len() {
                    queue.resize(2 * room, 0);
                }
                cost += 1 + (fan.bits - fan.gates) as u64;
                let (gates, gates_not) = (part(fan.gates, fan.gates_not), part(fan.gates_not, fan.leaves));
                let (up, down) = if v { (gates, gates_not) } else { (gates_not, gates) };
                // Whether a count crosses its threshold cannot be predicted: write always, keep if it did.
                for &gate in up {
                    let gate = gate.into();
                    let c = count.get_unchecked_mut(gate as usize);
                    let (new, crossed) = c.overflowing_add(1);
                    *c = new;
                    *queue.get_unchecked_mut(end) = gate;
                    end += crossed as usize;
                }
                for &gate in down {
                    let gate = gate.into();
                    let c = count.get_unchecked_mut(gate as usize);
                    let (new, crossed) = c.overflowing_sub(1);
                    *c = new;
                    *queue.get_unchecked_mut(end) = gate;
                    end += crossed as usize;
                }
                if fan.leaves != fan.bits {
                    let (leaf, leaf_not) = (part(fan.leaves, fan.leaves_not), part(fan.leaves_not, fan.bits));
                    let (up, down) = if v { (leaf, leaf_not) } else { (leaf_not, leaf) };
                    for &bit in up {
                        let bit = bit.into() as usize;
                        let c = leaves.get_unchecked_mut(bit);
                        let (new, crossed) = c.overflowing_add(1);
                        *c = new;
                        *out.get_unchecked_mut(bit >> 6) ^= (crossed as u64) << (bit & 63);
                    }
                    for &bit in down {
                        let bit = bit.into() as usize;
                        let c = leaves.get_unchecked_mut(bit);
                        let (new, crossed) = c.overflowing_sub(1);
                        *c = new;
                        *out.get_unchecked_mut(bit >> 6) ^= (crossed as u64) << (bit & 63);
                    }
                }
                for &bit in part(fan.bits, last) {
                    let bit = bit.into() as usize;
                    *out.get_unchecked_mut(bit >> 6) ^= 1 << (bit & 63);
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
        let touched = [
            Touched { gates: vec![1 << 1, 2 << 1 | 1], ..Touched::default() },
            Touched { leaves: vec![3 << 1], ..Touched::default() },
            Touched { bits: vec![4], ..Touched::default() },
        ];
        let fans = Fans::new(&touched, 4, 1);
        let (mut count, mut leaves, mut out) = (vec![OFF, OFF, 0], vec![OFF; 4], vec![1 << 4]);
        let mut value = vec![0, 0, 1];
        for (v, bits) in [(0, 1 << 3), (OFF, 1 << 4), (OFF, 1 << 4)] {
            count[0] = v;
            let (mut queue, mut queued) = (vec![0], 1);
            let counters = Counters {
                count: &mut count,
                value: &mut value,
                leaves: &mut leaves,
                out: &mut out,
                queue: &mut queue,
            };
            fans.spread(counters, &mut queued, |_| {});
            assert_eq!(out[0], bits);
        }
    }
}
