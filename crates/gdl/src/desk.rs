//! A desk: one evaluator at one state, and the questions that the game asks it.
//!
//! Evaluators differ (a net with events, a net with tapes, the interpreter); desks make them one. Each thread keeps its own.

use crate::bits::{get, ones, select};
use crate::datalog::Work;
use crate::error::Error;
use crate::event::{Machine, Wiring};
use crate::interpreter::{Interpreter, Rules};
use crate::net::Net;
use crate::sheet::Sheet;
use crate::tapes::Tapes;
use ludex_core::{MAX_PLAYERS, Move};
use std::sync::Arc;

/// What evaluates states.
pub(crate) enum Engine {
    Net { net: Box<Net>, wiring: Box<Wiring>, tapes: Option<Box<Tapes>> },
    Rules { rules: Arc<Rules>, sheet: Box<Sheet> },
}

/// An evaluator at one state.
#[derive(Clone)]
pub(crate) struct Desk {
    pub at: At,
    /// Who chooses here, once asked.
    pub turn: Option<Turn>,
    /// The legal moves of each role, once asked and unless the game is over.
    pub counts: [u32; MAX_PLAYERS],
}

#[derive(Clone)]
pub(crate) enum At {
    Net(Box<Machine>),
    Rules(Box<Interpreter>),
}

/// Who chooses at a state, choices under way aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nobody: the game is over.
    Over,
    /// The roles in this set, one after another.
    Choose(u8),
}

impl Desk {
    /// What has been spent so far, in joining steps of the interpreter; edges and gates of a net are some sixty times cheaper.
    pub fn spent(&self) -> u64 {
        match &self.at {
            At::Net(m) => (m.cost + m.looked) / 60,
            At::Rules(i) => i.spent,
        }
    }

    /// The facts that hold.
    #[inline]
    pub fn facts(&self) -> &[u64] {
        match &self.at {
            At::Net(m) => &m.facts,
            At::Rules(i) => &i.facts,
        }
    }
}

impl Engine {
    /// A fresh evaluator.
    pub fn desk(&self) -> Result<Desk, Error> {
        let at = match self {
            Engine::Net { net, wiring, .. } => At::Net(Box::new(Machine::new(net, wiring))),
            Engine::Rules { rules, .. } => At::Rules(Box::new(Interpreter::new(rules.clone(), Work::UNLIMITED)?)),
        };
        Ok(Desk { at, turn: None, counts: [0; MAX_PLAYERS] })
    }

    #[inline]
    pub fn seek(&self, desk: &mut Desk, facts: &[u64]) {
        if desk.facts() == facts {
            return;
        }
        desk.turn = None;
        match (self, &mut desk.at) {
            (Engine::Net { net, wiring, .. }, At::Net(m)) => m.seek(net, wiring, facts),
            (_, At::Rules(i)) => i.seek(facts).expect("interpreting is unlimited"),
            _ => {}
        }
    }

    /// The desk as it is, if going back to it by copying is cheap.
    pub fn snapshot(&self, desk: &Desk) -> Option<Desk> {
        match self {
            Engine::Net { wiring, .. } if Machine::copies_cheaply(wiring) => Some(desk.clone()),
            _ => None,
        }
    }

    /// Goes back to a snapshot.
    #[inline]
    pub fn restore(&self, desk: &mut Desk, snapshot: &Desk) {
        if let (Engine::Net { wiring, .. }, At::Net(m), At::Net(saved)) = (self, &mut desk.at, &snapshot.at) {
            m.copy(wiring, saved);
            (desk.turn, desk.counts) = (snapshot.turn, snapshot.counts);
        }
    }

    /// The number of legal moves of a role.
    #[inline]
    pub fn count(&self, desk: &Desk, role: usize) -> u32 {
        match (self, &desk.at) {
            (Engine::Net { wiring, .. }, At::Net(m)) => {
                let mut count = 0;
                for g in wiring.groups[role].iter().filter(|g| m.holds(g.guard)) {
                    for w in m.legal(g) {
                        count += w.count_ones();
                    }
                }
                count
            }
            (_, At::Rules(i)) => i.legal[role].len() as u32,
            _ => 0,
        }
    }

    /// A role's `n`th legal move; the order is the same whenever the state is.
    #[inline]
    pub fn nth(&self, desk: &Desk, role: usize, mut n: u32) -> u32 {
        match (self, &desk.at) {
            (Engine::Net { wiring, .. }, At::Net(m)) => {
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
            (_, At::Rules(i)) => i.legal[role][n as usize],
            _ => 0,
        }
    }

    /// Replaces `out` by a role's legal moves, in order.
    pub fn legal_of(&self, desk: &Desk, role: usize, out: &mut Vec<Move>) {
        out.clear();
        match (self, &desk.at) {
            (Engine::Net { wiring, .. }, At::Net(m)) => {
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
            (_, At::Rules(i)) => out.extend(i.legal[role].iter().map(|&m| Move(m))),
            _ => {}
        }
    }

    pub fn is_legal(&self, desk: &Desk, role: usize, mv: u32) -> bool {
        match (self, &desk.at) {
            (Engine::Net { wiring, .. }, At::Net(m)) => wiring.groups[role]
                .iter()
                .any(|g| m.holds(g.guard) && g.moves.binary_search(&mv).is_ok_and(|i| get(m.legal(g), i))),
            (_, At::Rules(i)) => i.legal[role].binary_search(&mv).is_ok(),
            _ => false,
        }
    }

    pub fn terminal(&self, desk: &Desk) -> bool {
        match (self, &desk.at) {
            (Engine::Net { net, .. }, At::Net(m)) => m.holds(net.terminal),
            (_, At::Rules(i)) => i.terminal,
            _ => true,
        }
    }

    /// Makes one move of each role.
    pub fn step(&self, desk: &mut Desk, moves: &[u32]) {
        desk.turn = None;
        match (self, &mut desk.at) {
            (Engine::Net { net, wiring, tapes }, At::Net(m)) => {
                let mut does = [0; MAX_PLAYERS];
                for (r, &mv) in moves.iter().enumerate() {
                    does[r] = net.doing(r as u32, mv);
                }
                match tapes {
                    None => m.step(net, wiring, &does[..moves.len()]),
                    Some(tapes) => {
                        let busy = |r: &usize| moves[*r] != tapes.idle[*r];
                        let actor = (0..moves.len()).find(busy).unwrap_or(0);
                        if (actor + 1..moves.len()).any(|r| busy(&r)) {
                            m.step_fully(net, wiring, &does[..moves.len()]);
                        } else {
                            m.play(net, wiring, tapes, actor, does[actor]);
                        }
                    }
                }
            }
            (_, At::Rules(i)) => i.step(moves).expect("interpreting is unlimited"),
            _ => {}
        }
    }

    /// The goals of a role that hold, in increasing order.
    pub fn goals_of(&self, desk: &mut Desk, role: usize) -> Vec<i32> {
        match (self, &mut desk.at) {
            (Engine::Net { net, wiring, .. }, At::Net(m)) => {
                m.finish(net, wiring);
                net.roles[role].goals.iter().filter(|g| m.holds(g.1)).map(|g| g.0).collect()
            }
            (Engine::Rules { sheet, .. }, At::Rules(i)) => {
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
