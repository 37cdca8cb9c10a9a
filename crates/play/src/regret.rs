//! Regret: how often an agent keeps the value of positions that were solved, and how much it gives away.
//!
//! A set of positions is a text file: a line for each, `POSITION <tab> MOVE=VALUE; MOVE=VALUE; .. <tab> PLIES <tab> NUMBER`,
//! the value being that of the game for the mover, 1, 0 or -1, proven for every legal move. Positions come from uniformly
//! random play and are kept if their moves differ in value. NUMBER says which draw it was, so that a set is extended where
//! it ends; both numbers may be left out in sets from elsewhere.
//!
//! Everything is a function of the seed, whatever the number of threads.

use crate::openings::random_plies;
use crate::solve::{Goal, Prover, unknown_moves};
use crate::stats::{Interval, wilson};
use crate::table::Table;
use crate::{AgentError, Spec, SpecError, in_parallel, lock, try_in_parallel};
use cpu_time::ThreadTime;
use ludex_core::{Control, Limit, Move, Rng, Stop};
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Mutex;

/// A position whose moves are all solved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SolvedPosition {
    /// The position as text.
    pub text: String,
    /// Every legal move and its value for the mover: 1, 0 or -1.
    pub moves: Vec<(Move, i8)>,
    /// Plies since the start.
    pub plies: Option<u32>,
    /// Which draw it was.
    pub number: Option<u64>,
}

impl SolvedPosition {
    /// The value of the position.
    pub fn value(&self) -> i8 {
        self.moves.iter().map(|m| m.1).max().unwrap_or(0)
    }

    /// As a line of a file.
    pub fn line(&self, table: &dyn Table) -> String {
        let moves: Vec<String> = self.moves.iter().map(|&(m, v)| format!("{}={v}", table.move_name(m))).collect();
        let number = |n: Option<u64>| n.map_or(String::new(), |n| format!("\t{n}"));
        let (plies, n) = (number(self.plies.map(u64::from)), number(self.number));
        format!("{}\t{}{plies}{n}", self.text, moves.join("; "))
    }

    /// Reads a line of a file; says in one line what is wrong with it.
    pub fn parse(table: &dyn Table, line: &str) -> Result<Self, String> {
        let mut columns = line.split('\t');
        let (Some(text), Some(list)) = (columns.next(), columns.next()) else {
            return Err("expected POSITION, a tab, and MOVE=VALUE; ..".into());
        };
        let position = table.position(text).map_err(|e| format!("bad position: {e}"))?;
        let pair = |pair: &str| {
            let (name, value) = pair.rsplit_once('=').ok_or_else(|| format!("\"{pair}\" is not MOVE=VALUE"))?;
            let m = table.parse_move(name.trim()).ok_or_else(|| format!("there is no move \"{}\"", name.trim()))?;
            match value.trim().parse() {
                Ok(v @ -1..=1) => Ok((m, v)),
                _ => Err(format!("a value is 1, 0 or -1, not \"{}\"", value.trim())),
            }
        };
        let mut moves = list.split(';').map(pair).collect::<Result<Vec<_>, String>>()?;
        moves.sort();
        if moves.iter().map(|m| m.0).collect::<Vec<_>>() != position.legal() {
            return Err("the moves listed are not the legal moves".into());
        }
        let mut number = || columns.next().map(|n| n.trim().parse().map_err(|_| format!("\"{n}\" is not a number")));
        let (plies, n): (Option<u64>, _) = (number().transpose()?, number().transpose()?);
        Ok(SolvedPosition { text: text.into(), moves, plies: plies.map(|p| p as u32), number: n })
    }
}

/// How a set of positions is made.
#[derive(Clone, Debug)]
pub struct SetPlan {
    /// How many.
    pub count: usize,
    /// Random plies from the start, drawn uniformly.
    pub plies: RangeInclusive<u32>,
    /// Everything random comes from here.
    pub seed: u64,
    /// Positions searched for one proof at most; what takes more is left out.
    pub nodes: u64,
    /// Megabytes of table for each thread.
    pub table: usize,
    /// Threads; the set does not depend on it.
    pub threads: usize,
}

/// Draws in a row that gave nothing: there is no more to be found.
const FRUITLESS: u64 = 10_000;

impl SetPlan {
    /// Solves a draw; `None` if the game is over before, if it cannot be solved, or if its moves are all alike.
    fn solve(&self, table: &dyn Table, prover: &mut dyn Prover, number: u64, stop: &Stop) -> Option<SolvedPosition> {
        let mut rng = Rng::stream(self.seed, number);
        let (low, high) = (*self.plies.start(), *self.plies.end());
        let plies = low + rng.below(high - low + 1);
        let position = random_plies(table.start(), plies, &mut rng);
        let mut moves = unknown_moves(&*position);
        if position.moves().len() < plies as usize || moves.len() < 2 {
            return None;
        }
        prover.reset();
        let control = Control { stop: Some(stop.clone()), ..Limit::nodes(self.nodes).into() };
        prover.prove(&*position, &mut moves, Goal::EveryMove, &control, &mut |_| {}).ok()?;
        let moves = moves.iter().map(|m| Some((m.mv, m.value()?))).collect::<Option<Vec<_>>>()?;
        let differ = moves.iter().any(|m| m.1 != moves[0].1);
        differ.then(|| SolvedPosition { text: position.text(), moves, plies: Some(plies), number: Some(number) })
    }

    /// Extends a set, which must have been made with the same plan, to the wanted size. Every new position is given to `add`
    /// in the order of draws, and the set ends early if that refuses it, or if there are no more.
    pub fn extend<E>(
        &self,
        table: &dyn Table,
        set: &mut Vec<SolvedPosition>,
        mut add: impl FnMut(&SolvedPosition) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut seen: HashSet<String> = set.iter().map(|p| p.text.clone()).collect();
        let first = set.iter().filter_map(|p| p.number).max().map_or(0, |n| n + 1);
        if set.len() >= self.count {
            return Ok(());
        }
        let (stop, provers) = (Stop::new(), Mutex::new(Vec::new()));
        let work = |number: u64| {
            let free = lock(&provers).pop();
            let mut prover = free.or_else(|| table.prover(self.table))?;
            let solved = self.solve(table, &mut *prover, number, &stop);
            lock(&provers).push(prover);
            (!stop.raised()).then_some((number, solved))
        };
        let (mut waiting, mut due, mut last) = (BTreeMap::new(), first, first);
        let mut result = Ok(());
        in_parallel(first.., self.threads, work, |(number, solved)| {
            waiting.insert(number, solved);
            while let Some(solved) = waiting.remove(&due) {
                due += 1;
                if let Some(position) = solved
                    && set.len() < self.count
                    && result.is_ok()
                    && seen.insert(position.text.clone())
                {
                    last = due;
                    result = add(&position);
                    set.push(position);
                }
                if set.len() >= self.count || result.is_err() || due - last > FRUITLESS {
                    stop.raise();
                }
            }
            !stop.raised()
        });
        result
    }
}

/// What an agent did at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The move.
    pub mv: Move,
    /// The value of the position less that of the move: 0 if the value was kept, at most 2.
    pub regret: i8,
    /// Milliseconds of processor time.
    pub ms: f64,
}

/// Why an agent could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum RegretError {
    /// It cannot be built.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// It does not choose.
    #[error("{0}")]
    Agent(#[from] AgentError),
    /// A position is none of this game.
    #[error("{0}")]
    Position(String),
}

/// Asks an agent, made anew each time, for its move at every position. `asked` is called after each.
pub fn ask(
    table: &dyn Table,
    agent: &Spec,
    set: &[SolvedPosition],
    seed: u64,
    threads: usize,
    asked: impl Fn() + Sync,
) -> Result<Vec<Answer>, RegretError> {
    // Held, so that models are read once.
    let _models = table.models(agent)?;
    let ask = |i: usize| -> Result<Answer, RegretError> {
        let solved = &set[i];
        let position = table.position(&solved.text).map_err(|e| RegretError::Position(e.to_string()))?;
        let mut agent = table.agent(agent, Rng::derive(seed, i as u64))?;
        let start = ThreadTime::now();
        let mv = agent.choose(&*position, &Control::default())?.mv;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let of_move = solved.moves.iter().find(|m| m.0 == mv).map_or(-1, |m| m.1);
        Ok(Answer { mv, regret: solved.value() - of_move, ms })
    };
    try_in_parallel(set.len(), threads, |i| {
        let answer = ask(i);
        asked();
        answer
    })
}

/// What an agent did at some of the positions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// How many.
    pub positions: u32,
    /// Moves that kept the value.
    pub kept: u32,
    /// Their share.
    pub share: f64,
    /// Its Wilson interval of 95 %.
    pub interval: Interval,
    /// Mean of what was given away, in payoff.
    pub regret: f64,
    /// Milliseconds of processor time a move.
    pub ms: f64,
}

/// The score of these answers.
pub fn score<'a>(answers: impl Iterator<Item = &'a Answer>) -> Score {
    let (mut positions, mut kept, mut regret, mut ms) = (0, 0, 0.0, 0.0);
    for a in answers {
        positions += 1;
        kept += (a.regret == 0) as u32;
        regret += a.regret as f64;
        ms += a.ms;
    }
    let n = positions.max(1) as f64;
    let (share, interval) = (kept as f64 / n, wilson(kept, positions, 0.95));
    Score { positions, kept, share, interval, regret: regret / n, ms: ms / n }
}

/// Plies of a band of [`bands`].
pub const BAND: u32 = 4;

/// The score by plies since the start, in bands that begin at multiples of [`BAND`]; positions without a number of plies
/// are in none.
pub fn bands(set: &[SolvedPosition], answers: &[Answer]) -> Vec<(RangeInclusive<u32>, Score)> {
    let mut by_band: BTreeMap<u32, Vec<&Answer>> = BTreeMap::new();
    for (p, a) in set.iter().zip(answers) {
        if let Some(plies) = p.plies {
            by_band.entry(plies / BAND * BAND).or_default().push(a);
        }
    }
    by_band.into_iter().map(|(low, a)| (low..=low + BAND - 1, score(a.into_iter()))).collect()
}
