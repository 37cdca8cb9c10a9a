//! Matches and round-robin tournaments whose verdicts can be trusted.
//!
//! Every opening is played twice with colours swapped; the pair is the unit of every interval. A pair is a pure function of
//! the contest, the pairing and its number (time limits apart), so the results do not depend on the number of threads, and
//! a contest that was interrupted goes on where its [`Manifest`] ends. An agent that panics, or plays an illegal move, loses
//! that game, and the fault is counted.
//!
//! Two players only: contests of more need another unit than the pair.

use crate::agent::Agent;
use crate::spec::{Spec, SpecError};
use crate::stats::{Outcome, Pair, Pairs, Sprt, SprtPlan, Verdict};
use crate::table::{Position, Table};
use cpu_time::ThreadTime;
use ludex_core::{Limit, Move, Player, Rng};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Games longer than this are drawn, where the rules do not say otherwise.
const LONGEST: usize = 10_000;

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

/// Where games begin.
#[derive(Clone, Debug, Serialize)]
pub enum Openings {
    /// After so many uniformly random legal plies from the start; different ones, as far as there are enough.
    Random(u32),
    /// At these positions, one after the other and again from the first.
    Listed(Vec<String>),
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
    /// The manifest cannot be used.
    #[error("{0}")]
    Manifest(String),
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
}

/// What went wrong on one side of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The agent panicked.
    Crash,
    /// The agent played a move that is not legal.
    Illegal,
}

/// What one side spent in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Moves chosen.
    pub moves: u64,
    /// Nodes or simulations, as the search counts them.
    pub nodes: u64,
    /// Seconds of processor time.
    pub cpu: f64,
}

impl Cost {
    fn add(&mut self, other: &Cost) {
        self.moves += other.moves;
        self.nodes += other.nodes;
        self.cpu += other.cpu;
    }

    /// Nodes a move.
    pub fn nodes_per_move(&self) -> f64 {
        self.nodes as f64 / self.moves.max(1) as f64
    }

    /// Milliseconds of processor time a move.
    pub fn ms_per_move(&self) -> f64 {
        1e3 * self.cpu / self.moves.max(1) as f64
    }
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
    /// All pairings, as indices of agents.
    pub fn pairings(&self) -> Vec<(usize, usize)> {
        (0..self.agents.len()).flat_map(|a| (a + 1..self.agents.len()).map(move |b| (a, b))).collect()
    }

    /// How many pairs of games there are in all.
    pub fn len(&self) -> usize {
        self.pairings().len() * self.pairs
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
        if let Some(plan) = self.sprt {
            plan.check().map_err(|e| ContestError::Kind(e.to_string()))?;
        }
        for spec in &self.agents {
            table.agent(spec, 0).map_err(|e| ContestError::Agent(spec.to_string(), e))?;
        }
        self.starts(table).map(|_| ())
    }

    /// The positions at which the pairs begin, as text.
    fn starts(&self, table: &dyn Table) -> Result<Vec<String>, ContestError> {
        match &self.openings {
            Openings::Random(plies) => Ok(random_openings(table, self.pairs, *plies, Rng::derive(self.seed, 0))),
            Openings::Listed(list) => {
                for (i, text) in list.iter().enumerate() {
                    let position = table.position(text).map_err(|e| ContestError::Opening(i + 1, e.to_string()))?;
                    if position.outcome().is_some() {
                        return Err(ContestError::Opening(i + 1, "the game is over there".into()));
                    }
                }
                match list.is_empty() {
                    true => Err(ContestError::Kind("the list of openings is empty".into())),
                    false => Ok((0..self.pairs).map(|i| list[i % list.len()].clone()).collect()),
                }
            }
        }
    }

    /// Plays what is not `done` yet on so many threads, and tells of each pair as it ends. Gives all results in order; with
    /// a sequential test, those up to its verdict. `stop` ends it early.
    pub fn run(
        &self,
        table: &dyn Table,
        done: Vec<PairResult>,
        threads: usize,
        stop: &AtomicBool,
        mut tell: impl FnMut(&PairResult),
    ) -> Result<Vec<PairResult>, ContestError> {
        self.check(table)?;
        let starts = self.starts(table)?;
        let pairings = self.pairings();
        let total = self.len();
        let mut results: Vec<Option<PairResult>> = vec![None; total];
        for r in done.into_iter().filter(|r| r.pairing < pairings.len() && r.pair < self.pairs) {
            // Pairing by pairing would starve the last; pair by pair all grow alike.
            let slot = r.pair * pairings.len() + r.pairing;
            results[slot] = Some(r);
        }
        let todo: Vec<usize> = (0..total).filter(|&i| results[i].is_none()).collect();
        let mut judge = Judge::new(self.sprt);
        let decided = AtomicBool::new(judge.hear(&results));
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1).min(todo.len()) {
                let (sender, next, todo, pairings, starts, decided) =
                    (sender.clone(), &next, &todo, &pairings, &starts, &decided);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !decided.load(Ordering::Relaxed) {
                        let Some(&i) = todo.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let (pair, pairing) = (i / pairings.len(), i % pairings.len());
                        let result = self.pair(table, pairing, pairings[pairing], pair, &starts[pair]);
                        if sender.send((i, result)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (i, result) in receiver {
                tell(&result);
                results[i] = Some(result);
                decided.fetch_or(judge.hear(&results), Ordering::Relaxed);
            }
        });
        results.truncate(judge.verdict_at.unwrap_or(total));
        Ok(results.into_iter().flatten().collect())
    }

    /// The two games of a pair.
    fn pair(
        &self,
        table: &dyn Table,
        pairing: usize,
        (a, b): (usize, usize),
        pair: usize,
        opening: &str,
    ) -> PairResult {
        let seed = Rng::derive(Rng::derive(self.seed, 1 + pairing as u64), pair as u64);
        let game = |swapped: usize| {
            let build = |i: usize| {
                let spec = &self.agents[[a, b][i]];
                table.agent(spec, Rng::derive(seed, (2 * swapped + i) as u64)).expect("the agents have been checked")
            };
            let position = table.position(opening).expect("the openings have been checked");
            play(table, position, [build(0), build(1)], swapped)
        };
        PairResult { pairing, pair, opening: opening.into(), games: [game(0), game(1)] }
    }
}

/// Follows a sequential test in the order of the pairs, whatever order they end in.
struct Judge {
    sprt: Option<Sprt>,
    heard: usize,
    verdict_at: Option<usize>,
}

impl Judge {
    fn new(plan: Option<SprtPlan>) -> Self {
        Judge { sprt: plan.and_then(|p| Sprt::new(p).ok()), heard: 0, verdict_at: None }
    }

    /// Whether there is a verdict.
    fn hear(&mut self, results: &[Option<PairResult>]) -> bool {
        if let Some(sprt) = &mut self.sprt {
            while self.verdict_at.is_none()
                && let Some(Some(r)) = results.get(self.heard)
            {
                self.heard += 1;
                if sprt.update(r.pair()) != Verdict::Continue {
                    self.verdict_at = Some(self.heard);
                }
            }
        }
        self.verdict_at.is_some()
    }
}

/// Plays one game; agent 0 is player 0, or with `swapped` 1 it is player 1.
fn play(
    table: &dyn Table,
    mut position: Box<dyn Position>,
    mut agents: [Box<dyn Agent>; 2],
    swapped: usize,
) -> GameResult {
    let mut result = GameResult { outcome: Outcome::Draw, plies: 0, fault: None, cost: Default::default() };
    let cap = table.info().horizon.map_or(LONGEST, |h| h.plies as usize);
    agents.iter_mut().for_each(|a| a.start(&*position));
    while position.outcome().is_none() && (result.plies as usize) < cap {
        let turn = position.mover().index() ^ swapped;
        let start = ThreadTime::now();
        let choice = catch_unwind(AssertUnwindSafe(|| agents[turn].choose(&Limit::default())));
        let cost = &mut result.cost[turn];
        cost.cpu += start.elapsed().as_secs_f64();
        cost.moves += 1;
        let fault = match choice {
            Err(_) => Some((turn, Fault::Crash)),
            Ok(choice) => {
                cost.nodes += if choice.simulations > 0 { choice.simulations } else { choice.nodes };
                match position.play(choice.mv) {
                    Err(_) => Some((turn, Fault::Illegal)),
                    Ok(()) => tell(&mut agents, choice.mv).map(|crashed| (crashed, Fault::Crash)),
                }
            }
        };
        if let Some((side, fault)) = fault {
            result.fault = Some((side as u8, fault));
            result.outcome = if side == 0 { Outcome::Loss } else { Outcome::Win };
            return result;
        }
        result.plies += 1;
    }
    let payoffs = position.outcome().or(table.info().horizon.map(|h| h.payoffs));
    let mine = payoffs.map_or(0.0, |p| p[Player(swapped as u8)] - p[Player(1 - swapped as u8)]);
    result.outcome = match mine {
        m if m > 0.0 => Outcome::Win,
        m if m < 0.0 => Outcome::Loss,
        _ => Outcome::Draw,
    };
    result
}

/// Tells both agents of a move; gives the one that panicked, if any.
fn tell(agents: &mut [Box<dyn Agent>; 2], m: Move) -> Option<usize> {
    (0..2).find(|&i| catch_unwind(AssertUnwindSafe(|| agents[i].observe(m))).is_err())
}

/// Positions after so many random plies, in none of which the game is over; different ones as far as there are enough.
pub fn random_openings(table: &dyn Table, n: usize, plies: u32, seed: u64) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut openings = Vec::new();
    for i in 0..n {
        let mut rng = Rng::stream(seed, i as u64);
        let mut draw = || {
            let mut position = table.start();
            for _ in 0..plies {
                let mut next = position.clone();
                let Some(&m) = rng.pick(&next.legal()) else { break };
                if next.play(m).is_err() || next.outcome().is_some() {
                    break;
                }
                position = next;
            }
            position.text()
        };
        let mut text = draw();
        for _ in 0..50 {
            if seen.insert(text.clone()) {
                break;
            }
            text = draw();
        }
        openings.push(text);
    }
    openings
}

/// Adds up the results of each pairing.
pub fn tally(contest: &Contest, results: &[PairResult]) -> Vec<Tally> {
    let empty = |&(a, b): &(usize, usize)| Tally {
        a,
        b,
        pairs: Pairs::default(),
        faults: [[0; 2]; 2],
        cost: Default::default(),
        plies: 0,
    };
    let mut tallies: Vec<Tally> = contest.pairings().iter().map(empty).collect();
    for r in results {
        let t = &mut tallies[r.pairing];
        t.pairs.record(r.pair());
        for game in &r.games {
            t.plies += game.plies as u64;
            t.cost.iter_mut().zip(&game.cost).for_each(|(t, c)| t.add(c));
            if let Some((side, fault)) = game.fault {
                t.faults[side as usize][(fault == Fault::Illegal) as usize] += 1;
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
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut reader = BufReader::new(&file);
        let (mut line, mut good, mut done) = (Vec::new(), 0u64, Vec::new());
        let mut first = true;
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(failed)?;
            if read == 0 || line.last() != Some(&b'\n') {
                break; // the end, or a line that was cut off when the program was
            }
            let text = String::from_utf8_lossy(&line);
            if first {
                if text.trim_end() != header {
                    let line = format!("{shown} belongs to another contest; give another --out or delete it");
                    return Err(ContestError::Manifest(line));
                }
                first = false;
            } else {
                let Ok(result) = serde_json::from_str(&text) else { break };
                done.push(result);
            }
            good += read as u64;
        }
        let mut file = file;
        file.set_len(good).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        if first {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use ludex_core::{Choice, Payoffs};

    /// Plays the lowest legal move until ply `at`, then misbehaves.
    struct Bad {
        ply: u32,
        at: u32,
        fault: Fault,
    }

    impl Agent for Bad {
        fn start(&mut self, _: &dyn Position) {}
        fn observe(&mut self, _: Move) {
            self.ply += 1;
        }
        fn choose(&mut self, _: &Limit) -> Choice {
            assert!(self.ply < self.at || self.fault != Fault::Crash, "a crash on purpose, to see that it is counted");
            let mv = if self.ply < self.at { Move(self.ply % 7) } else { Move(u32::MAX / 2) };
            Choice { mv, value: Payoffs::draw(2), root: vec![], nodes: 0, simulations: 0, depth: 0, line: vec![mv] }
        }
    }

    #[test]
    fn crashes_and_illegal_moves_lose_and_are_counted() {
        let table = open("connect4").unwrap();
        for fault in [Fault::Crash, Fault::Illegal] {
            for swapped in [0, 1] {
                let bad = |at| Box::new(Bad { ply: 0, at, fault }) as Box<dyn Agent>;
                let result = play(&*table, table.start(), [bad(100), bad(2)], swapped);
                assert_eq!(result.fault, Some((1, fault)));
                assert_eq!(result.outcome, Outcome::Win);
            }
        }
    }
}
