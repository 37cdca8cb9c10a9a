//! Ground terms and symbols by number. Equal terms have equal numbers, so comparing, hashing and joining work on `u32`s.
//!
//! A ground atom such as `(true (cell 1 1 b))` is stored in the same way, with its relation as functor. So a rule instance
//! is a short list of numbers.

use ludex_core::mix;
use std::collections::HashMap;

/// The number of a ground term or atom.
pub(crate) type Term = u32;

/// The number of a symbol.
pub(crate) type Sym = u32;

/// The symbols of a sheet and their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    names: Vec<String>,
    numbers: HashMap<String, Sym>,
}

impl Symbols {
    /// The number of a name. With `fold_case`, names that differ only in case are one symbol, spelt as first seen.
    pub fn intern(&mut self, name: &str, fold_case: bool) -> Sym {
        let key = if fold_case { name.to_lowercase() } else { name.to_string() };
        *self.numbers.entry(key).or_insert_with(|| {
            self.names.push(name.to_string());
            self.names.len() as Sym - 1
        })
    }

    /// The name of a symbol.
    pub fn name(&self, s: Sym) -> &str {
        &self.names[s as usize]
    }
}

/// Stores each term once (hash consing).
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// By term: its symbol, or its relation and [`crate::rulesheet::ATOM`].
    functors: Vec<u32>,
    /// By term: the nesting of its functions.
    depths: Vec<u16>,
    /// By term: where its arguments start in `args`; and one more entry for the end.
    starts: Vec<u32>,
    /// The arguments of all terms.
    args: Vec<Term>,
    /// A hash table of terms with linear probing.
    slots: Vec<u32>,
}

/// An empty slot of the hash table.
const EMPTY: u32 = u32::MAX;

impl Default for Terms {
    fn default() -> Self {
        Terms {
            functors: Vec::new(),
            depths: Vec::new(),
            starts: vec![0],
            args: Vec::new(),
            slots: vec![EMPTY; 1 << 10],
        }
    }
}

impl Terms {
    /// The number of terms.
    pub fn len(&self) -> usize {
        self.functors.len()
    }

    /// The memory that the terms take, in terms of three arguments each.
    pub fn size(&self) -> usize {
        self.functors.len().max(self.args.len() / 3)
    }

    /// The functor of a term.
    pub fn functor(&self, t: Term) -> u32 {
        self.functors[t as usize]
    }

    /// The nesting of functions in a term; 0 for a constant.
    pub fn depth(&self, t: Term) -> u16 {
        self.depths[t as usize]
    }

    /// The arguments of a term.
    pub fn args(&self, t: Term) -> &[Term] {
        &self.args[self.starts[t as usize] as usize..self.starts[t as usize + 1] as usize]
    }

    /// The slot of a term, or the empty slot where it belongs.
    fn slot(&self, functor: u32, args: &[Term]) -> usize {
        let mask = self.slots.len() - 1;
        let hash = args.iter().fold(functor as u64, |h, &a| mix(h ^ ((a as u64) << 20)));
        let mut i = mix(hash) as usize & mask;
        loop {
            let t = self.slots[i];
            if t == EMPTY || (self.functor(t) == functor && self.args(t) == args) {
                return i;
            }
            i = (i + 1) & mask;
        }
    }

    /// The number of a term, if it is stored.
    pub fn find(&self, functor: u32, args: &[Term]) -> Option<Term> {
        Some(self.slots[self.slot(functor, args)]).filter(|&t| t != EMPTY)
    }

    /// The number of a term, which is stored if it is new.
    pub fn intern(&mut self, functor: u32, args: &[Term]) -> Term {
        let i = self.slot(functor, args);
        if self.slots[i] != EMPTY {
            return self.slots[i];
        }
        let t = self.functors.len() as Term;
        self.slots[i] = t;
        self.functors.push(functor);
        self.depths.push(args.iter().map(|&a| self.depth(a).saturating_add(1)).max().unwrap_or(0));
        self.args.extend_from_slice(args);
        self.starts.push(self.args.len() as u32);
        if self.functors.len() * 2 > self.slots.len() {
            self.slots = vec![EMPTY; self.slots.len() * 2];
            for t in 0..self.functors.len() as Term {
                let i = self.slot(self.functor(t), self.args(t));
                self.slots[i] = t;
            }
        }
        t
    }
}

/// Compares texts such that numbers in them compare as numbers: `(cell 2 1)` comes before `(cell 10 1)`.
pub(crate) fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let digits = |s: &[u8]| s.iter().take_while(|c| c.is_ascii_digit()).count();
        let (m, n) = (digits(a), digits(b));
        if m > 0 && n > 0 {
            let strip = |s: &[u8]| s.iter().skip_while(|&&c| c == b'0').copied().collect::<Vec<u8>>();
            let (x, y) = (strip(&a[..m]), strip(&b[..n]));
            let order = x.len().cmp(&y.len()).then(x.cmp(&y)).then(m.cmp(&n));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[m..], &b[n..]);
            continue;
        }
        match (a.first(), b.first()) {
            (Some(x), Some(y)) if x == y => (a, b) = (&a[1..], &b[1..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_terms_are_one() {
        let mut terms = Terms::default();
        let a = terms.intern(1, &[]);
        let f = terms.intern(2, &[a, a]);
        let many: Vec<Term> = (10..5_000).map(|i| terms.intern(i, &[f])).collect();
        assert_eq!(terms.intern(2, &[a, a]), f);
        assert_eq!(terms.find(17, &[f]), Some(many[7]));
        assert_eq!(terms.find(17, &[a]), None);
        assert_eq!((terms.functor(f), terms.args(f)), (2, &[a, a][..]));
    }

    #[test]
    fn numbers_in_names_compare_as_numbers() {
        let mut names = ["(c 10 1)", "(c 2 x)", "(c 2 1)", "(b 9)", "(c 2 10)"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["(b 9)", "(c 2 1)", "(c 2 10)", "(c 2 x)", "(c 10 1)"]);
    }
}
