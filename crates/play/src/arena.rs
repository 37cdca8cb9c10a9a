//! Matches and round-robin tournaments whose verdicts can be trusted.
//!
//! Every opening is played twice with colours swapped; the pair is the unit of every interval. A pair is a pure function of
//! the contest, the pairing and its number (time limits apart), so the results do not depend on the number of threads, and
//! a contest that was interrupted goes on where its [`Manifest`] ends. An agent that panics, or plays an illegal move, loses
//! that game, and the fault is counted.
//!
//! Two players only: contests of more need another unit than the pair.

use crate::agent::Agent;
use crate::in_parallel;
use crate::manifest::whole_lines;
use crate::openings::{MOST_PLIES, Openings, random_openings};
use crate::play_match::{Cost, Fault, play_match};
use crate::spec::{Spec, SpecError};
use crate::stats::{Outcome, Pair, Pairs, Sprt, SprtPlan, Verdict};
use crate::table::Table;
use ludex_core::{Control, Payoffs, Player, Rng, Stop};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// More pairs than this are no contest that anybody could hold.
const MOST_PAIRS: usize = 1_000_000;

/// Who plays whom, how often, and from where.
#[derive(Clone, Debug, Serialize)]
pub struct Contest {
    /// The full name of the game.
    pub game: String,
    /// The agents; two make a match, more a round-robin tournament.
    pub agents: Vec<Spec>,
    /// Pairs of games for each two agents.
    pub pairs: usize,
    /// Where the games begin.
    pub openings: Openings,
    /// Everything random comes from here.
    pub seed: u64,
    /// Stops a match of two as soon as it is decided.
    pub sprt: Option<SprtPlan>,
}

/// Why a contest cannot be held: one line.
#[derive(Debug, thiserror::Error)]
pub enum ContestError {
    /// An agent cannot be built.
    #[error("agent \"{0}\": {1}")]
    Agent(String, SpecError),
    /// The game or the contest is not of a kind that can be held.
    #[error("{0}")]
    Kind(String),
    /// A listed opening cannot be set up.
    #[error("opening {0}: {1}")]
    Opening(usize, String),
    /// The file holds another contest.
    #[error("{0} belongs to another contest")]
    Other(String),
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
}

/// A finished game, as the first agent of its pairing sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameResult {
    /// How it ended for the first agent.
    pub outcome: Outcome,
    /// Plies after the opening.
    pub plies: u32,
    /// Which agent (0 or 1) lost by a fault, and by which.
    pub fault: Option<(u8, Fault)>,
    /// What each agent spent.
    pub cost: [Cost; 2],
}

/// Two games from one opening with colours swapped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairResult {
    /// Which pairing, in the order of [`Contest::pairings`].
    pub pairing: usize,
    /// Which pair of it.
    pub pair: usize,
    /// Where the games began.
    pub opening: String,
    /// The game in which the first agent was player 0, then the other.
    pub games: [GameResult; 2],
}

impl PairResult {
    /// For the statistics.
    pub fn pair(&self) -> Pair {
        Pair { first: self.games[0].outcome, second: self.games[1].outcome }
    }
}

/// All pairs of two agents, added up.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    /// The first agent.
    pub a: usize,
    /// The second agent.
    pub b: usize,
    /// What the statistics need.
    pub pairs: Pairs,
    /// Faults of each agent: crashes, illegal moves.
    pub faults: [[u32; 2]; 2],
    /// What each agent spent.
    pub cost: [Cost; 2],
    /// Plies of all games.
    pub plies: u64,
}

impl Contest {
    /// So many games between each two agents, begun after so many random plies, in pairs with colours swapped.
    pub fn new(table: &dyn Table, agents: Vec<Spec>, (games, opening_plies): (usize, u32), seed: u64) -> Self {
        let (game, openings) = (table.info().name.clone(), Openings::Random(opening_plies));
        Contest { game, agents, pairs: games.div_ceil(2), openings, seed, sprt: None }
    }

    /// All pairings, as indices of agents.
    pub fn pairings(&self) -> Vec<(usize, usize)> {
        (0..self.agents.len()).flat_map(|a| (a + 1..self.agents.len()).map(move |b| (a, b))).collect()
    }

    /// How many pairs of games there are in all.
    pub fn len(&self) -> usize {
        let agents = self.agents.len();
        (agents * agents.saturating_sub(1) / 2).saturating_mul(self.pairs)
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds out whether the contest can be held, before it begins.
    pub fn check(&self, table: &dyn Table) -> Result<(), ContestError> {
        let kind = |line: &str| Err(ContestError::Kind(line.into()));
        if table.info().players() != 2 {
            return kind("contests are for games of two players");
        }
        if self.agents.len() < 2 {
            return kind("a contest needs two agents or more");
        }
        if self.sprt.is_some() && self.agents.len() != 2 {
            return kind("a sequential test is for a match of two agents");
        }
        if self.len() > MOST_PAIRS {
            return kind(&format!("a contest has at most {MOST_PAIRS} pairs of games"));
        }
        if let Some(plan) = self.sprt {
            plan.check().map_err(|e| ContestError::Kind(e.to_string()))?;
        }
        for spec in &self.agents {
            self.agent(table, spec, 0)?;
        }
        match &self.openings {
            Openings::Random(plies) if *plies > MOST_PLIES => {
                kind(&format!("an opening has at most {MOST_PLIES} random plies"))
            }
            Openings::Listed(list) if list.is_empty() => kind("the list of openings is empty"),
            Openings::Random(_) => Ok(()),
            Openings::Listed(list) => list.iter().zip(1..).try_for_each(|(text, number)| {
                let position = table.position(text).map_err(|e| ContestError::Opening(number, e.to_string()))?;
                match position.outcome() {
                    Some(_) => Err(ContestError::Opening(number, "the game is over there".into())),
                    None => Ok(()),
                }
            }),
        }
    }

    /// The positions at which the pairs begin, as text.
    fn starts(&self, table: &dyn Table) -> Vec<String> {
        match &self.openings {
            Openings::Random(plies) => random_openings(table, self.pairs, *plies, Rng::derive(self.seed, 0)),
            Openings::Listed(list) => list.iter().cycle().take(self.pairs).cloned().collect(),
        }
    }

    fn agent(&self, table: &dyn Table, spec: &Spec, seed: u64) -> Result<Box<dyn Agent>, ContestError> {
        table.agent(spec, seed).map_err(|e| ContestError::Agent(spec.to_string(), e))
    }

    /// Plays what is not `done` yet on so many threads, and tells of each pair as it ends. Gives all results in order; with
    /// a sequential test, those up to its verdict. `stop` ends it early, without the pairs that are being played.
    pub fn run(
        &self,
        table: &dyn Table,
        done: Vec<PairResult>,
        threads: usize,
        stop: &Stop,
        mut tell: impl FnMut(&PairResult),
    ) -> Result<Vec<PairResult>, ContestError> {
        self.check(table)?;
        // Agents come and go with their games: their models are read once.
        let _models = self.agents.iter().filter_map(|a| table.models(a).ok()).collect::<Vec<_>>();
        let starts = self.starts(table);
        let pairings = self.pairings();
        let total = self.len();
        let mut results: Vec<Option<PairResult>> = vec![None; total];
        for r in done.into_iter().filter(|r| r.pairing < pairings.len() && r.pair < self.pairs) {
            // Pairing by pairing would starve the last; pair by pair all grow alike.
            let slot = r.pair * pairings.len() + r.pairing;
            results[slot] = Some(r);
        }
        let mut test = self.sprt.and_then(|plan| Sprt::new(plan).ok());
        let decided = decide(&mut test, &results);
        let todo: Vec<usize> = (0..total).filter(|&i| results[i].is_none() && !decided).collect();
        let mut failed = None;
        let work = |i: usize| Some((i, self.pair(table, i, &starts[i / pairings.len()], stop).transpose()?));
        in_parallel(todo.into_iter(), threads, work, |(i, result)| match result {
            Ok(result) => {
                tell(&result);
                results[i] = Some(result);
                !decide(&mut test, &results)
            }
            Err(e) => {
                failed = Some(e);
                false
            }
        });
        if let Some(e) = failed {
            return Err(e);
        }
        if let Some(test) = test.filter(|t| t.verdict != Verdict::Continue) {
            results.truncate(test.pairs.pairs() as usize);
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// The two games of pair `i` of all; `None` if the contest is stopped before they end.
    fn pair(
        &self,
        table: &dyn Table,
        i: usize,
        opening: &str,
        stop: &Stop,
    ) -> Result<Option<PairResult>, ContestError> {
        let pairings = self.pairings();
        let (pair, pairing) = (i / pairings.len(), i % pairings.len());
        let (a, b) = pairings[pairing];
        let seed = Rng::derive(Rng::derive(self.seed, 1 + pairing as u64), pair as u64);
        let control = Control { stop: Some(stop.clone()), ..Control::default() };
        let game = |swapped: usize| -> Result<GameResult, ContestError> {
            let build =
                |i: usize| self.agent(table, &self.agents[[a, b][i]], Rng::derive(seed, (2 * swapped + i) as u64));
            let mut agents = [build(0)?, build(1)?];
            agents.rotate_left(swapped);
            let start = table.position(opening).map_err(|e| ContestError::Opening(pair + 1, e.to_string()))?;
            let episode = play_match(table, &*start, &mut agents, &control, &mut |_| {});
            let side = |p: Player| p.0 ^ swapped as u8;
            let mut cost = [episode.cost[0], episode.cost[1]];
            cost.rotate_left(swapped);
            Ok(GameResult {
                outcome: outcome(&episode.outcome, Player(swapped as u8)),
                plies: episode.plies.len() as u32 - matches!(episode.fault, Some((_, Fault::Illegal, _))) as u32,
                fault: episode.fault.map(|(p, fault, _)| (side(p), fault)),
                cost,
            })
        };
        let games = [game(0)?, game(1)?];
        Ok((!stop.raised()).then(|| PairResult { pairing, pair, opening: opening.into(), games }))
    }
}

/// How a match of two ended for a player.
pub fn outcome(payoffs: &Payoffs, p: Player) -> Outcome {
    match payoffs[p] - payoffs[p.other()] {
        d if d > 0.0 => Outcome::Win,
        d if d < 0.0 => Outcome::Loss,
        _ => Outcome::Draw,
    }
}

/// Gives a sequential test the pairs that it has not counted, in their order, whatever order they end in; whether it has a
/// verdict.
fn decide(test: &mut Option<Sprt>, results: &[Option<PairResult>]) -> bool {
    let Some(test) = test else { return false };
    while test.verdict == Verdict::Continue
        && let Some(Some(r)) = results.get(test.pairs.pairs() as usize)
    {
        test.update(r.pair());
    }
    test.verdict != Verdict::Continue
}

/// Adds up the results of each pairing.
pub fn tally(contest: &Contest, results: &[PairResult]) -> Vec<Tally> {
    let (pairs, cost) = (Pairs::default(), [Cost::default(); 2]);
    let empty = |(a, b)| Tally { a, b, pairs, faults: [[0; 2]; 2], cost, plies: 0 };
    let mut tallies: Vec<Tally> = contest.pairings().into_iter().map(empty).collect();
    for r in results {
        let Some(t) = tallies.get_mut(r.pairing) else { continue };
        t.pairs.record(r.pair());
        for game in &r.games {
            t.plies += game.plies as u64;
            t.cost.iter_mut().zip(&game.cost).for_each(|(t, c)| t.add(c));
            if let Some((side, fault)) = game.fault {
                t.faults[(side != 0) as usize][(fault == Fault::Illegal) as usize] += 1;
            }
        }
    }
    tallies
}

/// The record of a contest on disk: one line with the contest, then a line for each pair as it ends. A contest that is run
/// again with the same manifest plays only what is missing.
pub struct Manifest {
    file: File,
    path: String,
}

impl Manifest {
    /// Opens or begins the record of a contest; gives the pairs that are already there.
    pub fn open(path: &Path, contest: &Contest) -> Result<(Self, Vec<PairResult>), ContestError> {
        let shown = path.display().to_string();
        let failed = |e| ContestError::File(shown.clone(), e);
        let header = serde_json::to_string(contest).map_err(|e| failed(e.into()))?;
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let first = bytes.iter().position(|&b| b == b'\n').map_or(0, |end| end + 1);
        if first > 0 && String::from_utf8_lossy(&bytes[..first]).trim_end() != header {
            return Err(ContestError::Other(shown));
        }
        // A line that was cut off when the program was does not count.
        let (done, good) = whole_lines(&bytes[first..]);
        file.set_len((first + good) as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        if first == 0 {
            file.write_all(format!("{header}\n").as_bytes()).map_err(failed)?;
        }
        Ok((Manifest { file, path: shown }, done))
    }

    /// Adds a pair.
    pub fn add(&mut self, result: &PairResult) -> Result<(), ContestError> {
        let failed = |e| ContestError::File(self.path.clone(), e);
        let line = serde_json::to_string(result).map_err(|e| failed(e.into()))? + "\n";
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush()).map_err(failed)
    }
}
