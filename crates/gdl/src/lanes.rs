//! The bit-parallel evaluator: 256 positions in one pass over the net, for many playouts or all children of a node.
//!
//! Every node holds 256 bits, one per *lane*; a gate is then one wide instruction per input for all lanes at once. Gates are
//! sorted by level, kind and number of inputs, so that the program is a few long runs of equal instructions. Facts that
//! nothing depends on are not computed. Loops are repeated until no lane changes.
//!
//! Moves are chosen lane by lane: the legal bits of all moves are transposed into words per lane, and a uniformly drawn bit
//! of each is selected. Roles that wait are served for all lanes together. A lane whose game is over starts the next
//! playout, so that the lanes stay full.

use crate::bits::{Ones, get, select, transpose, words};
use crate::net::*;
use ludex_core::Rng;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lanes in a word.
const WORD: usize = 64;
/// Words in a vector: four make one 256-bit register.
const WIDTH: usize = 4;
/// Positions in a pass.
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

/// The value of a literal.
#[inline]
fn read(values: &[Vector], l: Lit) -> Vector {
    let flip = 0u64.wrapping_sub(l as u64 & 1);
    let v = values[(l >> 1) as usize];
    std::array::from_fn(|i| v[i] ^ flip)
}

/// Gates of one kind with the same number of inputs, or a loop.
#[derive(Clone, Debug)]
enum Run {
    Gates { or: bool, inputs: usize, code: Vec<u32> },
    Loop(Vec<Run>),
}

/// What is played in lanes; shared by all who play.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Unlike any other program's: lanes hold values by this program's numbers.
    id: u64,
    nodes: usize,
    view: Vec<Run>,
    next: Vec<Run>,
    goals: Vec<Run>,
    /// Facts that matter, with the node and the next value of each.
    facts: Vec<(u32, u32, Lit)>,
    terminal: Lit,
    roles: Vec<Seat>,
    /// Rows of all roles' moves, padded so that a role starts a word where it would straddle one.
    rows: usize,
    wires: usize,
}

/// A role's moves and goals, in the program's own numbers.
#[derive(Clone, Debug)]
struct Seat {
    /// Where its rows start.
    row: usize,
    /// When each move is legal, its guard, and its node as an input (`u32::MAX`: nothing depends on it).
    moves: Vec<(Lit, Lit, u32)>,
    /// The index of the move made while waiting.
    idle: Option<usize>,
    /// Goals from the highest, as payoffs.
    goals: Vec<(f64, Lit)>,
    /// The payoff without a goal.
    none: f64,
}

impl Program {
    /// Compiles a net, with all facts or only those that something depends on; `payoff` maps goals.
    pub fn new(net: &Net, idle: &[Option<u32>], all: bool, payoff: impl Fn(i32) -> f64) -> Program {
        let legal: Vec<Lit> = net.roles.iter().flat_map(|r| r.legal.iter().map(|x| x.1)).collect();
        let goals: Vec<Lit> = net.roles.iter().flat_map(|r| r.goals.iter().map(|x| x.1)).collect();
        let view = net.cone(legal.iter().copied().chain([net.terminal]));
        let at_end = net.cone(goals.iter().copied());
        // Facts that matter: read by views or goals, or by the next value of one that does.
        let fact_node = |f: usize| 1 + f;
        let mut matters: Vec<bool> =
            (0..net.facts.len()).map(|f| all || view[fact_node(f)] || at_end[fact_node(f)]).collect();
        let next = loop {
            let next = net.cone((0..net.facts.len()).filter(|&f| matters[f]).map(|f| net.next[f]));
            let more: Vec<usize> = (0..net.facts.len()).filter(|&f| next[fact_node(f)] && !matters[f]).collect();
            if more.is_empty() {
                break next;
            }
            more.into_iter().for_each(|f| matters[f] = true);
        };
        let wanted = |n: usize| {
            n == 0 || view[n] || next[n] || at_end[n] || (1..=net.facts.len()).contains(&n) && matters[n - 1]
        };
        let mut number = vec![u32::MAX; net.len()];
        let mut nodes = 0;
        for n in (0..net.len()).filter(|&n| wanted(n)) {
            number[n] = nodes;
            nodes += 1;
        }
        let first_does = 1 + net.facts.len();
        let lit = |l: Lit| number[(l >> 1) as usize] << 1 | (l & 1);
        let runs = |wanted: &[bool], done: &[&[bool]]| {
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
            let does = |m: u32| number[first_does + net.doing(r as u32, m) as usize];
            let moves = role.legal.iter().map(|&(m, l)| {
                let (guard, rest) = net.split_guard(l);
                (lit(rest), lit(guard), does(m))
            });
            let waits = idle.get(r).copied().flatten();
            roles.push(Seat {
                row,
                moves: moves.collect(),
                idle: waits.and_then(|m| role.legal.iter().position(|x| x.0 == m)),
                goals: role.goals.iter().rev().map(|&(v, l)| (payoff(v), lit(l))).collect(),
                none: payoff(0),
            });
            row += len;
        }
        static PROGRAMS: AtomicU64 = AtomicU64::new(0);
        let program = Program {
            id: PROGRAMS.fetch_add(1, Ordering::Relaxed),
            nodes: nodes as usize,
            facts: (0..net.facts.len())
                .filter(|&f| matters[f])
                .map(|f| (f as u32, number[fact_node(f)], lit(net.next[f])))
                .collect(),
            terminal: lit(net.terminal),
            rows: words(row) * WORD,
            view: runs(&view, &[]),
            next: runs(&next, &[&view]),
            goals: runs(&at_end, &[&view]),
            roles,
            wires: 0,
        };
        Program { wires: program.view.iter().chain(&program.next).map(Run::wires).sum(), ..program }
    }

    /// What one step of all lanes costs, in edges of the event-driven evaluator: for choosing between them.
    pub fn cost_of_step(&self) -> u64 {
        // A vector read is a third of an edge; choosing and moving a lane, some eight edges.
        self.wires as u64 / 3 + 8 * LANES as u64
    }
}

impl Run {
    fn wires(&self) -> usize {
        match self {
            Run::Gates { code, .. } => code.len(),
            Run::Loop(runs) => 3 * runs.iter().map(Run::wires).sum::<usize>(),
        }
    }
}

/// Orders gates by level, and within a level by kind and number of inputs.
fn schedule(net: &Net, wanted: &[bool], lit: &impl Fn(Lit) -> Lit) -> Vec<Run> {
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
                // Loops come first within a level and stay in one piece.
                let piece = if loop_of[n] == usize::MAX { usize::MAX } else { loop_of[n] };
                jobs.push((here, piece, gate.0, gate.1, k));
            }
        }
        n = range.end;
    }
    jobs.sort_unstable();
    let gates = |jobs: &[(u32, usize, bool, usize, usize)]| -> Vec<Run> {
        let same =
            |a: &(u32, usize, bool, usize, usize), b: &(u32, usize, bool, usize, usize)| (a.2, a.3) == (b.2, b.3);
        jobs.chunk_by(|a, b| same(a, b))
            .map(|run| {
                let mut code = Vec::new();
                for job in run {
                    code.push(lit((job.4 as Lit) << 1) >> 1);
                    code.extend(net.inputs(job.4 as Node).iter().map(|&l| lit(l)));
                }
                Run::Gates { or: run[0].2, inputs: run[0].3, code }
            })
            .collect()
    };
    let mut runs = Vec::new();
    for piece in jobs.chunk_by(|a, b| a.1 == b.1 && (a.1 != usize::MAX || a.0 == b.0)) {
        match piece[0].1 {
            usize::MAX => runs.extend(gates(piece)),
            _ => runs.push(Run::Loop(gates(piece))),
        }
    }
    runs
}

/// All lanes at their positions.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    program: u64,
    values: Vec<Vector>,
    rows: Vec<Vector>,
    next: Vec<Vector>,
    touched: Vec<u32>,
    age: Vec<u32>,
}

/// Sums over playouts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Totals {
    pub payoffs: Vec<f64>,
    pub plies: u64,
}

impl Lanes {
    pub fn new(program: &Program) -> Lanes {
        Lanes {
            program: program.id,
            values: vec![ZERO; program.nodes],
            rows: vec![ZERO; program.rows],
            next: vec![ZERO; program.facts.len()],
            touched: Vec::new(),
            age: vec![0; LANES],
        }
    }

    /// Whether these lanes were made for the program.
    pub fn fits(&self, program: &Program) -> bool {
        self.program == program.id
    }

    /// Plays `n` uniformly random playouts from `facts`; those longer than `cap` steps count as draws.
    pub fn playouts(&mut self, program: &Program, facts: &[u64], n: u64, cap: u32, rng: &mut Rng) -> Totals {
        let mut totals = Totals { payoffs: vec![0.0; program.roles.len()], plies: 0 };
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
            self.run(&program.view);
            let mut over = and(read(&self.values, program.terminal), busy);
            let old = if age >= cap { self.too_old(cap) } else { ZERO };
            over = or(over, self.legal(program, busy));
            let cut = and_not(and(old, busy), over);
            if over != ZERO {
                self.settle(program, over, &mut totals);
            }
            let done = or(over, cut);
            let playing = and_not(busy, done);
            totals.plies += self.choose(program, playing, rng);
            self.run(&program.next);
            for (v, f) in self.next.iter_mut().zip(&program.facts) {
                *v = read(&self.values, f.2);
            }
            for ((v, f), &r) in self.next.iter().zip(&program.facts).zip(&root) {
                self.values[f.1 as usize] = std::array::from_fn(|i| (v[i] & !done[i]) | (r & done[i]));
            }
            for &d in &self.touched {
                self.values[d as usize] = ZERO;
            }
            self.touched.clear();
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

    #[cold]
    fn too_old(&self, cap: u32) -> Vector {
        let mut old = ZERO;
        for lane in (0..LANES).filter(|&l| self.age[l] >= cap) {
            old[lane / WORD] |= 1 << (lane % WORD);
        }
        old
    }

    /// Adds the payoffs of lanes that are over.
    fn settle(&mut self, program: &Program, over: Vector, totals: &mut Totals) {
        self.run(&program.goals);
        for (seat, total) in program.roles.iter().zip(&mut totals.payoffs) {
            let mut left = over;
            for &(payoff, l) in &seat.goals {
                let here = and(read(&self.values, l), left);
                *total += payoff * count(here) as f64;
                left = and_not(left, here);
            }
            *total += seat.none * count(left) as f64;
        }
    }

    /// Fills the rows with the legal moves of busy lanes; gives the lanes in which some role has none.
    fn legal(&mut self, program: &Program, busy: Vector) -> Vector {
        let mut stuck = ZERO;
        for seat in &program.roles {
            let mut any = ZERO;
            for (i, &(rest, guard, _)) in seat.moves.iter().enumerate() {
                let legal = and(and(read(&self.values, rest), read(&self.values, guard)), busy);
                any = or(any, legal);
                self.rows[seat.row + i] = legal;
            }
            stuck = or(stuck, and_not(busy, any));
        }
        stuck
    }

    /// Draws a move for every role in every playing lane; gives the choices made, at least one a lane.
    fn choose(&mut self, program: &Program, playing: Vector, rng: &mut Rng) -> u64 {
        let mut plies = 0;
        let mut chose = ZERO;
        for seat in &program.roles {
            // Lanes in which the role does nothing but wait are served together.
            let mut active = playing;
            if let Some(idle) = seat.idle {
                let others = (0..seat.moves.len()).filter(|&i| i != idle);
                let busy = others.fold(ZERO, |any, i| or(any, self.rows[seat.row + i]));
                active = and(active, busy);
                let waiting = and_not(playing, busy);
                self.mark(seat.moves[idle].2, waiting);
            }
            let (first, last) = (seat.row / WORD, (seat.row + seat.moves.len()).div_ceil(WORD));
            for w in (0..WIDTH).filter(|&w| active[w] != 0) {
                let choices = if last - first == 1 {
                    self.choose_one(seat, w, active[w], rng)
                } else {
                    self.choose_many(seat, w, active[w], rng)
                };
                plies += choices.count_ones() as u64;
                chose[w] |= choices;
            }
        }
        plies + count(and_not(playing, chose)) as u64
    }

    /// Draws for a role whose moves fit one word; gives the lanes that had a choice.
    fn choose_one(&mut self, seat: &Seat, w: usize, active: u64, rng: &mut Rng) -> u64 {
        let mut matrix = [0; WORD];
        for (i, row) in self.rows[seat.row..seat.row + seat.moves.len()].iter().enumerate() {
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
            self.mark_lane(seat.moves[i as usize].2, w, lane);
        }
        choices
    }

    /// Draws for a role with more moves than a word holds.
    fn choose_many(&mut self, seat: &Seat, w: usize, active: u64, rng: &mut Rng) -> u64 {
        let blocks = seat.moves.len().div_ceil(WORD);
        let mut matrices = vec![[0u64; WORD]; blocks];
        let mut counts = [0u32; WORD];
        for (b, matrix) in matrices.iter_mut().enumerate() {
            let rows = &self.rows[seat.row + b * WORD..seat.row + seat.moves.len().min((b + 1) * WORD)];
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
                    self.mark_lane(seat.moves[i].2, w, lane);
                    break;
                }
                n -= here;
            }
        }
        choices
    }

    #[inline]
    fn mark_lane(&mut self, does: u32, w: usize, lane: usize) {
        if does == u32::MAX {
            return;
        }
        let v = &mut self.values[does as usize];
        if *v == ZERO {
            self.touched.push(does);
        }
        v[w] |= 1 << lane;
    }

    fn mark(&mut self, does: u32, lanes: Vector) {
        if does != u32::MAX && lanes != ZERO {
            let v = &mut self.values[does as usize];
            *v = or(*v, lanes);
            self.touched.push(does);
        }
    }

    fn run(&mut self, runs: &[Run]) {
        for run in runs {
            match run {
                Run::Gates { or, inputs, code } => self.gates(*or, *inputs, code),
                Run::Loop(inside) => self.fixpoint(inside),
            }
        }
    }

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

    /// The least fixpoint of a loop, in all lanes.
    fn fixpoint(&mut self, inside: &[Run]) {
        let outputs: Vec<u32> = inside
            .iter()
            .flat_map(|r| match r {
                Run::Gates { inputs, code, .. } => code.chunks_exact(inputs + 1).map(|c| c[0]).collect(),
                Run::Loop(_) => Vec::new(),
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

    /// The states that follow when each lane `i` makes the joint move `moves[i]` (indices into each role's moves).
    pub fn children(&mut self, program: &Program, facts: &[u64], moves: &[Vec<usize>]) -> Vec<Vec<u32>> {
        let mut all = Vec::with_capacity(moves.len());
        for some in moves.chunks(LANES) {
            for f in &program.facts {
                self.values[f.1 as usize] = [0u64.wrapping_sub(get(facts, f.0 as usize) as u64); WIDTH];
            }
            self.run(&program.view);
            for (lane, joint) in some.iter().enumerate() {
                for (seat, &i) in program.roles.iter().zip(joint) {
                    self.mark_lane(seat.moves[i].2, lane / WORD, lane % WORD);
                }
            }
            self.run(&program.next);
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
            for &d in &self.touched {
                self.values[d as usize] = ZERO;
            }
            self.touched.clear();
            all.append(&mut children);
        }
        all
    }
}
