//! Grounding: everything that can ever be true, and every rule instance that can ever matter.
//!
//! Static relations are computed once, exactly, and vanish from the instances. For the rest, a fact is *possible* if it is
//! initial or the head of a possible `next`, a move if `legal` is possible; a `not` of something that may change is taken
//! as possible either way. This over-approximates the reachable states, whatever `base` and `input` say; what they say is
//! never used, because half of the public rulesheets have none and some have wrong ones.

use crate::budget::Budget;
use crate::datalog::{Facts, Forget, Negation, Program, Sink, Work};
use crate::error::{Error, ErrorKind};
use crate::sheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};

/// The static part of a sheet: its roles, its initial facts, and every static relation.
#[derive(Clone, Debug)]
pub(crate) struct Statics {
    pub terms: Terms,
    pub facts: Facts,
    pub roles: Vec<Term>,
    /// The facts that hold at the start.
    pub init: Vec<Term>,
    pub work: Work,
}

/// Possible atoms and the rule instances that connect them.
#[derive(Clone, Debug)]
pub(crate) struct Grounding {
    pub terms: Terms,
    pub facts: Facts,
    pub roles: Vec<Term>,
    pub init: Vec<Term>,
    /// Instances one after another: length of the body, head, conditions as `2 * atom + negated`.
    pub instances: Vec<u32>,
    /// There were more instances than the budget allows: none are kept, but the possible atoms are complete.
    pub overflow: bool,
}

/// Computes everything that does not change.
pub(crate) fn statics(sheet: &Sheet, strata: &Strata, budget: &Budget) -> Result<Statics, Error> {
    let mut terms = sheet.terms.clone();
    let mut facts = Facts::new(sheet.relations.len());
    let mut work = Work { left: budget.work, atoms: budget.atoms };
    for level in 0..strata.strata {
        let here = |p: Pred| strata.is_static[p as usize] && strata.stratum[p as usize] == level;
        let current: Vec<bool> = (0..sheet.relations.len() as Pred).map(here).collect();
        let mut rules = Vec::new();
        let mut agenda = Vec::new();
        for rule in sheet.rules.iter().filter(|r| current[r.head.pred as usize] && strata.needed[r.head.pred as usize])
        {
            match ground_fact(rule, &mut terms) {
                Some(atom) => {
                    if facts.add(&terms, atom) {
                        agenda.push(atom);
                    }
                }
                None => rules.push(rule.clone()),
            }
        }
        let program = Program::compile(&terms, &mut facts, rules, &current, Negation::Exact);
        program.run(&mut terms, &mut facts, agenda, &mut work, &mut Forget)?;
    }
    let first = |atoms: &[Term]| atoms.iter().map(|&a| terms.args(a)[0]).collect::<Vec<_>>();
    let (roles, init) = (first(facts.of(ROLE)), first(facts.of(INIT)));
    if roles.is_empty() {
        return Err(ErrorKind::NoRole.anywhere());
    }
    if roles.len() > ludex_core::MAX_PLAYERS {
        return Err(ErrorKind::TooManyRoles(roles.len()).anywhere());
    }
    if roles.iter().any(|&r| sheet.text(&terms, r).eq_ignore_ascii_case("random")) {
        return Err(ErrorKind::Random.anywhere());
    }
    Ok(Statics { terms, facts, roles, init, work })
}

/// The atom of a rule without conditions.
fn ground_fact(rule: &Rule, terms: &mut Terms) -> Option<Term> {
    if !rule.body.is_empty() {
        return None;
    }
    let ground = |p: &Pat| if let Pat::Ground(t) = p { Some(*t) } else { None };
    let args: Option<Vec<Term>> = rule.head.args.iter().map(ground).collect();
    args.map(|args| terms.intern(ATOM | rule.head.pred, &args))
}

/// The rules that are not static and are needed.
pub(crate) fn dynamic_rules(sheet: &Sheet, strata: &Strata) -> Vec<Rule> {
    let wanted = |r: &&Rule| !strata.is_static[r.head.pred as usize] && strata.needed[r.head.pred as usize];
    sheet.rules.iter().filter(wanted).cloned().collect()
}

/// Computes everything possible.
pub(crate) fn ground(sheet: &Sheet, strata: &Strata, statics: Statics, budget: &Budget) -> Result<Grounding, Error> {
    let Statics { mut terms, mut facts, roles, init, mut work } = statics;
    // A keyword with only static rules, such as moves that are always legal, still takes part as possible.
    let mut possible = Possible { instances: Vec::new(), roles: &roles, limit: budget.instances, overflow: false };
    let mut agenda = Vec::new();
    let start: Vec<Term> = init.iter().map(|&f| terms.intern(ATOM | TRUE, &[f])).collect();
    let mut more = Vec::new();
    for pred in [LEGAL, NEXT] {
        for atom in facts.of(pred).to_vec() {
            possible.take(&mut terms, atom, &[], true, &mut more)?;
        }
    }
    for atom in start.into_iter().chain(more) {
        if facts.add(&terms, atom) {
            agenda.push(atom);
        }
    }
    let current: Vec<bool> = strata.is_static.iter().map(|s| !s).collect();
    let program = Program::compile(&terms, &mut facts, dynamic_rules(sheet, strata), &current, Negation::Noted);
    program.run(&mut terms, &mut facts, agenda, &mut work, &mut possible)?;
    let Possible { instances, overflow, .. } = possible;
    Ok(Grounding { terms, facts, roles, init, instances, overflow })
}

/// Collects instances; a possible `next` makes its fact possible, a possible `legal` its move.
struct Possible<'a> {
    instances: Vec<u32>,
    roles: &'a [Term],
    limit: usize,
    overflow: bool,
}

impl Sink for Possible<'_> {
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
