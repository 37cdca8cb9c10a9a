//! What each move changes, compiled: for games in which one role moves while the others wait.
//!
//! If all other roles make their one waiting move, a move `m` of role `p` fixes every `does`, and the net of `next` can be
//! evaluated partially, once for each `(p, m)`. Nearly every fact then simply keeps its value and is dropped; what remains is
//! a short *tape*: facts that `m` turns on or off, and facts that get the value of a small formula of the state. Facts that
//! change whatever `p` does (turns, step counters) are kept apart as the *drift* of `p`'s turn, and their formulas by events.
//!
//! The gates that depend on moves then leave the event-driven net altogether, and a step costs what it changes. Formulas
//! of tapes are evaluated only when the tape is played.

use crate::code::Code;
use crate::gates::Builder;
use crate::net::*;
use std::ops::Range;

/// Compiled moves of a net. The net gains gates for their formulas.
#[derive(Clone, Debug)]
pub(crate) struct Tapes {
    /// What each role does while it waits.
    pub idle: Vec<u32>,
    /// By role: facts that change whatever the role does, with their next value.
    pub drift: Vec<Vec<(u32, Lit)>>,
    /// By index into `net.does`.
    tapes: Vec<Tape>,
    /// Formulas, inputs first.
    code: Code,
    /// Facts with their next value, in order of facts.
    effects: Vec<(u32, Lit)>,
    /// Facts of drift to which a move gives another value.
    undrift: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Tape {
    code: Range<u32>,
    effects: Range<u32>,
    undrift: Range<u32>,
}

/// Gates that compiling may look at; beyond this, moves have such wide effects that events are the better way.
const MOST_GATES: usize = 400_000;

/// Compiles every move of a net in which roles wait with the moves `idle`; `None` if that does not pay.
pub(crate) fn compile(net: &Net, idle: &[u32]) -> Option<(Net, Tapes)> {
    let nodes = net.len();
    let first_does = 1 + net.facts.len();
    let gates = first_does + net.does.len()..nodes;
    // Forward edges among what depends on moves.
    let mut acts = vec![false; nodes];
    acts[first_does..gates.start].fill(true);
    let mut fan: Vec<Vec<Node>> = vec![Vec::new(); nodes];
    for n in gates.clone() {
        for &l in net.inputs(n as Node) {
            if acts[(l >> 1) as usize] {
                acts[n] = true;
                fan[(l >> 1) as usize].push(n as Node);
            }
        }
    }
    if net.loops.iter().any(|l| l.clone().any(|n| acts[n as usize])) {
        return None;
    }
    let mut next_of: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (f, &l) in net.next.iter().enumerate() {
        next_of[(l >> 1) as usize].push(f as u32);
    }
    let mut b = Builder::resume(net);
    let mut looked = 0;
    let roles = net.roles.len();
    let mut drift = Vec::new();
    let mut effects_of: Vec<Vec<(u32, Lit)>> = vec![Vec::new(); net.does.len()];
    for p in 0..roles as u32 {
        // Every gate's value if role p did nothing at all: right for whatever a move of p does not reach.
        let mut still: Vec<Lit> = (0..nodes as Lit).map(|n| n << 1).collect();
        for (d, &(r, m)) in net.does.iter().enumerate() {
            still[first_does + d] = (r != p && idle[r as usize] == m) as Lit;
        }
        for n in gates.clone().filter(|&n| acts[n]) {
            still[n] = rebuilt(&mut b, net, n as Node, |i| still[i as usize]);
        }
        let after = |l: Lit, value: &dyn Fn(Node) -> Lit| value(l >> 1) ^ (l & 1);
        let keeps = |f: usize, l: Lit| l == (f as Lit + 1) << 1;
        let drifting: Vec<Lit> = net.next.iter().map(|&l| after(l, &|n| still[n as usize])).collect();
        drift.push(
            (0..net.facts.len())
                .filter(|&f| !keeps(f, drifting[f]))
                .map(|f| (f as u32, drifting[f]))
                .collect::<Vec<_>>(),
        );
        for (d, _) in net.does.iter().enumerate().filter(|d| d.1.0 == p) {
            let start = (first_does + d) as Node;
            let mut reached = vec![start];
            let mut seen: std::collections::HashSet<Node> = reached.iter().copied().collect();
            let mut i = 0;
            while i < reached.len() {
                for &n in &fan[reached[i] as usize] {
                    if seen.insert(n) {
                        reached.push(n);
                    }
                }
                i += 1;
            }
            looked += reached.len();
            if looked > MOST_GATES {
                return None;
            }
            reached.sort_unstable();
            let mut moved: std::collections::HashMap<Node, Lit> = [(start, TRUE_LIT)].into();
            for &n in &reached[1..] {
                let lit = rebuilt(&mut b, net, n, |i| moved.get(&i).copied().unwrap_or(still[i as usize]));
                moved.insert(n, lit);
            }
            for &n in &reached {
                for &f in &next_of[n as usize] {
                    let lit = after(net.next[f as usize], &|n| moved[&n]);
                    if lit != drifting[f as usize] {
                        effects_of[d].push((f, lit));
                    }
                }
            }
            effects_of[d].sort_unstable();
        }
    }
    let mut net = Net { kinds: b.kinds, starts: b.starts, inputs: b.inputs, ..net.clone() };
    // What events keep gets neighbouring numbers, which the processor's caches like.
    let renamed = net.bring_forward(&legal_cone(&net, &drift));
    let rename = |l: &mut Lit| *l = renamed[(*l >> 1) as usize] << 1 | (*l & 1);
    drift.iter_mut().flatten().chain(effects_of.iter_mut().flatten()).for_each(|e| rename(&mut e.1));
    let kept = legal_cone(&net, &drift);
    let (mut tapes, mut code, mut effects, mut undrift) = (Vec::new(), Code::default(), Vec::new(), Vec::new());
    for (list, &(role, _)) in effects_of.into_iter().zip(&net.does) {
        let formulas = net.cone(list.iter().map(|e| e.1));
        let (code_start, effects_start) = (code.len() as u32, effects.len() as u32);
        // Loops that only a tape needs would have to be evaluated on it; rare enough to leave to events.
        for n in (0..net.len()).filter(|&n| formulas[n] && !kept[n]) {
            if !matches!(net.kinds[n], Kind::And | Kind::Or) {
                continue;
            }
            if net.loops.iter().any(|l| l.contains(&(n as Node))) {
                return None;
            }
            code.push(&net, n as Node);
        }
        let drifts = |f: u32| drift[role as usize].binary_search_by_key(&f, |d| d.0).is_ok();
        let undrift_start = undrift.len() as u32;
        undrift.extend(list.iter().map(|e| e.0).filter(|&f| drifts(f)));
        effects.extend(list);
        tapes.push(Tape {
            code: code_start..code.len() as u32,
            effects: effects_start..effects.len() as u32,
            undrift: undrift_start..undrift.len() as u32,
        });
    }
    Some((net, Tapes { idle: idle.to_vec(), drift, tapes, code, effects, undrift }))
}

/// What events keep when moves have tapes: legal moves, the end, and drift.
pub(crate) fn legal_cone(net: &Net, drift: &[Vec<(u32, Lit)>]) -> Vec<bool> {
    let legal = net.roles.iter().flat_map(|r| r.legal.iter().map(|x| x.1));
    net.cone(legal.chain([net.terminal]).chain(drift.iter().flatten().map(|d| d.1)))
}

fn rebuilt(b: &mut Builder, net: &Net, n: Node, value: impl Fn(Node) -> Lit) -> Lit {
    let inputs = net.inputs(n).iter().map(|&l| value(l >> 1) ^ (l & 1)).collect();
    match net.kinds[n as usize] {
        Kind::And => b.and(inputs),
        _ => b.or(inputs),
    }
}

impl Tapes {
    /// Evaluates the formulas of a move, given the values of what events keep; gives the cost in edges.
    #[inline]
    pub fn evaluate(&self, does: u32, value: &mut [u8]) -> u64 {
        let range = self.tapes[does as usize].code.clone();
        let cost = range.len() as u64 / 2;
        self.code.evaluate(range.start as usize..range.end as usize, value);
        cost
    }

    /// The facts that a move gives a value of their own.
    #[inline]
    pub fn effects(&self, does: u32) -> &[(u32, Lit)] {
        let range = self.tapes[does as usize].effects.clone();
        &self.effects[range.start as usize..range.end as usize]
    }

    /// The effects of all moves.
    pub fn all_effects(&self) -> impl Iterator<Item = &(u32, Lit)> {
        self.effects.iter()
    }

    /// The facts that would drift but for the move.
    #[inline]
    pub fn undrift(&self, does: u32) -> &[u32] {
        let range = self.tapes[does as usize].undrift.clone();
        &self.undrift[range.start as usize..range.end as usize]
    }

    /// Numbers in all tapes together.
    pub fn len(&self) -> usize {
        self.code.len() + self.effects.len()
    }
}
