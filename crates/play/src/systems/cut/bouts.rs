//! Games in which everything about one side's decisions is written down: what they cost, what the net did, and what they
//! lost by exact play.
//!
//! Regret of a decision is what the best move is worth to the player who decides, minus what the chosen one is: in payoff (2
//! for a win thrown away), and in the game's own unit (boxes). It is known where the game has a solver for the position at
//! which the game began. Where only winning counts, payoff is the one to look at: a player who is lost, or sure to win, has
//! no reason to care for boxes.

use crate::spec::Spec;
use crate::stats::{Outcome, Pair, Pairs, bootstrap_interval};
use crate::store::{Json, Run, RunError};
use crate::systems::measure::LEVEL;
use crate::table::Table;
use cpu_time::ThreadTime;
use ludex_core::{Limit, Move, Player, Rng};
use serde::{Deserialize, Serialize};

/// Regret in boxes.
pub(super) const BOXES: usize = 0;
/// Regret in payoff.
pub(super) const PAYOFF: usize = 1;

/// One decision of our side.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Decision {
    /// Processor milliseconds.
    pub ms: f64,
    /// Simulations.
    pub sims: f64,
    /// How often the net was asked, and was sure.
    pub asked: f64,
    pub cut: f64,
    /// What was lost, by exact play: in the game's unit, and in payoff.
    pub regret: Option<[f32; 2]>,
    /// The same player moves again: in Dots and Boxes, a box was closed.
    pub again: bool,
}

/// A game of ours against a rival.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bout {
    pub outcome: Outcome,
    pub moves: Vec<u32>,
    pub ours: Vec<Decision>,
    pub rival_ms: f64,
    pub rival_moves: usize,
}

/// Who plays whom.
pub(super) struct Match<'a> {
    pub table: &'a dyn Table,
    pub ours: &'a Spec,
    pub rival: &'a Spec,
    /// Every position is played from both seats, then again from the first.
    pub starts: &'a [String],
    pub games: usize,
    pub seed: u64,
}

impl Match<'_> {
    /// Plays what is missing; kept under this name. Costs are times, so these parts are not the same when made again.
    pub fn play(&self, run: &Run<'_>, name: &str) -> Result<Bouts, RunError> {
        for spec in [self.ours, self.rival] {
            self.table.agent(spec, 0).map_err(|e| RunError::Config(format!("agent \"{spec}\": {e}")))?;
        }
        let pairs = self.games.div_ceil(2).max(1);
        let parts = run.stage(name, pairs, |i| Json([self.bout(i, 0), self.bout(i, 1)]))?;
        Ok(Bouts(parts.into_iter().map(|Json(pair)| pair).collect()))
    }

    /// A game in which we are player `seat`.
    fn bout(&self, pair: usize, seat: u8) -> Bout {
        let seed = Rng::derive(Rng::derive(self.seed, pair as u64), seat as u64);
        let start = &self.starts[pair % self.starts.len()];
        let mut position = self.table.position(start).expect("the positions have been checked");
        let solution = self.table.solve(&*position);
        let build =
            |spec: &Spec, n| self.table.agent(spec, Rng::derive(seed, n)).expect("the agents have been checked");
        let mut agents = [build(self.ours, 0), build(self.rival, 1)];
        agents.iter_mut().for_each(|a| a.start(&*position));
        let mut bout = Bout { outcome: Outcome::Draw, moves: vec![], ours: vec![], rival_ms: 0.0, rival_moves: 0 };
        let cap = self.table.info().horizon.map_or(10_000, |h| h.plies as usize);
        while position.outcome().is_none() && bout.moves.len() < cap {
            let mover = position.mover();
            let turn = (mover.0 != seat) as usize;
            let clock = ThreadTime::now();
            let choice = agents[turn].choose(&Limit::default());
            let ms = 1e3 * clock.elapsed().as_secs_f64();
            let worth = solution.as_ref().filter(|_| turn == 0).and_then(|s| s.worth(&*position));
            position.play(choice.mv).expect("agents play legal moves");
            agents.iter_mut().for_each(|a| a.observe(choice.mv));
            bout.moves.push(choice.mv.0);
            if turn == 1 {
                bout.rival_ms += ms;
                bout.rival_moves += 1;
                continue;
            }
            let tally = agents[0].tally();
            let count = |name: &str| tally.iter().find(|(k, _)| *k == name).map_or(0.0, |(_, n)| *n);
            bout.ours.push(Decision {
                ms,
                sims: choice.simulations as f64,
                asked: count("asked"),
                cut: count("cut"),
                regret: worth.and_then(|w| lost(&w, choice.mv)),
                again: position.mover() == mover,
            });
        }
        let payoffs = position.outcome().or(self.table.info().horizon.map(|h| h.payoffs));
        let mine = payoffs.map_or(0.0, |p| p[Player(seat)] - p[Player(1 - seat)]);
        bout.outcome = match mine {
            m if m > 0.0 => Outcome::Win,
            m if m < 0.0 => Outcome::Loss,
            _ => Outcome::Draw,
        };
        bout
    }
}

/// What a move loses against the best one.
fn lost(worth: &[crate::table::Worth], m: Move) -> Option<[f32; 2]> {
    let chosen = worth.iter().find(|w| w.mv == m)?;
    let best = worth.iter().fold(*chosen, |b, w| if w.margin > b.margin { *w } else { b });
    Some([best.margin - chosen.margin, best.payoff - chosen.payoff])
}

/// Games in pairs, both seats from one position.
pub(super) struct Bouts(pub Vec<[Bout; 2]>);

impl Bouts {
    pub fn all(&self) -> impl Iterator<Item = &Bout> {
        self.0.iter().flatten()
    }

    fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.all().flat_map(|b| &b.ours)
    }

    pub fn games(&self) -> usize {
        2 * self.0.len()
    }

    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        self.0.iter().for_each(|[a, b]| pairs.record(Pair { first: a.outcome, second: b.outcome }));
        pairs
    }

    /// The mean of something over our decisions.
    pub fn mean(&self, of: impl Fn(&Decision) -> f64) -> f64 {
        let n = self.decisions().count().max(1);
        self.decisions().map(of).sum::<f64>() / n as f64
    }

    pub fn ms(&self) -> f64 {
        self.mean(|d| d.ms)
    }

    pub fn rival_ms(&self) -> f64 {
        let moves: usize = self.all().map(|b| b.rival_moves).sum();
        self.all().map(|b| b.rival_ms).sum::<f64>() / moves.max(1) as f64
    }

    /// Our moves in a game.
    pub fn moves(&self) -> f64 {
        self.decisions().count() as f64 / self.games().max(1) as f64
    }

    /// Regret for each of our decisions, in [`BOXES`] or [`PAYOFF`]; `None` without a solver.
    pub fn regret(&self, unit: usize) -> Option<f64> {
        let known: Vec<f64> = self.decisions().filter_map(|d| Some(d.regret?[unit] as f64)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    /// What each pair of games says about the regret per decision: their mean is that of all decisions, for a pair with more
    /// of them weighs more (the linearised ratio).
    fn regrets(&self, unit: usize) -> Vec<f64> {
        let of = |pair: &[Bout; 2]| {
            let known = pair.iter().flat_map(|b| &b.ours).filter_map(|d| Some(d.regret?[unit] as f64));
            known.fold((0.0, 0.0), |(sum, n), r| (sum + r, n + 1.0))
        };
        let pairs: Vec<(f64, f64)> = self.0.iter().map(of).collect();
        let (sum, n) = pairs.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let (ratio, usual) = (sum / f64::max(n, 1.0), f64::max(n, 1.0) / pairs.len().max(1) as f64);
        pairs.iter().map(|(sum, n)| ratio + (sum - ratio * n) / usual).collect()
    }
}

/// What is lost a decision, over the seeds of a row: the mean, and where it lies, starting positions being the unit.
pub(super) fn regret_text(rows: &[Bouts], unit: usize) -> String {
    let known: Vec<f64> = rows.iter().filter_map(|b| b.regret(unit)).collect();
    if known.is_empty() {
        return "-".into();
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let by_seed: Vec<Vec<f64>> = rows.iter().map(|b| b.regrets(unit)).collect();
    let pairs = by_seed.iter().map(Vec::len).min().unwrap_or(0);
    let units: Vec<f64> =
        (0..pairs).map(|i| by_seed.iter().map(|s| s[i]).sum::<f64>() / by_seed.len() as f64).collect();
    match bootstrap_interval(&units, LEVEL, 2_000, &mut Rng::new(1)) {
        Some(i) => format!("{mean:.4} [{:.4}, {:.4}]", i.low.max(0.0), i.high),
        None => format!("{mean:.4}"),
    }
}
