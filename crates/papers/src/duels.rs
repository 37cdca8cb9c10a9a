//! Matches of an experiment: kept pair by pair, and shown over training seeds.

use crate::experiment::Experiment;
use ludex_core::Rng;
use ludex_play::arena::{Contest, PairResult, Tally, tally};
use ludex_play::stats::{Interval, Pairs, Wdl, seeds_interval};
use ludex_play::{Spec, Table};
use ludex_train::measure::{LEVEL, MatchSummary, summary};
use ludex_train::store::{Result, Run, RunError};

/// The run in which matches between what was learned are kept.
pub(crate) struct Arena<'e> {
    pub experiment: &'e Experiment,
    pub run: Run,
}

/// A match of two agents.
pub(crate) struct Duel {
    /// The training seed of the first.
    pub seed: u64,
    /// What it says about the first agent.
    pub summary: MatchSummary,
    pub pairs: Pairs,
}

/// Matches of the same agents, one for each training seed.
pub(crate) struct Duels(pub Vec<Duel>);

impl Arena<'_> {
    /// A contest of two for each training seed, kept under this name: so many games after so many random plies. `agents` gives
    /// what plays for the `i`-th of the seeds, and the seed of its contest.
    pub fn duels(
        &self,
        name: &str,
        seeds: &[u64],
        games: (usize, u32),
        agents: impl Fn(usize) -> ([Spec; 2], u64),
    ) -> Result<Duels> {
        let table = &*self.experiment.table;
        let duel = |(i, &of): (usize, &u64)| {
            let (agents, seed) = agents(i);
            let contest = Contest::new(table, agents.to_vec(), games, Rng::derive(seed, 99));
            let (tallies, results) = self.contest(&format!("{name}-seed{of}"), table, &contest)?;
            Ok(Duel { seed: of, summary: summary(&contest, &results), pairs: tallies[0].pairs })
        };
        Ok(Duels(seeds.iter().enumerate().map(duel).collect::<Result<_>>()?))
    }

    /// A contest that is kept under this name. An agent that fails makes no table: it is an error.
    pub fn contest(&self, name: &str, table: &dyn Table, contest: &Contest) -> Result<(Vec<Tally>, Vec<PairResult>)> {
        let results = self.run.contest(name, table, contest)?;
        let tallies = tally(contest, &results);
        let failures = tallies.iter().flat_map(|t| [(t.a, t.faults[0]), (t.b, t.faults[1])]);
        if let Some((agent, faults)) = failures.into_iter().find(|(_, faults)| *faults != [0, 0]) {
            let (agent, n) = (&contest.agents[agent], faults[0] + faults[1]);
            return Err(RunError::Learning(format!("agent \"{agent}\" failed in {n} games of {name}")));
        }
        Ok((tallies, results))
    }
}

impl Duel {
    pub fn score_text(&self) -> String {
        percent(self.summary.score, self.summary.interval)
    }

    /// Processor milliseconds a move of both.
    pub fn ms_text(&self) -> String {
        let [a, b] = self.summary.ms;
        format!("{a:.2}, {b:.2}")
    }
}

impl Duels {
    fn total(&self, of: impl Fn(&Pairs) -> Wdl) -> Wdl {
        self.0.iter().fold(Wdl::default(), |sum, d| sum.plus(&of(&d.pairs)))
    }

    fn mean(&self, of: impl Fn(&Duel) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }

    pub fn wdl(&self) -> Wdl {
        self.total(Pairs::wdl)
    }

    /// As player 0.
    pub fn first(&self) -> Wdl {
        self.total(Pairs::first)
    }

    /// As player 1.
    pub fn second(&self) -> Wdl {
        self.total(Pairs::second)
    }

    /// The mean over seeds.
    pub fn score(&self) -> f64 {
        self.mean(|d| d.summary.score)
    }

    pub fn score_text(&self) -> String {
        let pairs: Vec<Pairs> = self.0.iter().map(|d| d.pairs).collect();
        seeds_score_text(&pairs)
    }

    /// The share of wins, the mean over seeds.
    pub fn win_rate(&self) -> f64 {
        self.mean(|d| d.summary.win_rate)
    }

    /// Processor milliseconds a move of both, the mean over seeds.
    pub fn ms(&self) -> [f64; 2] {
        [0, 1].map(|i| self.mean(|d| d.summary.ms[i]))
    }

    /// The standard deviation of the scores of seeds.
    pub fn deviation(&self) -> f64 {
        let mean = self.score();
        let squares = self.0.iter().map(|d| (d.summary.score - mean).powi(2)).sum::<f64>();
        (squares / (self.0.len() as f64 - 1.0).max(1.0)).sqrt()
    }

    /// How many times as long a move of the first agent takes.
    pub fn time_ratio(&self) -> f64 {
        let [a, b] = self.ms();
        if b > 0.0 { a / b } else { 1.0 }
    }
}

/// The mean score over training seeds and where it lies: seeds first, pairs second.
pub(crate) fn seeds_score_text(seeds: &[Pairs]) -> String {
    let mean = seeds.iter().map(|p| p.wdl().score()).sum::<f64>() / seeds.len().max(1) as f64;
    let pairs: Vec<_> = seeds.iter().map(Pairs::pentanomial).collect();
    percent(mean, seeds_interval(&pairs, LEVEL))
}

/// As many simulations as fit into this many times the time of `n`.
pub(crate) fn equal_time(n: u64, ratio: f64) -> u64 {
    ((n as f64 * ratio).round() as u64).clamp(1, 1_000_000_000)
}

/// `12.3 % [10.0, 14.6]`
pub(crate) fn percent(score: f64, interval: Interval) -> String {
    format!("{} [{:.1}, {:.1}]", share(score), 100.0 * interval.low, 100.0 * interval.high)
}

/// `12.3 %`
pub(crate) fn share(x: f64) -> String {
    format!("{:.1} %", 100.0 * x)
}

/// Wins, draws and losses.
pub(crate) fn wdl_text(wdl: &Wdl) -> String {
    format!("{} / {} / {}", wdl.wins, wdl.draws, wdl.losses)
}
