//! Facts of which exactly one holds: the contents of a square, the player in control. Encoders save inputs with them.
//!
//! Candidates are the facts that differ in one argument only; those survive of which exactly one held in every state that
//! was looked at. This is an observation, not a proof: encoders must not break when it fails.

use crate::bits::ones;
use crate::kif::{self, Expr, ExprKind};
use ludex_core::Fact;
use std::collections::HashMap;

/// Candidate sets, and how they fare.
pub(crate) struct Watch {
    sets: Vec<Vec<u32>>,
    alive: Vec<bool>,
    /// The sets of each fact.
    sets_of: Vec<Vec<u32>>,
    count: Vec<u32>,
    looked: u32,
}

impl Watch {
    pub fn new(names: &[String]) -> Watch {
        let mut numbers: HashMap<(String, usize), u32> = HashMap::new();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for (f, name) in names.iter().enumerate() {
            for (i, others) in holes(name).into_iter().enumerate() {
                let n = *numbers.entry((others, i)).or_insert(sets.len() as u32);
                if n as usize == sets.len() {
                    sets.push(Vec::new());
                }
                sets[n as usize].push(f as u32);
            }
        }
        sets.retain(|s| s.len() > 1);
        let mut sets_of = vec![Vec::new(); names.len()];
        for (n, set) in sets.iter().enumerate() {
            set.iter().for_each(|&f| sets_of[f as usize].push(n as u32));
        }
        Watch { alive: vec![true; sets.len()], count: vec![0; sets.len()], sets, sets_of, looked: 0 }
    }

    /// Looks at one state.
    pub fn look(&mut self, facts: &[u64]) {
        self.looked += 1;
        self.count.fill(0);
        for f in ones(facts) {
            self.sets_of[f].iter().for_each(|&n| self.count[n as usize] += 1);
        }
        self.alive.iter_mut().zip(&self.count).for_each(|(a, &c)| *a &= c == 1);
    }

    /// The sets that held, larger ones first, no fact in two of them; in order of their first fact.
    pub fn found(&self) -> Vec<Vec<Fact>> {
        if self.looked == 0 {
            return Vec::new();
        }
        let mut alive: Vec<&Vec<u32>> = self.sets.iter().zip(&self.alive).filter(|s| *s.1).map(|s| s.0).collect();
        alive.sort_by_key(|s| (std::cmp::Reverse(s.len()), s[0]));
        let mut taken = vec![false; self.sets_of.len()];
        let mut found = Vec::new();
        for set in alive {
            if set.iter().all(|&f| !taken[f as usize]) {
                set.iter().for_each(|&f| taken[f as usize] = true);
                found.push(set.iter().map(|&f| Fact(f)).collect::<Vec<_>>());
            }
        }
        found.sort();
        found
    }
}

/// A name with each of its arguments left out in turn.
fn holes(name: &str) -> Vec<String> {
    let Ok(exprs) = kif::read(name) else { return Vec::new() };
    let [Expr { kind: ExprKind::List(list), .. }] = exprs.as_slice() else { return Vec::new() };
    let words: Vec<String> = list.iter().map(crate::game::write_expr).collect();
    let hole = |i: usize| {
        let kept = words.iter().enumerate().map(|(j, w)| if i == j { "?" } else { w });
        kept.collect::<Vec<_>>().join(" ")
    };
    (1..words.len()).map(hole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_squares_are_found_and_counterexamples_heeded() {
        let names = ["(cell 1 b)", "(cell 1 x)", "(cell 2 b)", "(cell 2 x)", "(control o)", "(control x)", "open"];
        let mut watch = Watch::new(&names.map(String::from));
        watch.look(&[0b0010101]);
        watch.look(&[0b1101001]);
        let facts = |list: [u32; 2]| list.map(Fact).to_vec();
        assert_eq!(watch.found(), [facts([0, 1]), facts([2, 3]), facts([4, 5])]);
        watch.look(&[0b0011101]);
        assert_eq!(watch.found(), [facts([0, 1]), facts([4, 5])]);
    }
}
