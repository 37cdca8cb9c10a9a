//! Random playouts and children of a state, by the evaluator that a trial finds cheaper.
//!
//! Trials count work (edges followed, vectors read) in seeded random play instead of measuring time. So a sheet is played
//! the same way, random number for random number, on every machine and under any load.

use crate::bit_parallel::{BitParallelEvaluator, BitParallelProgram, LANES};
use crate::error::Error;
use crate::evaluator::{Backend, Engine, Evaluator, Turn};
use crate::event_driven::Wiring;
use crate::game::{GdlGame, GdlState};
use crate::move_deltas;
use ludex_core::{Game, MAX_PLAYERS, Move, Player, Rng};
use std::cell::RefCell;
use std::sync::OnceLock;

/// The bit-parallel programs of a game, and when to use them.
#[derive(Default)]
pub(crate) struct BitParallelPlan {
    /// For playouts: computes only the facts that the result depends on. `None` if the rules are interpreted.
    playouts: Option<BitParallelProgram>,
    /// For children: computes all facts. Compiled on first use.
    children: OnceLock<Option<BitParallelProgram>>,
    /// Whether bit-parallel evaluation is cheaper for a batch of playouts.
    pub preferred: bool,
}

/// With fewer playouts, most lanes of bit-parallel evaluation would be unused.
const MIN_BATCH: u64 = LANES as u64 / 2;

/// The steps of a trial.
const TRIAL_STEPS: u32 = 300;

impl GdlGame {
    /// Compiles move deltas, and keeps them if roles take turns and a trial finds them cheaper than events alone.
    pub(crate) fn compile_moves(&mut self) -> Result<(), Error> {
        let Engine::Propnet { net, .. } = &self.engine else { return Ok(()) };
        let idle: Option<Vec<u32>> = match self.info().players() {
            1 => Some(vec![u32::MAX]),
            _ => self.inferred.idle.iter().copied().collect(),
        };
        let Some(idle) = idle.filter(|_| self.inferred.turn_taking) else { return Ok(()) };
        let Some((net, deltas)) = move_deltas::compile(net, &idle) else { return Ok(()) };
        let wiring = Wiring::new(&net, Some(&deltas));
        let engine = Engine::Propnet { net: Box::new(net), wiring: Box::new(wiring), deltas: Some(Box::new(deltas)) };
        let events = self.trial_cost()?;
        let before = std::mem::replace(&mut self.engine, engine);
        if self.trial_cost()? > events {
            self.engine = before;
        }
        Ok(())
    }

    /// Compiles the network for bit-parallel playouts, and decides whether they are preferred.
    pub(crate) fn plan_bit_parallel(&mut self) -> Result<(), Error> {
        let Engine::Propnet { net, .. } = &self.engine else { return Ok(()) };
        let program = BitParallelProgram::new(net, &self.inferred.idle, false, |goal| self.payoff(goal) as f64);
        // Drawing a move and copying the state cost a sequential playout some ten edges a step beyond its events.
        let line = self.trial_cost()? / TRIAL_STEPS as u64 + 10;
        self.bit_parallel.preferred = program.cost_of_step() < line * LANES as u64;
        self.bit_parallel.playouts = Some(program);
        Ok(())
    }

    /// The cost of seeded random steps with the current engine, in edges.
    fn trial_cost(&self) -> Result<u64, Error> {
        let mut evaluator = self.engine.new_evaluator()?;
        let mut rng = Rng::new(1);
        self.engine.seek(&mut evaluator, &self.init);
        for _ in 0..TRIAL_STEPS {
            if self.turn(&mut evaluator) == Turn::Over {
                self.engine.seek(&mut evaluator, &self.init);
                if self.turn(&mut evaluator) == Turn::Over {
                    break;
                }
            }
            self.random_step(&mut evaluator, &mut rng);
        }
        Ok(if let Backend::Propnet(m) = &evaluator.backend { m.edges_followed } else { 0 })
    }

    /// Makes a uniformly random joint move; the game must not be over. Roles draw in their order, and only if they have a
    /// choice. `Evaluator::counts` must be valid.
    #[inline]
    pub(crate) fn random_step(&self, evaluator: &mut Evaluator, rng: &mut Rng) {
        let roles = self.info().players();
        let mut joint = [0; MAX_PLAYERS];
        for (r, m) in joint[..roles].iter_mut().enumerate() {
            let n = evaluator.counts[r];
            *m = self.engine.nth_legal(evaluator, r, if n > 1 { rng.below(n) } else { 0 });
        }
        self.engine.step(evaluator, &joint[..roles]);
    }

    /// Implements [`Game::rollouts`].
    pub(crate) fn random_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        if self.bit_parallel.preferred && n >= MIN_BATCH && !self.hidden(s) {
            return self.bit_parallel_playouts(s, n, rng, totals);
        }
        self.sequential_playouts(s, n, rng, totals)
    }

    /// Plays `n` random playouts from a state one after another, event-driven. Draws the same random numbers as playing single
    /// moves. Adds the payoffs to `totals` and returns the moves made.
    pub fn sequential_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let mut plies = 0;
        if self.hidden(s) {
            // The step under way is completed first, with new draws for each playout.
            for _ in 0..n {
                let mut s = s.clone();
                while self.hidden(&s) {
                    let Some(m) = self.sample(&s, rng) else { break };
                    self.play(&mut s, m);
                    plies += 1;
                }
                plies += self.sequential_playouts(&s, 1, rng, totals);
            }
            return plies;
        }
        self.with_evaluator(|evaluator| {
            self.engine.seek(evaluator, self.fact_words(s));
            self.turn(evaluator);
            let start = self.engine.snapshot(evaluator).filter(|_| n > 1);
            for i in 0..n {
                if i > 0 {
                    match &start {
                        Some(start) => self.engine.restore(evaluator, start),
                        None => self.engine.seek(evaluator, self.fact_words(s)),
                    }
                }
                plies += self.sequential_playout(evaluator, rng, totals);
            }
        });
        plies
    }

    /// Plays one playout from the state of the evaluator to the end or to the horizon. Returns the moves made.
    #[inline]
    fn sequential_playout(&self, evaluator: &mut Evaluator, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let horizon = self.info().horizon;
        let cap = horizon.map_or(u64::MAX, |h| h.plies as u64);
        let mut played = 0;
        let payoffs = loop {
            let Turn::Choose(choosers) = self.turn(evaluator) else { break self.payoffs(evaluator) };
            if let Some(h) = horizon.filter(|_| played >= cap) {
                break h.payoffs;
            }
            self.random_step(evaluator, rng);
            played += choosers.count_ones() as u64;
        };
        for (r, total) in totals.iter_mut().enumerate() {
            *total += payoffs[Player(r as u8)] as f64;
        }
        played
    }

    /// Plays `n` random playouts from a state, 256 at a time, bit-parallel. Adds the payoffs to `totals` and returns the moves
    /// made. Sequential where a step is under way or the rules are interpreted.
    pub fn bit_parallel_playouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let Some(program) = self.bit_parallel.playouts.as_ref().filter(|_| !self.hidden(s)) else {
            return self.sequential_playouts(s, n, rng, totals);
        };
        let cap = self.info().horizon.map_or(u32::MAX, |h| h.plies);
        let sums = self.with_bit_parallel(program, |lanes| lanes.playouts(program, self.fact_words(s), n, cap, rng));
        totals.iter_mut().zip(&sums.payoffs).for_each(|(t, p)| *t += p);
        sums.plies
    }

    /// Replaces `out` by the legal moves and the states they lead to. Bit-parallel if a single role chooses.
    pub fn children(&self, s: &GdlState, out: &mut Vec<(Move, GdlState)>) {
        out.clear();
        let mut moves = Vec::new();
        self.legal(s, &mut moves);
        let plain = |m: Move| {
            let mut child = s.clone();
            self.play(&mut child, m);
            (m, child)
        };
        let Engine::Propnet { net, .. } = &self.engine else { return out.extend(moves.into_iter().map(plain)) };
        let program = self.bit_parallel.children.get_or_init(|| {
            Some(BitParallelProgram::new(net, &self.inferred.idle, true, |goal| self.payoff(goal) as f64))
        });
        // Only a choice that completes the step leads to new facts.
        let joint = self.with_evaluator_at(s, |evaluator| {
            let Turn::Choose(choosers) = self.turn(evaluator) else { return None };
            let alone = choosers.count_ones() == 1;
            let roles = self.info().players();
            alone.then(|| {
                (
                    choosers.trailing_zeros(),
                    (0..roles).map(|r| self.engine.nth_legal(evaluator, r, 0)).collect::<Vec<_>>(),
                )
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
        let facts = self.with_bit_parallel(program, |l| l.children(program, self.fact_words(s), &lanes));
        for (m, list) in moves.into_iter().zip(facts) {
            let mut bits = vec![0; self.init.len()];
            list.iter().for_each(|&f| crate::bits::set(&mut bits, f as usize));
            out.push((m, self.state(&bits)));
        }
    }

    /// Calls `f` with this thread's bit-parallel evaluator for a program.
    fn with_bit_parallel<T>(&self, program: &BitParallelProgram, f: impl FnOnce(&mut BitParallelEvaluator) -> T) -> T {
        thread_local!(static KEPT: RefCell<Option<BitParallelEvaluator>> = const { RefCell::new(None) });
        KEPT.with_borrow_mut(|kept| {
            *kept = kept.take().filter(|lanes| lanes.is_for(program));
            f(kept.get_or_insert_with(|| BitParallelEvaluator::new(program)))
        })
    }
}
