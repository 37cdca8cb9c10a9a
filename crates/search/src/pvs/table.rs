//! The transposition table: buckets of two slots of sixteen bytes, half a cache line.
//!
//! The first slot prefers depth, the second takes whatever the first does not ("two-deep", Breuker, Uiterwijk & van den
//! Herik 1996). Entries of earlier searches are kept as long as nobody needs their slot: the age says which those are.

use super::score::NodeValue;
use ludex_core::Move;

/// What a stored value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

/// What is known of a position. The low bits of its key say which bucket, the upper 48 are kept for checking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    check: u32,
    pub best: Move,
    low_check: u16,
    /// Wins counted from the position.
    pub value: i16,
    pub depth: u8,
    pub bound: Bound,
    /// The value, or bound, is certain at any depth.
    pub complete: bool,
    /// Of the search that stored it; 0 for an empty slot.
    age: u8,
}

const EMPTY: Entry = Entry {
    check: 0,
    best: super::NO_MOVE,
    low_check: 0,
    value: 0,
    depth: 0,
    bound: Bound::AtMost,
    complete: false,
    age: 0,
};

impl Entry {
    #[inline]
    fn is_of(&self, key: u64) -> bool {
        self.check == (key >> 32) as u32 && self.low_check == (key >> 16) as u16 && self.age != 0
    }

    /// Whether the value decides a node with this window.
    #[inline]
    pub fn decides(&self, value: i32, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::AtLeast => value >= beta,
            Bound::AtMost => value <= alpha,
        }
    }
}

#[derive(Clone, Copy)]
#[repr(align(32))]
struct Bucket([Entry; 2]);

/// What searches know of positions.
pub(super) struct Table {
    buckets: Vec<Bucket>,
    age: u8,
}

impl Table {
    /// As many buckets as fit so many megabytes, a power of two; none for 0.
    pub fn new(megabytes: usize) -> Self {
        let most = (megabytes << 20) / size_of::<Bucket>();
        let size = if most == 0 { 0 } else { 1 << most.ilog2() };
        Table { buckets: vec![Bucket([EMPTY; 2]); size], age: 0 }
    }

    /// The memory it takes.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// A new search begins: what is there is older.
    pub fn begin(&mut self) {
        self.age = self.age.wrapping_add(1).max(1);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.fill(Bucket([EMPTY; 2]));
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    #[inline]
    pub fn get(&self, key: u64) -> Option<Entry> {
        // The length is a power of two, or 0: then there is no such bucket.
        let bucket = self.buckets.get(key as usize & self.buckets.len().wrapping_sub(1))?;
        bucket.0.iter().copied().find(|e| e.is_of(key))
    }

    #[inline]
    pub fn put(&mut self, key: u64, best: Move, depth: u32, bound: Bound, NodeValue { value, complete }: NodeValue) {
        let at = key as usize & self.buckets.len().wrapping_sub(1);
        let age = self.age;
        let Some(Bucket([deep, recent])) = self.buckets.get_mut(at) else { return };
        let mut new = Entry {
            check: (key >> 32) as u32,
            best,
            low_check: (key >> 16) as u16,
            value: value as i16,
            depth: depth.min(255) as u8,
            bound,
            complete,
            age,
        };
        let same = if deep.is_of(key) { Some(&mut *deep) } else { recent.is_of(key).then_some(&mut *recent) };
        if let Some(old) = same {
            if best == super::NO_MOVE {
                new.best = old.best;
            }
            *old = new;
        } else if deep.age != age || new.depth >= deep.depth {
            *recent = *deep;
            *deep = new;
        } else {
            *recent = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_sixteen_bytes_and_depth_stays() {
        assert_eq!((size_of::<Entry>(), size_of::<Bucket>()), (16, 32));
        let mut table = Table::new(1);
        assert_eq!(table.bytes(), 1 << 20);
        table.begin();
        // All in one bucket.
        let key = |n: u64| n << 40 | 5;
        let put = |table: &mut Table, n: u64, depth: u32| {
            let value = NodeValue { value: n as i32, complete: false };
            table.put(key(n), Move(n as u32), depth, Bound::Exact, value);
        };
        for (n, depth) in [(1, 9), (2, 3), (3, 2), (4, 5)] {
            put(&mut table, n, depth);
        }
        let depths = |table: &Table| [1, 2, 3, 4].map(|n| table.get(key(n)).map(|e| (e.value as u64, e.depth)));
        assert_eq!(depths(&table), [Some((1, 9)), None, None, Some((4, 5))]);
        // An older search keeps its entries until the slot is needed; then depth counts no more.
        table.begin();
        put(&mut table, 2, 1);
        assert_eq!(depths(&table), [Some((1, 9)), Some((2, 1)), None, None]);
        table.clear();
        assert_eq!(depths(&table), [None; 4]);
        assert!(Table::new(0).get(5).is_none());
    }
}
