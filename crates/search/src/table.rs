//! The transposition table of alpha-beta.

use ludex_core::Move;

/// What a stored value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    key: u64,
    pub value: f32,
    pub best: Move,
    pub depth: u8,
    pub bound: Bound,
    /// No leaf below was cut at the horizon: the value holds at any greater depth too.
    pub complete: bool,
    age: u8,
}

/// A hash table with one place a position: a newer search, or a deeper one of the same, takes it.
pub(crate) struct Table {
    entries: Vec<Entry>,
    age: u8,
}

const EMPTY: Entry =
    Entry { key: 0, value: 0.0, best: Move(u32::MAX), depth: 0, bound: Bound::AtMost, complete: false, age: 0 };

impl Table {
    /// As many entries as fit so many megabytes, a power of two; none for 0.
    pub fn new(megabytes: usize) -> Self {
        let most = (megabytes << 20) / size_of::<Entry>();
        let size = if most == 0 { 0 } else { 1 << most.ilog2() };
        Table { entries: vec![EMPTY; size], age: 0 }
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
        (entry.key == key && entry.age != 0).then_some(entry)
    }

    #[inline]
    pub fn put(&mut self, key: u64, value: f32, best: Move, depth: u8, bound: Bound, complete: bool) {
        if self.entries.is_empty() {
            return;
        }
        let (at, age) = (self.at(key), self.age);
        let old = &mut self.entries[at];
        if old.age != age || old.key == key || depth >= old.depth {
            *old = Entry { key, value, best, depth, bound, complete, age };
        }
    }
}
