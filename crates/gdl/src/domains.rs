//! Domains of arguments: what each argument of a relation or function can be. Cheap even where grounding is not.
//!
//! A domain is a set of constants and of functions, whose own arguments have domains in turn. A variable can be what the
//! domains of all its positive conditions have in common. The domain of a variable in a head is added to the domain of the
//! head's argument, until nothing changes. The possible facts and moves are then all combinations.
//!
//! The analysis ignores which values of arguments occur together. So it finds every possible fact and move, and usually
//! many that are not possible.

use crate::error::{Error, ErrorKind};
use crate::ground::{Statics, dynamic_rules};
use crate::rulesheet::*;
use crate::strata::Strata;
use crate::terms::{Sym, Term, Terms};
use std::collections::{BTreeSet, HashMap};

/// The values that an argument can have. A function stands for all its terms.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Domain {
    constants: BTreeSet<Term>,
    functions: BTreeSet<(Sym, usize)>,
}

/// The relation or function that an argument belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Owner {
    Relation(Pred),
    Function(Sym, usize),
}

/// An argument: what it belongs to, and its index from 0.
type Argument = (Owner, usize);

/// The domains of all arguments.
struct Domains {
    by_argument: HashMap<Argument, Domain>,
    /// Whether a domain has grown since this was reset.
    changed: bool,
}

/// The possible facts, moves and goal values of a sheet; an error if there are more than `limit` of one kind.
pub(crate) fn possible_terms(
    sheet: &Rulesheet,
    strata: &Strata,
    statics: &mut Statics,
    limit: usize,
) -> Result<[Vec<Term>; 3], Error> {
    let mut domains = Domains { by_argument: HashMap::new(), changed: true };
    for pred in (0..sheet.relations.len() as Pred).filter(|&p| strata.is_static[p as usize]) {
        for &atom in statics.db.of(pred) {
            let args = statics.terms.args(atom).to_vec();
            domains.add_args(Owner::Relation(pred), &args, &statics.terms);
            if pred == INIT {
                domains.add_args(Owner::Relation(TRUE), &args, &statics.terms);
            }
        }
    }
    let rules = dynamic_rules(sheet, strata);
    while std::mem::take(&mut domains.changed) {
        for rule in &rules {
            domains.apply(rule, &statics.terms);
        }
        domains.copy_domains(NEXT, TRUE);
        domains.copy_domains(LEGAL, DOES);
    }
    let mut all = Combinations { domains: &domains, terms: &mut statics.terms, limit, depth: 0 };
    let facts = all.of((Owner::Relation(TRUE), 0))?;
    let moves = all.of((Owner::Relation(DOES), 1))?;
    let goals = all.of((Owner::Relation(GOAL), 1))?;
    Ok([facts, moves, goals])
}

impl Domains {
    /// Adds the arguments of a ground term or atom to their domains.
    fn add_args(&mut self, owner: Owner, args: &[Term], terms: &Terms) {
        for (i, &t) in args.iter().enumerate() {
            self.add((owner, i), t, terms);
        }
    }

    /// Adds a ground term to a domain.
    fn add(&mut self, argument: Argument, t: Term, terms: &Terms) {
        let args = terms.args(t);
        let domain = self.by_argument.entry(argument).or_default();
        if args.is_empty() {
            self.changed |= domain.constants.insert(t);
        } else {
            self.changed |= domain.functions.insert((terms.functor(t), args.len()));
            self.add_args(Owner::Function(terms.functor(t), args.len()), args, terms);
        }
    }

    /// Adds a domain to that of an argument.
    fn merge(&mut self, argument: Argument, more: &Domain) {
        let domain = self.by_argument.entry(argument).or_default();
        let before = domain.constants.len() + domain.functions.len();
        domain.constants.extend(&more.constants);
        domain.functions.extend(&more.functions);
        self.changed |= before != domain.constants.len() + domain.functions.len();
    }

    /// Adds the domains of the arguments of one relation to those of another.
    fn copy_domains(&mut self, from: Pred, to: Pred) {
        for i in 0..2 {
            if let Some(more) = self.by_argument.get(&(Owner::Relation(from), i)).cloned() {
                self.merge((Owner::Relation(to), i), &more);
            }
        }
    }

    /// Adds what a rule can derive to the domains of its head.
    fn apply(&mut self, rule: &Rule, terms: &Terms) {
        let mut env: Vec<Option<Domain>> = vec![None; rule.vars];
        for literal in &rule.body {
            if let Literal::Pos(a) = literal {
                for (i, p) in a.args.iter().enumerate() {
                    if !self.narrow((Owner::Relation(a.pred), i), p, &mut env, terms) {
                        return;
                    }
                }
            }
        }
        for (i, p) in rule.head.args.iter().enumerate() {
            self.widen((Owner::Relation(rule.head.pred), i), p, &env, terms);
        }
    }

    /// Restricts the variables of a pattern to the domain of its argument; false if that leaves nothing.
    fn narrow(&self, argument: Argument, p: &Pat, env: &mut [Option<Domain>], terms: &Terms) -> bool {
        let Some(domain) = self.by_argument.get(&argument) else { return false };
        match p {
            Pat::Ground(t) if terms.args(*t).is_empty() => domain.constants.contains(t),
            Pat::Ground(t) => domain.functions.contains(&(terms.functor(*t), terms.args(*t).len())),
            Pat::Var(v) => {
                let bound = &mut env[*v as usize];
                let both = match bound {
                    None => domain.clone(),
                    Some(b) => Domain {
                        constants: b.constants.intersection(&domain.constants).copied().collect(),
                        functions: b.functions.intersection(&domain.functions).copied().collect(),
                    },
                };
                let fits = !both.constants.is_empty() || !both.functions.is_empty();
                *bound = Some(both);
                fits
            }
            Pat::Fn(f, args) => {
                domain.functions.contains(&(*f, args.len()))
                    && args
                        .iter()
                        .enumerate()
                        .all(|(i, p)| self.narrow((Owner::Function(*f, args.len()), i), p, env, terms))
            }
        }
    }

    /// Adds what a pattern can be to the domain of its argument.
    fn widen(&mut self, argument: Argument, p: &Pat, env: &[Option<Domain>], terms: &Terms) {
        match p {
            Pat::Ground(t) => self.add(argument, *t, terms),
            Pat::Var(v) => {
                if let Some(domain) = &env[*v as usize] {
                    self.merge(argument, domain);
                }
            }
            Pat::Fn(f, args) => {
                let domain = self.by_argument.entry(argument).or_default();
                self.changed |= domain.functions.insert((*f, args.len()));
                for (i, p) in args.iter().enumerate() {
                    self.widen((Owner::Function(*f, args.len()), i), p, env, terms);
                }
            }
        }
    }
}

/// Enumerates the terms of domains.
struct Combinations<'a> {
    domains: &'a Domains,
    terms: &'a mut Terms,
    limit: usize,
    /// The nesting of functions under way.
    depth: usize,
}

impl Combinations<'_> {
    fn too_many(&self) -> Error {
        ErrorKind::Budget(format!("more than {} facts or moves could occur", self.limit)).without_place()
    }

    /// All terms that an argument can be.
    fn of(&mut self, argument: Argument) -> Result<Vec<Term>, Error> {
        let Some(domain) = self.domains.by_argument.get(&argument) else { return Ok(Vec::new()) };
        if self.depth > 8 {
            return Err(ErrorKind::Budget("terms nest without end".into()).without_place());
        }
        let mut all: Vec<Term> = domain.constants.iter().copied().collect();
        for &(f, arity) in &domain.functions {
            self.depth += 1;
            let args: Vec<Vec<Term>> =
                (0..arity).map(|i| self.of((Owner::Function(f, arity), i))).collect::<Result<_, _>>()?;
            self.depth -= 1;
            let count = args.iter().try_fold(1usize, |n, a| n.checked_mul(a.len()).filter(|&n| n <= self.limit));
            let count = count.ok_or_else(|| self.too_many())?;
            if all.len() + count > self.limit {
                return Err(self.too_many());
            }
            let mut chosen = vec![0; arity];
            for mut k in 0..count {
                for (c, a) in chosen.iter_mut().zip(&args) {
                    *c = a[k % a.len()];
                    k /= a.len();
                }
                all.push(self.terms.intern(f, &chosen));
            }
        }
        Ok(all)
    }
}
