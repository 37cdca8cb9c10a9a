//! Exclusive sets: facts of which exactly one holds, such as the contents of a square or the player in control.
//!
//! Encoders can save inputs with them. Candidates are sets of facts that differ in one argument only. A candidate survives if
//! exactly one of its facts held in every state observed. This is an observation, not a proof: users must not depend on it
//! for correctness.

use crate::bits::ones;
use crate::kif::{self, Expr, ExprKind};
use ludex_core::Fact;
use std::collections::HashMap;

/// The candidate sets, and which of them have survived.
pub(crate) struct ExclusiveSets {
    /// The facts of each candidate.
    sets: Vec<Vec<u32>>,
    /// Whether exactly one fact of the candidate held in every state so far.
    alive: Vec<bool>,
    /// The candidates that each fact is in.
    sets_of: Vec<Vec<u32>>,
    /// A buffer: how many facts of each candidate hold.
    count: Vec<u32>,
    /// The number of states observed.
    observed: u32,
}

impl ExclusiveSets {
    /// Makes the candidates from the names of all facts.
    pub fn new(names: &[String]) -> ExclusiveSets {
        let mut numbers: HashMap<(String, usize), u32> = HashMap::new();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for (f, name) in names.iter().enumerate() {
            for (i, others) in without_each_argument(name).into_iter().enumerate() {
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
        ExclusiveSets { alive: vec![true; sets.len()], count: vec![0; sets.len()], sets, sets_of, observed: 0 }
    }

    /// Drops the candidates of which not exactly one fact holds at a state.
    pub fn observe(&mut self, facts: &[u64]) {
        self.observed += 1;
        self.count.fill(0);
        for f in ones(facts) {
            self.sets_of[f].iter().for_each(|&n| self.count[n as usize] += 1);
        }
        self.alive.iter_mut().zip(&self.count).for_each(|(a, &c)| *a &= c == 1);
    }

    /// The surviving sets, sorted. Larger sets are preferred, and no fact is in two of them.
    pub fn surviving(&self) -> Vec<Vec<Fact>> {
        if self.observed == 0 {
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

/// For each argument of a name, the name with `?` in its place.
fn without_each_argument(name: &str) -> Vec<String> {
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
        let mut exclusive = ExclusiveSets::new(&names.map(String::from));
        exclusive.observe(&[0b0010101]);
        exclusive.observe(&[0b1101001]);
        let facts = |list: [u32; 2]| list.map(Fact).to_vec();
        assert_eq!(exclusive.surviving(), [facts([0, 1]), facts([2, 3]), facts([4, 5])]);
        exclusive.observe(&[0b0011101]);
        assert_eq!(exclusive.surviving(), [facts([0, 1]), facts([4, 5])]);
    }
}
