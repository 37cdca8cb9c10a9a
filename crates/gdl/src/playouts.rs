//! Random playouts and children, by whichever evaluator a counted trial finds cheaper.
//!
//! Trials count work (edges followed, vectors read) on seeded random lines instead of measuring time, so that the same sheet
//! is played the same way, draw for draw, on every machine and under any load.

use crate::desk::{At, Desk, Engine, Turn};
use crate::error::Error;
use crate::event::Wiring;
use crate::game::{GdlGame, GdlState};
use crate::lanes::{LANES, Lanes, Program};
use crate::tapes;
use ludex_core::{Game, MAX_PLAYERS, Move, Player, Rng};
use std::cell::RefCell;
use std::sync::OnceLock;

/// How many positions are evaluated at once.
#[derive(Default)]
pub(crate) struct LanePlan {
    /// For playouts: only the facts that matter.
    playouts: Option<Program>,
    /// For children: all facts. Made when first asked for.
    children: OnceLock<Option<Program>>,
    /// Lanes are cheaper for many playouts.
    pub better: bool,
}

/// Fewer playouts than this leave most lanes idle.
const MANY: u64 = LANES as u64 / 2;

/// Steps of a trial.
const STEPS: u32 = 300;

impl GdlGame {
    /// Gives moves tapes, if roles wait for one another and a trial finds that cheaper than events alone.
    pub(crate) fn compile_moves(&mut self) -> Result<(), Error> {
        let Engine::Net { net, .. } = &self.engine else { return Ok(()) };
        let idle: Option<Vec<u32>> = match self.info().players() {
            1 => Some(vec![u32::MAX]),
            _ => self.habits.idle.iter().copied().collect(),
        };
        let Some(idle) = idle.filter(|_| self.habits.turn_taking) else { return Ok(()) };
        let Some((net, tapes)) = tapes::compile(net, &idle) else { return Ok(()) };
        let wiring = Wiring::new(&net, Some(&tapes));
        let engine = Engine::Net { net: Box::new(net), wiring: Box::new(wiring), tapes: Some(Box::new(tapes)) };
        let events = self.trial()?;
        let before = std::mem::replace(&mut self.engine, engine);
        if self.trial()? > events {
            self.engine = before;
        }
        Ok(())
    }

    /// Compiles the net for lanes, and decides whether they are for playouts.
    pub(crate) fn plan_lanes(&mut self) -> Result<(), Error> {
        let Engine::Net { net, .. } = &self.engine else { return Ok(()) };
        let program = Program::new(net, &self.habits.idle, false, |goal| self.payoff(goal) as f64);
        // Finding a move and moving the state cost a single line some ten edges beyond its events.
        let line = self.trial()? / STEPS as u64 + 10;
        self.lanes.better = program.cost_of_step() < line * LANES as u64;
        self.lanes.playouts = Some(program);
        Ok(())
    }

    /// What seeded random steps cost this engine.
    fn trial(&self) -> Result<u64, Error> {
        let mut desk = self.engine.desk()?;
        let mut rng = Rng::new(1);
        self.engine.seek(&mut desk, &self.init);
        for _ in 0..STEPS {
            if self.turn(&mut desk) == Turn::Over {
                self.engine.seek(&mut desk, &self.init);
                if self.turn(&mut desk) == Turn::Over {
                    break;
                }
            }
            self.random_step(&mut desk, &mut rng);
        }
        Ok(if let At::Net(m) = &desk.at { m.cost } else { 0 })
    }

    /// One uniformly random joint move; the game must not be over. Roles draw in order, and only where they have a choice.
    #[inline]
    pub(crate) fn random_step(&self, desk: &mut Desk, rng: &mut Rng) {
        let roles = self.info().players();
        let mut joint = [0; MAX_PLAYERS];
        for (r, m) in joint[..roles].iter_mut().enumerate() {
            let n = desk.counts[r];
            *m = self.engine.nth(desk, r, if n > 1 { rng.below(n) } else { 0 });
        }
        self.engine.step(desk, &joint[..roles]);
    }

    /// Random playouts; see [`Game::rollouts`].
    pub(crate) fn random_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        if self.lanes.better && n >= MANY && !self.hidden(s) {
            return self.lane_playouts(s, n, rng, totals);
        }
        self.line_playouts(s, n, rng, totals)
    }

    /// Random playouts one after another, event-driven: draw for draw the same as playing single moves. Adds the payoffs to
    /// `totals` and gives the moves made.
    pub fn line_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let mut plies = 0;
        if self.hidden(s) {
            // Choices under way are completed first, anew for each playout.
            for _ in 0..n {
                let mut s = s.clone();
                while self.hidden(&s) {
                    let Some(m) = self.sample(&s, rng) else { break };
                    self.play(&mut s, m);
                    plies += 1;
                }
                plies += self.line_playouts(&s, 1, rng, totals);
            }
            return plies;
        }
        self.at_desk(|desk| {
            self.engine.seek(desk, self.fact_words(s));
            self.turn(desk);
            let start = self.engine.snapshot(desk).filter(|_| n > 1);
            for i in 0..n {
                if i > 0 {
                    match &start {
                        Some(start) => self.engine.restore(desk, start),
                        None => self.engine.seek(desk, self.fact_words(s)),
                    }
                }
                plies += self.line_playout(desk, rng, totals);
            }
        });
        plies
    }

    /// Plays from where the desk is to the end, or to the horizon.
    #[inline]
    fn line_playout(&self, desk: &mut Desk, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let horizon = self.info().horizon;
        let cap = horizon.map_or(u64::MAX, |h| h.plies as u64);
        let mut played = 0;
        let payoffs = loop {
            let Turn::Choose(choosers) = self.turn(desk) else { break self.payoffs(desk) };
            if let Some(h) = horizon.filter(|_| played >= cap) {
                break h.payoffs;
            }
            self.random_step(desk, rng);
            played += choosers.count_ones() as u64;
        };
        for (r, total) in totals.iter_mut().enumerate() {
            *total += payoffs[Player(r as u8)] as f64;
        }
        played
    }

    /// Random playouts many at a time, bit-parallel. Adds the payoffs to `totals` and gives the moves made.
    pub fn lane_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let Some(program) = self.lanes.playouts.as_ref().filter(|_| !self.hidden(s)) else {
            return self.line_playouts(s, n, rng, totals);
        };
        let cap = self.info().horizon.map_or(u32::MAX, |h| h.plies);
        let sums = self.in_lanes(program, |lanes| lanes.playouts(program, self.fact_words(s), n, cap, rng));
        totals.iter_mut().zip(&sums.payoffs).for_each(|(t, p)| *t += p);
        sums.plies
    }

    /// Replaces `out` by the legal moves and the states they lead to, evaluated side by side where that is possible.
    pub fn children(&self, s: &GdlState, out: &mut Vec<(Move, GdlState)>) {
        out.clear();
        let mut moves = Vec::new();
        self.legal(s, &mut moves);
        let plain = |m: Move| {
            let mut child = s.clone();
            self.play(&mut child, m);
            (m, child)
        };
        let Engine::Net { net, .. } = &self.engine else { return out.extend(moves.into_iter().map(plain)) };
        let program = self
            .lanes
            .children
            .get_or_init(|| Some(Program::new(net, &self.habits.idle, true, |goal| self.payoff(goal) as f64)));
        // Only a step that this choice completes can be made in lanes.
        let joint = self.with(s, |desk| {
            let Turn::Choose(choosers) = self.turn(desk) else { return None };
            let alone = choosers.count_ones() == 1;
            let roles = self.info().players();
            alone.then(|| {
                (choosers.trailing_zeros(), (0..roles).map(|r| self.engine.nth(desk, r, 0)).collect::<Vec<_>>())
            })
        });
        let (Some(program), Some((chooser, mut joint))) = (program, joint) else {
            return out.extend(moves.into_iter().map(plain));
        };
        let index = |r: usize, m: u32| net.roles[r].legal.binary_search_by_key(&m, |x| x.0).unwrap_or(0);
        let lanes: Vec<Vec<usize>> = moves
            .iter()
            .map(|m| {
                joint[chooser as usize] = m.0;
                joint.iter().enumerate().map(|(r, &m)| index(r, m)).collect()
            })
            .collect();
        let facts = self.in_lanes(program, |l| l.children(program, self.fact_words(s), &lanes));
        for (m, list) in moves.into_iter().zip(facts) {
            let mut bits = vec![0; self.init.len()];
            list.iter().for_each(|&f| crate::bits::set(&mut bits, f as usize));
            out.push((m, self.state(&bits)));
        }
    }

    /// Calls `f` with this thread's lanes for a program.
    fn in_lanes<T>(&self, program: &Program, f: impl FnOnce(&mut Lanes) -> T) -> T {
        thread_local!(static KEPT: RefCell<Option<Lanes>> = const { RefCell::new(None) });
        KEPT.with_borrow_mut(|kept| {
            *kept = kept.take().filter(|lanes| lanes.fits(program));
            f(kept.get_or_insert_with(|| Lanes::new(program)))
        })
    }
}
