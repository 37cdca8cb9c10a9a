//! How strong a learned agent is: against fixed opponents, and its graded levels against one another.

use crate::driver::{Context, Stream};
use crate::store::Result;
use ludex_core::Rng;
use ludex_play::arena::{Contest, PairResult, Tally, tally};
use ludex_play::openings::random_length;
use ludex_play::stats::*;
use ludex_play::{Spec, Table};
use serde::{Deserialize, Serialize};

/// Intervals are at this level.
pub const LEVEL: f64 = 0.95;

/// What is measured at the end of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Games against each opponent; 0: nothing is measured.
    pub games: usize,
    /// Simulations a move, of the agent and of opponents that have them.
    pub sims: Option<u64>,
    /// Nodes a move, where the agent counts those instead.
    pub nodes: Option<u64>,
    /// Milliseconds of processor time a move, of the agent and of every opponent but `random`, instead of counts.
    pub cpu_ms: Option<u64>,
    /// Playout plies at most for each opponent: fewer simulations, if that is not enough.
    pub work: Option<f64>,
    /// Simulations or nodes a move of the graded levels.
    pub levels: Vec<u64>,
    /// Games for each two levels.
    pub level_games: usize,
    /// Random plies before each pair of games.
    pub opening_plies: u32,
}

/// A match against a fixed opponent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatchSummary {
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

/// An agent of a given strength.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Level {
    /// Its number, from 1.
    pub level: usize,
    /// What to type.
    pub agent: Spec,
    /// Its rating, level 1 being 0.
    pub elo: Estimate,
}

/// How strong an agent is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Strength {
    /// Against fixed opponents.
    pub anchors: Vec<MatchSummary>,
    /// The graded levels.
    pub levels: Vec<Level>,
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

impl Measure {
    /// An agent with so many simulations or nodes a move.
    fn at(&self, spec: &Spec, budget: u64) -> Spec {
        let mut spec = spec.clone().without("cpu_ms");
        spec.set(if self.nodes.is_some() || self.cpu_ms.is_some() { "nodes" } else { "sims" }, budget);
        spec
    }

    /// An agent as it is measured against others: with equal time, or with so many simulations or nodes a move.
    fn against(&self, spec: &Spec, budget: u64) -> Spec {
        match self.cpu_ms {
            Some(ms) => {
                let mut spec = spec.clone().without("nodes").without("sims");
                spec.set("cpu_ms", ms);
                spec
            }
            None => self.at(spec, budget),
        }
    }

    /// Measures an agent; `None` where nothing is to be measured, or contests of two cannot be held. Opponents other than
    /// `random` get as much as the agent.
    pub fn strength(&self, cx: &Context<'_>, agent: &Spec, opponents: &[Spec]) -> Result<Option<Strength>> {
        let (table, seed) = (cx.table, cx.seed(Stream::Measure));
        if table.info().players() != 2 || self.games == 0 {
            return Ok(None);
        }
        let contest = |agents: Vec<Spec>, games: usize, n: u64| {
            Contest::new(table, agents, (games, self.opening_plies), Rng::derive(seed, n))
        };
        let most = self.nodes.or(self.sims).unwrap_or(1000).max(1);
        let budget = match self.work {
            Some(work) => affordable_simulations(table, work, self.games, 1, most),
            None => most,
        };
        let mut anchors = Vec::new();
        for (i, opponent) in opponents.iter().enumerate() {
            let other = if opponent.name == "random" { opponent.clone() } else { self.against(opponent, budget) };
            let name = match opponent.get("eval").is_some() {
                true => "against-untrained".to_string(),
                false => format!("against-{}", opponent.name),
            };
            let contest = contest(vec![self.against(agent, budget), other], self.games, i as u64);
            anchors.push(summary(&contest, &cx.run.contest(&name, table, &contest)?));
        }
        let levels = match self.levels.len() {
            0 | 1 => Vec::new(),
            _ => {
                let agents = self.levels.iter().map(|&n| self.at(agent, n)).collect();
                grade(cx, &contest(agents, self.level_games, 2))?
            }
        };
        Ok(Some(Strength { anchors, levels }))
    }
}

/// Rates the agents of a contest among themselves, the first at 0 Elo; nothing if they cannot be rated.
fn grade(cx: &Context<'_>, contest: &Contest) -> Result<Vec<Level>> {
    let results = cx.run.contest("levels", cx.table, contest)?;
    let encounter = |t: &Tally| Encounter { a: t.a, b: t.b, record: Record::Pairs(t.pairs) };
    let encounters = tally(contest, &results).iter().map(encounter).collect();
    let pool = Pool { players: contest.agents.len(), anchor: 0, first_advantage: true, encounters };
    let Ok(ratings) = pool.rate(LEVEL) else { return Ok(Vec::new()) };
    let level = |(i, agent): (usize, &Spec)| Level { level: i + 1, agent: agent.clone(), elo: ratings.players[i] };
    Ok(contest.agents.iter().enumerate().map(level).collect())
}
