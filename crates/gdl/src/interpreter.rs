//! The interpreter: evaluates the rules themselves at each state. Slower than a propositional network, but of bounded size.
//!
//! It is used when a sheet has more rule instances than the budget allows. The relations of a state are derived stratum by
//! stratum, with the same indexed joins as in grounding ([`crate::datalog`]); static relations and their indices are shared
//! by all states. Relations that only `next` needs are derived when a step is made, those that only goals need when goals
//! are asked for.
//!
//! Facts and moves must be numbered before play. If grounding fails only because of too many instances, they are its possible
//! atoms; if even those are too many, they are all combinations of the domains of arguments ([`crate::domains`]).
//! Unstratified sheets cannot be interpreted ([`crate::strata`]).

use crate::bits::{ones, set, words};
use crate::datalog::{Database, DiscardInstances, Negation, Program, WorkLimit};
use crate::error::{Error, ErrorKind};
use crate::ground::Statics;
use crate::rulesheet::*;
use crate::strata::Strata;
use crate::terms::{Term, Terms};
use std::collections::HashMap;
use std::sync::Arc;

/// The immutable part of interpretation, which all interpreters of a game share.
#[derive(Debug)]
pub(crate) struct InterpreterProgram {
    statics: Statics,
    /// Derive the relations that do not depend on moves, except those of `goal_programs`; one per stratum.
    state_programs: Vec<Program>,
    /// Derive the relations that depend on moves; one per stratum.
    move_programs: Vec<Program>,
    /// Derive the relations that only goals need; one per stratum.
    goal_programs: Vec<Program>,
    /// The relations that are not static and do not depend on moves.
    state_preds: Vec<Pred>,
    /// The relations that depend on moves.
    move_preds: Vec<Pred>,
    /// The terms of facts, by number.
    facts: Vec<Term>,
    /// The terms of moves, by number.
    moves: Vec<Term>,
    fact_number: HashMap<Term, u32>,
    move_number: HashMap<Term, u32>,
    /// The clock of the database when it holds only static atoms.
    start: u32,
}

impl InterpreterProgram {
    /// Compiles a sheet, given its possible facts and moves in the order of their numbers.
    pub fn new(
        sheet: &Rulesheet,
        strata: &Strata,
        mut statics: Statics,
        facts: Vec<Term>,
        moves: Vec<Term>,
    ) -> InterpreterProgram {
        let rules = crate::ground::dynamic_rules(sheet, strata);
        let mut programs = [Vec::new(), Vec::new(), Vec::new()];
        // Part 1 depends on moves, part 2 is needed by goals alone, part 0 is the rest.
        let part = |p: usize| if strata.depends_on_does[p] { 1 } else { 2 * !strata.needed_to_step[p] as usize };
        for (i, list) in programs.iter_mut().enumerate() {
            for level in 0..strata.count {
                let current: Vec<bool> = (0..sheet.relations.len())
                    .map(|p| !strata.is_static[p] && part(p) == i && strata.stratum[p] == level)
                    .collect();
                let here: Vec<Rule> = rules.iter().filter(|r| current[r.head.pred as usize]).cloned().collect();
                let Statics { terms, db, .. } = &mut statics;
                list.push(Program::compile(terms, db, here, &current, Negation::Exact));
            }
        }
        let [state_programs, move_programs, goal_programs] = programs;
        let preds = |acts: bool| {
            let wanted = |&p: &Pred| !strata.is_static[p as usize] && strata.depends_on_does[p as usize] == acts;
            (0..sheet.relations.len() as Pred).filter(wanted).collect::<Vec<_>>()
        };
        InterpreterProgram {
            state_programs,
            move_programs,
            goal_programs,
            state_preds: preds(false),
            move_preds: preds(true),
            fact_number: facts.iter().enumerate().map(|(i, &t)| (t, i as u32)).collect(),
            move_number: moves.iter().enumerate().map(|(i, &t)| (t, i as u32)).collect(),
            facts,
            moves,
            start: statics.db.clock(),
            statics,
        }
    }
}

/// An interpreter at one state.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    rules: Arc<InterpreterProgram>,
    terms: Terms,
    /// The static atoms and those derived at the state.
    db: Database,
    /// The facts of the state.
    pub facts: Vec<u64>,
    /// The legal moves of each role, in increasing order.
    pub legal: Vec<Vec<u32>>,
    /// Whether `terminal` holds.
    pub terminal: bool,
    /// The limit on the work at one state.
    limit: WorkLimit,
    /// The join steps taken so far.
    pub join_steps: u64,
    /// Whether the relations that only goals need have been derived at the state.
    goals_derived: bool,
}

impl Interpreter {
    /// Makes an interpreter at the state without facts.
    pub fn new(rules: Arc<InterpreterProgram>, limit: WorkLimit) -> Result<Interpreter, Error> {
        let mut i = Interpreter {
            terms: rules.statics.terms.clone(),
            db: rules.statics.db.clone(),
            facts: vec![0; words(rules.facts.len())],
            legal: vec![Vec::new(); rules.statics.roles.len()],
            terminal: false,
            limit,
            join_steps: 0,
            goals_derived: false,
            rules,
        };
        i.derive()?;
        Ok(i)
    }

    /// Moves to the state with these facts.
    pub fn seek(&mut self, facts: &[u64]) -> Result<(), Error> {
        if self.facts[..] != *facts {
            self.facts.copy_from_slice(facts);
            self.derive()?;
        }
        Ok(())
    }

    /// Runs the programs of all strata.
    fn run(&mut self, programs: &[Program], agenda: &[Term]) -> Result<(), Error> {
        let mut work = self.limit;
        for program in programs {
            program.run(&mut self.terms, &mut self.db, agenda.to_vec(), &mut work, &mut DiscardInstances)?;
        }
        self.join_steps += self.limit.left - work.left;
        Ok(())
    }

    /// Derives the relations that do not depend on moves.
    fn derive(&mut self) -> Result<(), Error> {
        let rules = self.rules.clone();
        rules.move_preds.iter().chain(&rules.state_preds).for_each(|&p| self.db.clear(p));
        self.db.rewind(rules.start);
        self.goals_derived = false;
        let mut agenda = Vec::new();
        for f in ones(&self.facts) {
            let atom = self.terms.intern(ATOM | TRUE, &[rules.facts[f]]);
            self.db.add(&self.terms, atom);
            agenda.push(atom);
        }
        self.run(&rules.state_programs, &agenda)?;
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

    /// Makes a joint move: `moves[r]` is the move of role `r`.
    pub fn step(&mut self, moves: &[u32]) -> Result<(), Error> {
        let rules = self.rules.clone();
        rules.move_preds.iter().for_each(|&p| self.db.clear(p));
        let mut agenda = Vec::new();
        for (r, &m) in moves.iter().enumerate() {
            let atom = self.terms.intern(ATOM | DOES, &[rules.statics.roles[r], rules.moves[m as usize]]);
            self.db.add(&self.terms, atom);
            agenda.push(atom);
        }
        self.run(&rules.move_programs, &agenda)?;
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
        if !std::mem::replace(&mut self.goals_derived, true) {
            let rules = self.rules.clone();
            self.run(&rules.goal_programs, &[])?;
        }
        let role = self.rules.statics.roles[role];
        let mine = self.db.of(GOAL).iter().filter(|&&a| self.terms.args(a)[0] == role);
        Ok(mine.map(|&a| self.terms.args(a)[1]).collect())
    }

    /// The terms that goals are given in.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl InterpreterProgram {
    /// The number of a fact or move.
    fn number(&self, numbers: &HashMap<Term, u32>, t: Term) -> Result<u32, Error> {
        numbers.get(&t).copied().ok_or_else(|| {
            ErrorKind::Budget("play met a fact or move that the analysis of the rules did not foresee".into())
                .without_place()
        })
    }
}
