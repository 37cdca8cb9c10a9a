//! The event-driven evaluator of a propositional network: a step costs what it changes.
//!
//! Each gate counts its true inputs and holds when the count reaches its threshold. A change of a node adds or subtracts one
//! at every gate that it feeds (see [`crate::fanout`]). Changed nodes wait in a queue; when a node is taken from the queue,
//! it is passed on only if its value differs from the value passed on last, so that the order of the queue does not matter.
//! Loops (see [`crate::propnet`]) are evaluated from scratch, to their least fixpoint, once everything else has settled and
//! one of their inputs has changed.
//!
//! The results that play needs are kept as output bits, which changes flip directly: the legal moves, in groups that share
//! a guard, and the facts that will change in the step. Goals are evaluated on demand. Where moves have deltas (see
//! [`crate::move_deltas`]), gates that depend on moves are not kept at all.
//!
//! It evaluates one position at a time; [`crate::bit_parallel`] evaluates 256.

use crate::bits::{flip, get, words};
use crate::fanout::{Counters, Fanout, NodeFanout, OFF, is_on};
use crate::move_deltas::MoveDeltas;
use crate::propnet::*;
use crate::straight_line::StraightLineCode;
use std::ops::Range;

/// The moves of a role whose legality has the same guard (see [`crate::propnet`]).
#[derive(Clone, Debug)]
pub(crate) struct MoveGroup {
    /// No move of the group is legal unless this holds.
    pub guard: Lit,
    /// The moves, in increasing order.
    pub moves: Vec<u32>,
    /// The words of the outputs that hold one bit per move, in the order of `moves`.
    pub words: Range<usize>,
}

/// The immutable tables of event-driven evaluation, which all evaluators of a game share.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// The node of the first move; the node of a move is this plus its index in `net.does`.
    does: usize,
    /// What a change of each node affects.
    fanout: Fanout,
    /// The initial count of each leaf, by its output bit: all nodes false.
    leaf_bias: Vec<u16>,
    /// The loops that each node feeds; empty if no kept node feeds a loop.
    loops_fed: Vec<Vec<u32>>,
    /// The initial count of each gate, less its threshold: all nodes false.
    bias: Vec<u16>,
    /// The initial output bits: all nodes false.
    initial_outputs: Vec<u64>,
    /// The nodes whose values events keep up to date.
    kept: Vec<bool>,
    /// One more than the last kept node.
    kept_end: usize,
    /// The kept nodes that are part of a loop.
    looped: Vec<bool>,
    /// The groups of legal moves of each role.
    pub groups: Vec<Vec<MoveGroup>>,
    /// The words of the outputs that hold the facts that will change. One range for all roles, or one per role where moves
    /// have deltas.
    changes: Vec<Range<usize>>,
    /// The gates that goals need beyond the kept ones, inputs first.
    goals: Vec<Node>,
    /// The same gates as straight-line code, unless there are loops among them.
    goal_code: Option<StraightLineCode>,
    /// The gates that `next` needs beyond the kept ones, inputs first.
    next: Vec<Node>,
}

impl Wiring {
    /// Builds the tables. Without deltas, `next` is kept by events; with deltas, only the turn effects are.
    pub fn new(net: &Propnet, deltas: Option<&MoveDeltas>) -> Wiring {
        let nodes = net.len();
        let mut outputs: Vec<(Lit, usize)> = Vec::new();
        let (groups, mut used) = groups(net, &mut outputs);
        let facts = net.facts.len();
        let all: Vec<(u32, Lit)> = net.next.iter().enumerate().map(|(f, &l)| (f as u32, l)).collect();
        let lists = deltas.map_or(std::slice::from_ref(&all), |t| t.turn_effects.as_slice());
        let mut changes: Vec<Range<usize>> = Vec::new();
        for (i, next) in lists.iter().enumerate() {
            // Often the turn effects of all roles are the same.
            if let Some(same) = lists[..i].iter().position(|other| other == next) {
                changes.push(changes[same].clone());
                continue;
            }
            let range = used..used + words(facts);
            used = range.end;
            for &(f, l) in next {
                let fact = (f as Lit + 1) << 1;
                if l != fact {
                    outputs.extend([(l, range.start * 64 + f as usize), (fact, range.start * 64 + f as usize)]);
                }
            }
            changes.push(range);
        }
        let guards = groups.iter().flatten().map(|g| g.guard);
        let kept = net.cone(outputs.iter().map(|o| o.0).chain(guards).chain([net.terminal]));
        let beyond = |roots: Vec<Lit>| {
            let wanted = net.cone(roots);
            (0..nodes).filter(|&n| wanted[n] && !kept[n]).map(|n| n as Node).collect::<Vec<_>>()
        };
        let mut looped = vec![false; nodes];
        let mut loop_of = vec![u32::MAX; nodes];
        for (i, l) in net.loops.iter().enumerate() {
            for n in l.clone() {
                (looped[n as usize], loop_of[n as usize]) = (kept[n as usize], i as u32);
            }
        }
        let mut bias = vec![OFF; nodes];
        let (mut gates, mut loops_fed) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for n in (0..nodes).filter(|&n| kept[n]) {
            let inputs = net.inputs(n as Node);
            let need = match net.kinds[n] {
                Kind::And => inputs.len(),
                Kind::Or => 1,
                _ => continue,
            };
            bias[n] = inputs.iter().filter(|&l| l & 1 == 1).count().wrapping_sub(need) as u16;
            for &l in inputs {
                let from = (l >> 1) as usize;
                if !looped[n] {
                    gates[from].push((n as u32) << 1 | (l & 1));
                } else if loop_of[from] != loop_of[n] && !loops_fed[from].contains(&loop_of[n]) {
                    loops_fed[from].push(loop_of[n]);
                }
            }
        }
        let mut bits = vec![Vec::new(); nodes];
        let mut initial_outputs = vec![0; used];
        let mut sources = vec![0u8; used * 64];
        for &(l, bit) in &outputs {
            bits[(l >> 1) as usize].push(bit as u32);
            sources[bit] = sources[bit].saturating_add(1);
            if l & 1 == 1 {
                flip(&mut initial_outputs, bit);
            }
        }
        let read = values_read(net, deltas, &kept, &looped, &groups);
        let mut leaf = vec![u32::MAX; nodes];
        let mut leaf_bias = vec![OFF; used * 64];
        for n in (0..nodes).filter(|&n| kept[n] && !looped[n] && !read[n]) {
            let alone = gates[n].is_empty() && loops_fed[n].is_empty();
            if let (Kind::And | Kind::Or, true, &[bit]) = (net.kinds[n], alone, bits[n].as_slice())
                && sources[bit as usize] == 1
            {
                leaf[n] = bit;
                leaf_bias[bit as usize] = bias[n];
                if is_on(bias[n]) {
                    flip(&mut initial_outputs, bit as usize);
                }
                bias[n] = OFF;
                bits[n].clear();
            }
        }
        leaf_bias.truncate(leaf.iter().filter(|&&b| b != u32::MAX).max().map_or(0, |&b| b as usize + 1));
        let touched = |(edges, bits): (Vec<u32>, Vec<u32>)| {
            let (gates, leaves): (Vec<u32>, Vec<u32>) =
                edges.into_iter().partition(|&e| leaf[(e >> 1) as usize] == u32::MAX);
            let at_bit = |e: u32| leaf[(e >> 1) as usize] << 1 | (e & 1);
            NodeFanout { gates, leaves: leaves.into_iter().map(at_bit).collect(), bits }
        };
        let touched: Vec<NodeFanout> = gates.into_iter().zip(bits).map(touched).collect();
        let fanout = Fanout::new(&touched, leaf_bias.len(), used);
        if loops_fed.iter().all(Vec::is_empty) {
            loops_fed.clear();
        }
        let kept_end = kept.iter().rposition(|&k| k).map_or(0, |n| n + 1);
        let goals = beyond(net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.1)).collect());
        let next = beyond(net.next.clone());
        let straight = goals.iter().all(|&n| loop_of[n as usize] == u32::MAX);
        let goal_code = straight.then(|| {
            let mut code = StraightLineCode::default();
            goals.iter().for_each(|&n| code.push(net, n));
            code
        });
        Wiring {
            does: 1 + facts,
            fanout,
            leaf_bias,
            loops_fed,
            bias,
            initial_outputs,
            kept_end,
            looped,
            groups,
            changes,
            goals,
            goal_code,
            next,
            kept,
        }
    }
}

/// The nodes whose values are read by something other than the propagation of changes. They cannot be leaves.
fn values_read(
    net: &Propnet,
    deltas: Option<&MoveDeltas>,
    kept: &[bool],
    looped: &[bool],
    groups: &[Vec<MoveGroup>],
) -> Vec<bool> {
    let goals = net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.1));
    let effects = deltas.into_iter().flat_map(|t| t.all_effects().map(|e| e.1));
    let next = net.next.iter().copied().filter(|_| deltas.is_some());
    let asked: Vec<Lit> = goals.chain(effects).chain(next).collect();
    let on_demand = net.cone(asked.iter().copied());
    let guards = groups.iter().flatten().map(|g| g.guard);
    let evaluated = (0..net.len()).filter(|&n| looped[n] || on_demand[n] && !kept[n]);
    let inputs = evaluated.flat_map(|n| net.inputs(n as Node).iter().copied());
    let mut read = vec![false; net.len()];
    asked
        .iter()
        .copied()
        .chain(guards)
        .chain(inputs)
        .chain([net.terminal])
        .for_each(|l| read[(l >> 1) as usize] = true);
    read
}

/// Groups the moves of each role by guard and assigns their output bits; also gives the number of words used.
fn groups(net: &Propnet, outputs: &mut Vec<(Lit, usize)>) -> (Vec<Vec<MoveGroup>>, usize) {
    let (mut groups, mut used) = (Vec::new(), 0);
    for role in &net.roles {
        let split = |&(m, l): &(u32, Lit)| {
            let (guard, rest) = net.split_guard(l);
            (guard, m, rest)
        };
        let mut split: Vec<(Lit, u32, Lit)> = role.legal.iter().map(split).collect();
        split.sort_unstable();
        let mut mine = Vec::new();
        for same in split.chunk_by(|a, b| a.0 == b.0) {
            outputs.extend(same.iter().enumerate().map(|(i, x)| (x.2, used * 64 + i)));
            let range = used..used + words(same.len());
            used = range.end;
            mine.push(MoveGroup { guard: same[0].0, moves: same.iter().map(|x| x.1).collect(), words: range });
        }
        groups.push(mine);
    }
    (groups, used)
}

/// The mutable part of event-driven evaluation: values and counts at one state.
#[derive(Clone, Debug)]
pub(crate) struct EventEvaluator {
    /// The facts of the state.
    pub facts: Vec<u64>,
    /// By node: true inputs less threshold, so that the sign bit says whether the node is off.
    count: Vec<u16>,
    /// The counts of leaves, by output bit.
    leaves: Vec<u16>,
    /// By node: the value that was last passed on.
    value: Vec<u8>,
    /// The output bits: legal moves and facts that will change.
    outputs: Vec<u64>,
    /// Nodes whose value may have changed; only the first `queued` entries count. Empty between calls.
    queue: Vec<u32>,
    queued: usize,
    /// Loops of which an input has changed.
    dirty_loops: Vec<u32>,
    /// The facts that the current step or seek changes.
    changed: Vec<u64>,
    /// Edges followed and formulas evaluated so far, for choosing between evaluators.
    pub edges_followed: u64,
    /// Gates of loops evaluated so far.
    pub loop_gates_evaluated: u64,
}

impl EventEvaluator {
    /// Makes an evaluator at the state without facts.
    pub fn new(net: &Propnet, wiring: &Wiring) -> EventEvaluator {
        let is_gate = |n: usize| matches!(net.kinds[n], Kind::And | Kind::Or) && wiring.kept[n] && !wiring.looped[n];
        let on: Vec<u32> = (0..net.len()).filter(|&n| is_gate(n) && is_on(wiring.bias[n])).map(|n| n as u32).collect();
        let loops = (0..net.loops.len() as u32).filter(|&l| wiring.looped[net.loops[l as usize].start as usize]);
        let mut evaluator = EventEvaluator {
            facts: vec![0; words(net.facts.len())],
            count: wiring.bias.clone(),
            leaves: wiring.leaf_bias.clone(),
            value: vec![0; net.len()],
            outputs: wiring.initial_outputs.clone(),
            queued: on.len(),
            queue: on,
            dirty_loops: loops.collect(),
            changed: vec![0; words(net.facts.len())],
            edges_followed: 0,
            loop_gates_evaluated: 0,
        };
        evaluator.propagate(net, wiring);
        evaluator
    }

    /// Moves to the state with these facts.
    pub fn seek(&mut self, net: &Propnet, wiring: &Wiring, facts: &[u64]) {
        for ((d, &old), &new) in self.changed.iter_mut().zip(&self.facts).zip(facts) {
            *d = old ^ new;
        }
        self.apply_changed_facts(net, wiring);
    }

    /// Whether copying an evaluator is likely to be cheaper than moving one back to a former state by events.
    pub fn copies_cheaply(wiring: &Wiring) -> bool {
        wiring.kept_end <= 8_192
    }

    /// Copies the state and all values of another evaluator with the same wiring.
    #[inline]
    pub fn copy(&mut self, wiring: &Wiring, other: &EventEvaluator) {
        self.facts.copy_from_slice(&other.facts);
        self.count[..wiring.kept_end].copy_from_slice(&other.count[..wiring.kept_end]);
        self.value[..wiring.kept_end].copy_from_slice(&other.value[..wiring.kept_end]);
        self.leaves.copy_from_slice(&other.leaves);
        self.outputs.copy_from_slice(&other.outputs);
    }

    /// Makes a joint move, given as indices into `net.does`, by events alone. The wiring must be without deltas.
    pub fn step(&mut self, net: &Propnet, wiring: &Wiring, does: &[u32]) {
        for &d in does {
            self.set_input(wiring.does + d as usize, true);
        }
        self.propagate(net, wiring);
        self.changed.copy_from_slice(&self.outputs[wiring.changes[0].clone()]);
        for &d in does {
            self.set_input(wiring.does + d as usize, false);
        }
        self.apply_changed_facts(net, wiring);
    }

    /// Makes a move of one role by its delta; the other roles make their idle moves.
    #[inline]
    pub fn step_by_delta(&mut self, net: &Propnet, wiring: &Wiring, deltas: &MoveDeltas, role: usize, does: u32) {
        self.edges_followed += deltas.evaluate(does, &mut self.value);
        self.changed.copy_from_slice(&self.outputs[wiring.changes[role].clone()]);
        for &f in deltas.overridden(does) {
            self.changed[f as usize >> 6] &= !(1 << (f & 63));
        }
        let (facts, value) = (self.facts.as_slice(), self.value.as_slice());
        let changed = self.changed.as_mut_slice();
        for &(f, l) in deltas.effects(does) {
            let (w, b) = (f as usize >> 6, f & 63);
            let new = value[(l >> 1) as usize] as u64 ^ (l & 1) as u64;
            changed[w] |= ((facts[w] >> b & 1) ^ new) << b;
        }
        self.apply_changed_facts(net, wiring);
    }

    /// Makes a joint move to which no delta applies, by evaluating every gate that `next` needs.
    #[cold]
    pub fn step_fully(&mut self, net: &Propnet, wiring: &Wiring, does: &[u32]) {
        does.iter().for_each(|&d| self.value[wiring.does + d as usize] = 1);
        self.evaluate_all(net, &wiring.next);
        self.changed.fill(0);
        for (f, &l) in net.next.iter().enumerate() {
            if get(&self.facts, f) != self.holds(l) {
                flip(&mut self.changed, f);
            }
        }
        does.iter().for_each(|&d| self.value[wiring.does + d as usize] = 0);
        self.apply_changed_facts(net, wiring);
    }

    /// Flips the facts in `changed` and propagates the consequences.
    #[inline]
    fn apply_changed_facts(&mut self, net: &Propnet, wiring: &Wiring) {
        for w in 0..self.changed.len() {
            let mut changed = self.changed[w];
            self.facts[w] ^= changed;
            while changed != 0 {
                let b = changed.trailing_zeros() as usize;
                changed &= changed - 1;
                self.set_input(1 + w * 64 + b, self.facts[w] >> b & 1 != 0);
            }
        }
        self.propagate(net, wiring);
    }

    /// Whether a literal holds. Its node must be kept, or have been evaluated at this state.
    #[inline]
    pub fn holds(&self, l: Lit) -> bool {
        self.value[(l >> 1) as usize] as Lit != (l & 1)
    }

    /// The legal moves of a group whose guard holds, as bits in the order of its moves.
    #[inline]
    pub fn legal(&self, group: &MoveGroup) -> &[u64] {
        &self.outputs[group.words.clone()]
    }

    /// Evaluates the gates that goals need beyond the kept ones.
    pub fn evaluate_goals(&mut self, net: &Propnet, wiring: &Wiring) {
        match &wiring.goal_code {
            Some(code) => code.evaluate(.., &mut self.value),
            None => self.evaluate_all(net, &wiring.goals),
        }
    }

    /// Evaluates the gates of a list, which has inputs first; loops to their least fixpoint.
    fn evaluate_all(&mut self, net: &Propnet, list: &[Node]) {
        let mut loops = net.loops.iter().peekable();
        let mut i = 0;
        while let Some(&n) = list.get(i) {
            while loops.next_if(|l| l.end <= n).is_some() {}
            if let Some(l) = loops.peek()
                && l.contains(&n)
            {
                self.fixpoint(net, (*l).clone());
                while list.get(i).is_some_and(|&n| n < l.end) {
                    i += 1;
                }
                continue;
            }
            self.value[n as usize] = self.evaluate(net, n) as u8;
            i += 1;
        }
    }

    /// The value of a gate by the values of its inputs.
    #[inline]
    fn evaluate(&self, net: &Propnet, n: Node) -> bool {
        let mut inputs = net.inputs(n).iter();
        match net.kinds[n as usize] {
            Kind::And => inputs.all(|&l| self.holds(l)),
            Kind::Or => inputs.any(|&l| self.holds(l)),
            _ => self.value[n as usize] == 1,
        }
    }

    /// Evaluates a loop to its least fixpoint.
    fn fixpoint(&mut self, net: &Propnet, range: Range<Node>) {
        self.value[range.start as usize..range.end as usize].fill(0);
        loop {
            let mut grown = false;
            self.loop_gates_evaluated += range.len() as u64;
            for n in range.clone() {
                if self.value[n as usize] == 0 && self.evaluate(net, n) {
                    self.value[n as usize] = 1;
                    grown = true;
                }
            }
            if !grown {
                return;
            }
        }
    }

    /// Sets a node and queues it; its gates follow when changes are propagated.
    #[inline]
    fn set_input(&mut self, n: usize, v: bool) {
        self.count[n] = (v as u16).wrapping_sub(1);
        if self.queue.len() == self.queued {
            self.queue.resize(2 * self.queued + 64, 0);
        }
        self.queue[self.queued] = n as u32;
        self.queued += 1;
    }

    /// Propagates changes until nothing changes any more.
    #[inline]
    fn propagate(&mut self, net: &Propnet, wiring: &Wiring) {
        loop {
            let counters = Counters {
                count: &mut self.count,
                value: &mut self.value,
                leaves: &mut self.leaves,
                outputs: &mut self.outputs,
                queue: &mut self.queue,
            };
            if wiring.loops_fed.is_empty() {
                self.edges_followed += wiring.fanout.propagate(counters, &mut self.queued, |_| {});
                return;
            }
            let dirty = &mut self.dirty_loops;
            let feed = |n: usize| {
                for &l in &wiring.loops_fed[n] {
                    if !dirty.contains(&l) {
                        dirty.push(l);
                    }
                }
            };
            self.edges_followed += wiring.fanout.propagate(counters, &mut self.queued, feed);
            if self.dirty_loops.is_empty() {
                return;
            }
            self.reevaluate_dirty_loop(net);
        }
    }

    /// Evaluates the first loop with a changed input and queues its nodes that changed.
    #[cold]
    fn reevaluate_dirty_loop(&mut self, net: &Propnet) {
        let Some(i) = (0..self.dirty_loops.len()).min_by_key(|&i| self.dirty_loops[i]) else { return };
        let range = net.loops[self.dirty_loops.swap_remove(i) as usize].clone();
        let before = self.value[range.start as usize..range.end as usize].to_vec();
        self.fixpoint(net, range.clone());
        for (n, old) in range.zip(before) {
            let v = std::mem::replace(&mut self.value[n as usize], old);
            if v != old {
                self.set_input(n as usize, v == 1);
            }
        }
    }
}
