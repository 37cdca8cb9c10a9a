//! The interpreter: the rules themselves, evaluated state by state. Slower than a net, and right for any sheet.
//!
//! It takes over when a sheet has more rule instances than the budget allows. Each state's relations are derived stratum by
//! stratum with the same indexed joins that grounding uses; static relations and their indices are shared by all states.
//! What `next` alone needs is derived only when a step is made, what goals alone need only when they are asked for.
//!
//! Facts and moves still have to be numbered before play. Where grounding only has too many instances, they are its possible
//! atoms; where even those are out of reach, all combinations of what each argument place can hold ([`crate::places`]).

use crate::bits::{ones, set, words};
use crate::datalog::{Facts, Forget, Negation, Program, Work};
use crate::error::{Error, ErrorKind};
use crate::ground::Statics;
use crate::sheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};
use std::collections::HashMap;
use std::sync::Arc;

/// What all interpreters of a sheet share.
#[derive(Debug)]
pub(crate) struct Rules {
    statics: Statics,
    /// What does not depend on moves, stratum by stratum.
    view: Vec<Program>,
    /// What does.
    act: Vec<Program>,
    /// What only goals need.
    end: Vec<Program>,
    view_preds: Vec<Pred>,
    act_preds: Vec<Pred>,
    facts: Vec<Term>,
    moves: Vec<Term>,
    fact_number: HashMap<Term, u32>,
    move_number: HashMap<Term, u32>,
    /// The clock of the facts when only static ones are there.
    start: u32,
}

impl Rules {
    pub fn new(sheet: &Sheet, strata: &Strata, mut statics: Statics, facts: Vec<Term>, moves: Vec<Term>) -> Rules {
        let rules = crate::ground::dynamic_rules(sheet, strata);
        let mut programs = [Vec::new(), Vec::new(), Vec::new()];
        // Relations of `next` alone depend on moves; relations of goals alone do not.
        let part = |p: usize| if strata.acts[p] { 1 } else { 2 * !strata.plays[p] as usize };
        for (i, list) in programs.iter_mut().enumerate() {
            for level in 0..strata.strata {
                let current: Vec<bool> = (0..sheet.relations.len())
                    .map(|p| !strata.is_static[p] && part(p) == i && strata.stratum[p] == level)
                    .collect();
                let here: Vec<Rule> = rules.iter().filter(|r| current[r.head.pred as usize]).cloned().collect();
                let Statics { terms, facts, .. } = &mut statics;
                list.push(Program::compile(terms, facts, here, &current, Negation::Exact));
            }
        }
        let [view, act, end] = programs;
        let preds = |acts: bool| {
            let wanted = |&p: &Pred| !strata.is_static[p as usize] && strata.acts[p as usize] == acts;
            (0..sheet.relations.len() as Pred).filter(wanted).collect::<Vec<_>>()
        };
        Rules {
            view,
            act,
            end,
            view_preds: preds(false),
            act_preds: preds(true),
            fact_number: facts.iter().enumerate().map(|(i, &t)| (t, i as u32)).collect(),
            move_number: moves.iter().enumerate().map(|(i, &t)| (t, i as u32)).collect(),
            facts,
            moves,
            start: statics.facts.clock(),
            statics,
        }
    }
}

/// An interpreter at one state.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    rules: Arc<Rules>,
    terms: Terms,
    db: Facts,
    /// The facts that hold.
    pub facts: Vec<u64>,
    /// Legal moves by role, in order.
    pub legal: Vec<Vec<u32>>,
    pub terminal: bool,
    /// What a state may take.
    limit: Work,
    /// Joining steps taken so far.
    pub spent: u64,
    /// What goals need has been derived.
    ended: bool,
}

impl Interpreter {
    /// At the state without facts.
    pub fn new(rules: Arc<Rules>, limit: Work) -> Result<Interpreter, Error> {
        let mut i = Interpreter {
            terms: rules.statics.terms.clone(),
            db: rules.statics.facts.clone(),
            facts: vec![0; words(rules.facts.len())],
            legal: vec![Vec::new(); rules.statics.roles.len()],
            terminal: false,
            limit,
            spent: 0,
            ended: false,
            rules,
        };
        i.derive()?;
        Ok(i)
    }

    /// Moves to another state.
    pub fn seek(&mut self, facts: &[u64]) -> Result<(), Error> {
        if self.facts[..] != *facts {
            self.facts.copy_from_slice(facts);
            self.derive()?;
        }
        Ok(())
    }

    fn run(&mut self, programs: &[Program], agenda: &[Term]) -> Result<(), Error> {
        let mut work = self.limit;
        for program in programs {
            program.run(&mut self.terms, &mut self.db, agenda.to_vec(), &mut work, &mut Forget)?;
        }
        self.spent += self.limit.left - work.left;
        Ok(())
    }

    /// Derives everything that does not depend on moves.
    fn derive(&mut self) -> Result<(), Error> {
        let rules = self.rules.clone();
        rules.act_preds.iter().chain(&rules.view_preds).for_each(|&p| self.db.clear(p));
        self.db.rewind(rules.start);
        self.ended = false;
        let mut agenda = Vec::new();
        for f in ones(&self.facts) {
            let atom = self.terms.intern(ATOM | TRUE, &[rules.facts[f]]);
            self.db.add(&self.terms, atom);
            agenda.push(atom);
        }
        self.run(&rules.view, &agenda)?;
        let terminal = self.terms.intern(ATOM | TERMINAL, &[]);
        self.terminal = self.db.holds(terminal);
        self.legal.iter_mut().for_each(Vec::clear);
        for &atom in self.db.of(LEGAL) {
            let &[role, action] = self.terms.args(atom) else { continue };
            let Some(r) = rules.statics.roles.iter().position(|&r| r == role) else { continue };
            self.legal[r].push(rules.number(&rules.move_number, action)?);
        }
        for moves in &mut self.legal {
            moves.sort_unstable();
            moves.dedup();
        }
        Ok(())
    }

    /// Makes one move of each role.
    pub fn step(&mut self, moves: &[u32]) -> Result<(), Error> {
        let rules = self.rules.clone();
        rules.act_preds.iter().for_each(|&p| self.db.clear(p));
        let mut agenda = Vec::new();
        for (r, &m) in moves.iter().enumerate() {
            let atom = self.terms.intern(ATOM | DOES, &[rules.statics.roles[r], rules.moves[m as usize]]);
            self.db.add(&self.terms, atom);
            agenda.push(atom);
        }
        self.run(&rules.act, &agenda)?;
        let mut facts = vec![0; self.facts.len()];
        for &atom in self.db.of(NEXT) {
            let fact = self.terms.args(atom)[0];
            set(&mut facts, rules.number(&rules.fact_number, fact)? as usize);
        }
        self.facts = facts;
        self.derive()
    }

    /// The goal values of a role that hold, as terms.
    pub fn goals(&mut self, role: usize) -> Result<Vec<Term>, Error> {
        if !std::mem::replace(&mut self.ended, true) {
            let rules = self.rules.clone();
            self.run(&rules.end, &[])?;
        }
        let role = self.rules.statics.roles[role];
        let mine = self.db.of(GOAL).iter().filter(|&&a| self.terms.args(a)[0] == role);
        Ok(mine.map(|&a| self.terms.args(a)[1]).collect())
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Rules {
    fn number(&self, numbers: &HashMap<Term, u32>, t: Term) -> Result<u32, Error> {
        numbers.get(&t).copied().ok_or_else(|| {
            ErrorKind::Budget("play met a fact or move that the analysis of the rules did not foresee".into())
                .anywhere()
        })
    }
}
