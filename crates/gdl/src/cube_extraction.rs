//! Extracts common cubes of two literals: a pair of inputs that several gates share becomes a gate of its own.
//!
//! Greedy, the most frequent pair first, as in the cube extraction of multi-level logic synthesis (Brayton & McMullen 1982).
//! Only pairs of literals are extracted, no larger cubes and no kernels.
//!
//! In checkers a triple jump has eight conditions, and 150 jumps require a certain square to be empty. Once "empty, with an
//! enemy beside it" is a gate, a change of the square affects a handful of gates that hardly ever hold.

use crate::propnet::{Kind, Lit, Node};
use std::collections::{BinaryHeap, HashMap};

/// Gates with more inputs are left as they are, because they have too many pairs.
const MAX_INPUTS: usize = 40;
/// If all gates together have more pairs, nothing is extracted.
const MAX_PAIRS: usize = 3_000_000;
/// The number of gates that must share a pair for it to be extracted.
const MIN_SHARING: u32 = 2;

/// The kind of gate and its two literals, the smaller first.
type Pair = (Kind, Lit, Lit);

fn pair(kind: Kind, a: Lit, b: Lit) -> Pair {
    (kind, a.min(b), a.max(b))
}

/// Extracts pairs until no two gates share one; `frozen` gates stay as they are. New gates are appended.
pub(crate) fn extract_common_pairs(kinds: &mut Vec<Kind>, inputs: &mut Vec<Vec<Lit>>, frozen: impl Fn(Node) -> bool) {
    let open = |n: usize, kinds: &[Kind], inputs: &[Vec<Lit>]| {
        matches!(kinds[n], Kind::And | Kind::Or) && (3..=MAX_INPUTS).contains(&inputs[n].len()) && !frozen(n as Node)
    };
    let gates: Vec<usize> = (0..kinds.len()).filter(|&n| open(n, kinds, inputs)).collect();
    if gates.iter().map(|&n| inputs[n].len() * inputs[n].len() / 2).sum::<usize>() > MAX_PAIRS {
        return;
    }
    let mut count: HashMap<Pair, u32> = HashMap::new();
    let mut users: HashMap<(Kind, Lit), Vec<usize>> = HashMap::new();
    for &n in &gates {
        for (i, &a) in inputs[n].iter().enumerate() {
            users.entry((kinds[n], a)).or_default().push(n);
            for &b in &inputs[n][i + 1..] {
                *count.entry(pair(kinds[n], a, b)).or_default() += 1;
            }
        }
    }
    // A pair that is a gate already needs no new gate.
    let mut known: HashMap<Pair, Node> = HashMap::new();
    for n in 0..kinds.len() {
        if let (Kind::And | Kind::Or, &[a, b]) = (kinds[n], inputs[n].as_slice())
            && !frozen(n as Node)
        {
            known.insert(pair(kinds[n], a, b), n as Node);
        }
    }
    let key = |k: Kind| (k == Kind::And) as u8;
    // Pairs that contain a gate are preferred: two facts often hold together, so their conjunction would change often.
    let facts = kinds.iter().take_while(|k| !matches!(k, Kind::And | Kind::Or)).count() as Node;
    let weight = move |p: Pair| if p.1 >> 1 < facts && p.2 >> 1 < facts { 2 } else { 3 };
    let entry = |p: Pair, c: u32| (c * weight(p), c, std::cmp::Reverse((key(p.0), p.1, p.2)));
    let mut heap: BinaryHeap<_> = count.iter().filter(|c| *c.1 >= MIN_SHARING).map(|(&p, &c)| entry(p, c)).collect();
    while let Some((_, c, std::cmp::Reverse((is_and, a, b)))) = heap.pop() {
        let kind = if is_and == 1 { Kind::And } else { Kind::Or };
        let now = count[&(kind, a, b)];
        if now != c {
            if now >= MIN_SHARING {
                heap.push(entry((kind, a, b), now));
            }
            continue;
        }
        let fewer = if users[&(kind, a)].len() <= users[&(kind, b)].len() { a } else { b };
        let shared: Vec<usize> = users[&(kind, fewer)]
            .iter()
            .copied()
            .filter(|&n| inputs[n].len() > 2 && inputs[n].contains(&a) && inputs[n].contains(&b))
            .collect();
        count.insert((kind, a, b), 0);
        if shared.len() < MIN_SHARING as usize {
            continue;
        }
        let made = *known.entry((kind, a, b)).or_insert_with(|| {
            kinds.push(kind);
            inputs.push(vec![a, b]);
            kinds.len() as Node - 1
        });
        let lit = made << 1;
        for n in shared {
            if n == made as usize {
                continue;
            }
            inputs[n].retain(|&l| l != a && l != b);
            for &c in &inputs[n] {
                for gone in [a, b] {
                    if let Some(k) = count.get_mut(&pair(kind, gone, c)) {
                        *k = k.saturating_sub(1);
                    }
                }
                if c != lit {
                    let k = count.entry(pair(kind, lit, c)).or_default();
                    *k += 1;
                    if *k >= MIN_SHARING {
                        heap.push(entry(pair(kind, lit, c), *k));
                    }
                }
            }
            if !inputs[n].contains(&lit) {
                inputs[n].push(lit);
                users.entry((kind, lit)).or_default().push(n);
            }
        }
    }
}
