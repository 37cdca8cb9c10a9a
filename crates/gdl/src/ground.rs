//! Grounding: finds every atom that can ever hold, and every rule instance over such atoms.
//!
//! Static relations are computed once and exactly, and do not occur in the instances. Of the others, a fact is *possible* if
//! it is initial or the argument of a possible `next`, and a move if its `legal` is possible. A `not` of an atom that may
//! change is assumed possible. This over-approximates the reachable states. It does not use `base` and `input`, because
//! half of the public rulesheets have none and some have wrong ones.

use crate::budget::Budget;
use crate::datalog::{Database, DiscardInstances, InstanceSink, Negation, Program, WorkLimit};
use crate::error::{Error, ErrorKind};
use crate::rulesheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};

/// The static part of a sheet: its roles, its initial facts, and all static relations that are needed.
#[derive(Clone, Debug)]
pub(crate) struct Statics {
    pub terms: Terms,
    /// The atoms of static relations.
    pub db: Database,
    pub roles: Vec<Term>,
    /// The facts that hold at the start.
    pub init: Vec<Term>,
    /// What is left of the budget.
    pub work: WorkLimit,
}

/// The possible atoms of a sheet and the rule instances over them.
#[derive(Clone, Debug)]
pub(crate) struct Grounding {
    pub terms: Terms,
    /// The possible atoms, static ones included.
    pub db: Database,
    pub roles: Vec<Term>,
    /// The facts that hold at the start.
    pub init: Vec<Term>,
    /// The instances one after another: number of conditions, head, conditions as `2 * atom + negated`.
    pub instances: Vec<u32>,
    /// Whether there are more instances than the budget allows. Then `instances` is empty, and `db` is still complete.
    pub overflow: bool,
}

/// Computes the static relations, stratum by stratum.
pub(crate) fn statics(sheet: &Rulesheet, strata: &Strata, budget: &Budget) -> Result<Statics, Error> {
    let mut terms = sheet.terms.clone();
    let mut db = Database::new(sheet.relations.len());
    let mut work = WorkLimit { left: budget.work, atoms: budget.atoms };
    for level in 0..strata.count {
        let here = |p: Pred| strata.is_static[p as usize] && strata.stratum[p as usize] == level;
        let current: Vec<bool> = (0..sheet.relations.len() as Pred).map(here).collect();
        let mut rules = Vec::new();
        let mut agenda = Vec::new();
        for rule in sheet.rules.iter().filter(|r| current[r.head.pred as usize] && strata.needed[r.head.pred as usize])
        {
            match ground_fact(rule, &mut terms) {
                Some(atom) => {
                    if db.add(&terms, atom) {
                        agenda.push(atom);
                    }
                }
                None => rules.push(rule.clone()),
            }
        }
        let program = Program::compile(&terms, &mut db, rules, &current, Negation::Exact);
        program.run(&mut terms, &mut db, agenda, &mut work, &mut DiscardInstances)?;
    }
    let first = |atoms: &[Term]| atoms.iter().map(|&a| terms.args(a)[0]).collect::<Vec<_>>();
    let (roles, init) = (first(db.of(ROLE)), first(db.of(INIT)));
    if roles.is_empty() {
        return Err(ErrorKind::NoRole.without_place());
    }
    if roles.len() > ludex_core::MAX_PLAYERS {
        return Err(ErrorKind::TooManyRoles(roles.len()).without_place());
    }
    if roles.iter().any(|&r| sheet.text(&terms, r).eq_ignore_ascii_case("random")) {
        return Err(ErrorKind::Random.without_place());
    }
    Ok(Statics { terms, db, roles, init, work })
}

/// The ground head of a rule without conditions; `None` if there are conditions.
fn ground_fact(rule: &Rule, terms: &mut Terms) -> Option<Term> {
    if !rule.body.is_empty() {
        return None;
    }
    let ground = |p: &Pat| if let Pat::Ground(t) = p { Some(*t) } else { None };
    let args: Option<Vec<Term>> = rule.head.args.iter().map(ground).collect();
    args.map(|args| terms.intern(ATOM | rule.head.pred, &args))
}

/// The needed rules of relations that are not static.
pub(crate) fn dynamic_rules(sheet: &Rulesheet, strata: &Strata) -> Vec<Rule> {
    let wanted = |r: &&Rule| !strata.is_static[r.head.pred as usize] && strata.needed[r.head.pred as usize];
    sheet.rules.iter().filter(wanted).cloned().collect()
}

/// Computes the possible atoms and the rule instances over them.
pub(crate) fn ground(
    sheet: &Rulesheet,
    strata: &Strata,
    statics: Statics,
    budget: &Budget,
) -> Result<Grounding, Error> {
    let Statics { mut terms, mut db, roles, init, mut work } = statics;
    // Static `legal` and `next`, such as moves that are always legal, make moves and facts possible too.
    let mut possible = Collector { instances: Vec::new(), roles: &roles, limit: budget.instances, overflow: false };
    let mut agenda = Vec::new();
    let start: Vec<Term> = init.iter().map(|&f| terms.intern(ATOM | TRUE, &[f])).collect();
    let mut more = Vec::new();
    for pred in [LEGAL, NEXT] {
        for atom in db.of(pred).to_vec() {
            possible.take(&mut terms, atom, &[], true, &mut more)?;
        }
    }
    for atom in start.into_iter().chain(more) {
        if db.add(&terms, atom) {
            agenda.push(atom);
        }
    }
    let current: Vec<bool> = strata.is_static.iter().map(|s| !s).collect();
    let program = Program::compile(&terms, &mut db, dynamic_rules(sheet, strata), &current, Negation::Recorded);
    program.run(&mut terms, &mut db, agenda, &mut work, &mut possible)?;
    let Collector { instances, overflow, .. } = possible;
    Ok(Grounding { terms, db, roles, init, instances, overflow })
}

/// Collects rule instances. A possible `next` makes its fact possible, a possible `legal` its move.
struct Collector<'a> {
    instances: Vec<u32>,
    roles: &'a [Term],
    limit: usize,
    overflow: bool,
}

impl InstanceSink for Collector<'_> {
    fn take(
        &mut self,
        terms: &mut Terms,
        head: Term,
        body: &[u32],
        new: bool,
        more: &mut Vec<Term>,
    ) -> Result<(), Error> {
        if !self.overflow {
            self.instances.extend([body.len() as u32, head]);
            self.instances.extend_from_slice(body);
            if self.instances.len() > self.limit {
                (self.overflow, self.instances) = (true, Vec::new());
            }
        }
        if new {
            match terms.functor(head) & !ATOM {
                NEXT => {
                    let fact = terms.args(head)[0];
                    more.push(terms.intern(ATOM | TRUE, &[fact]));
                }
                LEGAL => {
                    let &[role, action] = terms.args(head) else { return Ok(()) };
                    if self.roles.contains(&role) {
                        more.push(terms.intern(ATOM | DOES, &[role, action]));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
