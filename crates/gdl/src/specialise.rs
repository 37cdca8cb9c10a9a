//! Specialises rules to the constants that are demanded of them (the static part of magic sets; Bancilhon et al. 1986).
//!
//! If every condition on a relation has the same constant as some argument, the rules of the relation are specialised to
//! that constant. It pays because a sheet may define a relation of a million tuples and use one of them. Demands that
//! depend on the values of variables are not followed.

use crate::rulesheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};
use std::collections::HashMap;

/// The number of times that demands are passed on from heads to conditions, at most.
const ROUNDS: usize = 100;

/// What all conditions on a relation demand of one of its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// There is no condition yet.
    None,
    /// All conditions have this constant.
    Constant(Term),
    /// Conditions differ, or have a variable.
    Any,
}

/// Specialises the rules of a sheet, as often as that makes new demands.
pub(crate) fn specialise_rules(sheet: &mut Rulesheet, strata: &Strata) {
    for _ in 0..ROUNDS {
        let demands = demands(sheet, strata);
        let mut changed = false;
        let mut rules = Vec::with_capacity(sheet.rules.len());
        for rule in std::mem::take(&mut sheet.rules) {
            if strata.needed[rule.head.pred as usize] {
                changed |= specialise_rule(rule, &demands, &mut sheet.terms, &mut rules);
            } else {
                rules.push(rule);
            }
        }
        sheet.rules = rules;
        if !changed {
            return;
        }
    }
}

/// The demand on each argument of each relation.
fn demands(sheet: &Rulesheet, strata: &Strata) -> HashMap<(Pred, usize), Demand> {
    let mut demands: HashMap<(Pred, usize), Demand> = HashMap::new();
    for rule in sheet.rules.iter().filter(|r| strata.needed[r.head.pred as usize]) {
        for literal in &rule.body {
            let (Literal::Pos(a) | Literal::Neg(a)) = literal else { continue };
            for (i, p) in a.args.iter().enumerate() {
                let demand = demands.entry((a.pred, i)).or_insert(Demand::None);
                match p {
                    // A recursive condition that passes the argument of the head on adds no demand of its own.
                    Pat::Var(_) if rule.head.pred == a.pred && rule.head.args.get(i) == Some(p) => {}
                    Pat::Ground(t) if matches!(*demand, Demand::None) || *demand == Demand::Constant(*t) => {
                        *demand = Demand::Constant(*t);
                    }
                    _ => *demand = Demand::Any,
                }
            }
        }
    }
    demands
}

/// Pushes the rule to `out`, specialised to the first demand that it does not meet yet, or drops it if it cannot meet the
/// demand. Returns whether the rule changed.
fn specialise_rule(
    rule: Rule,
    demands: &HashMap<(Pred, usize), Demand>,
    terms: &mut Terms,
    out: &mut Vec<Rule>,
) -> bool {
    if (rule.head.pred as usize) < KEYWORDS.len() {
        out.push(rule);
        return false;
    }
    for (i, p) in rule.head.args.iter().enumerate() {
        let Some(&Demand::Constant(only)) = demands.get(&(rule.head.pred, i)) else { continue };
        match p {
            Pat::Ground(t) if *t != only => return true,
            Pat::Var(v) => {
                out.extend(substituted(&rule, *v, only, terms));
                return true;
            }
            _ => {}
        }
    }
    out.push(rule);
    false
}

/// The rule with a constant in place of a variable; `None` if a `distinct` then fails.
fn substituted(rule: &Rule, v: u16, t: Term, terms: &mut Terms) -> Option<Rule> {
    let mut bound = vec![None; rule.vars];
    bound[v as usize] = Some(Pat::Ground(t));
    let mut body = Vec::with_capacity(rule.body.len());
    for literal in &rule.body {
        body.push(match literal {
            Literal::Pos(a) => Literal::Pos(substitute_atom(a, &bound, terms)),
            Literal::Neg(a) => Literal::Neg(substitute_atom(a, &bound, terms)),
            Literal::Distinct(a, b) => match (substitute(a, &bound, terms), substitute(b, &bound, terms)) {
                (a, b) if a == b => return None,
                (Pat::Ground(_), Pat::Ground(_)) => continue,
                (a, b) => Literal::Distinct(a, b),
            },
        });
    }
    Some(Rule { head: substitute_atom(&rule.head, &bound, terms), body, ..rule.clone() })
}
