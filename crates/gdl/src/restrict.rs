//! Asks rules only for what anybody uses: if every condition on a relation has the same constant at some place, its rules
//! are specialised to that constant there (the static part of magic sets; Bancilhon et al. 1986).
//!
//! A sheet may define a relation of a million tuples and use one of them.

use crate::sheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};
use std::collections::HashMap;

/// Rounds of passing restrictions on from heads to conditions.
const ROUNDS: usize = 100;

/// What the conditions on a place ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Only(Term),
    Anything,
}

/// Specialises the rules of a sheet.
pub(crate) fn restrict(sheet: &mut Sheet, strata: &Strata) {
    for _ in 0..ROUNDS {
        let asked = asked(sheet, strata);
        let mut changed = false;
        let mut rules = Vec::with_capacity(sheet.rules.len());
        for rule in std::mem::take(&mut sheet.rules) {
            if strata.needed[rule.head.pred as usize] {
                changed |= specialise(rule, &asked, &mut sheet.terms, &mut rules);
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

fn asked(sheet: &Sheet, strata: &Strata) -> HashMap<(Pred, usize), Asked> {
    let mut asked: HashMap<(Pred, usize), Asked> = HashMap::new();
    for rule in sheet.rules.iter().filter(|r| strata.needed[r.head.pred as usize]) {
        for literal in &rule.body {
            let (Literal::Pos(a) | Literal::Neg(a)) = literal else { continue };
            for (i, p) in a.args.iter().enumerate() {
                let place = asked.entry((a.pred, i)).or_insert(Asked::Nothing);
                match p {
                    // What the head was asked for is passed on unchanged.
                    Pat::Var(_) if rule.head.pred == a.pred && rule.head.args.get(i) == Some(p) => {}
                    Pat::Ground(t) if matches!(*place, Asked::Nothing) || *place == Asked::Only(*t) => {
                        *place = Asked::Only(*t);
                    }
                    _ => *place = Asked::Anything,
                }
            }
        }
    }
    asked
}

/// Adds the version of a rule that is asked for, if any; true if that is not the rule itself.
fn specialise(rule: Rule, asked: &HashMap<(Pred, usize), Asked>, terms: &mut Terms, out: &mut Vec<Rule>) -> bool {
    if (rule.head.pred as usize) < KEYWORDS.len() {
        out.push(rule);
        return false;
    }
    for (i, p) in rule.head.args.iter().enumerate() {
        let Some(&Asked::Only(only)) = asked.get(&(rule.head.pred, i)) else { continue };
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

/// The rule with a constant for a variable; none if a `distinct` then fails.
fn substituted(rule: &Rule, v: u16, t: Term, terms: &mut Terms) -> Option<Rule> {
    let mut bound = vec![None; rule.vars];
    bound[v as usize] = Some(Pat::Ground(t));
    let mut body = Vec::with_capacity(rule.body.len());
    for literal in &rule.body {
        body.push(match literal {
            Literal::Pos(a) => Literal::Pos(replace_atom(a, &bound, terms)),
            Literal::Neg(a) => Literal::Neg(replace_atom(a, &bound, terms)),
            Literal::Distinct(a, b) => match (replace(a, &bound, terms), replace(b, &bound, terms)) {
                (a, b) if a == b => return None,
                (Pat::Ground(_), Pat::Ground(_)) => continue,
                (a, b) => Literal::Distinct(a, b),
            },
        });
    }
    Some(Rule { head: replace_atom(&rule.head, &bound, terms), body, ..rule.clone() })
}
