//! What searches, evaluators and whoever calls them say to one another.

use crate::{Game, Move, Payoffs, Rng};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Estimates what a state is worth: a net, a heuristic, a rollout. The only joint between learning and search.
///
/// `&mut self` so that scratch buffers and seeded randomness may live inside; whoever searches on several threads builds
/// one evaluator for each.
pub trait Evaluator<G: Game>: Send {
    /// What each player can expect from a state that is not over; within [-1, 1].
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs;

    /// What the state that each move leads to is worth to the mover of `s`, in one call; where the game is over, what it got.
    fn child_values(&mut self, game: &G, s: &G::State, moves: &[Move], values: &mut [f32]) {
        let mover = game.mover(s);
        for (&m, value) in moves.iter().zip(values) {
            let mut child = s.clone();
            game.play(&mut child, m);
            *value = game.outcome(&child).unwrap_or_else(|| self.value(game, &child))[mover];
        }
    }

    /// How good each move looks to the mover of `s`; only the order counts.
    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        self.child_values(game, s, moves, scores);
    }
}

/// When to stop thinking. Whatever is set counts; the first to be reached ends the search. Nothing set: the search's own
/// default.
#[derive(Clone, Default)]
pub struct Limit {
    /// MCTS: simulations.
    pub simulations: Option<u64>,
    /// MCTS: nodes touched on the way down, the new one included.
    pub visits: Option<u64>,
    /// MCTS: nodes added to the tree.
    pub expansions: Option<u64>,
    /// Alpha-beta: positions searched.
    pub nodes: Option<u64>,
    /// Alpha-beta: plies.
    pub depth: Option<u32>,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Time that this thread computes.
    pub cpu: Option<Duration>,
    /// Raised by someone else to end the search at once.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Limit {
    /// So many MCTS simulations.
    pub fn simulations(n: u64) -> Self {
        Limit { simulations: Some(n), ..Limit::default() }
    }

    /// So many plies of alpha-beta.
    pub fn depth(plies: u32) -> Self {
        Limit { depth: Some(plies), ..Limit::default() }
    }

    /// So many alpha-beta nodes.
    pub fn nodes(n: u64) -> Self {
        Limit { nodes: Some(n), ..Limit::default() }
    }

    /// So much wall-clock time.
    pub fn time(d: Duration) -> Self {
        Limit { time: Some(d), ..Limit::default() }
    }

    /// Nothing is limited.
    pub fn is_empty(&self) -> bool {
        !self.counts() && self.time.is_none() && self.cpu.is_none()
    }

    /// Something is counted.
    fn counts(&self) -> bool {
        let counts = [self.simulations, self.visits, self.expansions, self.nodes];
        counts.iter().any(Option::is_some) || self.depth.is_some()
    }

    /// Whether someone asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed))
    }

    /// This limit; what it leaves open is taken from `other`, unless this one sets any limit by itself.
    pub fn or(&self, other: &Limit) -> Limit {
        let mut limit = if self.is_empty() { other.clone() } else { self.clone() };
        limit.stop = self.stop.clone().or(other.stop.clone());
        limit
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("sims", self.simulations),
            ("visits", self.visits),
            ("expansions", self.expansions),
            ("nodes", self.nodes),
            ("depth", self.depth.map(u64::from)),
            ("ms", self.time.map(|t| t.as_millis() as u64)),
            ("cpu_ms", self.cpu.map(|t| t.as_millis() as u64)),
        ];
        let set: Vec<String> = counts.iter().filter_map(|(k, v)| v.map(|v| format!("{k}={v}"))).collect();
        f.write_str(&set.join(" "))
    }
}

/// A root move as the search sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct RootMove {
    /// The move.
    pub mv: Move,
    /// How often it was tried (MCTS), or the nodes below it (alpha-beta).
    pub visits: u64,
    /// What it is worth to each player, where the search knows.
    pub value: Option<Payoffs>,
    /// What a net thought of it beforehand; 0 without one.
    pub prior: f32,
    /// The value is certain.
    pub proven: bool,
}

/// What a search decided, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The move to play.
    pub mv: Move,
    /// What the position is worth to each player.
    pub value: Payoffs,
    /// All root moves, in order of move number.
    pub root: Vec<RootMove>,
    /// Positions looked at: tree nodes (MCTS) or positions searched (alpha-beta).
    pub nodes: u64,
    /// Simulations (MCTS).
    pub simulations: u64,
    /// Plies of the deepest line in the tree (MCTS) or of the last finished iteration (alpha-beta).
    pub depth: u32,
    /// The expected continuation, beginning with `mv`.
    pub line: Vec<Move>,
    /// Memory that the search's tree or table takes.
    pub bytes: u64,
}

/// Chooses moves.
pub trait Search<G: Game>: Send {
    /// Thinks about a state that is not over.
    fn search(&mut self, game: &G, s: &G::State, limit: &Limit, rng: &mut Rng) -> Choice;

    /// A move was played from the state last searched or advanced to: what is known below it may be kept.
    fn advance(&mut self, _m: Move) {}

    /// Forgets everything: a new match begins.
    fn reset(&mut self) {}

    /// What the last search counted besides, by name: for those who measure its parts.
    fn tally(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
