//! Conditions that nothing can make true, which are misspelt as a rule.
//!
//! A condition can hold if some atom that is possible in the grounding matches it; where the sheet cannot be grounded, or
//! the condition belongs to a rule that is not needed, if the head of some rule matches it. Both over-approximate: what is
//! reported never holds, but not all that never holds is reported. Of conditions that fail because of one another only the
//! causes are reported.

use crate::budget::Budget;
use crate::datalog::Database;
use crate::error::Place;
use crate::ground;
use crate::kif::{self, Expr, ExprKind};
use crate::rulesheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};
use std::collections::{BTreeMap, BTreeSet};

/// The join steps that the search for possible atoms may take: a second.
const WORK: u64 = 30_000_000;

/// A condition that never holds.
pub(crate) struct NeverTrue {
    pub at: Place,
    /// As it is written.
    pub text: String,
    /// What was meant, perhaps.
    pub meant: Option<String>,
}

/// The conditions that nothing can make true, by place.
pub(crate) fn never_true(text: &str, sheet: &Rulesheet, strata: Option<&Strata>, budget: &Budget) -> Vec<NeverTrue> {
    let Ok(exprs) = kif::read(text) else { return Vec::new() };
    let possible = strata.and_then(|s| Possible::of(sheet, s, budget));
    let conditions = Conditions { sheet, possible };
    let found = conditions.causes();
    let describe = |atom: &Atom| {
        let written = find(&exprs, atom.at)?;
        let shown = match (&written.kind, atom.pred) {
            (ExprKind::List(list), TRUE) => list.get(1)?,
            _ => written,
        };
        Some(NeverTrue { at: shown.at, text: write(shown), meant: conditions.meant(atom) })
    };
    found.into_values().filter_map(describe).collect()
}

/// All possible atoms of the relations that are needed.
struct Possible<'a> {
    strata: &'a Strata,
    terms: Terms,
    db: Database,
}

impl<'a> Possible<'a> {
    fn of(sheet: &Rulesheet, strata: &'a Strata, budget: &Budget) -> Option<Self> {
        // Only the atoms are wanted: no instance is kept.
        let budget = Budget { work: budget.work.min(WORK), instances: 0, ..*budget };
        let statics = ground::statics(sheet, strata, &budget).ok()?;
        let grounding = ground::ground(sheet, strata, statics, &budget).ok()?;
        Some(Possible { strata, terms: grounding.terms, db: grounding.db })
    }
}

/// The conditions of a sheet.
struct Conditions<'a> {
    sheet: &'a Rulesheet,
    possible: Option<Possible<'a>>,
}

impl<'a> Conditions<'a> {
    /// Whether a condition of this rule can hold.
    fn can_hold(&self, rule: &Rule, atom: &Atom) -> bool {
        match &self.possible {
            Some(p) if p.strata.needed[rule.head.pred as usize] => {
                let matches = |&a: &Term| {
                    p.terms.args(a).iter().zip(&atom.args).all(|(&t, pat)| may_equal(pat, &Pat::Ground(t), &p.terms))
                };
                p.db.of(atom.pred).iter().any(matches)
            }
            _ => self.makers(atom).next().is_some(),
        }
    }

    /// The rules whose heads may make a condition true.
    fn makers<'b>(&'b self, atom: &'b Atom) -> impl Iterator<Item = (usize, &'b Rule)> {
        let heads = heads(atom.pred);
        let makes = move |r: &Rule| {
            let same = r.head.args.iter().zip(&atom.args).all(|(a, b)| may_equal(a, b, &self.sheet.terms));
            heads.contains(&r.head.pred) && same
        };
        self.sheet.rules.iter().enumerate().filter(move |(_, r)| makes(r))
    }

    /// The conditions that can never hold though no other condition is to blame, by place.
    fn causes(&self) -> BTreeMap<Place, &'a Atom> {
        let own = |a: &&Atom| !self.sheet.relations[a.pred as usize].auxiliary;
        let (mut dead, mut dead_rules) = (BTreeMap::new(), BTreeSet::new());
        for (i, rule) in self.sheet.rules.iter().enumerate() {
            for literal in &rule.body {
                let (Literal::Pos(atom) | Literal::Neg(atom)) = literal else { continue };
                if !self.can_hold(rule, atom) {
                    if matches!(literal, Literal::Pos(_)) {
                        dead_rules.insert(i);
                    }
                    dead.insert(atom.at, atom);
                }
            }
        }
        dead.retain(|_, atom| own(atom));
        // A condition that no head matches is a slip, and the rest may follow from it; else those whose makers look sound
        // are to blame; else all are, such as facts that only follow from themselves.
        let unmatched = |atom: &Atom| self.makers(atom).next().is_none();
        let unexplained = |atom: &Atom| self.makers(atom).any(|(i, _)| !dead_rules.contains(&i));
        let some = |wanted: &dyn Fn(&Atom) -> bool| -> Option<BTreeMap<Place, &Atom>> {
            let found: BTreeMap<_, _> = dead.iter().filter(|(_, a)| wanted(a)).map(|(&at, &a)| (at, a)).collect();
            (!found.is_empty()).then_some(found)
        };
        some(&unmatched).or_else(|| some(&unexplained)).unwrap_or(dead)
    }

    /// A name that is much like one in the condition, where that one is known nowhere it could count.
    fn meant(&self, atom: &Atom) -> Option<String> {
        let mut known = BTreeSet::new();
        let mut written = BTreeSet::new();
        atom.args.iter().for_each(|p| self.names(p, &self.sheet.terms, &mut written));
        for rule in &self.sheet.rules {
            if heads(atom.pred).contains(&rule.head.pred) {
                rule.head.args.iter().for_each(|p| self.names(p, &self.sheet.terms, &mut known));
            }
        }
        if let Some(p) = &self.possible {
            p.db.of(atom.pred).iter().flat_map(|&a| p.terms.args(a)).for_each(|&t| self.term(t, &p.terms, &mut known));
        }
        if atom.pred >= KEYWORDS.len() as Pred {
            let name = self.sheet.relation_name(atom.pred);
            if self.is_fact(name) {
                return Some(format!("(true ({name} ..))"));
            }
            let defined = self.sheet.rules.iter().map(|r| r.head.pred).filter(|p| *p >= KEYWORDS.len() as Pred);
            known = defined.map(|p| self.sheet.relation_name(p)).collect();
            written = [name].into();
        }
        let slip = |name: &&str| known.iter().find(|k| near(k, name)).map(|k| k.to_string());
        written.difference(&known).copied().collect::<Vec<_>>().iter().find_map(slip)
    }

    /// Whether facts of states have this name.
    fn is_fact(&self, name: &str) -> bool {
        let mut made = self.sheet.rules.iter().filter(|r| heads(TRUE).contains(&r.head.pred));
        made.any(|r| match r.head.args.first() {
            Some(Pat::Fn(f, _)) => self.sheet.symbols.name(*f) == name,
            Some(Pat::Ground(t)) => self.sheet.symbols.name(self.sheet.terms.functor(*t)) == name,
            _ => false,
        })
    }

    /// Adds the names that occur in a term with variables.
    fn names(&self, p: &Pat, terms: &Terms, out: &mut BTreeSet<&'a str>) {
        match p {
            Pat::Var(_) => {}
            Pat::Ground(t) => self.term(*t, terms, out),
            Pat::Fn(f, args) => {
                out.insert(self.sheet.symbols.name(*f));
                args.iter().for_each(|a| self.names(a, terms, out));
            }
        }
    }

    /// Adds the names that occur in a term.
    fn term(&self, t: Term, terms: &Terms, out: &mut BTreeSet<&'a str>) {
        out.insert(self.sheet.symbols.name(terms.functor(t)));
        terms.args(t).iter().for_each(|&a| self.term(a, terms, out));
    }
}

/// The relations whose rules make atoms of a relation true.
fn heads(pred: Pred) -> [Pred; 2] {
    match pred {
        TRUE => [INIT, NEXT],
        DOES => [LEGAL, LEGAL],
        p => [p, p],
    }
}

/// Whether two terms become equal for some values of their variables, as if each occurred once.
fn may_equal(a: &Pat, b: &Pat, terms: &Terms) -> bool {
    match (a, b) {
        (Pat::Var(_), _) | (_, Pat::Var(_)) => true,
        (Pat::Ground(a), Pat::Ground(b)) => a == b,
        (Pat::Fn(f, x), Pat::Fn(g, y)) => {
            f == g && x.len() == y.len() && x.iter().zip(y).all(|(x, y)| may_equal(x, y, terms))
        }
        (Pat::Fn(f, x), Pat::Ground(t)) | (Pat::Ground(t), Pat::Fn(f, x)) => {
            let args = terms.args(*t);
            terms.functor(*t) == *f
                && args.len() == x.len()
                && x.iter().zip(args).all(|(x, &t)| may_equal(x, &Pat::Ground(t), terms))
        }
    }
}

/// The expression at a place.
fn find<'a, 'b>(exprs: &'b [Expr<'a>], at: Place) -> Option<&'b Expr<'a>> {
    // The last one that does not begin later is it, or holds it.
    let e = exprs[..exprs.partition_point(|e| e.at <= at)].last()?;
    match &e.kind {
        _ if e.at == at => Some(e),
        ExprKind::List(list) => find(list, at),
        ExprKind::Name(_) => None,
    }
}

fn write(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::List(list) => format!("({})", list.iter().map(write).collect::<Vec<_>>().join(" ")),
    }
}

/// Whether one word may be a slip for another: one letter in three differs, two letters at most, and none of single letters.
fn near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let most = 2.min(a.len().max(b.len()) / 3);
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + (x != y) as usize).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()] <= most
}
