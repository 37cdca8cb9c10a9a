//! The transposition table of alpha-beta: sixteen bytes a position, one slot each, no buckets.

use ludex_core::Move;

/// What a stored value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

/// What is known of a position, in sixteen bytes. The lower half of the key says which slot, the upper half is kept for
/// checking: a position is taken for another once in some 10^14 lookups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    check: u32,
    pub value: f32,
    pub best: Move,
    pub depth: u8,
    pub bound: Bound,
    /// No leaf below was cut at the horizon: the value holds at any greater depth too.
    pub complete: bool,
    age: u8,
}

/// A hash table with one slot a position, which the entry of a newer search takes, or of the same search if it is as deep.
pub(crate) struct TranspositionTable {
    entries: Vec<Entry>,
    age: u8,
}

const EMPTY: Entry =
    Entry { check: 0, value: 0.0, best: Move(u32::MAX), depth: 0, bound: Bound::AtMost, complete: false, age: 0 };

impl TranspositionTable {
    /// As many entries as fit so many megabytes, a power of two; none for 0.
    pub fn new(megabytes: usize) -> Self {
        let most = (megabytes << 20) / size_of::<Entry>();
        let size = if most == 0 { 0 } else { 1 << most.ilog2() };
        TranspositionTable { entries: vec![EMPTY; size], age: 0 }
    }

    /// The memory it takes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>()
    }

    /// A new search begins.
    pub fn begin(&mut self) {
        self.age = self.age.wrapping_add(1).max(1);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.fill(EMPTY);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    fn at(&self, key: u64) -> usize {
        key as usize & (self.entries.len() - 1)
    }

    #[inline]
    pub fn get(&self, key: u64) -> Option<&Entry> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = &self.entries[self.at(key)];
        (entry.check == (key >> 32) as u32 && entry.age != 0).then_some(entry)
    }

    #[inline]
    pub fn put(&mut self, key: u64, value: f32, best: Move, depth: u8, bound: Bound, complete: bool) {
        if self.entries.is_empty() {
            return;
        }
        let (at, age, check) = (self.at(key), self.age, (key >> 32) as u32);
        let old = &mut self.entries[at];
        if old.age != age || old.check == check || depth >= old.depth {
            *old = Entry { check, value, best, depth, bound, complete, age };
        }
    }
}
