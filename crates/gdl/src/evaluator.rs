//! One interface to the evaluators of states: the event-driven propositional network and the interpreter.
//!
//! [`Engine`] is the immutable part of a game that all threads share; an [`Evaluator`] is one thread's copy of the mutable
//! part, at one state. Every question about a state first moves the evaluator there ([`Engine::seek`]), which costs a
//! network only the difference to the state it was at. Bit-parallel evaluation has another shape and is not behind this
//! interface; see [`crate::playouts`].

use crate::bits::{get, ones, select};
use crate::datalog::WorkLimit;
use crate::error::Error;
use crate::event_driven::{EventEvaluator, Wiring};
use crate::interpreter::{Interpreter, InterpreterProgram};
use crate::move_deltas::MoveDeltas;
use crate::propnet::Propnet;
use crate::rulesheet::Rulesheet;
use ludex_core::{MAX_PLAYERS, Move};
use std::sync::Arc;

/// The compiled rules: a propositional network, or a program for the interpreter where the network would be too large.
pub(crate) enum Engine {
    Propnet { net: Box<Propnet>, wiring: Box<Wiring>, deltas: Option<Box<MoveDeltas>> },
    Interpreter { rules: Arc<InterpreterProgram>, sheet: Box<Rulesheet> },
}

/// An evaluator of either kind, at one state.
#[derive(Clone)]
pub(crate) struct Evaluator {
    pub backend: Backend,
    /// Who chooses at the state; `None` until [`crate::GdlGame`] has found out.
    pub turn: Option<Turn>,
    /// The number of legal moves of each role; valid while `turn` is `Some(Turn::Choose(_))`.
    pub counts: [u32; MAX_PLAYERS],
}

/// The evaluator proper.
#[derive(Clone)]
pub(crate) enum Backend {
    Propnet(Box<EventEvaluator>),
    Interpreter(Box<Interpreter>),
}

/// Which roles choose at a state. Choices already made in a step of simultaneous moves are not considered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// No role: the game is over.
    Over,
    /// The roles whose bit is set, one after another.
    Choose(u8),
}

impl Evaluator {
    /// Counts the work done so far, in join steps of the interpreter. An edge or gate of a network counts as a sixtieth of one.
    pub fn work_done(&self) -> u64 {
        match &self.backend {
            Backend::Propnet(m) => (m.edges_followed + m.loop_gates_evaluated) / 60,
            Backend::Interpreter(i) => i.join_steps,
        }
    }

    /// The facts of the state, as bits.
    #[inline]
    pub fn facts(&self) -> &[u64] {
        match &self.backend {
            Backend::Propnet(m) => &m.facts,
            Backend::Interpreter(i) => &i.facts,
        }
    }
}

impl Engine {
    /// Makes an evaluator, at the state without facts.
    pub fn new_evaluator(&self) -> Result<Evaluator, Error> {
        let backend = match self {
            Engine::Propnet { net, wiring, .. } => Backend::Propnet(Box::new(EventEvaluator::new(net, wiring))),
            Engine::Interpreter { rules, .. } => {
                Backend::Interpreter(Box::new(Interpreter::new(rules.clone(), WorkLimit::UNLIMITED)?))
            }
        };
        Ok(Evaluator { backend, turn: None, counts: [0; MAX_PLAYERS] })
    }

    /// Moves the evaluator to the state with these facts.
    #[inline]
    pub fn seek(&self, evaluator: &mut Evaluator, facts: &[u64]) {
        if evaluator.facts() == facts {
            return;
        }
        evaluator.turn = None;
        match (self, &mut evaluator.backend) {
            (Engine::Propnet { net, wiring, .. }, Backend::Propnet(m)) => m.seek(net, wiring, facts),
            (_, Backend::Interpreter(i)) => i.seek(facts).expect("interpreting is unlimited"),
            _ => {}
        }
    }

    /// Copies the evaluator, if restoring the copy is cheaper than seeking the state again.
    pub fn snapshot(&self, evaluator: &Evaluator) -> Option<Evaluator> {
        match self {
            Engine::Propnet { wiring, .. } if EventEvaluator::copies_cheaply(wiring) => Some(evaluator.clone()),
            _ => None,
        }
    }

    /// Moves the evaluator to the state of a snapshot, by copying.
    #[inline]
    pub fn restore(&self, evaluator: &mut Evaluator, snapshot: &Evaluator) {
        if let (Engine::Propnet { wiring, .. }, Backend::Propnet(m), Backend::Propnet(saved)) =
            (self, &mut evaluator.backend, &snapshot.backend)
        {
            m.copy(wiring, saved);
            (evaluator.turn, evaluator.counts) = (snapshot.turn, snapshot.counts);
        }
    }

    /// Counts the legal moves of a role.
    #[inline]
    pub fn count_legal(&self, evaluator: &Evaluator, role: usize) -> u32 {
        match (self, &evaluator.backend) {
            (Engine::Propnet { wiring, .. }, Backend::Propnet(m)) => {
                let mut count = 0;
                for g in wiring.groups[role].iter().filter(|g| m.holds(g.guard)) {
                    for w in m.legal(g) {
                        count += w.count_ones();
                    }
                }
                count
            }
            (_, Backend::Interpreter(i)) => i.legal[role].len() as u32,
            _ => 0,
        }
    }

    /// The `n`th legal move of a role, from 0. The order depends on the state alone; it is not always that of `legal_moves`.
    #[inline]
    pub fn nth_legal(&self, evaluator: &Evaluator, role: usize, mut n: u32) -> u32 {
        match (self, &evaluator.backend) {
            (Engine::Propnet { wiring, .. }, Backend::Propnet(m)) => {
                for g in wiring.groups[role].iter().filter(|g| m.holds(g.guard)) {
                    for (w, &word) in m.legal(g).iter().enumerate() {
                        let count = word.count_ones();
                        if n < count {
                            return g.moves[w * 64 + select(word, n) as usize];
                        }
                        n -= count;
                    }
                }
                unreachable!("the role has that many moves")
            }
            (_, Backend::Interpreter(i)) => i.legal[role][n as usize],
            _ => 0,
        }
    }

    /// Replaces `out` by the legal moves of a role, in increasing order.
    pub fn legal_moves(&self, evaluator: &Evaluator, role: usize, out: &mut Vec<Move>) {
        out.clear();
        match (self, &evaluator.backend) {
            (Engine::Propnet { wiring, .. }, Backend::Propnet(m)) => {
                let mut groups = 0;
                for g in wiring.groups[role].iter().filter(|g| m.holds(g.guard)) {
                    let before = out.len();
                    out.extend(ones(m.legal(g)).map(|i| Move(g.moves[i])));
                    groups += (out.len() > before) as u32;
                }
                if groups > 1 {
                    out.sort_unstable();
                }
            }
            (_, Backend::Interpreter(i)) => out.extend(i.legal[role].iter().map(|&m| Move(m))),
            _ => {}
        }
    }

    /// Whether a role may make this move.
    pub fn is_legal(&self, evaluator: &Evaluator, role: usize, mv: u32) -> bool {
        match (self, &evaluator.backend) {
            (Engine::Propnet { wiring, .. }, Backend::Propnet(m)) => wiring.groups[role]
                .iter()
                .any(|g| m.holds(g.guard) && g.moves.binary_search(&mv).is_ok_and(|i| get(m.legal(g), i))),
            (_, Backend::Interpreter(i)) => i.legal[role].binary_search(&mv).is_ok(),
            _ => false,
        }
    }

    /// Whether `terminal` holds.
    pub fn is_terminal(&self, evaluator: &Evaluator) -> bool {
        match (self, &evaluator.backend) {
            (Engine::Propnet { net, .. }, Backend::Propnet(m)) => m.holds(net.terminal),
            (_, Backend::Interpreter(i)) => i.terminal,
            _ => true,
        }
    }

    /// Makes a joint move: `moves[r]` is the move of role `r`.
    pub fn step(&self, evaluator: &mut Evaluator, moves: &[u32]) {
        evaluator.turn = None;
        match (self, &mut evaluator.backend) {
            (Engine::Propnet { net, wiring, deltas }, Backend::Propnet(m)) => {
                let mut does = [0; MAX_PLAYERS];
                for (r, &mv) in moves.iter().enumerate() {
                    does[r] = net.does_index(r as u32, mv);
                }
                match deltas {
                    None => m.step(net, wiring, &does[..moves.len()]),
                    Some(deltas) => {
                        let busy = |r: &usize| moves[*r] != deltas.idle[*r];
                        let actor = (0..moves.len()).find(busy).unwrap_or(0);
                        if (actor + 1..moves.len()).any(|r| busy(&r)) {
                            m.step_fully(net, wiring, &does[..moves.len()]);
                        } else {
                            m.step_by_delta(net, wiring, deltas, actor, does[actor]);
                        }
                    }
                }
            }
            (_, Backend::Interpreter(i)) => i.step(moves).expect("interpreting is unlimited"),
            _ => {}
        }
    }

    /// The goal values of a role that hold, in increasing order.
    pub fn goals(&self, evaluator: &mut Evaluator, role: usize) -> Vec<i32> {
        match (self, &mut evaluator.backend) {
            (Engine::Propnet { net, wiring, .. }, Backend::Propnet(m)) => {
                m.evaluate_goals(net, wiring);
                net.roles[role].goals.iter().filter(|g| m.holds(g.1)).map(|g| g.0).collect()
            }
            (Engine::Interpreter { sheet, .. }, Backend::Interpreter(i)) => {
                let terms = i.goals(role).expect("interpreting is unlimited");
                let mut goals: Vec<i32> =
                    terms.into_iter().filter_map(|t| sheet.text(i.terms(), t).parse().ok()).collect();
                goals.sort_unstable();
                goals.dedup();
                goals
            }
            _ => Vec::new(),
        }
    }
}
