//! The one match loop. Arena, self-play, measuring, tables and benches all play with it.

use crate::agent::{Agent, AgentError};
use crate::table::{Position, Table};
use cpu_time::ThreadTime;
use ludex_core::{Choice, Control, GameInfo, Payoffs, Player};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Matches longer than this are drawn, where the rules do not say otherwise.
const LONGEST: u32 = 10_000;

/// The plies after which a match ends, and what everybody gets then.
pub fn ply_cap(info: &GameInfo) -> (u32, Payoffs) {
    info.horizon.map_or((LONGEST, Payoffs::draw(info.players())), |h| (h.plies, h.payoffs))
}

/// What went wrong on one side of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The agent panicked, or refused to choose.
    Crash,
    /// The agent played a move that is not legal.
    Illegal,
}

/// What one side spent in a match.
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
    /// Adds what was spent elsewhere.
    pub fn add(&mut self, other: &Cost) {
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

/// One move of a match.
#[derive(Clone, Debug)]
pub struct Ply {
    /// Who moved.
    pub mover: Player,
    /// The move, with value and root statistics.
    pub choice: Choice,
    /// Seconds of processor time that it took.
    pub cpu: f64,
}

/// A match from beginning to end.
#[derive(Clone, Debug)]
pub struct Episode {
    /// Where it began.
    pub start: String,
    /// Its moves.
    pub plies: Vec<Ply>,
    /// What each player got: by the rules, by the cap on length, or because the other side failed.
    pub outcome: Payoffs,
    /// Who failed, how, and the line that says why.
    pub fault: Option<(Player, Fault, String)>,
    /// What each player spent.
    pub cost: Vec<Cost>,
}

/// A move before it is played, for observers of a match.
pub struct PlyView<'a> {
    /// The position in which it was chosen.
    pub position: &'a dyn Position,
    /// The move.
    pub ply: &'a Ply,
    /// Its number, from 0.
    pub number: usize,
    /// Who chose it.
    pub agent: &'a dyn Agent,
}

/// Plays a match from a position to its end, `agents` by player; `observe` sees every move before it is played. An agent that
/// panics, refuses to choose or plays an illegal move loses. A raised stop ends the match as a draw.
///
/// # Panics
/// If there are not as many agents as players.
pub fn play_match(
    table: &dyn Table,
    start: &dyn Position,
    agents: &mut [Box<dyn Agent>],
    control: &Control,
    observe: &mut dyn FnMut(&PlyView<'_>),
) -> Episode {
    let players = table.info().players();
    assert_eq!(agents.len(), players, "an agent for each player");
    let (cap, capped) = ply_cap(table.info());
    let mut position = start.boxed_clone();
    let outcome = Payoffs::draw(players);
    let mut episode =
        Episode { start: position.text(), plies: vec![], outcome, fault: None, cost: vec![Cost::default(); players] };
    while position.outcome().is_none() && (episode.plies.len() as u32) < cap && !control.stopped() {
        let mover = position.mover();
        let agent = &mut agents[mover.index()];
        let start = ThreadTime::now();
        let chosen = catch_unwind(AssertUnwindSafe(|| agent.choose(&*position, control)));
        let cpu = start.elapsed().as_secs_f64();
        let cost = &mut episode.cost[mover.index()];
        (cost.cpu, cost.moves) = (cost.cpu + cpu, cost.moves + 1);
        let chosen = chosen.unwrap_or_else(|_| Err(AgentError::Failed("the agent panicked".into())));
        let fault = match chosen {
            Err(e) => Some((mover, Fault::Crash, e.to_string())),
            Ok(choice) => {
                cost.nodes += if choice.simulations > 0 { choice.simulations } else { choice.nodes };
                let (ply, number) = (Ply { mover, choice, cpu }, episode.plies.len());
                observe(&PlyView { position: &*position, ply: &ply, number, agent: &**agent });
                let played = position.play(ply.choice.mv);
                episode.plies.push(ply);
                played.err().map(|e| (mover, Fault::Illegal, e.to_string()))
            }
        };
        if let Some((side, ..)) = fault {
            episode.fault = fault;
            (0..players as u8).map(Player).for_each(|p| episode.outcome[p] = if p == side { -1.0 } else { 1.0 });
            return episode;
        }
    }
    let ended = (episode.plies.len() as u32) >= cap;
    episode.outcome = position.outcome().unwrap_or(if ended { capped } else { outcome });
    episode
}

/// The player who won: alone with the highest payoff.
pub fn winner(result: &Payoffs) -> Option<Player> {
    let top = result.as_slice().iter().copied().fold(f32::MIN, f32::max);
    let mut best = (0..result.players() as u8).map(Player).filter(|&p| result[p] == top);
    let first = best.next();
    if best.next().is_some() || result.players() == 1 && top <= 0.0 { None } else { first }
}
