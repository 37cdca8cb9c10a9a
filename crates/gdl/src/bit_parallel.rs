//! The bit-parallel evaluator: 256 positions in one pass over the network, for many playouts or all children of a node.
//!
//! Every node holds 256 bits, one per position or *lane*, so that a gate is one wide instruction per input for all lanes at
//! once. Gates are sorted by level, kind and number of inputs, so that the program consists of a few long batches of equal
//! instructions. Facts that nothing depends on are not computed. Loops are repeated until no lane changes.
//!
//! Moves are drawn lane by lane: the legality bits of all moves are transposed into one word per lane, and a bit of it is
//! selected uniformly. Roles that can only idle are handled for all lanes together. A lane whose game is over starts the
//! next playout, so that all lanes stay in use.
//!
//! A pass costs the whole network, however little changes; [`crate::playouts`] decides when that is cheaper than events.

use crate::bits::{Ones, get, select, transpose, words};
use crate::propnet::*;
use ludex_core::Rng;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lanes of a word.
const WORD: usize = 64;
/// The words of a vector: four make one 256-bit register.
const WIDTH: usize = 4;
/// The positions of a pass.
pub(crate) const LANES: usize = WORD * WIDTH;

/// One bit per lane.
type Vector = [u64; WIDTH];

const ZERO: Vector = [0; WIDTH];

#[inline]
fn and(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] & b[i])
}

#[inline]
fn or(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] | b[i])
}

#[inline]
fn and_not(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] & !b[i])
}

#[inline]
fn count(a: Vector) -> u32 {
    a.iter().map(|w| w.count_ones()).sum()
}

/// The value of a literal in all lanes.
#[inline]
fn read(values: &[Vector], l: Lit) -> Vector {
    let flip = 0u64.wrapping_sub(l as u64 & 1);
    let v = values[(l >> 1) as usize];
    std::array::from_fn(|i| v[i] ^ flip)
}

/// A part of a program.
#[derive(Clone, Debug)]
enum GateBatch {
    /// Gates of one kind with the same number of inputs: the node of each, followed by its inputs.
    Gates { or: bool, inputs: usize, code: Vec<u32> },
    /// Gates to be repeated until no lane changes.
    Loop(Vec<GateBatch>),
}

/// A network compiled for bit-parallel evaluation; all evaluators share it.
#[derive(Clone, Debug)]
pub(crate) struct BitParallelProgram {
    /// Identifies the program: an evaluator made for one program cannot run another.
    id: u64,
    /// The number of nodes; programs have their own numbering, without nodes that are not needed.
    nodes: usize,
    /// The gates that legal moves and `terminal` need.
    state_gates: Vec<GateBatch>,
    /// The gates that the next values of facts need beyond those.
    next_gates: Vec<GateBatch>,
    /// The gates that goals need beyond `state_gates`.
    goal_gates: Vec<GateBatch>,
    /// The facts that are computed, each with its node and its next value.
    facts: Vec<(u32, u32, Lit)>,
    terminal: Lit,
    roles: Vec<RoleProgram>,
    /// The number of rows for the moves of all roles. A role starts at a multiple of 64 if its moves would straddle one.
    rows: usize,
    /// The vectors read in one step.
    reads: usize,
}

/// The moves and goals of a role, in the numbering of the program.
#[derive(Clone, Debug)]
struct RoleProgram {
    /// The row of its first move.
    row: usize,
    /// For each move: its legality without the guard, the guard, and its node (`u32::MAX` if nothing depends on it).
    moves: Vec<(Lit, Lit, u32)>,
    /// The index of the idle move.
    idle: Option<usize>,
    /// Payoffs of goals, the highest first, each with the literal that says whether the goal holds.
    goals: Vec<(f64, Lit)>,
    /// The payoff if no goal holds.
    none: f64,
}

impl BitParallelProgram {
    /// Compiles a network. Computes all facts if `all`, else only those that legal moves, `terminal` or goals can ever depend
    /// on. `payoff` maps goal values to payoffs.
    pub fn new(net: &Propnet, idle: &[Option<u32>], all: bool, payoff: impl Fn(i32) -> f64) -> BitParallelProgram {
        let legal: Vec<Lit> = net.roles.iter().flat_map(|r| r.legal.iter().map(|x| x.1)).collect();
        let goals: Vec<Lit> = net.roles.iter().flat_map(|r| r.goals.iter().map(|x| x.1)).collect();
        let state_gates = net.cone(legal.iter().copied().chain([net.terminal]));
        let at_end = net.cone(goals.iter().copied());
        // A fact matters if legal moves, `terminal`, goals or the next value of another fact that matters read it.
        let fact_node = |f: usize| 1 + f;
        let mut matters: Vec<bool> =
            (0..net.facts.len()).map(|f| all || state_gates[fact_node(f)] || at_end[fact_node(f)]).collect();
        let next = loop {
            let next = net.cone((0..net.facts.len()).filter(|&f| matters[f]).map(|f| net.next[f]));
            let more: Vec<usize> = (0..net.facts.len()).filter(|&f| next[fact_node(f)] && !matters[f]).collect();
            if more.is_empty() {
                break next;
            }
            more.into_iter().for_each(|f| matters[f] = true);
        };
        let wanted = |n: usize| {
            n == 0 || state_gates[n] || next[n] || at_end[n] || (1..=net.facts.len()).contains(&n) && matters[n - 1]
        };
        let mut number = vec![u32::MAX; net.len()];
        let mut nodes = 0;
        for n in (0..net.len()).filter(|&n| wanted(n)) {
            number[n] = nodes;
            nodes += 1;
        }
        let first_does = 1 + net.facts.len();
        let lit = |l: Lit| number[(l >> 1) as usize] << 1 | (l & 1);
        let batches = |wanted: &[bool], done: &[&[bool]]| {
            let fresh: Vec<bool> = (0..net.len()).map(|n| wanted[n] && !done.iter().any(|d| d[n])).collect();
            schedule(net, &fresh, &lit)
        };
        let mut row = 0;
        let mut roles = Vec::new();
        for (r, role) in net.roles.iter().enumerate() {
            let len = role.legal.len();
            if row % WORD + len > WORD {
                row = words(row) * WORD;
            }
            let does = |m: u32| number[first_does + net.does_index(r as u32, m) as usize];
            let moves = role.legal.iter().map(|&(m, l)| {
                let (guard, rest) = net.split_guard(l);
                (lit(rest), lit(guard), does(m))
            });
            let waits = idle.get(r).copied().flatten();
            roles.push(RoleProgram {
                row,
                moves: moves.collect(),
                idle: waits.and_then(|m| role.legal.iter().position(|x| x.0 == m)),
                goals: role.goals.iter().rev().map(|&(v, l)| (payoff(v), lit(l))).collect(),
                none: payoff(0),
            });
            row += len;
        }
        static PROGRAMS: AtomicU64 = AtomicU64::new(0);
        let program = BitParallelProgram {
            id: PROGRAMS.fetch_add(1, Ordering::Relaxed),
            nodes: nodes as usize,
            facts: (0..net.facts.len())
                .filter(|&f| matters[f])
                .map(|f| (f as u32, number[fact_node(f)], lit(net.next[f])))
                .collect(),
            terminal: lit(net.terminal),
            rows: words(row) * WORD,
            state_gates: batches(&state_gates, &[]),
            next_gates: batches(&next, &[&state_gates]),
            goal_gates: batches(&at_end, &[&state_gates]),
            roles,
            reads: 0,
        };
        BitParallelProgram {
            reads: program.state_gates.iter().chain(&program.next_gates).map(GateBatch::reads).sum(),
            ..program
        }
    }

    /// Estimates the cost of one step of all lanes, in edges of the event-driven evaluator.
    pub fn cost_of_step(&self) -> u64 {
        // Reading a vector costs a third of an edge; drawing a move and updating a lane costs some eight edges.
        self.reads as u64 / 3 + 8 * LANES as u64
    }
}

impl GateBatch {
    /// Estimates the vectors read; a loop is assumed to be repeated three times.
    fn reads(&self) -> usize {
        match self {
            GateBatch::Gates { code, .. } => code.len(),
            GateBatch::Loop(batches) => 3 * batches.iter().map(GateBatch::reads).sum::<usize>(),
        }
    }
}

/// Orders gates by level, and within a level by kind and number of inputs.
fn schedule(net: &Propnet, wanted: &[bool], lit: &impl Fn(Lit) -> Lit) -> Vec<GateBatch> {
    let mut level = vec![0u32; net.len()];
    let mut loop_of = vec![usize::MAX; net.len()];
    net.loops.iter().enumerate().for_each(|(i, l)| l.clone().for_each(|n| loop_of[n as usize] = i));
    let is_gate = |n: usize| matches!(net.kinds[n], Kind::And | Kind::Or);
    let mut jobs: Vec<(u32, usize, bool, usize, usize)> = Vec::new();
    let mut n = 0;
    while n < net.len() {
        let range = if loop_of[n] == usize::MAX { n..n + 1 } else { n..net.loops[loop_of[n]].end as usize };
        if wanted[n] && is_gate(n) {
            let outside = |&l: &Lit| loop_of[n] == usize::MAX || loop_of[(l >> 1) as usize] != loop_of[n];
            let inputs = range.clone().flat_map(|k| net.inputs(k as Node).iter().copied()).filter(outside);
            let here = inputs.map(|l| level[(l >> 1) as usize]).max().unwrap_or(0) + 1;
            for k in range.clone() {
                level[k] = here;
                let gate = (net.kinds[k] == Kind::Or, net.inputs(k as Node).len());
                // The gates of a loop stay together, and before the other gates of their level.
                let piece = if loop_of[n] == usize::MAX { usize::MAX } else { loop_of[n] };
                jobs.push((here, piece, gate.0, gate.1, k));
            }
        }
        n = range.end;
    }
    jobs.sort_unstable();
    let gates = |jobs: &[(u32, usize, bool, usize, usize)]| -> Vec<GateBatch> {
        let same =
            |a: &(u32, usize, bool, usize, usize), b: &(u32, usize, bool, usize, usize)| (a.2, a.3) == (b.2, b.3);
        jobs.chunk_by(|a, b| same(a, b))
            .map(|run| {
                let mut code = Vec::new();
                for job in run {
                    code.push(lit((job.4 as Lit) << 1) >> 1);
                    code.extend(net.inputs(job.4 as Node).iter().map(|&l| lit(l)));
                }
                GateBatch::Gates { or: run[0].2, inputs: run[0].3, code }
            })
            .collect()
    };
    let mut batches = Vec::new();
    for piece in jobs.chunk_by(|a, b| a.1 == b.1 && (a.1 != usize::MAX || a.0 == b.0)) {
        match piece[0].1 {
            usize::MAX => batches.extend(gates(piece)),
            _ => batches.push(GateBatch::Loop(gates(piece))),
        }
    }
    batches
}

/// The values of all nodes in all lanes.
#[derive(Clone, Debug)]
pub(crate) struct BitParallelEvaluator {
    /// The `id` of the program that this is for.
    program: u64,
    /// By node.
    values: Vec<Vector>,
    /// The lanes in which each move is legal, by row.
    rows: Vec<Vector>,
    /// The next value of each fact.
    next: Vec<Vector>,
    /// The nodes of moves that are set in some lane, to be cleared after the step.
    inputs_set: Vec<u32>,
    /// The steps that the playout of each lane has taken.
    age: Vec<u32>,
}

/// Sums over all playouts of a call.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PlayoutTotals {
    pub payoffs: Vec<f64>,
    pub plies: u64,
}

impl BitParallelEvaluator {
    /// Makes an evaluator for a program.
    pub fn new(program: &BitParallelProgram) -> BitParallelEvaluator {
        BitParallelEvaluator {
            program: program.id,
            values: vec![ZERO; program.nodes],
            rows: vec![ZERO; program.rows],
            next: vec![ZERO; program.facts.len()],
            inputs_set: Vec::new(),
            age: vec![0; LANES],
        }
    }

    /// Whether the evaluator was made for this program.
    pub fn is_for(&self, program: &BitParallelProgram) -> bool {
        self.program == program.id
    }

    /// Plays `n` uniformly random playouts from `facts`. Playouts longer than `cap` steps are cut and count as draws.
    pub fn playouts(
        &mut self,
        program: &BitParallelProgram,
        facts: &[u64],
        n: u64,
        cap: u32,
        rng: &mut Rng,
    ) -> PlayoutTotals {
        let mut totals = PlayoutTotals { payoffs: vec![0.0; program.roles.len()], plies: 0 };
        let root: Vec<u64> = program.facts.iter().map(|f| 0u64.wrapping_sub(get(facts, f.0 as usize) as u64)).collect();
        for (f, &r) in program.facts.iter().zip(&root) {
            self.values[f.1 as usize] = [r; WIDTH];
        }
        let mut left = n;
        let mut busy = ZERO;
        for lane in 0..LANES.min(n as usize) {
            busy[lane / WORD] |= 1 << (lane % WORD);
            left -= 1;
        }
        self.age.fill(0);
        let mut age = 0;
        while busy != ZERO {
            self.run(&program.state_gates);
            let mut over = and(read(&self.values, program.terminal), busy);
            let late = if age >= cap { self.past_cap(cap) } else { ZERO };
            over = or(over, self.legal(program, busy));
            let cut = and_not(and(late, busy), over);
            if over != ZERO {
                self.add_payoffs(program, over, &mut totals);
            }
            let done = or(over, cut);
            let playing = and_not(busy, done);
            totals.plies += self.choose(program, playing, rng);
            self.run(&program.next_gates);
            for (v, f) in self.next.iter_mut().zip(&program.facts) {
                *v = read(&self.values, f.2);
            }
            for ((v, f), &r) in self.next.iter().zip(&program.facts).zip(&root) {
                self.values[f.1 as usize] = std::array::from_fn(|i| (v[i] & !done[i]) | (r & done[i]));
            }
            for &d in &self.inputs_set {
                self.values[d as usize] = ZERO;
            }
            self.inputs_set.clear();
            age += 1;
            self.age.iter_mut().for_each(|a| *a += 1);
            for w in 0..WIDTH {
                for b in Ones(done[w]) {
                    self.age[w * WORD + b] = 0;
                    if left > 0 {
                        left -= 1;
                    } else {
                        busy[w] &= !(1 << b);
                    }
                }
            }
        }
        totals
    }

    /// The lanes whose playouts have reached `cap` steps.
    #[cold]
    fn past_cap(&self, cap: u32) -> Vector {
        let mut late = ZERO;
        for lane in (0..LANES).filter(|&l| self.age[l] >= cap) {
            late[lane / WORD] |= 1 << (lane % WORD);
        }
        late
    }

    /// Adds the payoffs of the lanes in `over` to the totals.
    fn add_payoffs(&mut self, program: &BitParallelProgram, over: Vector, totals: &mut PlayoutTotals) {
        self.run(&program.goal_gates);
        for (role, total) in program.roles.iter().zip(&mut totals.payoffs) {
            let mut left = over;
            for &(payoff, l) in &role.goals {
                let here = and(read(&self.values, l), left);
                *total += payoff * count(here) as f64;
                left = and_not(left, here);
            }
            *total += role.none * count(left) as f64;
        }
    }

    /// Fills the rows with the legal moves of busy lanes. Returns the lanes in which some role has no legal move.
    fn legal(&mut self, program: &BitParallelProgram, busy: Vector) -> Vector {
        let mut stuck = ZERO;
        for role in &program.roles {
            let mut any = ZERO;
            for (i, &(rest, guard, _)) in role.moves.iter().enumerate() {
                let legal = and(and(read(&self.values, rest), read(&self.values, guard)), busy);
                any = or(any, legal);
                self.rows[role.row + i] = legal;
            }
            stuck = or(stuck, and_not(busy, any));
        }
        stuck
    }

    /// Draws a move for every role in every playing lane. Returns the plies: the choices among several moves, and one for
    /// each lane without such a choice.
    fn choose(&mut self, program: &BitParallelProgram, playing: Vector, rng: &mut Rng) -> u64 {
        let mut plies = 0;
        let mut chose = ZERO;
        for role in &program.roles {
            // Lanes in which the role can only idle need no draw.
            let mut active = playing;
            if let Some(idle) = role.idle {
                let others = (0..role.moves.len()).filter(|&i| i != idle);
                let busy = others.fold(ZERO, |any, i| or(any, self.rows[role.row + i]));
                active = and(active, busy);
                let waiting = and_not(playing, busy);
                self.set_input(role.moves[idle].2, waiting);
            }
            let (first, last) = (role.row / WORD, (role.row + role.moves.len()).div_ceil(WORD));
            for w in (0..WIDTH).filter(|&w| active[w] != 0) {
                let choices = if last - first == 1 {
                    self.choose_one(role, w, active[w], rng)
                } else {
                    self.choose_many(role, w, active[w], rng)
                };
                plies += choices.count_ones() as u64;
                chose[w] |= choices;
            }
        }
        plies + count(and_not(playing, chose)) as u64
    }

    /// Draws for a role whose moves fit one word; gives the lanes that had a choice.
    fn choose_one(&mut self, role: &RoleProgram, w: usize, active: u64, rng: &mut Rng) -> u64 {
        let mut matrix = [0; WORD];
        for (i, row) in self.rows[role.row..role.row + role.moves.len()].iter().enumerate() {
            matrix[i] = row[w];
        }
        transpose(&mut matrix);
        let mut choices = 0;
        for lane in Ones(active) {
            let moves = matrix[lane];
            let n = moves.count_ones();
            let i = if n > 1 {
                choices |= 1 << lane;
                select(moves, rng.below(n))
            } else {
                moves.trailing_zeros()
            };
            self.set_input_in_lane(role.moves[i as usize].2, w, lane);
        }
        choices
    }

    /// Draws for a role with more moves than a word holds.
    fn choose_many(&mut self, role: &RoleProgram, w: usize, active: u64, rng: &mut Rng) -> u64 {
        let blocks = role.moves.len().div_ceil(WORD);
        let mut matrices = vec![[0u64; WORD]; blocks];
        let mut counts = [0u32; WORD];
        for (b, matrix) in matrices.iter_mut().enumerate() {
            let rows = &self.rows[role.row + b * WORD..role.row + role.moves.len().min((b + 1) * WORD)];
            let mut any = 0;
            for (m, row) in matrix.iter_mut().zip(rows) {
                *m = row[w];
                any |= row[w];
            }
            if any != 0 {
                transpose(matrix);
                counts.iter_mut().zip(matrix.iter()).for_each(|(c, m)| *c += m.count_ones());
            }
        }
        let mut choices = 0;
        for lane in Ones(active) {
            let mut n = 0;
            if counts[lane] > 1 {
                choices |= 1 << lane;
                n = rng.below(counts[lane]);
            }
            for (b, matrix) in matrices.iter().enumerate() {
                let here = matrix[lane].count_ones();
                if n < here {
                    let i = b * WORD + select(matrix[lane], n) as usize;
                    self.set_input_in_lane(role.moves[i].2, w, lane);
                    break;
                }
                n -= here;
            }
        }
        choices
    }

    /// Sets the node of a move in one lane of word `w`.
    #[inline]
    fn set_input_in_lane(&mut self, does: u32, w: usize, lane: usize) {
        if does == u32::MAX {
            return;
        }
        let v = &mut self.values[does as usize];
        if *v == ZERO {
            self.inputs_set.push(does);
        }
        v[w] |= 1 << lane;
    }

    /// Sets the node of a move in several lanes.
    fn set_input(&mut self, does: u32, lanes: Vector) {
        if does != u32::MAX && lanes != ZERO {
            let v = &mut self.values[does as usize];
            *v = or(*v, lanes);
            self.inputs_set.push(does);
        }
    }

    /// Evaluates batches of gates in order.
    fn run(&mut self, batches: &[GateBatch]) {
        for run in batches {
            match run {
                GateBatch::Gates { or, inputs, code } => self.gates(*or, *inputs, code),
                GateBatch::Loop(inside) => self.fixpoint(inside),
            }
        }
    }

    /// Evaluates gates of one kind.
    fn gates(&mut self, is_or: bool, inputs: usize, code: &[u32]) {
        let values = &mut self.values[..];
        match (is_or, inputs) {
            (false, 2) => {
                for c in code.chunks_exact(3) {
                    values[c[0] as usize] = and(read(values, c[1]), read(values, c[2]));
                }
            }
            (true, 2) => {
                for c in code.chunks_exact(3) {
                    values[c[0] as usize] = or(read(values, c[1]), read(values, c[2]));
                }
            }
            (false, _) => {
                for c in code.chunks_exact(inputs + 1) {
                    let first = [u64::MAX; WIDTH];
                    values[c[0] as usize] = c[1..].iter().fold(first, |v, &l| and(v, read(values, l)));
                }
            }
            (true, _) => {
                for c in code.chunks_exact(inputs + 1) {
                    values[c[0] as usize] = c[1..].iter().fold(ZERO, |v, &l| or(v, read(values, l)));
                }
            }
        }
    }

    /// Evaluates a loop to its least fixpoint in all lanes.
    fn fixpoint(&mut self, inside: &[GateBatch]) {
        let outputs: Vec<u32> = inside
            .iter()
            .flat_map(|r| match r {
                GateBatch::Gates { inputs, code, .. } => code.chunks_exact(inputs + 1).map(|c| c[0]).collect(),
                GateBatch::Loop(_) => Vec::new(),
            })
            .collect();
        outputs.iter().for_each(|&n| self.values[n as usize] = ZERO);
        loop {
            let before: Vec<Vector> = outputs.iter().map(|&n| self.values[n as usize]).collect();
            self.run(inside);
            if outputs.iter().zip(&before).all(|(&n, b)| self.values[n as usize] == *b) {
                return;
            }
        }
    }

    /// The facts after each of the joint moves `moves` at the state `facts`. A joint move has, for each role, the index of its
    /// move among the moves of that role. The program must compute all facts.
    pub fn children(&mut self, program: &BitParallelProgram, facts: &[u64], moves: &[Vec<usize>]) -> Vec<Vec<u32>> {
        let mut all = Vec::with_capacity(moves.len());
        for some in moves.chunks(LANES) {
            for f in &program.facts {
                self.values[f.1 as usize] = [0u64.wrapping_sub(get(facts, f.0 as usize) as u64); WIDTH];
            }
            self.run(&program.state_gates);
            for (lane, joint) in some.iter().enumerate() {
                for (role, &i) in program.roles.iter().zip(joint) {
                    self.set_input_in_lane(role.moves[i].2, lane / WORD, lane % WORD);
                }
            }
            self.run(&program.next_gates);
            let mut children: Vec<Vec<u32>> = vec![Vec::new(); some.len()];
            for &(f, _, l) in &program.facts {
                let v = read(&self.values, l);
                for (w, &word) in v.iter().enumerate() {
                    for b in Ones(word) {
                        if let Some(child) = children.get_mut(w * WORD + b) {
                            child.push(f);
                        }
                    }
                }
            }
            for &d in &self.inputs_set {
                self.values[d as usize] = ZERO;
            }
            self.inputs_set.clear();
            all.append(&mut children);
        }
        all
    }
}
