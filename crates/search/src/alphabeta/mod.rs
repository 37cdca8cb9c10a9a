//! Alpha-beta with iterative deepening, for two players whose payoffs add up to zero.
//!
//! Values belong to the mover and change sign only where the mover changes, so repeated turns are right by construction.
//! Terminal wins outrank every heuristic and quicker ones outrank slower ones (the reverse for losses); other outcomes count
//! as they are. The table stores a value with the depth it was searched to and gives it back for exactly that depth, or for
//! a greater one if nothing below was cut at the horizon: so the result equals plain minimax, only sooner. Positions with
//! different histories (`Game::history_key`) are different positions to it.
//!
//! Moves are tried in the order: table move, then as [`Order`] says. At the root the window is left open by a hair, so that
//! moves exactly as good as the best are known as such.
//!
//! An evaluator that follows lines ([`Evaluator::follows`]) is told of every move that is played and taken back, and of the
//! facts that it changes: an accumulator need not be summed afresh at each leaf.
//!
//! An [`ExactObserver`] receives every node whose payoff is certain: a proven win or loss, or a value inside the window of
//! which no leaf was cut at the horizon. Bounds are never reported. Without an observer this costs nothing.
//!
//! Not done here: extensions, reductions and other guesses; they would make the value depend on the order.

mod order;
mod transposition_table;
mod worker;

pub use order::Order;

use crate::clock::effective_limit;
use crate::eval::Zero;
use crate::observer::{ExactObserver, Unobserved};
use ludex_core::{
    ALPHABETA_LIMITS, Choice, Control, Evaluator, Fact, Game, Limit, LimitKind, Move, Payoffs, Player, Rng, RootMove,
    Search,
};
use order::{Cutoffs, Ply};
use transposition_table::TranspositionTable;
use worker::Worker;

/// A win at the root; each ply to it takes one off. Far beyond every heuristic value.
const WIN: f32 = 10_000.0;
/// Plies, if no limit is given at all.
const DEFAULT_DEPTH: u32 = 4;
/// No search goes deeper.
const DEEPEST: u32 = 250;
const NO_MOVE: Move = Move(u32::MAX);

/// Which of exactly equal root moves is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// Any, uniformly.
    Random,
    /// The first that was found.
    First,
}

/// What can be chosen besides the evaluator.
#[derive(Clone, Copy, Debug)]
pub struct AlphaBetaOptions {
    /// How moves are ordered.
    pub order: Order,
    /// Which of equal root moves is played.
    pub ties: Ties,
    /// Megabytes of transposition table; 0 for none.
    pub table: usize,
    /// Iterations of growing depth; otherwise the full depth at once.
    pub deepening: bool,
}

impl Default for AlphaBetaOptions {
    fn default() -> Self {
        AlphaBetaOptions { order: Order::Killers, ties: Ties::Random, table: 16, deepening: true }
    }
}

/// The search.
pub struct AlphaBeta<G: Game, O: ExactObserver<G> = Unobserved> {
    /// Receives exact nodes.
    pub observer: O,
    eval: Box<dyn Evaluator<G>>,
    options: AlphaBetaOptions,
    table: TranspositionTable,
    cutoffs: Cutoffs,
    /// Buffers, one for each ply.
    stack: Vec<Ply>,
    /// The facts that the last move made true and untrue, for an evaluator that follows the line.
    on: Vec<Fact>,
    off: Vec<Fact>,
}

impl<G: Game> AlphaBeta<G> {
    /// A search with this evaluator at the leaves.
    pub fn new(eval: Box<dyn Evaluator<G>>, options: AlphaBetaOptions) -> Self {
        AlphaBeta::observed(eval, options, Unobserved)
    }

    /// No evaluation: only what is certain counts.
    pub fn plain() -> Self {
        Self::new(Box::new(Zero), AlphaBetaOptions::default())
    }
}

impl<G: Game, O: ExactObserver<G>> AlphaBeta<G, O> {
    /// The same search, with an observer of its exact nodes.
    pub fn observed(eval: Box<dyn Evaluator<G>>, options: AlphaBetaOptions, observer: O) -> Self {
        let table = TranspositionTable::new(options.table);
        let (cutoffs, stack, on, off) = (Cutoffs::default(), Vec::new(), Vec::new(), Vec::new());
        AlphaBeta { observer, eval, options, table, cutoffs, stack, on, off }
    }

    /// The evaluator at the leaves.
    pub fn eval(&mut self) -> &mut dyn Evaluator<G> {
        &mut *self.eval
    }

    /// A search begins.
    fn begin(&mut self, game: &G) {
        self.stack.resize_with(DEEPEST as usize + 2, Ply::default);
        self.cutoffs.begin(game.info().moves as usize, DEEPEST as usize + 2);
        self.table.begin();
    }

    /// What an iteration says about the root moves, and the move to play by it.
    fn choice(&self, mover: Player, moves: &[Move], iteration: &Iteration, rng: &mut Rng) -> Choice {
        let best = iteration.best_moves();
        let mv = match self.options.ties {
            Ties::Random => *rng.pick(&best).expect("the best move is among the best"),
            Ties::First => best[0],
        };
        let payoffs = |v: f32| Payoffs::of(mover, v.clamp(-1.0, 1.0));
        let root_move = |&mv: &Move| match iteration.moves.iter().find(|r| r.mv == mv) {
            None => unexplored(mv),
            Some(r) => {
                let (value, proven) = (r.exact.then(|| payoffs(r.value)), r.exact && r.decided());
                RootMove { mv, visits: r.nodes, value, prior: 0.0, proven }
            }
        };
        let mut root: Vec<RootMove> = moves.iter().map(root_move).collect();
        root.sort_by_key(|r| r.mv);
        let line = if iteration.line.first() == Some(&mv) { iteration.line.clone() } else { vec![mv] };
        let (value, bytes) = (payoffs(iteration.best), self.table.bytes() as u64);
        Choice { mv, value, root, nodes: 0, simulations: 0, depth: iteration.depth, line, bytes }
    }
}

/// What one iteration found.
struct Iteration {
    /// Plies of this iteration, or of the one before as long as this one is not finished.
    depth: u32,
    /// The root moves that were finished.
    moves: Vec<RootResult>,
    best: f32,
    line: Vec<Move>,
    /// No leaf was cut at the horizon.
    complete: bool,
    /// All root moves were finished.
    finished: bool,
}

/// What one iteration found out about a root move.
struct RootResult {
    mv: Move,
    value: f32,
    /// The value is more than an upper bound.
    exact: bool,
    complete: bool,
    nodes: u64,
}

impl RootResult {
    /// A deeper search would find the same.
    fn decided(&self) -> bool {
        self.complete || self.value.abs() > WIN / 2.0
    }
}

impl Iteration {
    /// Begins, after one of this depth.
    fn new(before: u32) -> Self {
        let (moves, line) = (Vec::new(), Vec::new());
        Iteration { depth: before, moves, best: f32::NEG_INFINITY, line, complete: true, finished: true }
    }

    fn best_moves(&self) -> Vec<Move> {
        self.moves.iter().filter(|r| r.exact && r.value == self.best).map(|r| r.mv).collect()
    }

    /// A deeper search would find the same.
    fn decided(&self) -> bool {
        self.complete || self.best.abs() > WIN / 2.0
    }

    /// Best first, for the next iteration; the order of equals stays.
    fn sort(&self, moves: &mut [Move]) {
        let value = |m: &Move| self.moves.iter().find(|r| r.mv == *m).map_or(f32::NEG_INFINITY, |r| r.value);
        moves.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
}

/// A root move of which nothing is known.
fn unexplored(mv: Move) -> RootMove {
    RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false }
}

impl<G: Game, O: ExactObserver<G>> Search<G> for AlphaBeta<G, O> {
    fn search(&mut self, game: &G, s: &G::State, control: &Control, rng: &mut Rng) -> Choice {
        debug_assert!(game.info().zero_sum);
        let limit = effective_limit(self, control);
        let deepest = limit.depth.unwrap_or(DEEPEST).clamp(1, DEEPEST);
        let shallowest = if self.options.deepening { 1 } else { deepest };
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        self.begin(game);
        let (last, nodes) = match self.eval.follows() {
            true => {
                self.eval.refresh(game, s);
                let mut worker = Worker::<_, _, true>::new(game, self, control, &limit, rng);
                (worker.deepen(s, &mut moves, shallowest..=deepest), worker.nodes)
            }
            false => {
                let mut worker = Worker::<_, _, false>::new(game, self, control, &limit, rng);
                (worker.deepen(s, &mut moves, shallowest..=deepest), worker.nodes)
            }
        };
        match last {
            Some(iteration) => Choice { nodes, ..self.choice(game.mover(s), &moves, &iteration, rng) },
            // Not a single move could be looked at: any will do.
            None => {
                let mv = *rng.pick(&moves).expect("the game is not over");
                let root = moves.into_iter().map(unexplored).collect();
                let (value, line) = (Payoffs::draw(2), vec![mv]);
                Choice { mv, value, root, nodes, simulations: 0, depth: 0, line, bytes: 0 }
            }
        }
    }

    fn limits(&self) -> &'static [LimitKind] {
        ALPHABETA_LIMITS
    }

    fn default_limit(&self) -> Limit {
        Limit::depth(DEFAULT_DEPTH)
    }

    fn reset(&mut self) {
        self.table.clear();
        self.cutoffs.clear();
    }
}
