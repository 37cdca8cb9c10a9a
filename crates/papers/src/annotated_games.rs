//! Games in which everything about one side's decisions is written down: what they cost, what the net did, and what they
//! lost by exact play.
//!
//! Regret of a decision is what the best move is worth to the player who decides, minus what the chosen one is: in payoff (2
//! for a win thrown away), and in the game's own unit (boxes). It is known where the game has a solver for the position at
//! which the game began. Where only winning counts, payoff is the one to look at: a player who is lost, or sure to win, has
//! no reason to care for boxes.

use crate::duels::seeds_score_text;
use ludex_core::{Control, Move, Player, Rng};
use ludex_play::arena::outcome;
use ludex_play::stats::{Outcome, Pair, Pairs, Wdl, bootstrap_interval};
use ludex_play::{Spec, Table, Worth, play_match};
use ludex_train::measure::LEVEL;
use ludex_train::store::{Json, Result, Run, RunError};
use serde::{Deserialize, Serialize};

/// In what regret is counted.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Boxes,
    Payoff,
}

/// One decision of our side.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Decision {
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

/// A game of ours against an opponent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AnnotatedGame {
    pub outcome: Outcome,
    pub moves: Vec<u32>,
    pub ours: Vec<Decision>,
    pub opponent_ms: f64,
    pub opponent_moves: u64,
}

/// Who plays whom.
pub(crate) struct AnnotatedMatch<'a> {
    pub table: &'a dyn Table,
    pub ours: &'a Spec,
    pub opponent: &'a Spec,
    /// Every position is played from both seats, then again from the first.
    pub starts: &'a [String],
    pub games: usize,
    pub seed: u64,
}

impl AnnotatedMatch<'_> {
    /// Plays what is missing; kept under this name. Costs are times, so these parts are not the same when made again.
    pub fn play(&self, run: &Run, name: &str) -> Result<AnnotatedGames> {
        let parts = run
            .stage(name, self.games.div_ceil(2), |i| Ok(Json([self.game(i, Player(0))?, self.game(i, Player(1))?])))?;
        let pairs = parts.iter().map(|part| Ok(part?.0)).collect::<Result<_>>()?;
        Ok(AnnotatedGames(pairs))
    }

    /// A game in which we are player `seat`.
    fn game(&self, pair: usize, seat: Player) -> Result<AnnotatedGame> {
        let seed = Rng::derive(Rng::derive(self.seed, pair as u64), seat.0 as u64);
        let start = self.table.position(&self.starts[pair % self.starts.len()]);
        let start = start.map_err(|e| RunError::Learning(format!("a starting position: {e}")))?;
        let solution = self.table.solve(&*start);
        let build = |spec: &Spec, n| {
            let agent = self.table.agent(spec, Rng::derive(seed, n));
            agent.map_err(|e| RunError::Agent(format!("agent \"{spec}\""), e))
        };
        let mut agents = [build(self.ours, 0)?, build(self.opponent, 1)?];
        agents.rotate_left(seat.index());
        let (mut ours, mut facts) = (Vec::new(), Vec::new());
        let episode = play_match(self.table, &*start, &mut agents, &Control::default(), &mut |view| {
            if view.ply.mover != seat {
                return;
            }
            let (position, choice, counters) = (view.position, &view.ply.choice, view.agent.counters());
            let count = |name: &str| counters.iter().find(|(k, _)| *k == name).map_or(0.0, |(_, n)| *n);
            let worth = solution.as_ref().and_then(|s| s.worth(position));
            ours.push(Decision {
                ms: 1e3 * view.ply.cpu,
                sims: choice.simulations as f64,
                asked: count("asked"),
                cut: count("cut"),
                regret: worth.and_then(|w| lost(&w, choice.mv)),
                again: position.legal().contains(&choice.mv) && position.facts_after(choice.mv, &mut facts) == seat,
            });
        });
        if let Some((player, _, why)) = episode.fault {
            let spec = if player == seat { self.ours } else { self.opponent };
            return Err(RunError::Learning(format!("agent \"{spec}\": {why}")));
        }
        let cost = episode.cost[seat.other().index()];
        Ok(AnnotatedGame {
            outcome: outcome(&episode.outcome, seat),
            moves: episode.plies.iter().map(|p| p.choice.mv.0).collect(),
            ours,
            opponent_ms: 1e3 * cost.cpu,
            opponent_moves: cost.moves,
        })
    }
}

/// What a move loses against the best one.
fn lost(worth: &[Worth], m: Move) -> Option<[f32; 2]> {
    let chosen = worth.iter().find(|w| w.mv == m)?;
    let best = worth.iter().fold(*chosen, |b, w| if w.margin > b.margin { *w } else { b });
    Some([best.margin - chosen.margin, best.payoff - chosen.payoff])
}

/// Games in pairs, both seats from one position.
pub(crate) struct AnnotatedGames(Vec<[AnnotatedGame; 2]>);

impl AnnotatedGames {
    pub fn all(&self) -> impl Iterator<Item = &AnnotatedGame> {
        self.0.iter().flatten()
    }

    fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.all().flat_map(|b| &b.ours)
    }

    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        self.0.iter().for_each(|[a, b]| pairs.record(Pair { first: a.outcome, second: b.outcome }));
        pairs
    }

    /// The mean of something over our decisions.
    pub fn mean(&self, of: impl Fn(&Decision) -> f64) -> f64 {
        self.decisions().map(of).sum::<f64>() / self.decisions().count().max(1) as f64
    }

    /// The same for each simulation.
    pub fn per_simulation(&self, of: impl Fn(&Decision) -> f64) -> f64 {
        self.mean(of) / self.mean(|d| d.sims).max(1.0)
    }

    fn opponent_ms(&self) -> f64 {
        let moves: u64 = self.all().map(|b| b.opponent_moves).sum();
        self.all().map(|b| b.opponent_ms).sum::<f64>() / moves.max(1) as f64
    }

    /// Our moves in a game.
    pub fn moves(&self) -> f64 {
        self.decisions().count() as f64 / (2 * self.0.len()).max(1) as f64
    }

    /// The regret for each of our decisions, and what each pair of games says about it: the mean of the latter is the former,
    /// for a pair with more decisions weighs more (the linearised ratio). `None` without a solver.
    fn regrets(&self, unit: Unit) -> Option<(f64, Vec<f64>)> {
        let of = |pair: &[AnnotatedGame; 2]| {
            let known = pair.iter().flat_map(|b| &b.ours).filter_map(|d| Some(d.regret?[unit as usize] as f64));
            known.fold((0.0, 0.0), |(sum, n), r| (sum + r, n + 1.0))
        };
        let pairs: Vec<(f64, f64)> = self.0.iter().map(of).collect();
        let (sum, n) = pairs.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let (mean, usual) = (sum / n, n / pairs.len() as f64);
        (n > 0.0).then(|| (mean, pairs.iter().map(|(sum, n)| mean + (sum - mean * n) / usual).collect()))
    }
}

/// The games of a row of a table, one match for each training seed.
pub(crate) struct SeedGames(pub Vec<AnnotatedGames>);

impl SeedGames {
    /// The mean over seeds.
    pub fn mean(&self, of: impl Fn(&AnnotatedGames) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }

    pub fn score(&self) -> f64 {
        self.mean(|g| g.pairs().wdl().score())
    }

    pub fn wdl(&self) -> Wdl {
        self.0.iter().fold(Wdl::default(), |sum, g| sum.plus(&g.pairs().wdl()))
    }

    /// Processor milliseconds a move.
    pub fn ms(&self) -> f64 {
        self.mean(|g| g.mean(|d| d.ms))
    }

    /// Won-drawn-lost, score, payoff and boxes lost a move, milliseconds a move, and the opponent's.
    pub fn cells(&self) -> [String; 6] {
        let w = self.wdl();
        [
            format!("{}-{}-{}", w.wins, w.draws, w.losses),
            seeds_score_text(&self.0.iter().map(AnnotatedGames::pairs).collect::<Vec<_>>()),
            self.regret_text(Unit::Payoff),
            self.regret_text(Unit::Boxes),
            format!("{:.1}", self.ms()),
            format!("{:.1}", self.mean(AnnotatedGames::opponent_ms)),
        ]
    }

    /// What is lost a decision: the mean, and where it lies, starting positions being the unit.
    fn regret_text(&self, unit: Unit) -> String {
        let seeds: Vec<(f64, Vec<f64>)> = self.0.iter().filter_map(|g| g.regrets(unit)).collect();
        if seeds.is_empty() {
            return "-".into();
        }
        let n = seeds.len() as f64;
        let mean = seeds.iter().map(|s| s.0).sum::<f64>() / n;
        let pairs = seeds.iter().map(|s| s.1.len()).min().unwrap_or(0);
        let units: Vec<f64> = (0..pairs).map(|i| seeds.iter().map(|s| s.1[i]).sum::<f64>() / n).collect();
        match bootstrap_interval(&units, LEVEL, 2_000, &mut Rng::new(1)) {
            Some(i) => format!("{mean:.4} [{:.4}, {:.4}]", i.low.max(0.0), i.high),
            None => format!("{mean:.4}"),
        }
    }
}
