//! The event-driven evaluator, for single lines: each gate counts its true inputs, and only what changes is touched.
//!
//! A gate holds when its count reaches its threshold; a change of a node adds or takes one from each gate it feeds. Nodes
//! are taken from a queue in order of first touch and are passed on only if they really differ from what was passed on
//! before, so that the result is the same in any order. Loops (see [`crate::net`]) are evaluated afresh, to their least
//! fixpoint, when all else is settled and one of their inputs has changed.
//!
//! What the game asks for is kept as bits that changes flip directly: legal moves (in groups under one guard), and the
//! facts that will differ after the step. Goals are evaluated on demand, at the end of a game. Where moves have tapes (see
//! [`crate::tapes`]), gates that depend on moves are not kept at all.

use crate::bits::{flip, get, words};
use crate::code::Code;
use crate::fans::{Counters, Fans, OFF, Touched, is_on};
use crate::net::*;
use crate::tapes::Tapes;
use std::ops::Range;

/// Moves of a role that are legal under one guard.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub guard: Lit,
    pub moves: Vec<u32>,
    /// The words of the outputs that hold one bit per move.
    pub words: Range<usize>,
}

/// How the net is wired for events; shared by all machines.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// First node of the moves; a move's node is this plus its index in `net.does`.
    does: usize,
    fans: Fans,
    /// The count of each leaf when all inputs are false, less its threshold, by output bit.
    leaf_bias: Vec<u16>,
    /// The loops that each node feeds; empty if there are none at all.
    feeds: Vec<Vec<u32>>,
    /// The count of each gate when all inputs are false, less its threshold.
    bias: Vec<u16>,
    /// Output bits when all nodes are false.
    blank: Vec<u64>,
    kept: Vec<bool>,
    /// Nodes from here on are not kept.
    last: usize,
    looped: Vec<bool>,
    pub groups: Vec<Vec<Group>>,
    /// The words of the outputs that hold the facts about to change; by role where moves have tapes.
    changes: Vec<Range<usize>>,
    /// Gates for the goals that are not kept by events, inputs first; as code unless there are loops among them.
    goals: Vec<Node>,
    goal_code: Option<Code>,
    /// Gates for `next` that are not kept by events, inputs first.
    next: Vec<Node>,
}

impl Wiring {
    /// Wires all of the net, or only what tapes do not do.
    pub fn new(net: &Net, tapes: Option<&Tapes>) -> Wiring {
        let nodes = net.len();
        let mut outputs: Vec<(Lit, usize)> = Vec::new();
        let (groups, mut used) = groups(net, &mut outputs);
        let facts = net.facts.len();
        let all: Vec<(u32, Lit)> = net.next.iter().enumerate().map(|(f, &l)| (f as u32, l)).collect();
        let lists = tapes.map_or(std::slice::from_ref(&all), |t| t.drift.as_slice());
        let mut changes: Vec<Range<usize>> = Vec::new();
        for (i, next) in lists.iter().enumerate() {
            // Usually all roles' turns drift alike.
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
        let (mut gates, mut feeds) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
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
                } else if loop_of[from] != loop_of[n] && !feeds[from].contains(&loop_of[n]) {
                    feeds[from].push(loop_of[n]);
                }
            }
        }
        let mut bits = vec![Vec::new(); nodes];
        let mut blank = vec![0; used];
        let mut sources = vec![0u8; used * 64];
        for &(l, bit) in &outputs {
            bits[(l >> 1) as usize].push(bit as u32);
            sources[bit] = sources[bit].saturating_add(1);
            if l & 1 == 1 {
                flip(&mut blank, bit);
            }
        }
        let read = values_read(net, tapes, &kept, &looped, &groups);
        let mut leaf = vec![u32::MAX; nodes];
        let mut leaf_bias = vec![OFF; used * 64];
        for n in (0..nodes).filter(|&n| kept[n] && !looped[n] && !read[n]) {
            let alone = gates[n].is_empty() && feeds[n].is_empty();
            if let (Kind::And | Kind::Or, true, &[bit]) = (net.kinds[n], alone, bits[n].as_slice())
                && sources[bit as usize] == 1
            {
                leaf[n] = bit;
                leaf_bias[bit as usize] = bias[n];
                if is_on(bias[n]) {
                    flip(&mut blank, bit as usize);
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
            Touched { gates, leaves: leaves.into_iter().map(at_bit).collect(), bits }
        };
        let touched: Vec<Touched> = gates.into_iter().zip(bits).map(touched).collect();
        let fans = Fans::new(&touched, leaf_bias.len(), used);
        if feeds.iter().all(Vec::is_empty) {
            feeds.clear();
        }
        let last = kept.iter().rposition(|&k| k).map_or(0, |n| n + 1);
        let goals = beyond(net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.1)).collect());
        let next = beyond(net.next.clone());
        let straight = goals.iter().all(|&n| loop_of[n as usize] == u32::MAX);
        let goal_code = straight.then(|| {
            let mut code = Code::default();
            goals.iter().for_each(|&n| code.push(net, n));
            code
        });
        Wiring {
            does: 1 + facts,
            fans,
            leaf_bias,
            feeds,
            bias,
            blank,
            last,
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

/// The nodes whose value is asked for, beyond what changes pass on.
fn values_read(net: &Net, tapes: Option<&Tapes>, kept: &[bool], looped: &[bool], groups: &[Vec<Group>]) -> Vec<bool> {
    let goals = net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.1));
    let effects = tapes.into_iter().flat_map(|t| t.all_effects().map(|e| e.1));
    let next = net.next.iter().copied().filter(|_| tapes.is_some());
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

/// Each role's moves by guard, with their places among the output bits.
fn groups(net: &Net, outputs: &mut Vec<(Lit, usize)>) -> (Vec<Vec<Group>>, usize) {
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
            mine.push(Group { guard: same[0].0, moves: same.iter().map(|x| x.1).collect(), words: range });
        }
        groups.push(mine);
    }
    (groups, used)
}

/// The evaluator at one state.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The facts that hold.
    pub facts: Vec<u64>,
    /// True inputs less threshold; below zero means off, so that crossing the threshold is a carry.
    count: Vec<u16>,
    leaves: Vec<u16>,
    value: Vec<u8>,
    out: Vec<u64>,
    /// Gates to look at: a ring is not needed, it empties between calls.
    queue: Vec<u32>,
    queued: usize,
    dirty: Vec<u32>,
    /// The facts about to change.
    differ: Vec<u64>,
    /// Edges followed and formulas evaluated, for choosing between evaluators.
    pub cost: u64,
    /// Gates of loops looked at.
    pub looked: u64,
}

impl Machine {
    /// At the state without facts.
    pub fn new(net: &Net, wiring: &Wiring) -> Machine {
        let is_gate = |n: usize| matches!(net.kinds[n], Kind::And | Kind::Or) && wiring.kept[n] && !wiring.looped[n];
        let on: Vec<u32> = (0..net.len()).filter(|&n| is_gate(n) && is_on(wiring.bias[n])).map(|n| n as u32).collect();
        let loops = (0..net.loops.len() as u32).filter(|&l| wiring.looped[net.loops[l as usize].start as usize]);
        let mut machine = Machine {
            facts: vec![0; words(net.facts.len())],
            count: wiring.bias.clone(),
            leaves: wiring.leaf_bias.clone(),
            value: vec![0; net.len()],
            out: wiring.blank.clone(),
            queued: on.len(),
            queue: on,
            dirty: loops.collect(),
            differ: vec![0; words(net.facts.len())],
            cost: 0,
            looked: 0,
        };
        machine.settle(net, wiring);
        machine
    }

    /// Moves to another state.
    pub fn seek(&mut self, net: &Net, wiring: &Wiring, facts: &[u64]) {
        for ((d, &old), &new) in self.differ.iter_mut().zip(&self.facts).zip(facts) {
            *d = old ^ new;
        }
        self.apply(net, wiring);
    }

    /// Whether going back to a state by copying is likely to be cheaper than by events.
    pub fn copies_cheaply(wiring: &Wiring) -> bool {
        wiring.last <= 8_192
    }

    /// Becomes another machine of the same wiring, at its state.
    #[inline]
    pub fn copy(&mut self, wiring: &Wiring, other: &Machine) {
        self.facts.copy_from_slice(&other.facts);
        self.count[..wiring.last].copy_from_slice(&other.count[..wiring.last]);
        self.value[..wiring.last].copy_from_slice(&other.value[..wiring.last]);
        self.leaves.copy_from_slice(&other.leaves);
        self.out.copy_from_slice(&other.out);
    }

    /// Makes one move of each role, given as indices into `net.does`, where all of the net is wired.
    pub fn step(&mut self, net: &Net, wiring: &Wiring, does: &[u32]) {
        for &d in does {
            self.turn(wiring.does + d as usize, true);
        }
        self.settle(net, wiring);
        self.differ.copy_from_slice(&self.out[wiring.changes[0].clone()]);
        for &d in does {
            self.turn(wiring.does + d as usize, false);
        }
        self.apply(net, wiring);
    }

    /// Makes one role's move while the others wait, by its tape.
    #[inline]
    pub fn play(&mut self, net: &Net, wiring: &Wiring, tapes: &Tapes, role: usize, does: u32) {
        self.cost += tapes.evaluate(does, &mut self.value);
        self.differ.copy_from_slice(&self.out[wiring.changes[role].clone()]);
        for &f in tapes.undrift(does) {
            self.differ[f as usize >> 6] &= !(1 << (f & 63));
        }
        let (facts, value) = (self.facts.as_slice(), self.value.as_slice());
        let differ = self.differ.as_mut_slice();
        for &(f, l) in tapes.effects(does) {
            let (w, b) = (f as usize >> 6, f & 63);
            let new = value[(l >> 1) as usize] as u64 ^ (l & 1) as u64;
            differ[w] |= ((facts[w] >> b & 1) ^ new) << b;
        }
        self.apply(net, wiring);
    }

    /// Makes any joint move where moves have tapes but this one fits none: everything about it is evaluated.
    #[cold]
    pub fn step_fully(&mut self, net: &Net, wiring: &Wiring, does: &[u32]) {
        does.iter().for_each(|&d| self.value[wiring.does + d as usize] = 1);
        self.evaluate_all(net, &wiring.next);
        self.differ.fill(0);
        for (f, &l) in net.next.iter().enumerate() {
            if get(&self.facts, f) != self.holds(l) {
                flip(&mut self.differ, f);
            }
        }
        does.iter().for_each(|&d| self.value[wiring.does + d as usize] = 0);
        self.apply(net, wiring);
    }

    /// Turns the facts that differ.
    #[inline]
    fn apply(&mut self, net: &Net, wiring: &Wiring) {
        for w in 0..self.differ.len() {
            let mut differ = self.differ[w];
            self.facts[w] ^= differ;
            while differ != 0 {
                let b = differ.trailing_zeros() as usize;
                differ &= differ - 1;
                self.turn(1 + w * 64 + b, self.facts[w] >> b & 1 != 0);
            }
        }
        self.settle(net, wiring);
    }

    /// Whether a literal that is kept by events, or was just evaluated, holds.
    #[inline]
    pub fn holds(&self, l: Lit) -> bool {
        self.value[(l >> 1) as usize] as Lit != (l & 1)
    }

    /// The legal moves of a group, as bits in its order, if its guard holds.
    #[inline]
    pub fn legal(&self, group: &Group) -> &[u64] {
        &self.out[group.words.clone()]
    }

    /// Evaluates what the goals need beyond what is kept.
    pub fn finish(&mut self, net: &Net, wiring: &Wiring) {
        match &wiring.goal_code {
            Some(code) => code.evaluate(.., &mut self.value),
            None => self.evaluate_all(net, &wiring.goals),
        }
    }

    /// Evaluates gates that events do not keep, inputs first.
    fn evaluate_all(&mut self, net: &Net, list: &[Node]) {
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

    #[inline]
    fn evaluate(&self, net: &Net, n: Node) -> bool {
        let mut inputs = net.inputs(n).iter();
        match net.kinds[n as usize] {
            Kind::And => inputs.all(|&l| self.holds(l)),
            Kind::Or => inputs.any(|&l| self.holds(l)),
            _ => self.value[n as usize] == 1,
        }
    }

    /// The least fixpoint of a loop.
    fn fixpoint(&mut self, net: &Net, range: Range<Node>) {
        self.value[range.start as usize..range.end as usize].fill(0);
        loop {
            let mut grown = false;
            self.looked += range.len() as u64;
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

    /// Turns an input; gates hear of it when things settle.
    #[inline]
    fn turn(&mut self, n: usize, v: bool) {
        self.count[n] = (v as u16).wrapping_sub(1);
        if self.queue.len() == self.queued {
            self.queue.resize(2 * self.queued + 64, 0);
        }
        self.queue[self.queued] = n as u32;
        self.queued += 1;
    }

    /// Passes changes on until none is left.
    #[inline]
    fn settle(&mut self, net: &Net, wiring: &Wiring) {
        loop {
            let counters = Counters {
                count: &mut self.count,
                value: &mut self.value,
                leaves: &mut self.leaves,
                out: &mut self.out,
                queue: &mut self.queue,
            };
            if wiring.feeds.is_empty() {
                self.cost += wiring.fans.spread(counters, &mut self.queued, |_| {});
                return;
            }
            let dirty = &mut self.dirty;
            let feed = |n: usize| {
                for &l in &wiring.feeds[n] {
                    if !dirty.contains(&l) {
                        dirty.push(l);
                    }
                }
            };
            self.cost += wiring.fans.spread(counters, &mut self.queued, feed);
            if self.dirty.is_empty() {
                return;
            }
            self.settle_loop(net);
        }
    }

    #[cold]
    fn settle_loop(&mut self, net: &Net) {
        let Some(i) = (0..self.dirty.len()).min_by_key(|&i| self.dirty[i]) else { return };
        let range = net.loops[self.dirty.swap_remove(i) as usize].clone();
        let before = self.value[range.start as usize..range.end as usize].to_vec();
        self.fixpoint(net, range.clone());
        for (n, old) in range.zip(before) {
            let v = std::mem::replace(&mut self.value[n as usize], old);
            if v != old {
                self.turn(n as usize, v == 1);
            }
        }
    }
}
