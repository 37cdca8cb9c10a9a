//! Semi-naive datalog with functions: all consequences of rules, each rule instance found exactly once.
//!
//! Atoms are taken from an agenda in the order of their birth. A new atom is matched with every condition it fits, and the
//! other conditions of that rule are joined through hash indices on exactly the places that are bound by then (Bancilhon &
//! Ramakrishnan 1986; Ullman 1989). Conditions before the matched one see only older atoms, those after it also the same
//! one, so that no instance is found twice. Joins are ordered when the program is compiled: checks first, then the
//! condition with the fewest expected matches.
//!
//! One engine serves three masters: static relations (stratum by stratum, negation exact), grounding (all strata at once,
//! negation of what may change assumed possible and written down), and the interpreter (stratum by stratum, per state).

use crate::error::{Error, ErrorKind};
use crate::sheet::*;
use crate::terms::{Term, Terms};
use ludex_core::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys are already well mixed.
#[derive(Clone, Default)]
pub(crate) struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.0 = mix(self.0 ^ b as u64));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

pub(crate) type ByKey<V> = HashMap<u64, V, BuildHasherDefault<Ready>>;

/// What an atom must look like, and which of its places make up the key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Part {
    Functor(Box<[u8]>, u32, u8),
    Leaf(Box<[u8]>),
}

#[derive(Clone, Debug)]
struct Index {
    parts: Vec<Part>,
    buckets: ByKey<Vec<Term>>,
}

fn follow(terms: &Terms, atom: Term, path: &[u8]) -> Term {
    path.iter().fold(atom, |t, &i| terms.args(t)[i as usize])
}

impl Index {
    /// The key of an atom, if it has the right shape.
    fn key(&self, terms: &Terms, atom: Term) -> Option<u64> {
        let mut key = 0;
        for part in &self.parts {
            match part {
                Part::Functor(path, functor, arity) => {
                    let t = follow(terms, atom, path);
                    if terms.functor(t) != *functor || terms.args(t).len() != *arity as usize {
                        return None;
                    }
                }
                Part::Leaf(path) => key = mix(key ^ follow(terms, atom, path) as u64),
            }
        }
        Some(key)
    }
}

/// The atoms that hold, with indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// When an atom was born, from 1; 0 if it does not hold.
    born: Vec<u32>,
    now: u32,
    by_pred: Vec<Vec<Term>>,
    indices: Vec<Index>,
    indices_of: Vec<Vec<u32>>,
}

impl Facts {
    pub fn new(relations: usize) -> Self {
        Facts {
            by_pred: vec![Vec::new(); relations],
            indices_of: vec![Vec::new(); relations],
            now: 1,
            ..Facts::default()
        }
    }

    pub fn holds(&self, atom: Term) -> bool {
        self.born.get(atom as usize).is_some_and(|&b| b > 0)
    }

    pub fn of(&self, pred: Pred) -> &[Term] {
        &self.by_pred[pred as usize]
    }

    /// Adds an atom; false if it held already.
    pub fn add(&mut self, terms: &Terms, atom: Term) -> bool {
        if self.holds(atom) {
            return false;
        }
        if self.born.len() <= atom as usize {
            self.born.resize(terms.len(), 0);
        }
        self.born[atom as usize] = self.now;
        self.now += 1;
        let pred = (terms.functor(atom) & !ATOM) as usize;
        self.by_pred[pred].push(atom);
        for &i in &self.indices_of[pred] {
            let index = &mut self.indices[i as usize];
            if let Some(key) = index.key(terms, atom) {
                index.buckets.entry(key).or_default().push(atom);
            }
        }
        true
    }

    /// Forgets all atoms of a relation.
    pub fn clear(&mut self, pred: Pred) {
        for atom in self.by_pred[pred as usize].drain(..) {
            self.born[atom as usize] = 0;
        }
        for &i in &self.indices_of[pred as usize] {
            self.indices[i as usize].buckets.clear();
        }
    }

    /// Counts the atoms added so far.
    pub fn clock(&self) -> u32 {
        self.now
    }

    /// Sets the clock back, when all atoms added since have been cleared.
    pub fn rewind(&mut self, now: u32) {
        self.now = now;
    }

    fn index(&mut self, terms: &Terms, pred: Pred, parts: Vec<Part>) -> u32 {
        let known = self.indices_of[pred as usize].iter().find(|&&i| self.indices[i as usize].parts == parts);
        if let Some(&i) = known {
            return i;
        }
        let mut index = Index { parts, buckets: ByKey::default() };
        for &atom in &self.by_pred[pred as usize] {
            if let Some(key) = index.key(terms, atom) {
                index.buckets.entry(key).or_default().push(atom);
            }
        }
        self.indices.push(index);
        self.indices_of[pred as usize].push(self.indices.len() as u32 - 1);
        self.indices.len() as u32 - 1
    }
}

/// How to find the atoms for a condition.
#[derive(Clone, Debug)]
enum Access {
    /// All variables are bound: is it there?
    Member,
    /// Through an index, by the bound places.
    Index(u32, Box<[Pat]>),
    /// One after another.
    Scan,
}

/// Which of the matching atoms count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Age {
    Any,
    Older,
    NotNewer,
}

#[derive(Clone, Debug)]
enum Step {
    Join {
        literal: u16,
        access: Access,
        fresh: Box<[u16]>,
        age: Age,
        note: bool,
    },
    Distinct(u16),
    Absent(u16),
    /// Negation of something that may change: assumed possible, written down.
    Note(u16),
}

#[derive(Clone, Debug)]
struct Plan {
    rule: u32,
    /// The condition that the new atom is matched with, whether it is written down, and what it binds.
    trigger: Option<(u16, bool)>,
    steps: Vec<Step>,
}

/// How negation of relations that are not complete is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Negation {
    /// It does not occur: strata are run in order.
    Exact,
    /// As possible, and noted in the instance.
    Noted,
}

/// Compiled rules.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    rules: Vec<Rule>,
    /// Run once, at the start.
    seeds: Vec<Plan>,
    /// Run for each new atom of a relation.
    triggers: Vec<Vec<Plan>>,
}

/// What limits a computation. Counts, not seconds, so that the same sheet has the same outcome everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub left: u64,
    pub atoms: usize,
}

/// Words of instances that may wait for delivery.
const MOST_FOUND: usize = 60_000_000;

impl Work {
    /// No limit.
    pub const UNLIMITED: Work = Work { left: u64::MAX, atoms: usize::MAX };

    fn too_many(&self) -> Error {
        ErrorKind::Budget(format!("more than {} different terms", self.atoms)).anywhere()
    }

    fn spend(&mut self) -> Result<(), Error> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| ErrorKind::Budget("deriving what can be true takes too many steps".into()).anywhere())?;
        Ok(())
    }
}

/// Where instances go: the head, then the noted conditions as `2 * atom + negated`. Returns further atoms to add.
pub(crate) trait Sink {
    /// Takes one instance of a rule; `new` says whether its head was not known before.
    fn take(
        &mut self,
        terms: &mut Terms,
        head: Term,
        body: &[u32],
        new: bool,
        more: &mut Vec<Term>,
    ) -> Result<(), Error>;
}

/// Keeps nothing but the atoms.
pub(crate) struct Forget;

impl Sink for Forget {
    fn take(&mut self, _: &mut Terms, _: Term, _: &[u32], _: bool, _: &mut Vec<Term>) -> Result<(), Error> {
        Ok(())
    }
}

/// Deeper terms are taken for an infinite set of rules.
const MAX_TERM_DEPTH: u16 = 250;

const UNBOUND: Term = Term::MAX;

/// Matches a pattern with a term, binding what is unbound.
fn matches(terms: &Terms, p: &Pat, t: Term, env: &mut [Term]) -> bool {
    match p {
        Pat::Ground(g) => *g == t,
        Pat::Var(v) => {
            let bound = &mut env[*v as usize];
            if *bound == UNBOUND {
                *bound = t;
            }
            *bound == t
        }
        Pat::Fn(f, args) => {
            terms.functor(t) == *f
                && terms.args(t).len() == args.len()
                && args.iter().enumerate().all(|(i, p)| matches(terms, p, terms.args(t)[i], env))
        }
    }
}

/// The term that a pattern stands for; all its variables must be bound.
fn build(terms: &mut Terms, p: &Pat, env: &[Term]) -> Term {
    match p {
        Pat::Ground(t) => *t,
        Pat::Var(v) => env[*v as usize],
        Pat::Fn(f, args) => {
            let mut built = [0; 16];
            if args.len() <= built.len() {
                for (b, a) in built.iter_mut().zip(args.iter()) {
                    *b = build(terms, a, env);
                }
                return terms.intern(*f, &built[..args.len()]);
            }
            let built: Vec<Term> = args.iter().map(|a| build(terms, a, env)).collect();
            terms.intern(*f, &built)
        }
    }
}

fn build_atom(terms: &mut Terms, a: &Atom, env: &[Term]) -> Term {
    let mut built = [0; 16];
    if a.args.len() <= built.len() {
        for (b, p) in built.iter_mut().zip(&a.args) {
            *b = build(terms, p, env);
        }
        return terms.intern(ATOM | a.pred, &built[..a.args.len()]);
    }
    let built: Vec<Term> = a.args.iter().map(|p| build(terms, p, env)).collect();
    terms.intern(ATOM | a.pred, &built)
}

impl Program {
    /// Compiles the rules for relations of which `current` are being completed while the others are complete.
    pub fn compile(
        terms: &Terms,
        facts: &mut Facts,
        rules: Vec<Rule>,
        current: &[bool],
        negation: Negation,
    ) -> Program {
        let mut program = Program { rules: Vec::new(), seeds: Vec::new(), triggers: vec![Vec::new(); current.len()] };
        for (r, rule) in rules.iter().enumerate() {
            let compiler = Compiler { terms, rule, current, negation };
            let mut seeded = true;
            for (i, literal) in rule.body.iter().enumerate() {
                if let Literal::Pos(a) = literal
                    && current[a.pred as usize]
                {
                    seeded = false;
                    let plan = compiler.plan(facts, r as u32, Some(i));
                    program.triggers[a.pred as usize].push(plan);
                }
            }
            if seeded {
                program.seeds.push(compiler.plan(facts, r as u32, None));
            }
        }
        program.rules = rules;
        program
    }

    /// Derives everything that follows from the facts and the atoms of `agenda` (already among the facts).
    pub fn run(
        &self,
        terms: &mut Terms,
        facts: &mut Facts,
        mut agenda: Vec<Term>,
        work: &mut Work,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let widest = self.rules.iter().map(|r| r.vars).max().unwrap_or(0);
        let mut run = Run {
            program: self,
            terms,
            env: vec![UNBOUND; widest],
            noted: Vec::new(),
            found: Vec::new(),
            work,
            now: u32::MAX,
        };
        let mut more = Vec::new();
        for plan in &self.seeds {
            run.join(facts, plan, 0)?;
            run.deliver(facts, sink, &mut agenda, &mut more)?;
        }
        let mut next = 0;
        while next < agenda.len() {
            let atom = agenda[next];
            next += 1;
            let pred = (run.terms.functor(atom) & !ATOM) as usize;
            run.now = facts.born[atom as usize];
            for plan in &self.triggers[pred] {
                let Some((literal, note)) = plan.trigger else { continue };
                run.work.spend()?;
                let rule = &self.rules[plan.rule as usize];
                let Literal::Pos(a) = &rule.body[literal as usize] else { continue };
                run.env[..rule.vars].fill(UNBOUND);
                if !(a.args.iter().enumerate())
                    .all(|(i, p)| matches(run.terms, p, run.terms.args(atom)[i], &mut run.env))
                {
                    continue;
                }
                if note {
                    run.noted.push(atom << 1);
                }
                run.join(facts, plan, 0)?;
                run.noted.clear();
                run.deliver(facts, sink, &mut agenda, &mut more)?;
            }
        }
        Ok(())
    }
}

struct Run<'a> {
    program: &'a Program,
    terms: &'a mut Terms,
    env: Vec<Term>,
    noted: Vec<u32>,
    /// Instances found and not yet delivered: length of the body, head, body.
    found: Vec<u32>,
    work: &'a mut Work,
    now: u32,
}

impl Run<'_> {
    fn join(&mut self, facts: &Facts, plan: &Plan, step: usize) -> Result<(), Error> {
        let program = self.program;
        let rule = &program.rules[plan.rule as usize];
        if step == 0 && plan.trigger.is_none() {
            self.env[..rule.vars].fill(UNBOUND);
        }
        let Some(next) = plan.steps.get(step) else {
            self.work.spend()?;
            let head = build_atom(self.terms, &rule.head, &self.env);
            if self.terms.size() > self.work.atoms || self.found.len() > MOST_FOUND {
                return Err(self.work.too_many());
            }
            self.found.extend([self.noted.len() as u32, head]);
            self.found.extend_from_slice(&self.noted);
            return Ok(());
        };
        match next {
            Step::Distinct(l) => {
                let Literal::Distinct(a, b) = &rule.body[*l as usize] else { return Ok(()) };
                if build(self.terms, a, &self.env) == build(self.terms, b, &self.env) {
                    return Ok(());
                }
                self.join(facts, plan, step + 1)
            }
            Step::Absent(l) => {
                let Literal::Neg(a) = &rule.body[*l as usize] else { return Ok(()) };
                let atom = build_atom(self.terms, a, &self.env);
                if facts.holds(atom) {
                    return Ok(());
                }
                self.join(facts, plan, step + 1)
            }
            Step::Note(l) => {
                let Literal::Neg(a) = &rule.body[*l as usize] else { return Ok(()) };
                let atom = build_atom(self.terms, a, &self.env);
                self.noted.push(atom << 1 | 1);
                self.join(facts, plan, step + 1)?;
                self.noted.pop();
                Ok(())
            }
            Step::Join { literal, access, fresh, age, note } => {
                let Literal::Pos(a) = &rule.body[*literal as usize] else { return Ok(()) };
                let counts = |born: u32, now: u32| match age {
                    Age::Any => born > 0,
                    Age::Older => born > 0 && born < now,
                    Age::NotNewer => born > 0 && born <= now,
                };
                let list = match access {
                    Access::Member => {
                        self.work.spend()?;
                        let atom = build_atom(self.terms, a, &self.env);
                        let born = facts.born.get(atom as usize).copied().unwrap_or(0);
                        return if counts(born, self.now) { self.with(facts, plan, step, atom, *note) } else { Ok(()) };
                    }
                    Access::Index(index, key) => {
                        let key = key.iter().fold(0, |k, p| {
                            let t = match p {
                                Pat::Ground(t) => *t,
                                Pat::Var(v) => self.env[*v as usize],
                                Pat::Fn(..) => UNBOUND,
                            };
                            mix(k ^ t as u64)
                        });
                        match facts.indices[*index as usize].buckets.get(&key) {
                            Some(bucket) => bucket,
                            None => return Ok(()),
                        }
                    }
                    Access::Scan => &facts.by_pred[a.pred as usize],
                };
                for &atom in list {
                    // Lists are in order of birth: nothing later counts either.
                    if !counts(facts.born[atom as usize], self.now) {
                        break;
                    }
                    self.work.spend()?;
                    let fits = (a.args.iter().enumerate())
                        .all(|(i, p)| matches(self.terms, p, self.terms.args(atom)[i], &mut self.env));
                    if fits {
                        self.with(facts, plan, step, atom, *note)?;
                    }
                    fresh.iter().for_each(|&v| self.env[v as usize] = UNBOUND);
                }
                Ok(())
            }
        }
    }

    fn with(&mut self, facts: &Facts, plan: &Plan, step: usize, atom: Term, note: bool) -> Result<(), Error> {
        if note {
            self.noted.push(atom << 1);
        }
        self.join(facts, plan, step + 1)?;
        if note {
            self.noted.pop();
        }
        Ok(())
    }

    /// Hands the found instances over and puts what is new on the agenda.
    fn deliver(
        &mut self,
        facts: &mut Facts,
        sink: &mut impl Sink,
        agenda: &mut Vec<Term>,
        more: &mut Vec<Term>,
    ) -> Result<(), Error> {
        let found = std::mem::take(&mut self.found);
        let mut i = 0;
        while i < found.len() {
            let (len, head) = (found[i] as usize, found[i + 1]);
            let new = facts.add(self.terms, head);
            if new {
                if self.terms.depth(head) > MAX_TERM_DEPTH {
                    let why = format!("terms nest more than {MAX_TERM_DEPTH} deep");
                    return Err(ErrorKind::Budget(why).anywhere());
                }
                agenda.push(head);
            }
            sink.take(self.terms, head, &found[i + 2..i + 2 + len], new, more)?;
            for atom in more.drain(..) {
                if facts.add(self.terms, atom) {
                    agenda.push(atom);
                }
            }
            i += 2 + len;
        }
        if self.terms.size() > self.work.atoms {
            return Err(self.work.too_many());
        }
        self.found = found;
        self.found.clear();
        Ok(())
    }
}

struct Compiler<'a> {
    terms: &'a Terms,
    rule: &'a Rule,
    current: &'a [bool],
    negation: Negation,
}

impl Compiler<'_> {
    fn plan(&self, facts: &mut Facts, rule: u32, trigger: Option<usize>) -> Plan {
        let body = &self.rule.body;
        let mut bound = vec![false; self.rule.vars];
        let mut left: Vec<usize> = (0..body.len()).collect();
        let noted = |a: &Atom| self.negation == Negation::Noted && self.current[a.pred as usize];
        let mut plan = Plan { rule, trigger: None, steps: Vec::new() };
        if let Some(t) = trigger {
            body[t].each_var(&mut |v| bound[v as usize] = true);
            left.retain(|&l| l != t);
            if let Literal::Pos(a) = &body[t] {
                plan.trigger = Some((t as u16, noted(a)));
            }
        }
        loop {
            left.retain(|&l| {
                let mut free = false;
                body[l].each_var(&mut |v| free |= !bound[v as usize]);
                match &body[l] {
                    Literal::Distinct(..) if !free => plan.steps.push(Step::Distinct(l as u16)),
                    Literal::Neg(a) if !free && !noted(a) => plan.steps.push(Step::Absent(l as u16)),
                    _ => return true,
                }
                false
            });
            let joins = left.iter().copied().filter(|&l| matches!(body[l], Literal::Pos(_)));
            let cheapest = joins
                .map(|l| (self.expected(facts, l, &bound), l))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((_, l)) = cheapest else { break };
            left.retain(|&k| k != l);
            let Literal::Pos(a) = &body[l] else { continue };
            let current = self.current[a.pred as usize];
            let age = match trigger {
                Some(t) if current && l < t => Age::Older,
                Some(_) if current => Age::NotNewer,
                _ => Age::Any,
            };
            let access = self.access(facts, a, &bound);
            let mut fresh = Vec::new();
            a.each_var(&mut |v| {
                if !std::mem::replace(&mut bound[v as usize], true) {
                    fresh.push(v);
                }
            });
            let note = noted(a);
            plan.steps.push(Step::Join { literal: l as u16, access, fresh: fresh.into(), age, note });
        }
        plan.steps.extend(left.iter().map(|&l| Step::Note(l as u16)));
        plan
    }

    fn access(&self, facts: &mut Facts, a: &Atom, bound: &[bool]) -> Access {
        let mut free = false;
        a.each_var(&mut |v| free |= !bound[v as usize]);
        if !free {
            return Access::Member;
        }
        let (mut parts, mut key) = (Vec::new(), Vec::new());
        for (i, p) in a.args.iter().enumerate() {
            shape(p, &mut vec![i as u8], bound, &mut parts, &mut key);
        }
        if parts.is_empty() {
            return Access::Scan;
        }
        Access::Index(facts.index(self.terms, a.pred, parts), key.into())
    }

    /// How many atoms a condition is expected to match: counted for complete relations, guessed for others.
    fn expected(&self, facts: &mut Facts, l: usize, bound: &[bool]) -> f64 {
        let Literal::Pos(a) = &self.rule.body[l] else { return f64::MAX };
        let mut free = Vec::new();
        a.each_var(&mut |v| {
            if !bound[v as usize] && !free.contains(&v) {
                free.push(v);
            }
        });
        if free.is_empty() {
            return 0.0;
        }
        if self.current[a.pred as usize] {
            return 6f64.powi(free.len() as i32);
        }
        let size = facts.of(a.pred).len() as f64;
        match self.access(facts, a, bound) {
            Access::Index(i, _) => {
                let buckets = &facts.indices[i as usize].buckets;
                buckets.values().map(Vec::len).sum::<usize>() as f64 / (buckets.len() as f64).max(1.0)
            }
            _ => size,
        }
    }
}

/// The places of a pattern that are fixed, and the patterns that fix them.
fn shape(p: &Pat, path: &mut Vec<u8>, bound: &[bool], parts: &mut Vec<Part>, key: &mut Vec<Pat>) {
    match p {
        Pat::Ground(_) => {
            parts.push(Part::Leaf(path.as_slice().into()));
            key.push(p.clone());
        }
        Pat::Var(v) if bound[*v as usize] => {
            parts.push(Part::Leaf(path.as_slice().into()));
            key.push(p.clone());
        }
        Pat::Var(_) => {}
        Pat::Fn(f, args) => {
            parts.push(Part::Functor(path.as_slice().into(), *f, args.len().min(255) as u8));
            for (i, a) in args.iter().enumerate() {
                path.push(i as u8);
                shape(a, path, bound, parts, key);
                path.pop();
            }
        }
    }
}
