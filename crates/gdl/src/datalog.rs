//! Semi-naive evaluation of Datalog with function symbols: derives all consequences of rules, each rule instance once.
//!
//! Atoms are taken from an agenda in the order in which they were added. A new atom is matched with every condition that it
//! fits, and the other conditions of that rule are joined through hash indices on exactly the arguments that are bound by
//! then (Bancilhon & Ramakrishnan 1986; Ullman 1989). Conditions to the left of the matched one see only older atoms, those
//! to its right also the new atom itself, so that no instance is found twice. Joins are ordered when the program is
//! compiled: tests first, then the condition with the fewest expected matches.
//!
//! There are three users: static relations (stratum by stratum, exact negation), grounding (all strata at once; the negation
//! of an atom that may change is assumed possible and recorded in the instance), and the interpreter (stratum by stratum,
//! at each state). Function symbols may make the consequences infinite; [`WorkLimit`] ends such computations.

use crate::error::{Error, ErrorKind};
use crate::rulesheet::*;
use crate::terms::{Term, Terms};
use ludex_core::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher that returns its key, because index keys are well mixed already.
#[derive(Clone, Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

/// A map from index keys.
pub(crate) type ByKey<V> = HashMap<u64, V, BuildHasherDefault<IdentityHasher>>;

/// One element of the description of an index. Subterms are addressed by the path of argument numbers that leads to them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum KeyPart {
    /// The subterm at this path must have this functor and arity.
    Functor(Box<[u8]>, u32, u8),
    /// The subterm at this path is part of the key.
    Leaf(Box<[u8]>),
}

/// A hash index on the atoms of a relation.
#[derive(Clone, Debug)]
struct Index {
    parts: Vec<KeyPart>,
    buckets: ByKey<Vec<Term>>,
}

/// The subterm of an atom at a path.
fn subterm(terms: &Terms, atom: Term, path: &[u8]) -> Term {
    path.iter().fold(atom, |t, &i| terms.args(t)[i as usize])
}

impl Index {
    /// The key of an atom; `None` if the atom lacks a required functor.
    fn key(&self, terms: &Terms, atom: Term) -> Option<u64> {
        let mut key = 0;
        for part in &self.parts {
            match part {
                KeyPart::Functor(path, functor, arity) => {
                    let t = subterm(terms, atom, path);
                    if terms.functor(t) != *functor || terms.args(t).len() != *arity as usize {
                        return None;
                    }
                }
                KeyPart::Leaf(path) => key = mix(key ^ subterm(terms, atom, path) as u64),
            }
        }
        Some(key)
    }
}

/// The set of ground atoms that hold, with indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Database {
    /// By atom: the time at which it was added, from 1; 0 if it does not hold.
    added_at: Vec<u32>,
    /// The time of the next addition.
    now: u32,
    /// The atoms of each relation, in the order in which they were added.
    by_pred: Vec<Vec<Term>>,
    indices: Vec<Index>,
    /// The indices of each relation.
    indices_of: Vec<Vec<u32>>,
}

impl Database {
    /// Makes an empty database for so many relations.
    pub fn new(relations: usize) -> Self {
        Database {
            by_pred: vec![Vec::new(); relations],
            indices_of: vec![Vec::new(); relations],
            now: 1,
            ..Database::default()
        }
    }

    /// Whether an atom is in the database.
    pub fn holds(&self, atom: Term) -> bool {
        self.added_at.get(atom as usize).is_some_and(|&b| b > 0)
    }

    /// The atoms of a relation, in the order in which they were added.
    pub fn of(&self, pred: Pred) -> &[Term] {
        &self.by_pred[pred as usize]
    }

    /// Adds an atom; returns false if it was there already.
    pub fn add(&mut self, terms: &Terms, atom: Term) -> bool {
        if self.holds(atom) {
            return false;
        }
        if self.added_at.len() <= atom as usize {
            self.added_at.resize(terms.len(), 0);
        }
        self.added_at[atom as usize] = self.now;
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

    /// Removes all atoms of a relation.
    pub fn clear(&mut self, pred: Pred) {
        for atom in self.by_pred[pred as usize].drain(..) {
            self.added_at[atom as usize] = 0;
        }
        for &i in &self.indices_of[pred as usize] {
            self.indices[i as usize].buckets.clear();
        }
    }

    /// The time of the next addition.
    pub fn clock(&self) -> u32 {
        self.now
    }

    /// Sets the clock back to a time after which no atom is left.
    pub fn rewind(&mut self, now: u32) {
        self.now = now;
    }

    /// The number of the index with these parts, built if there is none yet.
    fn index(&mut self, terms: &Terms, pred: Pred, parts: Vec<KeyPart>) -> u32 {
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

/// How a join finds the atoms that match a condition.
#[derive(Clone, Debug)]
enum Access {
    /// All variables are bound: look the atom up.
    Member,
    /// Look up an index by the arguments that are bound.
    Index(u32, Box<[Pat]>),
    /// Go through all atoms of the relation.
    Scan,
}

/// Which of the matching atoms a join accepts, compared with the atom taken from the agenda.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Age {
    Any,
    Older,
    NotNewer,
}

/// A step of a plan. Conditions are given by their index in the body of the rule.
#[derive(Clone, Debug)]
enum PlanStep {
    /// Go through the atoms that match a positive condition.
    Join { literal: u16, access: Access, binds: Box<[u16]>, age: Age, record: bool },
    /// Test a `distinct`.
    Distinct(u16),
    /// Test that the atom of a negative condition does not hold.
    Absent(u16),
    /// Assume that the atom of a negative condition, which may change, is false, and record the condition in the instance.
    RecordNegation(u16),
}

/// How to find the instances of a rule.
#[derive(Clone, Debug)]
struct Plan {
    rule: u32,
    /// The condition that the new atom is matched with, and whether it is recorded in the instance.
    trigger: Option<(u16, bool)>,
    steps: Vec<PlanStep>,
}

/// How negative conditions on relations that are still being derived are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Negation {
    /// There are none, because strata are derived in order.
    Exact,
    /// They are assumed possible and recorded in the instance.
    Recorded,
}

/// Rules with a plan for each way to find their instances.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    rules: Vec<Rule>,
    /// Run once, at the start: rules without conditions on relations that are being derived.
    initial: Vec<Plan>,
    /// By relation: run for each new atom of it.
    triggers: Vec<Vec<Plan>>,
}

/// The limits of a computation. They are counts, not seconds, so that a sheet is treated the same way everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkLimit {
    /// The join steps that may still be taken.
    pub left: u64,
    /// The largest [`Terms::size`] allowed.
    pub atoms: usize,
}

/// The largest number of words of instances that wait for delivery.
const MAX_PENDING: usize = 60_000_000;

impl WorkLimit {
    /// No limit.
    pub const UNLIMITED: WorkLimit = WorkLimit { left: u64::MAX, atoms: usize::MAX };

    fn too_many(&self) -> Error {
        ErrorKind::Budget(format!("more than {} different terms", self.atoms)).without_place()
    }

    /// Takes one join step from the limit.
    fn spend(&mut self) -> Result<(), Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            ErrorKind::Budget("deriving what can be true takes too many steps".into()).without_place()
        })?;
        Ok(())
    }
}

/// Receives rule instances.
pub(crate) trait InstanceSink {
    /// Takes one instance: its head and its recorded conditions as `2 * atom + negated`. `new` says whether the head did not
    /// hold before. Atoms pushed to `more` are added to the database too.
    fn take(
        &mut self,
        terms: &mut Terms,
        head: Term,
        body: &[u32],
        new: bool,
        more: &mut Vec<Term>,
    ) -> Result<(), Error>;
}

/// Ignores instances, where only the derived atoms are of interest.
pub(crate) struct DiscardInstances;

impl InstanceSink for DiscardInstances {
    fn take(&mut self, _: &mut Terms, _: Term, _: &[u32], _: bool, _: &mut Vec<Term>) -> Result<(), Error> {
        Ok(())
    }
}

/// Rules that derive deeper terms are taken to have infinitely many consequences.
const MAX_TERM_DEPTH: u16 = 250;

/// The value of a variable that is not bound.
const UNBOUND: Term = Term::MAX;

/// Matches a pattern with a term and binds the variables that are not bound yet.
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

/// The ground atom of a pattern; all its variables must be bound.
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
    /// Compiles rules. The relations in `current` are derived by the program; all others are complete.
    pub fn compile(
        terms: &Terms,
        db: &mut Database,
        rules: Vec<Rule>,
        current: &[bool],
        negation: Negation,
    ) -> Program {
        let mut program = Program { rules: Vec::new(), initial: Vec::new(), triggers: vec![Vec::new(); current.len()] };
        for (r, rule) in rules.iter().enumerate() {
            let compiler = Compiler { terms, rule, current, negation };
            let mut is_initial = true;
            for (i, literal) in rule.body.iter().enumerate() {
                if let Literal::Pos(a) = literal
                    && current[a.pred as usize]
                {
                    is_initial = false;
                    let plan = compiler.plan(db, r as u32, Some(i));
                    program.triggers[a.pred as usize].push(plan);
                }
            }
            if is_initial {
                program.initial.push(compiler.plan(db, r as u32, None));
            }
        }
        program.rules = rules;
        program
    }

    /// Adds all consequences of the database to it. `agenda` has the atoms of `current` relations that it holds already.
    pub fn run(
        &self,
        terms: &mut Terms,
        db: &mut Database,
        mut agenda: Vec<Term>,
        work: &mut WorkLimit,
        sink: &mut impl InstanceSink,
    ) -> Result<(), Error> {
        let widest = self.rules.iter().map(|r| r.vars).max().unwrap_or(0);
        let mut run = Evaluation {
            program: self,
            terms,
            env: vec![UNBOUND; widest],
            recorded: Vec::new(),
            pending: Vec::new(),
            work,
            now: u32::MAX,
        };
        let mut more = Vec::new();
        for plan in &self.initial {
            run.join(db, plan, 0)?;
            run.deliver(db, sink, &mut agenda, &mut more)?;
        }
        let mut next = 0;
        while next < agenda.len() {
            let atom = agenda[next];
            next += 1;
            let pred = (run.terms.functor(atom) & !ATOM) as usize;
            run.now = db.added_at[atom as usize];
            for plan in &self.triggers[pred] {
                let Some((literal, record)) = plan.trigger else { continue };
                run.work.spend()?;
                let rule = &self.rules[plan.rule as usize];
                let Literal::Pos(a) = &rule.body[literal as usize] else { continue };
                run.env[..rule.vars].fill(UNBOUND);
                if !(a.args.iter().enumerate())
                    .all(|(i, p)| matches(run.terms, p, run.terms.args(atom)[i], &mut run.env))
                {
                    continue;
                }
                if record {
                    run.recorded.push(atom << 1);
                }
                run.join(db, plan, 0)?;
                run.recorded.clear();
                run.deliver(db, sink, &mut agenda, &mut more)?;
            }
        }
        Ok(())
    }
}

/// The state of [`Program::run`].
struct Evaluation<'a> {
    program: &'a Program,
    terms: &'a mut Terms,
    /// The values of the variables.
    env: Vec<Term>,
    /// The conditions recorded for the instance under construction.
    recorded: Vec<u32>,
    /// Instances that were found and not yet delivered: number of recorded conditions, head, conditions.
    pending: Vec<u32>,
    work: &'a mut WorkLimit,
    /// The time at which the atom taken from the agenda was added.
    now: u32,
}

impl Evaluation<'_> {
    /// Runs a plan from a step on; each way to satisfy all steps is an instance.
    fn join(&mut self, db: &Database, plan: &Plan, step: usize) -> Result<(), Error> {
        let program = self.program;
        let rule = &program.rules[plan.rule as usize];
        if step == 0 && plan.trigger.is_none() {
            self.env[..rule.vars].fill(UNBOUND);
        }
        let Some(next) = plan.steps.get(step) else {
            self.work.spend()?;
            let head = build_atom(self.terms, &rule.head, &self.env);
            if self.terms.size() > self.work.atoms || self.pending.len() > MAX_PENDING {
                return Err(self.work.too_many());
            }
            self.pending.extend([self.recorded.len() as u32, head]);
            self.pending.extend_from_slice(&self.recorded);
            return Ok(());
        };
        match next {
            PlanStep::Distinct(l) => {
                let Literal::Distinct(a, b) = &rule.body[*l as usize] else { return Ok(()) };
                if build(self.terms, a, &self.env) == build(self.terms, b, &self.env) {
                    return Ok(());
                }
                self.join(db, plan, step + 1)
            }
            PlanStep::Absent(l) => {
                let Literal::Neg(a) = &rule.body[*l as usize] else { return Ok(()) };
                let atom = build_atom(self.terms, a, &self.env);
                if db.holds(atom) {
                    return Ok(());
                }
                self.join(db, plan, step + 1)
            }
            PlanStep::RecordNegation(l) => {
                let Literal::Neg(a) = &rule.body[*l as usize] else { return Ok(()) };
                let atom = build_atom(self.terms, a, &self.env);
                self.recorded.push(atom << 1 | 1);
                self.join(db, plan, step + 1)?;
                self.recorded.pop();
                Ok(())
            }
            PlanStep::Join { literal, access, binds, age, record } => {
                let Literal::Pos(a) = &rule.body[*literal as usize] else { return Ok(()) };
                let counts = |added_at: u32, now: u32| match age {
                    Age::Any => added_at > 0,
                    Age::Older => added_at > 0 && added_at < now,
                    Age::NotNewer => added_at > 0 && added_at <= now,
                };
                let list = match access {
                    Access::Member => {
                        self.work.spend()?;
                        let atom = build_atom(self.terms, a, &self.env);
                        let added_at = db.added_at.get(atom as usize).copied().unwrap_or(0);
                        return if counts(added_at, self.now) {
                            self.join_with(db, plan, step, atom, *record)
                        } else {
                            Ok(())
                        };
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
                        match db.indices[*index as usize].buckets.get(&key) {
                            Some(bucket) => bucket,
                            None => return Ok(()),
                        }
                    }
                    Access::Scan => &db.by_pred[a.pred as usize],
                };
                for &atom in list {
                    // Lists are in the order of addition: no later atom is accepted either.
                    if !counts(db.added_at[atom as usize], self.now) {
                        break;
                    }
                    self.work.spend()?;
                    let fits = (a.args.iter().enumerate())
                        .all(|(i, p)| matches(self.terms, p, self.terms.args(atom)[i], &mut self.env));
                    if fits {
                        self.join_with(db, plan, step, atom, *record)?;
                    }
                    binds.iter().for_each(|&v| self.env[v as usize] = UNBOUND);
                }
                Ok(())
            }
        }
    }

    /// Continues a plan after a join has chosen an atom.
    fn join_with(&mut self, db: &Database, plan: &Plan, step: usize, atom: Term, record: bool) -> Result<(), Error> {
        if record {
            self.recorded.push(atom << 1);
        }
        self.join(db, plan, step + 1)?;
        if record {
            self.recorded.pop();
        }
        Ok(())
    }

    /// Delivers the pending instances to the sink and puts new atoms on the agenda.
    fn deliver(
        &mut self,
        db: &mut Database,
        sink: &mut impl InstanceSink,
        agenda: &mut Vec<Term>,
        more: &mut Vec<Term>,
    ) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let mut i = 0;
        while i < pending.len() {
            let (len, head) = (pending[i] as usize, pending[i + 1]);
            let new = db.add(self.terms, head);
            if new {
                if self.terms.depth(head) > MAX_TERM_DEPTH {
                    let why = format!("terms nest more than {MAX_TERM_DEPTH} deep");
                    return Err(ErrorKind::Budget(why).without_place());
                }
                agenda.push(head);
            }
            sink.take(self.terms, head, &pending[i + 2..i + 2 + len], new, more)?;
            for atom in more.drain(..) {
                if db.add(self.terms, atom) {
                    agenda.push(atom);
                }
            }
            i += 2 + len;
        }
        if self.terms.size() > self.work.atoms {
            return Err(self.work.too_many());
        }
        self.pending = pending;
        self.pending.clear();
        Ok(())
    }
}

/// Makes the plans of one rule.
struct Compiler<'a> {
    terms: &'a Terms,
    rule: &'a Rule,
    current: &'a [bool],
    negation: Negation,
}

impl Compiler<'_> {
    /// The plan for new atoms that match the condition `trigger`, or for the start.
    fn plan(&self, db: &mut Database, rule: u32, trigger: Option<usize>) -> Plan {
        let body = &self.rule.body;
        let mut bound = vec![false; self.rule.vars];
        let mut left: Vec<usize> = (0..body.len()).collect();
        let recorded = |a: &Atom| self.negation == Negation::Recorded && self.current[a.pred as usize];
        let mut plan = Plan { rule, trigger: None, steps: Vec::new() };
        if let Some(t) = trigger {
            body[t].each_var(&mut |v| bound[v as usize] = true);
            left.retain(|&l| l != t);
            if let Literal::Pos(a) = &body[t] {
                plan.trigger = Some((t as u16, recorded(a)));
            }
        }
        loop {
            left.retain(|&l| {
                let mut free = false;
                body[l].each_var(&mut |v| free |= !bound[v as usize]);
                match &body[l] {
                    Literal::Distinct(..) if !free => plan.steps.push(PlanStep::Distinct(l as u16)),
                    Literal::Neg(a) if !free && !recorded(a) => plan.steps.push(PlanStep::Absent(l as u16)),
                    _ => return true,
                }
                false
            });
            let joins = left.iter().copied().filter(|&l| matches!(body[l], Literal::Pos(_)));
            let cheapest =
                joins.map(|l| (self.expected(db, l, &bound), l)).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((_, l)) = cheapest else { break };
            left.retain(|&k| k != l);
            let Literal::Pos(a) = &body[l] else { continue };
            let current = self.current[a.pred as usize];
            let age = match trigger {
                Some(t) if current && l < t => Age::Older,
                Some(_) if current => Age::NotNewer,
                _ => Age::Any,
            };
            let access = self.access(db, a, &bound);
            let mut binds = Vec::new();
            a.each_var(&mut |v| {
                if !std::mem::replace(&mut bound[v as usize], true) {
                    binds.push(v);
                }
            });
            let record = recorded(a);
            plan.steps.push(PlanStep::Join { literal: l as u16, access, binds: binds.into(), age, record });
        }
        plan.steps.extend(left.iter().map(|&l| PlanStep::RecordNegation(l as u16)));
        plan
    }

    /// How to find the atoms of a condition once `bound` variables are bound.
    fn access(&self, db: &mut Database, a: &Atom, bound: &[bool]) -> Access {
        let mut free = false;
        a.each_var(&mut |v| free |= !bound[v as usize]);
        if !free {
            return Access::Member;
        }
        let (mut parts, mut key) = (Vec::new(), Vec::new());
        for (i, p) in a.args.iter().enumerate() {
            key_parts(p, &mut vec![i as u8], bound, &mut parts, &mut key);
        }
        if parts.is_empty() {
            return Access::Scan;
        }
        Access::Index(db.index(self.terms, a.pred, parts), key.into())
    }

    /// The expected number of atoms that match a condition: the mean of the index for complete relations, a guess for others.
    fn expected(&self, db: &mut Database, l: usize, bound: &[bool]) -> f64 {
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
        let size = db.of(a.pred).len() as f64;
        match self.access(db, a, bound) {
            Access::Index(i, _) => {
                let buckets = &db.indices[i as usize].buckets;
                buckets.values().map(Vec::len).sum::<usize>() as f64 / (buckets.len() as f64).max(1.0)
            }
            _ => size,
        }
    }
}

/// Describes an index on the ground parts and bound variables of a pattern, and collects the patterns of its key.
fn key_parts(p: &Pat, path: &mut Vec<u8>, bound: &[bool], parts: &mut Vec<KeyPart>, key: &mut Vec<Pat>) {
    match p {
        Pat::Ground(_) => {
            parts.push(KeyPart::Leaf(path.as_slice().into()));
            key.push(p.clone());
        }
        Pat::Var(v) if bound[*v as usize] => {
            parts.push(KeyPart::Leaf(path.as_slice().into()));
            key.push(p.clone());
        }
        Pat::Var(_) => {}
        Pat::Fn(f, args) => {
            parts.push(KeyPart::Functor(path.as_slice().into(), *f, args.len().min(255) as u8));
            for (i, a) in args.iter().enumerate() {
                path.push(i as u8);
                key_parts(a, path, bound, parts, key);
                path.pop();
            }
        }
    }
}
