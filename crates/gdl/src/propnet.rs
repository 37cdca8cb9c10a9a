//! The propositional network of a rulesheet: gates over the facts of a state and the moves of a step.
//!
//! Propositional networks for GDL are due to Schkufza, Love & Genesereth (2008) and Cox et al. (2009). Here each rule
//! instance becomes an AND and each head an OR. Constants are removed, equal gates are shared, gates with one input vanish,
//! and sums of products are factored: `(a & b) | (a & c)` becomes `a & (b | c)`, the most frequent literal first. Two more
//! steps keep the factors small in large games:
//!
//! * *Guards.* A fact that many moves of a role require, such as `(control white)`, stays at the top of their gates, so that
//!   a change of turn affects a handful of gates instead of every move. This does the work of one network per mover.
//! * *One move per role.* Each role makes exactly one move in a step, so "any of these 290 moves" becomes "none of those 20".
//!
//! Relations that depend on themselves (chains, connections) become *loops*: ranges of gates that are evaluated together to
//! their least fixpoint. Plain propagation would be wrong, because a chain could then support itself.
//!
//! This file builds and describes networks; it does not evaluate them.

use crate::cube_extraction::extract_common_pairs;
use crate::gate_builder::GateBuilder;
use crate::ground::Grounding;
use crate::rulesheet::*;
use crate::strata::sccs;
use crate::terms::{Term, natural_order};
use std::collections::HashMap;
use std::ops::Range;

/// The number of a gate or an input.
pub(crate) type Node = u32;

/// A node or its negation: `2 * node + negated`.
pub(crate) type Lit = u32;

/// Node 0 is always false.
pub(crate) const FALSE: Lit = 0;
/// The negation of node 0.
pub(crate) const TRUE_LIT: Lit = 1;

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    False,
    /// A fact of the state.
    Fact(u32),
    /// A role and its move, by index into [`Propnet::does`].
    Does(u32),
    And,
    Or,
}

/// The outputs of the network for one role.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoleOutputs {
    /// Moves in increasing order, each with the literal that says whether it is legal.
    pub legal: Vec<(u32, Lit)>,
    /// Goal values in increasing order, each with the literal that says whether it holds.
    pub goals: Vec<(i32, Lit)>,
}

/// The network of a rulesheet. Nodes are numbered: false, facts, moves of roles, gates. The inputs of a gate have lower
/// numbers than the gate, except inside a loop.
#[derive(Clone, Debug)]
pub(crate) struct Propnet {
    /// The kind of each node.
    pub kinds: Vec<Kind>,
    /// Where the inputs of each node start in `inputs`, and one more entry for the end.
    pub starts: Vec<u32>,
    /// The inputs of all gates, one gate after another.
    pub inputs: Vec<Lit>,
    /// Ranges of gates that depend on themselves, each to be evaluated to its least fixpoint.
    pub loops: Vec<Range<Node>>,
    /// The names of facts.
    pub facts: Vec<String>,
    /// The names of moves, which roles share.
    pub moves: Vec<String>,
    /// All pairs of a role and a move it may ever make, in increasing order.
    pub does: Vec<(u32, u32)>,
    /// By `role * moves + move`: the index into `does`, or `u32::MAX`.
    pub does_index: Vec<u32>,
    /// Whether each fact holds at the start.
    pub init: Vec<bool>,
    /// The value of each fact after the step.
    pub next: Vec<Lit>,
    /// Whether the game is over.
    pub terminal: Lit,
    /// Legal moves and goals of each role.
    pub roles: Vec<RoleOutputs>,
    /// The names of roles.
    pub role_names: Vec<String>,
    /// The facts that are guards.
    pub guards: Vec<u32>,
}

impl Propnet {
    /// The inputs of a gate.
    pub fn inputs(&self, n: Node) -> &[Lit] {
        &self.inputs[self.starts[n as usize] as usize..self.starts[n as usize + 1] as usize]
    }

    /// The index in [`Propnet::does`] of a move that the role may make.
    #[inline]
    pub fn does_index(&self, role: u32, m: u32) -> u32 {
        self.does_index[role as usize * self.moves.len() + m as usize]
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The number of gates.
    pub fn gates(&self) -> usize {
        self.kinds.iter().filter(|k| matches!(k, Kind::And | Kind::Or)).count()
    }

    /// The number of inputs of all gates.
    pub fn wires(&self) -> usize {
        self.inputs.len()
    }

    /// Splits a literal of the form `guard & rest` into both parts; any other literal into `TRUE_LIT` and itself.
    pub fn split_guard(&self, l: Lit) -> (Lit, Lit) {
        if l & 1 == 0
            && self.kinds[(l >> 1) as usize] == Kind::And
            && let &[a, b] = self.inputs(l >> 1)
        {
            for (g, rest) in [(a, b), (b, a)] {
                if let Kind::Fact(f) = self.kinds[(g >> 1) as usize]
                    && g & 1 == 0
                    && self.guards.contains(&f)
                {
                    return (g, rest);
                }
            }
        }
        (TRUE_LIT, l)
    }

    /// Marks the cone of influence of these literals: all nodes that they depend on.
    pub fn cone(&self, roots: impl IntoIterator<Item = Lit>) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut stack: Vec<Node> = roots.into_iter().map(|l| l >> 1).collect();
        while let Some(n) = stack.pop() {
            if !std::mem::replace(&mut seen[n as usize], true) {
                stack.extend(self.inputs(n).iter().map(|l| l >> 1));
            }
        }
        // A loop is evaluated as a whole.
        for l in &self.loops {
            if l.clone().any(|n| seen[n as usize]) {
                for n in l.clone() {
                    if !seen[n as usize] {
                        stack.push(n);
                    }
                }
            }
            while let Some(n) = stack.pop() {
                if !std::mem::replace(&mut seen[n as usize], true) {
                    stack.extend(self.inputs(n).iter().map(|l| l >> 1));
                }
            }
        }
        seen
    }

    /// Renumbers gates so that those of a cone come first, otherwise in the same order. Returns the new number of each node.
    pub fn renumber_cone_first(&mut self, cone: &[bool]) -> Vec<Node> {
        let is_gate = |n: &Node| matches!(self.kinds[*n as usize], Kind::And | Kind::Or);
        let mut order: Vec<Node> = (0..self.len() as Node).collect();
        order.sort_by_key(|n| (is_gate(n), is_gate(n) && !cone[*n as usize], *n));
        let mut number = vec![0; self.len()];
        order.iter().enumerate().for_each(|(i, &n)| number[n as usize] = i as Node);
        let rename = |l: Lit| number[(l >> 1) as usize] << 1 | (l & 1);
        let (mut kinds, mut starts, mut inputs) = (Vec::new(), vec![0], Vec::new());
        for &n in &order {
            kinds.push(self.kinds[n as usize]);
            inputs.extend(self.inputs(n).iter().map(|&l| rename(l)));
            starts.push(inputs.len() as u32);
        }
        (self.kinds, self.starts, self.inputs) = (kinds, starts, inputs);
        // A loop is in the cone as a whole or not at all, and so stays in one piece.
        for l in &mut self.loops {
            *l = number[l.start as usize]..number[l.end as usize - 1] + 1;
        }
        for r in &mut self.roles {
            r.legal.iter_mut().for_each(|x| x.1 = rename(x.1));
            r.goals.iter_mut().for_each(|x| x.1 = rename(x.1));
        }
        self.next.iter_mut().for_each(|l| *l = rename(*l));
        self.terminal = rename(self.terminal);
        number
    }

    /// The literals of all legal moves, goals, next facts and `terminal`.
    pub fn outputs(&self) -> impl Iterator<Item = Lit> + '_ {
        let roles = self.roles.iter().flat_map(|r| r.legal.iter().map(|x| x.1).chain(r.goals.iter().map(|x| x.1)));
        roles.chain(self.next.iter().copied()).chain([self.terminal])
    }
}

/// Builds the network of a grounding; `None` if a ground atom depends on its own negation.
pub(crate) fn build(sheet: &Rulesheet, g: &Grounding, is_static: &[bool]) -> Option<Propnet> {
    let name = |t: Term| sheet.text(&g.terms, t);
    let sorted = |mut named: Vec<(String, Term)>| {
        named.sort_by(|a, b| natural_order(&a.0, &b.0).then(a.0.cmp(&b.0)));
        named.dedup();
        named
    };
    let facts = sorted(g.db.of(TRUE).iter().map(|&a| g.terms.args(a)[0]).map(|f| (name(f), f)).collect());
    let moves = sorted(g.db.of(DOES).iter().map(|&a| g.terms.args(a)[1]).map(|m| (name(m), m)).collect());
    let move_number: HashMap<Term, u32> = moves.iter().enumerate().map(|(i, m)| (m.1, i as u32)).collect();
    let role_number: HashMap<Term, u32> = g.roles.iter().enumerate().map(|(i, &r)| (r, i as u32)).collect();
    let doing = |a: Term| (role_number[&g.terms.args(a)[0]], move_number[&g.terms.args(a)[1]]);
    let mut does: Vec<(u32, u32)> = g.db.of(DOES).iter().map(|&a| doing(a)).collect();
    does.sort_unstable();

    let mut b = GateBuilder::new(&does, g.roles.len());
    let mut lits: Vec<Lit> = vec![FALSE; g.terms.len()];
    for (i, f) in facts.iter().enumerate() {
        let node = b.input(Kind::Fact(i as u32));
        if let Some(atom) = g.terms.find(ATOM | TRUE, &[f.1]) {
            lits[atom as usize] = node;
        }
    }
    for (i, &(role, m)) in does.iter().enumerate() {
        let node = b.input(Kind::Does(i as u32));
        if let Some(atom) = g.terms.find(ATOM | DOES, &[g.roles[role as usize], moves[m as usize].1]) {
            lits[atom as usize] = node;
        }
    }

    let by_head = ByHead::of(g);
    b.guards = find_guards(g, &by_head, &lits, is_static);
    build_gates(&mut b, g, &by_head, is_static, &mut lits)?;

    let init: std::collections::HashSet<Term> = g.init.iter().copied().collect();
    let next = |f: &(String, Term)| g.terms.find(ATOM | NEXT, &[f.1]).map_or(FALSE, |a| lits[a as usize]);
    let mut roles = vec![RoleOutputs::default(); g.roles.len()];
    for &a in g.db.of(LEGAL) {
        if let Some(&r) = role_number.get(&g.terms.args(a)[0]) {
            roles[r as usize].legal.push((move_number[&g.terms.args(a)[1]], lits[a as usize]));
        }
    }
    for &a in g.db.of(GOAL) {
        // Values that are not numbers were refused before.
        if let (Some(&r), Ok(v)) = (role_number.get(&g.terms.args(a)[0]), name(g.terms.args(a)[1]).parse()) {
            roles[r as usize].goals.push((v, lits[a as usize]));
        }
    }
    for r in &mut roles {
        r.legal.sort_unstable();
        r.goals.sort_unstable();
    }
    let terminal = g.terms.find(ATOM | TERMINAL, &[]).map_or(FALSE, |a| lits[a as usize]);
    let mut guards: Vec<u32> = b.guards.iter().map(|&n| n - 1).collect();
    guards.sort_unstable();
    let net = Propnet {
        kinds: b.kinds,
        starts: b.starts,
        inputs: b.inputs,
        loops: b.loops,
        next: facts.iter().map(next).collect(),
        init: facts.iter().map(|f| init.contains(&f.1)).collect(),
        facts: facts.into_iter().map(|f| f.0).collect(),
        does_index: does_table(&does, g.roles.len(), moves.len()),
        moves: moves.into_iter().map(|m| m.0).collect(),
        does,
        terminal,
        roles,
        role_names: g.roles.iter().map(|&r| name(r)).collect(),
        guards,
    };
    Some(simplify(net))
}

/// The table [`Propnet::does_index`].
fn does_table(does: &[(u32, u32)], roles: usize, moves: usize) -> Vec<u32> {
    let mut table = vec![u32::MAX; roles * moves];
    does.iter().enumerate().for_each(|(i, &(r, m))| table[r as usize * moves + m as usize] = i as u32);
    table
}

/// The rule instances of a grounding, by head.
struct ByHead {
    starts: Vec<u32>,
    at: Vec<u32>,
}

impl ByHead {
    fn of(g: &Grounding) -> Self {
        let mut starts = vec![0u32; g.terms.len() + 1];
        let each = |f: &mut dyn FnMut(usize, u32)| {
            let mut i = 0;
            while i < g.instances.len() {
                f(i, g.instances[i + 1]);
                i += 2 + g.instances[i] as usize;
            }
        };
        each(&mut |_, head| starts[head as usize + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut fill = starts.clone();
        let mut at = vec![0; *starts.last().unwrap_or(&0) as usize];
        each(&mut |i, head| {
            at[fill[head as usize] as usize] = i as u32;
            fill[head as usize] += 1;
        });
        ByHead { starts, at }
    }

    fn bodies<'a>(&'a self, g: &'a Grounding, head: Term) -> impl Iterator<Item = &'a [u32]> + 'a {
        let range = self.starts[head as usize] as usize..self.starts[head as usize + 1] as usize;
        self.at[range].iter().map(|&i| &g.instances[i as usize + 2..][..g.instances[i as usize] as usize])
    }
}

/// The guards: facts that at least four, and at least a quarter, of the `legal` instances of some role require.
fn find_guards(g: &Grounding, by_head: &ByHead, lits: &[Lit], is_static: &[bool]) -> std::collections::HashSet<Node> {
    let mut guards = std::collections::HashSet::new();
    if is_static[LEGAL as usize] {
        return guards;
    }
    for &role in &g.roles {
        let mut uses: HashMap<Lit, usize> = HashMap::new();
        let mut all = 0;
        for &atom in g.db.of(LEGAL).iter().filter(|&&a| g.terms.args(a)[0] == role) {
            for body in by_head.bodies(g, atom) {
                all += 1;
                let is_fact = |c: &u32| c & 1 == 0 && g.terms.functor(c >> 1) == ATOM | TRUE;
                for c in body.iter().filter(|c| is_fact(c)) {
                    *uses.entry(lits[(c >> 1) as usize]).or_default() += 1;
                }
            }
        }
        guards.extend(uses.iter().filter(|u| *u.1 >= 4 && *u.1 * 4 >= all).map(|u| u.0 >> 1));
    }
    guards
}

/// Finds the literal of every derived atom, dependencies first; `None` if an atom depends on its own negation.
fn build_gates(
    b: &mut GateBuilder,
    g: &Grounding,
    by_head: &ByHead,
    is_static: &[bool],
    lits: &mut [Lit],
) -> Option<()> {
    let derived = |t: Term| {
        let f = g.terms.functor(t);
        f & ATOM != 0 && f != ATOM | TRUE && f != ATOM | DOES && g.db.holds(t)
    };
    let dynamic = |t: Term| derived(t) && !is_static[(g.terms.functor(t) & !ATOM) as usize];
    let heads: Vec<Term> = (0..g.terms.len() as Term).filter(|&t| dynamic(t)).collect();
    let mut number = vec![u32::MAX; g.terms.len()];
    heads.iter().enumerate().for_each(|(i, &t)| number[t as usize] = i as u32);
    for t in (0..g.terms.len() as Term).filter(|&t| derived(t) && !dynamic(t)) {
        lits[t as usize] = TRUE_LIT;
    }
    let deps = |&t: &Term| -> Vec<u32> {
        let conditions = by_head.bodies(g, t).flatten().map(|c| number[(c >> 1) as usize]);
        let mut deps: Vec<u32> = conditions.filter(|&n| n != u32::MAX).collect();
        deps.sort_unstable();
        deps.dedup();
        deps
    };
    let edges: Vec<Vec<u32>> = heads.iter().map(deps).collect();
    let component = sccs(&edges);
    let mut order: Vec<u32> = (0..heads.len() as u32).collect();
    order.sort_by_key(|&i| (component[i as usize], i));
    for same in order.chunk_by(|&i, &j| component[i as usize] == component[j as usize]) {
        let lits_of = |t: Term, lits: &[Lit]| -> Vec<Vec<Lit>> {
            by_head.bodies(g, t).map(|body| body.iter().map(|c| lits[(c >> 1) as usize] ^ (c & 1)).collect()).collect()
        };
        if let &[i] = same
            && !edges[i as usize].contains(&i)
        {
            let t = heads[i as usize];
            lits[t as usize] = b.sum_of_products(lits_of(t, lits));
            continue;
        }
        let here = component[same[0] as usize];
        let negated = |&c: &u32| c & 1 == 1 && component.get(number[(c >> 1) as usize] as usize) == Some(&here);
        if same.iter().any(|&i| by_head.bodies(g, heads[i as usize]).flatten().any(negated)) {
            return None;
        }
        // Gates made for the conditions of the loop get numbers within its range, and so are evaluated with it.
        let first = b.kinds.len() as Node;
        for &i in same {
            lits[heads[i as usize] as usize] = b.declare_loop_or();
        }
        for (k, &i) in same.iter().enumerate() {
            let terms = lits_of(heads[i as usize], lits);
            let inputs = terms.into_iter().map(|t| b.and(t)).collect();
            b.set_loop_inputs(first + k as Node, inputs);
        }
        b.loops.push(first..b.kinds.len() as Node);
    }
    b.lay_out_loops();
    Some(())
}

/// Extracts common pairs, splits wide gates, drops gates that no output depends on, and renumbers the rest, inputs first.
fn simplify(mut net: Propnet) -> Propnet {
    let mut kinds = std::mem::take(&mut net.kinds);
    let mut inputs: Vec<Vec<Lit>> =
        net.starts.windows(2).map(|w| net.inputs[w[0] as usize..w[1] as usize].to_vec()).collect();
    extract_common_pairs(&mut kinds, &mut inputs, |n| net.loops.iter().any(|l| l.contains(&n)));
    split_wide_gates(&mut kinds, &mut inputs, |n| net.loops.iter().any(|l| l.contains(&n)));
    let edges: Vec<Vec<u32>> = inputs.iter().map(|list| list.iter().map(|l| l >> 1).collect()).collect();
    let mut keep: Vec<bool> = kinds.iter().map(|k| !matches!(k, Kind::And | Kind::Or)).collect();
    let mut stack: Vec<Node> = net.outputs().map(|l| l >> 1).collect();
    let mut seen = vec![false; kinds.len()];
    while let Some(n) = stack.pop() {
        if !std::mem::replace(&mut seen[n as usize], true) {
            keep[n as usize] = true;
            stack.extend(&edges[n as usize]);
        }
    }
    let component = sccs(&edges);
    let mut order: Vec<Node> = (0..kinds.len() as Node).filter(|&n| keep[n as usize]).collect();
    let is_gate = |n: Node| matches!(kinds[n as usize], Kind::And | Kind::Or);
    order.sort_by_key(|&n| (is_gate(n), if is_gate(n) { component[n as usize] } else { 0 }, n));
    let mut number = vec![0; kinds.len()];
    order.iter().enumerate().for_each(|(i, &n)| number[n as usize] = i as Node);
    let renamed = |l: Lit| number[(l >> 1) as usize] << 1 | (l & 1);
    let mut result = Propnet { kinds: Vec::new(), starts: vec![0], inputs: Vec::new(), loops: Vec::new(), ..net };
    for same in order.chunk_by(|&a, &b| is_gate(a) && is_gate(b) && component[a as usize] == component[b as usize]) {
        let first = result.kinds.len() as Node;
        if same.len() > 1 || edges[same[0] as usize].contains(&same[0]) {
            result.loops.push(first..first + same.len() as Node);
        }
        for &n in same {
            let mut list: Vec<Lit> = inputs[n as usize].iter().map(|&l| renamed(l)).collect();
            list.sort_unstable();
            result.kinds.push(kinds[n as usize]);
            result.inputs.extend(list);
            result.starts.push(result.inputs.len() as u32);
        }
    }
    for r in &mut result.roles {
        r.legal.iter_mut().for_each(|x| x.1 = renamed(x.1));
        r.goals.iter_mut().for_each(|x| x.1 = renamed(x.1));
    }
    result.next.iter_mut().for_each(|l| *l = renamed(*l));
    result.terminal = renamed(result.terminal);
    result
}

/// Splits gates that have too many inputs for a 16-bit count into trees. Gates of loops are not counted and stay as they are.
fn split_wide_gates(kinds: &mut Vec<Kind>, inputs: &mut Vec<Vec<Lit>>, looped: impl Fn(Node) -> bool) {
    const MAX_INPUTS: usize = 10_000;
    for n in 0..kinds.len() {
        if inputs[n].len() <= MAX_INPUTS || looped(n as Node) {
            continue;
        }
        let all = std::mem::take(&mut inputs[n]);
        for part in all.chunks(MAX_INPUTS) {
            inputs[n].push((kinds.len() as Lit) << 1);
            kinds.push(kinds[n]);
            inputs.push(part.to_vec());
        }
    }
}
