//! What each argument place of a relation or function can hold: a coarse picture of all facts and moves, cheap even where
//! grounding is not.
//!
//! Each place has a set of constants and of functions (whose own places are analysed the same way). A variable can hold
//! what all the places of its positive conditions can hold; what a head's variable can hold flows into the head's place,
//! until nothing changes. Facts and moves are then all combinations. The picture ignores how arguments go together and so
//! never misses anything.

use crate::error::{Error, ErrorKind};
use crate::ground::{Statics, dynamic_rules};
use crate::sheet::*;
use crate::strata::Strata;
use crate::terms::{Sym, Term, Terms};
use std::collections::{BTreeSet, HashMap};

/// What a place can hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Holds {
    constants: BTreeSet<Term>,
    functions: BTreeSet<(Sym, usize)>,
}

/// What a place belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Owner {
    Relation(Pred),
    Function(Sym, usize),
}

type Place = (Owner, usize);

struct Picture {
    holds: HashMap<Place, Holds>,
    changed: bool,
}

/// The facts, moves and goal values that the rules could ever speak of.
pub(crate) fn names(
    sheet: &Sheet,
    strata: &Strata,
    statics: &mut Statics,
    most: usize,
) -> Result<[Vec<Term>; 3], Error> {
    let mut picture = Picture { holds: HashMap::new(), changed: true };
    for pred in (0..sheet.relations.len() as Pred).filter(|&p| strata.is_static[p as usize]) {
        for &atom in statics.facts.of(pred) {
            let args = statics.terms.args(atom).to_vec();
            picture.add_args(Owner::Relation(pred), &args, &statics.terms);
            if pred == INIT {
                picture.add_args(Owner::Relation(TRUE), &args, &statics.terms);
            }
        }
    }
    let rules = dynamic_rules(sheet, strata);
    while std::mem::take(&mut picture.changed) {
        for rule in &rules {
            picture.apply(rule, &statics.terms);
        }
        picture.flow(NEXT, TRUE);
        picture.flow(LEGAL, DOES);
    }
    let mut all = Combinations { picture: &picture, terms: &mut statics.terms, most, depth: 0 };
    let facts = all.of((Owner::Relation(TRUE), 0))?;
    let moves = all.of((Owner::Relation(DOES), 1))?;
    let goals = all.of((Owner::Relation(GOAL), 1))?;
    Ok([facts, moves, goals])
}

impl Picture {
    fn add_args(&mut self, owner: Owner, args: &[Term], terms: &Terms) {
        for (i, &t) in args.iter().enumerate() {
            self.add((owner, i), t, terms);
        }
    }

    fn add(&mut self, place: Place, t: Term, terms: &Terms) {
        let args = terms.args(t);
        let holds = self.holds.entry(place).or_default();
        if args.is_empty() {
            self.changed |= holds.constants.insert(t);
        } else {
            self.changed |= holds.functions.insert((terms.functor(t), args.len()));
            self.add_args(Owner::Function(terms.functor(t), args.len()), args, terms);
        }
    }

    fn merge(&mut self, place: Place, more: &Holds) {
        let holds = self.holds.entry(place).or_default();
        let before = holds.constants.len() + holds.functions.len();
        holds.constants.extend(&more.constants);
        holds.functions.extend(&more.functions);
        self.changed |= before != holds.constants.len() + holds.functions.len();
    }

    fn flow(&mut self, from: Pred, to: Pred) {
        for i in 0..2 {
            if let Some(more) = self.holds.get(&(Owner::Relation(from), i)).cloned() {
                self.merge((Owner::Relation(to), i), &more);
            }
        }
    }

    fn apply(&mut self, rule: &Rule, terms: &Terms) {
        let mut env: Vec<Option<Holds>> = vec![None; rule.vars];
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

    /// Restricts variables to what a place can hold; false if nothing fits.
    fn narrow(&self, place: Place, p: &Pat, env: &mut [Option<Holds>], terms: &Terms) -> bool {
        let Some(holds) = self.holds.get(&place) else { return false };
        match p {
            Pat::Ground(t) if terms.args(*t).is_empty() => holds.constants.contains(t),
            Pat::Ground(t) => holds.functions.contains(&(terms.functor(*t), terms.args(*t).len())),
            Pat::Var(v) => {
                let bound = &mut env[*v as usize];
                let both = match bound {
                    None => holds.clone(),
                    Some(b) => Holds {
                        constants: b.constants.intersection(&holds.constants).copied().collect(),
                        functions: b.functions.intersection(&holds.functions).copied().collect(),
                    },
                };
                let fits = !both.constants.is_empty() || !both.functions.is_empty();
                *bound = Some(both);
                fits
            }
            Pat::Fn(f, args) => {
                holds.functions.contains(&(*f, args.len()))
                    && args
                        .iter()
                        .enumerate()
                        .all(|(i, p)| self.narrow((Owner::Function(*f, args.len()), i), p, env, terms))
            }
        }
    }

    fn widen(&mut self, place: Place, p: &Pat, env: &[Option<Holds>], terms: &Terms) {
        match p {
            Pat::Ground(t) => self.add(place, *t, terms),
            Pat::Var(v) => {
                if let Some(holds) = &env[*v as usize] {
                    self.merge(place, holds);
                }
            }
            Pat::Fn(f, args) => {
                let holds = self.holds.entry(place).or_default();
                self.changed |= holds.functions.insert((*f, args.len()));
                for (i, p) in args.iter().enumerate() {
                    self.widen((Owner::Function(*f, args.len()), i), p, env, terms);
                }
            }
        }
    }
}

struct Combinations<'a> {
    picture: &'a Picture,
    terms: &'a mut Terms,
    most: usize,
    depth: usize,
}

impl Combinations<'_> {
    fn too_many(&self) -> Error {
        ErrorKind::Budget(format!("more than {} facts or moves could occur", self.most)).anywhere()
    }

    /// All terms that a place can hold.
    fn of(&mut self, place: Place) -> Result<Vec<Term>, Error> {
        let Some(holds) = self.picture.holds.get(&place) else { return Ok(Vec::new()) };
        if self.depth > 8 {
            return Err(ErrorKind::Budget("terms nest without end".into()).anywhere());
        }
        let mut all: Vec<Term> = holds.constants.iter().copied().collect();
        for &(f, arity) in &holds.functions {
            self.depth += 1;
            let args: Vec<Vec<Term>> =
                (0..arity).map(|i| self.of((Owner::Function(f, arity), i))).collect::<Result<_, _>>()?;
            self.depth -= 1;
            let count = args.iter().try_fold(1usize, |n, a| n.checked_mul(a.len()).filter(|&n| n <= self.most));
            let count = count.ok_or_else(|| self.too_many())?;
            if all.len() + count > self.most {
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
