//! What learning was worth: the learned agent against fixed opponents with equal processor time.

use crate::driver::{Context, Stream};
use crate::store::Result;
use ludex_core::{LimitKind, Rng};
use ludex_play::arena::{Contest, PairResult, tally};
use ludex_play::openings::random_length;
use ludex_play::stats::*;
use ludex_play::{PartKind, Spec, Table};
use serde::{Deserialize, Serialize};

/// Intervals are at this level.
pub const LEVEL: f64 = 0.95;

/// What is measured at the end of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Games against each opponent at most; 0: nothing is measured.
    pub games: usize,
    /// Milliseconds of processor time a move, of the agent and of every opponent but `random`.
    pub cpu_ms: u64,
    /// Minutes of processor time for all these games together: fewer games if that is not enough, but ten at least.
    pub minutes: f64,
    /// Graded levels at most; 0: none.
    pub levels: usize,
    /// Fresh games between each two neighbours.
    pub level_games: usize,
    /// Milliseconds of processor time a move of the best level, turned into nodes or simulations once.
    pub level_ms: u64,
    /// Nodes or simulations a move of the best level; 0: as many as the time allows.
    pub level_budget: u64,
    /// Random plies before each pair of games, at most.
    pub opening_plies: u32,
}

/// A match against a fixed opponent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatchSummary {
    /// What the opponent is called.
    pub name: String,
    /// The learned agent.
    pub agent: Spec,
    /// The opponent.
    pub opponent: Spec,
    /// Games won, drawn and lost by the agent.
    pub wdl: Wdl,
    /// The same, as player 0 only.
    pub as_first: Wdl,
    /// The same, as player 1 only.
    pub as_second: Wdl,
    /// Its score, from 0 to 1.
    pub score: f64,
    /// Where the score lies, at the level of 95 %.
    pub interval: Interval,
    /// The share of wins.
    pub win_rate: f64,
    /// Where it lies.
    pub win_interval: Interval,
    /// The difference in Elo, and where it lies.
    pub elo: Estimate,
    /// Processor milliseconds a move of both.
    pub ms: [f64; 2],
}

/// Simulations a move, so that so many matches of a game take at most so many playout plies; within bounds.
pub fn affordable_simulations(table: &dyn Table, work: f64, matches: usize, least: u64, most: u64) -> u64 {
    let length = random_length(table).max(1.0);
    ((work / (matches.max(1) as f64 * length * length)) as u64).clamp(least.min(most), most)
}

/// What a contest of two says about its first agent.
pub fn summary(contest: &Contest, results: &[PairResult]) -> MatchSummary {
    let t = &tally(contest, results)[0];
    let (p, wdl) = (t.pairs.pentanomial(), t.pairs.wdl());
    MatchSummary {
        name: contest.agents[1].name.clone(),
        agent: contest.agents[0].clone(),
        opponent: contest.agents[1].clone(),
        as_first: t.pairs.first(),
        as_second: t.pairs.second(),
        score: wdl.score(),
        interval: score_interval(&p, LEVEL),
        win_rate: wdl.wins as f64 / wdl.games().max(1) as f64,
        win_interval: rate_interval(wdl.wins, wdl.games() as u32, LEVEL),
        elo: match_elo(&p, LEVEL),
        ms: [t.cost[0].ms_per_move(), t.cost[1].ms_per_move()],
        wdl,
    }
}

/// Opponents with names for people: the random player, the same search with nothing learned, plain UCT, alpha-beta without
/// an evaluator, and whatever was written by hand for the game.
pub fn opponents(table: &dyn Table, unlearned: &Spec) -> Vec<(String, Spec)> {
    let mut all = vec![("random".to_string(), Spec::word("random")), ("same search".into(), unlearned.clone())];
    let by_hand = table.parts().into_iter().filter(|p| p.own).filter_map(|p| match p.kind {
        PartKind::Evaluator => Some((p.name.to_string(), Spec::word("minimax").with("eval", p.name))),
        PartKind::Search => Some((p.name.to_string(), Spec::word(p.name))),
        _ => None,
    });
    all.extend(["uct", "minimax"].map(|name| (name.to_string(), Spec::word(name))));
    all.extend(by_hand);
    // An opponent that these rules do not allow is not one.
    all.retain(|(_, spec)| table.check(spec).is_ok());
    let mut seen = Vec::new();
    all.retain(|(_, spec)| !seen.contains(spec) && (seen.push(spec.clone()), true).1);
    all
}

/// An agent with so much processor time a move and no other limit.
fn timed(spec: &Spec, cpu_ms: u64) -> Spec {
    let mut spec = LimitKind::ALL.iter().fold(spec.clone(), |s, k| s.without(k.name()));
    spec.set(LimitKind::Cpu.name(), cpu_ms);
    spec
}

impl Measure {
    /// Seconds that the matches with all opponents take, roughly.
    pub fn worth_seconds(&self, cx: &Context<'_>) -> f64 {
        let opponents = opponents(cx.table, &Spec::word("pvs")).len();
        let games = (self.affordable_games(cx.table, opponents) * opponents) as f64;
        games * random_length(cx.table) * self.cpu_ms as f64 / 1000.0 / cx.run.threads() as f64
    }

    /// Seconds that grading takes, roughly.
    pub fn level_seconds(&self, cx: &Context<'_>) -> f64 {
        // The best levels take most of it: a dozen matches with half the time of the best.
        let games = if self.levels > 0 { 12 * self.level_games } else { 0 } as f64;
        games * random_length(cx.table) * self.level_ms as f64 / 2000.0 / cx.run.threads() as f64
    }

    /// A contest of so many games. Random plies at the beginning are a sixth of a random game at most: later nearly all is
    /// decided.
    pub fn contest(&self, table: &dyn Table, agents: Vec<Spec>, games: usize, seed: u64) -> Contest {
        let plies = self.opening_plies.min((random_length(table) / 6.0).round() as u32);
        Contest::new(table, agents, (games, plies), seed)
    }

    /// Games that can be played with each of so many opponents.
    fn affordable_games(&self, table: &dyn Table, opponents: usize) -> usize {
        let game_ms = random_length(table).max(1.0) * self.cpu_ms as f64;
        let games = self.minutes * 60_000.0 / (game_ms * opponents.max(1) as f64);
        self.games.min((games as usize).max(10))
    }

    /// What learning was worth: matches against all opponents with equal processor time. Nothing where contests of two cannot
    /// be held.
    pub fn worth(&self, cx: &Context<'_>, agent: &Spec, unlearned: &Spec) -> Result<Vec<MatchSummary>> {
        let (table, seed) = (cx.table, cx.seed(Stream::Measure));
        if table.info().players() != 2 || self.games == 0 {
            return Ok(Vec::new());
        }
        let opponents = opponents(table, unlearned);
        let games = self.affordable_games(table, opponents.len());
        let mut rows = Vec::new();
        for (i, (name, opponent)) in opponents.into_iter().enumerate() {
            // Some opponents written by hand know no time.
            let other = Some(timed(&opponent, self.cpu_ms)).filter(|o| name != "random" && table.check(o).is_ok());
            let other = other.unwrap_or(opponent);
            let agents = vec![timed(agent, self.cpu_ms), other];
            let contest = self.contest(table, agents, games, Rng::derive(seed, i as u64));
            let file = format!("against-{}", name.replace(' ', "-"));
            rows.push(MatchSummary { name, ..summary(&contest, &cx.run.contest(&file, table, &contest)?) });
        }
        Ok(rows)
    }
}
