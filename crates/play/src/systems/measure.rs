//! How strong a learned agent is: against fixed opponents, and its graded levels against one another.

use crate::arena::{Contest, Openings, tally};
use crate::selfplay::random_length;
use crate::spec::Spec;
use crate::stats::*;
use crate::store::{Run, RunError};
use crate::table::Table;
use ludex_core::Rng;
use serde::{Deserialize, Serialize};

/// Intervals are at this level.
pub(crate) const LEVEL: f64 = 0.95;

/// What is measured at the end of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Games against each anchor.
    pub games: usize,
    /// Simulations a move, of the agent and of the UCT anchor.
    pub sims: u64,
    /// Playout plies at most for each anchor.
    pub work: f64,
    /// Simulations a move of the graded levels.
    pub levels: Vec<u64>,
    /// Games for each two levels.
    pub level_games: usize,
    /// Random plies before each pair of games.
    pub opening_plies: u32,
}

/// A match against a fixed opponent.
#[derive(Clone, Debug, Serialize)]
pub struct Anchor {
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
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Its number, from 1.
    pub level: usize,
    /// What to type.
    pub agent: Spec,
    /// Its rating, level 1 being 0.
    pub elo: Estimate,
}

/// How strong an agent is.
#[derive(Clone, Debug, Serialize)]
pub struct Strength {
    /// Against fixed opponents.
    pub anchors: Vec<Anchor>,
    /// The graded levels.
    pub levels: Vec<Level>,
}

/// Simulations a move, so that so many matches of a game take at most so many playout plies; within bounds.
pub(crate) fn simulations(table: &dyn Table, work: f64, matches: usize, least: u64, most: u64) -> u64 {
    let length = random_length(table).max(1.0);
    ((work / (matches.max(1) as f64 * length * length)) as u64).clamp(least.min(most), most)
}

/// What a contest of two says about its first agent.
pub fn summary(contest: &Contest, results: &[crate::arena::PairResult]) -> Anchor {
    let t = &tally(contest, results)[0];
    let (p, wdl) = (t.pairs.pentanomial(), t.pairs.wdl());
    Anchor {
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

/// Rates the agents of a contest among themselves, the first at 0 Elo; nothing if they cannot be rated.
pub(crate) fn grade(run: &Run<'_>, table: &dyn Table, contest: &Contest) -> Result<Vec<Level>, RunError> {
    let results = run.contest("levels", table, contest)?;
    let encounter = |t: &crate::arena::Tally| Encounter { a: t.a, b: t.b, record: Record::Pairs(t.pairs) };
    let encounters = tally(contest, &results).iter().map(encounter).collect();
    let pool = Pool { players: contest.agents.len(), anchor: 0, first_advantage: true, encounters };
    let Ok(ratings) = pool.rate(LEVEL) else { return Ok(Vec::new()) };
    let level = |(i, agent): (usize, &Spec)| Level { level: i + 1, agent: agent.clone(), elo: ratings.players[i] };
    Ok(contest.agents.iter().enumerate().map(level).collect())
}

impl Measure {
    /// Measures an agent that takes `sims=`; `None` where contests of two cannot be held.
    pub fn strength(
        &self,
        run: &Run<'_>,
        table: &dyn Table,
        agent: &Spec,
        seed: u64,
    ) -> Result<Option<Strength>, RunError> {
        if table.info().players() != 2 || self.games == 0 {
            return Ok(None);
        }
        let contest = |agents: Vec<Spec>, games: usize, n: u64| Contest {
            game: table.info().name.clone(),
            agents,
            pairs: games.div_ceil(2),
            openings: Openings::Random(self.opening_plies),
            seed: Rng::derive(seed, n),
            sprt: None,
        };
        let at = |spec: &Spec, sims: u64| {
            let mut spec = spec.clone();
            spec.set("sims", sims);
            spec
        };
        let sims = simulations(table, self.work, self.games, 1, self.sims);
        let mut anchors = Vec::new();
        for (i, opponent) in [Spec::word("random"), at(&Spec::word("uct"), sims)].into_iter().enumerate() {
            let contest = contest(vec![at(agent, sims), opponent], self.games, i as u64);
            let results = run.contest(["against-random", "against-uct"][i], table, &contest)?;
            anchors.push(summary(&contest, &results));
        }
        let levels = match self.levels.len() {
            0 | 1 => Vec::new(),
            _ => {
                let agents = self.levels.iter().map(|&n| at(agent, n)).collect();
                grade(run, table, &contest(agents, self.level_games, 2))?
            }
        };
        Ok(Some(Strength { anchors, levels }))
    }
}
