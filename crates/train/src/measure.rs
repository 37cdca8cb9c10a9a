//! What learning was worth: the learned agent against fixed opponents with equal processor time.

use crate::driver::{Context, Stream};
use crate::store::{Result, RunError};
use ludex_core::{Control, LimitKind, Player, Rng};
use ludex_play::arena::{Contest, PairResult, tally};
use ludex_play::openings::{Openings, random_length, random_plies};
use ludex_play::stats::*;
use ludex_play::{Cost, Episode, PartKind, Spec, Table, play_match, try_in_parallel};
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
    /// Minutes of processor time for all these games together: fewer games if that is not enough, but twenty at least.
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
    let mut all = vec![("random".to_string(), Spec::word("random"))];
    if *unlearned != Spec::word("uct") {
        all.push(("same search".into(), unlearned.clone()));
    }
    let by_hand = table.parts().into_iter().filter(|p| p.own).filter_map(|p| match p.kind {
        PartKind::Evaluator => Some((p.name.to_string(), Spec::word("minimax").with("eval", p.name))),
        PartKind::Search => Some((p.name.to_string(), Spec::word(p.name))),
        _ => None,
    });
    all.extend(["uct", "minimax"].map(|name| (name.to_string(), Spec::word(name))));
    all.extend(by_hand);
    // An opponent that these rules do not allow is not one.
    all.retain(|(_, spec)| table.check(spec).is_ok());
    all
}

/// Games that are not for two. Each is played twice from the same opening: by the second agent of the contest in all places,
/// and with the first one in one place, each in turn. Whoever got more there has won.
fn in_place(cx: &Context<'_>, contest: &Contest) -> Result<MatchSummary> {
    let (table, players) = (cx.table, cx.info().players());
    let Openings::Random(plies) = contest.openings else { return Err(RunError::Learning("openings are drawn".into())) };
    let pair = |i: usize| -> Result<(Outcome, [Cost; 2])> {
        let (seed, place) = (Rng::derive(contest.seed, i as u64), i % players);
        let start = random_plies(table.start(), plies, &mut Rng::stream(seed, 0));
        let game = |first: bool| -> Result<Episode> {
            let spec = |p: usize| &contest.agents[(p != place || !first) as usize];
            let agent = |p: usize| table.agent(spec(p), Rng::derive(seed, 1 + p as u64));
            let agents: Result<Vec<_>, _> = (0..players).map(agent).collect();
            let mut agents = agents.map_err(|e| RunError::Agent("an opponent".into(), e))?;
            Ok(play_match(table, &*start, &mut agents, &Control::default(), &mut |_| {}))
        };
        let (ours, theirs, p) = (game(true)?, game(false)?, Player(place as u8));
        let outcome = match ours.outcome[p] - theirs.outcome[p] {
            d if d > 0.0 => Outcome::Win,
            d if d < 0.0 => Outcome::Loss,
            _ => Outcome::Draw,
        };
        Ok((outcome, [ours.cost[place], theirs.cost[place]]))
    };
    let (mut wdl, mut cost) = (Wdl::default(), [Cost::default(); 2]);
    for (outcome, [ours, theirs]) in try_in_parallel(2 * contest.pairs, cx.run.threads(), pair)? {
        wdl.record(outcome);
        cost[0].add(&ours);
        cost[1].add(&theirs);
    }
    let (interval, games) = (games_interval(&wdl, LEVEL), wdl.games() as u32);
    Ok(MatchSummary {
        name: contest.agents[1].name.clone(),
        agent: contest.agents[0].clone(),
        opponent: contest.agents[1].clone(),
        as_first: Wdl::default(),
        as_second: Wdl::default(),
        score: wdl.score(),
        interval,
        win_rate: wdl.wins as f64 / games.max(1) as f64,
        win_interval: rate_interval(wdl.wins, games, LEVEL),
        elo: Estimate {
            value: elo_of_score(wdl.score()),
            low: elo_of_score(interval.low),
            high: elo_of_score(interval.high),
        },
        ms: [cost[0].ms_per_move(), cost[1].ms_per_move()],
        wdl,
    })
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
        self.games.min((games as usize).max(20))
    }

    /// What learning was worth: matches against all opponents with equal processor time. In games that are not for two, what
    /// the agent gets in the place of one of them, compared with what that one gets there.
    pub fn worth(&self, cx: &Context<'_>, agent: &Spec, unlearned: &Spec) -> Result<Vec<MatchSummary>> {
        let (table, seed) = (cx.table, cx.seed(Stream::Measure));
        if self.games == 0 {
            return Ok(Vec::new());
        }
        let (opponents, two) = (opponents(table, unlearned), table.info().players() == 2);
        let games = self.affordable_games(table, opponents.len());
        let mut rows = Vec::new();
        for (i, (name, opponent)) in opponents.into_iter().enumerate() {
            // Some opponents written by hand know no time.
            let other = Some(timed(&opponent, self.cpu_ms)).filter(|o| name != "random" && table.check(o).is_ok());
            let other = other.unwrap_or(opponent);
            let agents = vec![timed(agent, self.cpu_ms), other];
            let contest = self.contest(table, agents, games, Rng::derive(seed, i as u64));
            let file = format!("against-{}", name.replace(' ', "-"));
            let row = match two {
                true => summary(&contest, &cx.run.contest(&file, table, &contest)?),
                false => cx.run.once(&file, || in_place(cx, &contest))?,
            };
            rows.push(MatchSummary { name, ..row });
        }
        Ok(rows)
    }
}
