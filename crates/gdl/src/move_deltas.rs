//! Move deltas: the effects of each move, compiled, for games in which one role moves while the others idle.
//!
//! If all other roles make their idle moves, a move `m` of role `p` fixes every `does`. So `next` can be partially evaluated,
//! once for each `(p, m)`. Nearly every fact then keeps its value and is dropped. What remains is the *delta* of the move:
//! the facts that it makes true or false, and the facts that get the value of a small formula of the state. Facts that
//! change whatever `p` does, such as whose turn it is and step counters, are the *turn effects* of `p`. They are common to
//! all its moves, and events keep their next values up to date; a delta lists only the facts for which the move differs.
//!
//! The gates that depend on moves are then no longer part of the event-driven network, and a step costs what it changes.
//! The formulas of a delta are evaluated only when its move is made.
//!
//! Joint moves in which two roles do something other than idle have no delta, and neither has a game whose `next` needs a
//! loop that depends on moves; see [`compile`].

use crate::gate_builder::GateBuilder;
use crate::propnet::*;
use crate::straight_line::StraightLineCode;
use std::ops::Range;

/// The deltas of all moves of a network.
#[derive(Clone, Debug)]
pub(crate) struct MoveDeltas {
    /// The idle move of each role.
    pub idle: Vec<u32>,
    /// By role: the facts that change whatever the role does, with their next values.
    pub turn_effects: Vec<Vec<(u32, Lit)>>,
    /// The delta of each move, by index into `net.does`.
    deltas: Vec<MoveDelta>,
    /// The formulas of all deltas, inputs first.
    code: StraightLineCode,
    /// The effects of all deltas: facts with their next values, in order of facts.
    effects: Vec<(u32, Lit)>,
    /// Of all deltas, the facts among the turn effects to which the move gives another value.
    overridden: Vec<u32>,
}

/// The delta of one move, as ranges of the tables in [`MoveDeltas`].
#[derive(Clone, Debug)]
struct MoveDelta {
    code: Range<u32>,
    effects: Range<u32>,
    overridden: Range<u32>,
}

/// The gates that compiling may visit. Beyond this, moves have such wide effects that events are cheaper.
const MAX_GATES_VISITED: usize = 400_000;

/// Compiles every move of a network in which roles idle with the moves `idle`. Returns the network with gates added for the
/// formulas of the deltas. `None` if a loop depends on moves, a delta needs a loop, or moves have too wide effects.
pub(crate) fn compile(net: &Propnet, idle: &[u32]) -> Option<(Propnet, MoveDeltas)> {
    let nodes = net.len();
    let first_does = 1 + net.facts.len();
    let gates = first_does + net.does.len()..nodes;
    // Forward edges among what depends on moves.
    let mut depends_on_does = vec![false; nodes];
    depends_on_does[first_does..gates.start].fill(true);
    let mut fanout: Vec<Vec<Node>> = vec![Vec::new(); nodes];
    for n in gates.clone() {
        for &l in net.inputs(n as Node) {
            if depends_on_does[(l >> 1) as usize] {
                depends_on_does[n] = true;
                fanout[(l >> 1) as usize].push(n as Node);
            }
        }
    }
    if net.loops.iter().any(|l| l.clone().any(|n| depends_on_does[n as usize])) {
        return None;
    }
    let mut next_of: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (f, &l) in net.next.iter().enumerate() {
        next_of[(l >> 1) as usize].push(f as u32);
    }
    let mut b = GateBuilder::from_net(net);
    let mut visited = 0;
    let roles = net.roles.len();
    let mut turn_effects = Vec::new();
    let mut effects_of: Vec<Vec<(u32, Lit)>> = vec![Vec::new(); net.does.len()];
    for p in 0..roles as u32 {
        // The value of every gate if role p made no move at all, which is right for gates that a move of p does not reach.
        let mut without_move: Vec<Lit> = (0..nodes as Lit).map(|n| n << 1).collect();
        for (d, &(r, m)) in net.does.iter().enumerate() {
            without_move[first_does + d] = (r != p && idle[r as usize] == m) as Lit;
        }
        for n in gates.clone().filter(|&n| depends_on_does[n]) {
            without_move[n] = specialised_gate(&mut b, net, n as Node, |i| without_move[i as usize]);
        }
        let after = |l: Lit, value: &dyn Fn(Node) -> Lit| value(l >> 1) ^ (l & 1);
        let keeps = |f: usize, l: Lit| l == (f as Lit + 1) << 1;
        let turn_next: Vec<Lit> = net.next.iter().map(|&l| after(l, &|n| without_move[n as usize])).collect();
        turn_effects.push(
            (0..net.facts.len())
                .filter(|&f| !keeps(f, turn_next[f]))
                .map(|f| (f as u32, turn_next[f]))
                .collect::<Vec<_>>(),
        );
        for (d, _) in net.does.iter().enumerate().filter(|d| d.1.0 == p) {
            let start = (first_does + d) as Node;
            let mut reached = vec![start];
            let mut seen: std::collections::HashSet<Node> = reached.iter().copied().collect();
            let mut i = 0;
            while i < reached.len() {
                for &n in &fanout[reached[i] as usize] {
                    if seen.insert(n) {
                        reached.push(n);
                    }
                }
                i += 1;
            }
            visited += reached.len();
            if visited > MAX_GATES_VISITED {
                return None;
            }
            reached.sort_unstable();
            let mut with_move: std::collections::HashMap<Node, Lit> = [(start, TRUE_LIT)].into();
            for &n in &reached[1..] {
                let lit = specialised_gate(&mut b, net, n, |i| {
                    with_move.get(&i).copied().unwrap_or(without_move[i as usize])
                });
                with_move.insert(n, lit);
            }
            for &n in &reached {
                for &f in &next_of[n as usize] {
                    let lit = after(net.next[f as usize], &|n| with_move[&n]);
                    if lit != turn_next[f as usize] {
                        effects_of[d].push((f, lit));
                    }
                }
            }
            effects_of[d].sort_unstable();
        }
    }
    let mut net = Propnet { kinds: b.kinds, starts: b.starts, inputs: b.inputs, ..net.clone() };
    // Nodes that events keep get neighbouring numbers, for the sake of the processor's caches.
    let renamed = net.renumber_cone_first(&kept_cone(&net, &turn_effects));
    let rename = |l: &mut Lit| *l = renamed[(*l >> 1) as usize] << 1 | (*l & 1);
    turn_effects.iter_mut().flatten().chain(effects_of.iter_mut().flatten()).for_each(|e| rename(&mut e.1));
    let kept = kept_cone(&net, &turn_effects);
    let (mut deltas, mut code, mut effects, mut overridden) =
        (Vec::new(), StraightLineCode::default(), Vec::new(), Vec::new());
    for (list, &(role, _)) in effects_of.into_iter().zip(&net.does) {
        let formulas = net.cone(list.iter().map(|e| e.1));
        let (code_start, effects_start) = (code.len() as u32, effects.len() as u32);
        // Straight-line code cannot evaluate a loop. Deltas that need one are rare enough to leave such games to events.
        for n in (0..net.len()).filter(|&n| formulas[n] && !kept[n]) {
            if !matches!(net.kinds[n], Kind::And | Kind::Or) {
                continue;
            }
            if net.loops.iter().any(|l| l.contains(&(n as Node))) {
                return None;
            }
            code.push(&net, n as Node);
        }
        let in_turn_effects = |f: u32| turn_effects[role as usize].binary_search_by_key(&f, |d| d.0).is_ok();
        let overridden_start = overridden.len() as u32;
        overridden.extend(list.iter().map(|e| e.0).filter(|&f| in_turn_effects(f)));
        effects.extend(list);
        deltas.push(MoveDelta {
            code: code_start..code.len() as u32,
            effects: effects_start..effects.len() as u32,
            overridden: overridden_start..overridden.len() as u32,
        });
    }
    Some((net, MoveDeltas { idle: idle.to_vec(), turn_effects, deltas, code, effects, overridden }))
}

/// The nodes that events keep when moves have deltas: those of legal moves, of `terminal` and of the turn effects.
pub(crate) fn kept_cone(net: &Propnet, turn_effects: &[Vec<(u32, Lit)>]) -> Vec<bool> {
    let legal = net.roles.iter().flat_map(|r| r.legal.iter().map(|x| x.1));
    net.cone(legal.chain([net.terminal]).chain(turn_effects.iter().flatten().map(|d| d.1)))
}

/// The gate `n` with its inputs replaced by their values, simplified.
fn specialised_gate(b: &mut GateBuilder, net: &Propnet, n: Node, value: impl Fn(Node) -> Lit) -> Lit {
    let inputs = net.inputs(n).iter().map(|&l| value(l >> 1) ^ (l & 1)).collect();
    match net.kinds[n as usize] {
        Kind::And => b.and(inputs),
        _ => b.or(inputs),
    }
}

impl MoveDeltas {
    /// Evaluates the formulas of a move. `value` must hold the values of the nodes that events keep. Returns the cost in edges.
    #[inline]
    pub fn evaluate(&self, does: u32, value: &mut [u8]) -> u64 {
        let range = self.deltas[does as usize].code.clone();
        let cost = range.len() as u64 / 2;
        self.code.evaluate(range.start as usize..range.end as usize, value);
        cost
    }

    /// The facts that a move sets, each with its next value.
    #[inline]
    pub fn effects(&self, does: u32) -> &[(u32, Lit)] {
        let range = self.deltas[does as usize].effects.clone();
        &self.effects[range.start as usize..range.end as usize]
    }

    /// The effects of all moves.
    pub fn all_effects(&self) -> impl Iterator<Item = &(u32, Lit)> {
        self.effects.iter()
    }

    /// The facts among the turn effects to which the move gives another value.
    #[inline]
    pub fn overridden(&self, does: u32) -> &[u32] {
        let range = self.deltas[does as usize].overridden.clone();
        &self.overridden[range.start as usize..range.end as usize]
    }

    /// Counts the instructions and effects of all deltas.
    pub fn len(&self) -> usize {
        self.code.len() + self.effects.len()
    }
}
