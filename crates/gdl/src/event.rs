//! The event-driven evaluator, for single lines: each gate counts its true inputs, and only what changes is touched.
//!
//! A gate holds when its count reaches its threshold; a change of a node adds or takes one from each gate it feeds. Nodes
//! are taken from a queue in order of first touch and are passed on only if they really differ from what was passed on
//! before, so that the result is the same in any order. Loops (see [`crate::net`]) are evaluated afresh, to their least
//! fixpoint, when all else is settled and one of their inputs has changed.
//!
//! What the game asks for is kept as bits that changes flip directly: legal moves (in groups under one guard), and the
//! facts that will differ after the step. Goals are evaluated on demand, at the end of a game.

use crate::bits::{flip, get, set, words};
use crate::net::*;
use std::ops::Range;

/// Moves of a role that are legal under one guard: bits `bits.start..` of the outputs, one per move.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub guard: Lit,
    pub moves: Vec<u32>,
    /// The words of the outputs that hold the bits.
    pub words: Range<usize>,
}

/// How the net is wired for events; shared by all machines.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    facts: usize,
    /// First node of the moves; a move's node is this plus its index in `net.does`.
    does: usize,
    fan_starts: Vec<u32>,
    /// `2 * gate + negated`.
    fan: Vec<u32>,
    sink_starts: Vec<u32>,
    /// Output bits flipped by a change.
    sinks: Vec<u32>,
    loop_starts: Vec<u32>,
    /// Loops to evaluate again after a change.
    feeds: Vec<u32>,
    /// Nodes whose change matters to events.
    bias: Vec<i32>,
    /// Output bits when all inputs are false and gates as their bias says.
    blank: Vec<u64>,
    in_loop: Vec<bool>,
    pub groups: Vec<Vec<Group>>,
    /// The words of the outputs that hold the facts about to change.
    changes: Range<usize>,
    /// Gates for the goals that are not kept by events, inputs first.
    late: Vec<Node>,
    eager: Vec<bool>,
}

impl Wiring {
    pub fn new(net: &Net) -> Wiring {
        let nodes = net.len();
        let mut groups: Vec<Vec<Group>> = Vec::new();
        let mut outputs: Vec<(Lit, usize)> = Vec::new();
        let mut used = 0;
        for role in &net.roles {
            let mut split: Vec<(Lit, u32, Lit)> = role
                .legal
                .iter()
                .map(|&(m, l)| {
                    let (guard, rest) = net.split_guard(l);
                    (guard, m, rest)
                })
                .collect();
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
        let facts = net.facts.len();
        let changes = used..used + words(facts);
        for (f, &l) in net.next.iter().enumerate() {
            let fact = (f as Lit + 1) << 1;
            if l != fact {
                outputs.extend([(l, changes.start * 64 + f), (fact, changes.start * 64 + f)]);
            }
        }
        let guards = groups.iter().flatten().map(|g| g.guard);
        let eager = net.cone(outputs.iter().map(|o| o.0).chain(guards).chain([net.terminal]));
        let wanted = net.cone(net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.1)));
        let late = (0..nodes).filter(|&n| wanted[n] && !eager[n]).map(|n| n as Node).collect();
        let mut in_loop = vec![false; nodes];
        let mut loop_of = vec![u32::MAX; nodes];
        for (i, l) in net.loops.iter().enumerate() {
            for n in l.clone() {
                (in_loop[n as usize], loop_of[n as usize]) = (eager[n as usize], i as u32);
            }
        }
        let mut bias = vec![-1; nodes];
        let (mut fan, mut feeds) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for n in (0..nodes).filter(|&n| eager[n]) {
            let inputs = net.inputs(n as Node);
            let need = match net.kinds[n] {
                Kind::And => inputs.len() as i32,
                Kind::Or => 1,
                _ => continue,
            };
            bias[n] = inputs.iter().filter(|&l| l & 1 == 1).count() as i32 - need;
            for &l in inputs {
                let from = (l >> 1) as usize;
                if !in_loop[n] {
                    fan[from].push((n as u32) << 1 | (l & 1));
                } else if loop_of[from] != loop_of[n] && !feeds[from].contains(&loop_of[n]) {
                    feeds[from].push(loop_of[n]);
                }
            }
        }
        let mut sinks = vec![Vec::new(); nodes];
        let mut blank = vec![0; changes.end];
        for (l, bit) in outputs {
            sinks[(l >> 1) as usize].push(bit as u32);
            if l & 1 == 1 {
                flip(&mut blank, bit);
            }
        }
        let (fan_starts, fan) = flatten(fan);
        let (sink_starts, sinks) = flatten(sinks);
        let (loop_starts, feeds) = flatten(feeds);
        Wiring {
            facts,
            does: 1 + facts,
            fan_starts,
            fan,
            sink_starts,
            sinks,
            loop_starts,
            feeds,
            bias,
            blank,
            in_loop,
            groups,
            changes,
            late,
            eager,
        }
    }
}

fn flatten(lists: Vec<Vec<u32>>) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0];
    let mut all = Vec::new();
    for list in lists {
        all.extend(list);
        starts.push(all.len() as u32);
    }
    (starts, all)
}

/// The evaluator at one state.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The facts that hold.
    pub facts: Vec<u64>,
    count: Vec<i32>,
    value: Vec<bool>,
    out: Vec<u64>,
    queue: Vec<u32>,
    dirty: Vec<u32>,
    changed: Vec<u32>,
    /// Changes passed on, for choosing between evaluators.
    pub events: u64,
}

impl Machine {
    /// At the state without facts.
    pub fn new(net: &Net, wiring: &Wiring) -> Machine {
        let mut machine = Machine {
            facts: vec![0; words(net.facts.len())],
            count: wiring.bias.clone(),
            value: vec![false; net.len()],
            out: wiring.blank.clone(),
            queue: Vec::new(),
            dirty: (0..net.loops.len() as u32)
                .filter(|&l| wiring.in_loop[net.loops[l as usize].start as usize])
                .collect(),
            changed: Vec::new(),
            events: 0,
        };
        let gates = (0..net.len() as u32).filter(|&n| {
            matches!(net.kinds[n as usize], Kind::And | Kind::Or)
                && !wiring.in_loop[n as usize]
                && wiring.eager[n as usize]
        });
        machine.queue.extend(gates.filter(|&n| wiring.bias[n as usize] >= 0));
        machine.settle(net, wiring);
        machine
    }

    /// Moves to another state.
    #[inline]
    pub fn seek(&mut self, net: &Net, wiring: &Wiring, facts: &[u64]) {
        if self.facts[..] == *facts {
            return;
        }
        for (w, &new) in facts.iter().enumerate() {
            let mut differ = self.facts[w] ^ new;
            self.facts[w] = new;
            while differ != 0 {
                let b = differ.trailing_zeros() as usize;
                differ &= differ - 1;
                self.pass(wiring, 1 + w * 64 + b, new >> b & 1 != 0);
            }
        }
        self.settle(net, wiring);
    }

    /// Makes one move of each role, given as indices into `net.does`.
    pub fn step(&mut self, net: &Net, wiring: &Wiring, does: &[u32]) {
        for &d in does {
            self.pass(wiring, wiring.does + d as usize, true);
        }
        self.settle(net, wiring);
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        for (w, &word) in self.out[wiring.changes.clone()].iter().enumerate() {
            let mut word = word;
            while word != 0 {
                changed.push(w as u32 * 64 + word.trailing_zeros());
                word &= word - 1;
            }
        }
        for &d in does {
            self.pass(wiring, wiring.does + d as usize, false);
        }
        for &f in &changed {
            flip(&mut self.facts, f as usize);
            let v = get(&self.facts, f as usize);
            self.pass(wiring, 1 + f as usize, v);
        }
        self.changed = changed;
        self.settle(net, wiring);
    }

    /// Whether a literal that is kept by events holds.
    #[inline]
    pub fn holds(&self, l: Lit) -> bool {
        self.value[(l >> 1) as usize] != (l & 1 == 1)
    }

    /// The legal moves of a group, as bits in its order.
    #[inline]
    pub fn legal(&self, group: &Group) -> &[u64] {
        &self.out[group.words.clone()]
    }

    /// Evaluates what the goals need beyond what is kept.
    pub fn finish(&mut self, net: &Net, wiring: &Wiring) {
        let mut i = 0;
        let mut loops = net.loops.iter().peekable();
        while i < wiring.late.len() {
            let n = wiring.late[i];
            while loops.next_if(|l| l.end <= n).is_some() {}
            if let Some(l) = loops.peek()
                && l.contains(&n)
            {
                self.fixpoint(net, (*l).clone());
                while i < wiring.late.len() && wiring.late[i] < l.end {
                    i += 1;
                }
                continue;
            }
            self.value[n as usize] = self.evaluate(net, n);
            i += 1;
        }
    }

    #[inline]
    fn evaluate(&self, net: &Net, n: Node) -> bool {
        let mut inputs = net.inputs(n).iter();
        match net.kinds[n as usize] {
            Kind::And => inputs.all(|&l| self.holds(l)),
            Kind::Or => inputs.any(|&l| self.holds(l)),
            _ => self.value[n as usize],
        }
    }

    /// The least fixpoint of a loop.
    fn fixpoint(&mut self, net: &Net, range: Range<Node>) {
        self.value[range.start as usize..range.end as usize].fill(false);
        loop {
            let mut grown = false;
            for n in range.clone() {
                if !self.value[n as usize] && self.evaluate(net, n) {
                    self.value[n as usize] = true;
                    grown = true;
                }
            }
            if !grown {
                return;
            }
        }
    }

    /// A node has changed: tells everyone it feeds.
    #[inline]
    fn pass(&mut self, wiring: &Wiring, n: usize, v: bool) {
        self.value[n] = v;
        self.tell(wiring, n, v);
    }

    #[inline]
    fn tell(&mut self, wiring: &Wiring, n: usize, v: bool) {
        self.events += 1;
        for &edge in &wiring.fan[wiring.fan_starts[n] as usize..wiring.fan_starts[n + 1] as usize] {
            let gate = (edge >> 1) as usize;
            let delta = if v != (edge & 1 == 1) { 1 } else { -1 };
            let old = self.count[gate];
            self.count[gate] = old + delta;
            if (old ^ (old + delta)) < 0 {
                self.queue.push(gate as u32);
            }
        }
        for &bit in &wiring.sinks[wiring.sink_starts[n] as usize..wiring.sink_starts[n + 1] as usize] {
            flip(&mut self.out, bit as usize);
        }
        for &l in &wiring.feeds[wiring.loop_starts[n] as usize..wiring.loop_starts[n + 1] as usize] {
            if !self.dirty.contains(&l) {
                self.dirty.push(l);
            }
        }
    }

    fn settle(&mut self, net: &Net, wiring: &Wiring) {
        loop {
            let mut i = 0;
            while i < self.queue.len() {
                let n = self.queue[i] as usize;
                i += 1;
                let v = self.count[n] >= 0;
                if v != self.value[n] {
                    self.pass(wiring, n, v);
                }
            }
            self.queue.clear();
            if self.dirty.is_empty() {
                return;
            }
            self.settle_loop(net, wiring);
        }
    }

    #[cold]
    fn settle_loop(&mut self, net: &Net, wiring: &Wiring) {
        let Some(i) = (0..self.dirty.len()).min_by_key(|&i| self.dirty[i]) else { return };
        let range = net.loops[self.dirty.swap_remove(i) as usize].clone();
        let before = self.value[range.start as usize..range.end as usize].to_vec();
        self.fixpoint(net, range.clone());
        for (n, old) in range.zip(before) {
            let v = self.value[n as usize];
            if v != old {
                self.tell(wiring, n as usize, v);
            }
        }
    }
}
