//! Principal variation search, for two players whose payoffs add up to zero: the strong alpha-beta.
//!
//! [`crate::AlphaBeta`] equals plain minimax and is the oracle of this one, which plays better by being less exact. Values
//! belong to the mover and change sign only where the mover changes: turns need not alternate.
//!
//! | part | source |
//! |---|---|
//! | null windows for all moves but the first, searched again where one fails high | Marsland & Campbell 1982; Reinefeld 1983 (NegaScout) |
//! | iterative deepening with an aspiration window at the root | Slate & Atkin 1977 |
//! | table of two slots, aged; a deeper entry answers a shallower question | Breuker, Uiterwijk & van den Herik 1996 |
//! | order: table move, killers, countermove, history | Akl & Newborn 1977; Uiterwijk 1992; Schaeffer 1983 |
//! | enhanced transposition cutoffs: the table is asked about all children first | Plaat, Schaeffer, Pijls & de Bruin 1996 |
//! | late-move reductions: moves late in the order are searched less deep at first | Fruit and Glaurung 2005-06; Romstad |
//! | ProbCut: a shallow search far outside the window stands for the deep one | Buro 1995 |
//! | extension of forced replies | Slate & Atkin 1977 |
//! | a win in one ends a node, and moves that allow the opponent one are not searched | as in every solver of Connect Four |
//!
//! **What is certain.** A value is *complete* if no leaf that mattered was cut at the horizon or guessed; a win or loss
//! counts as complete as soon as it bounds the value. Only complete values are reported as proven, and a complete root ends
//! the search. Reductions and ProbCut never make a value complete: wins and losses that they come upon are real, all other
//! values that they give are guesses.
//!
//! **History.** The table tells positions with different pasts apart, as [`Game::history_key`] says, which is exact, but
//! finds few transpositions where that key differs between any two lines (Morris). With [`HistoryKey::Ignore`] it does not,
//! and then nothing is reported as proven (the graph-history interaction problem, Campbell 1985).
//!
//! **Evaluators that follow** ([`Evaluator::follows`]) are told of moves only when the end of the line is evaluated: children
//! that are over, won at once or known to the table cost no accumulator.

mod order;
mod prove;
mod score;
mod table;
mod worker;

pub use prove::{Goal, MoveBounds, value_of};

use crate::clock::effective_limit;
use crate::eval::Zero;
use ludex_core::{
    ALPHABETA_LIMITS, Choice, Control, Evaluator, Game, Limit, LimitKind, Move, Payoffs, Rng, RootMove, Search,
};
use order::{Cutoffs, Ply, Step};
use score::{DECISIVE, payoff};
use table::{Bound, Table};
use worker::Worker;

/// Plies, if no limit is given at all.
const DEFAULT_DEPTH: u32 = 4;
/// No line goes deeper.
const DEEPEST: u32 = 250;
const NO_MOVE: Move = Move(u32::MAX);

/// How moves are ordered after the table's move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PvsOrder {
    /// Moves that cut off lately, then moves that cut off often.
    Killers,
    /// By the evaluator's opinion of each move, asked where at least so many plies remain; else killers.
    Eval(u32),
}

/// Whether the table tells positions with different pasts apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryKey {
    /// As the rules say.
    Exact,
    /// No: more transpositions, no proofs.
    Ignore,
}

/// What can be chosen besides the evaluator.
#[derive(Clone, Copy, Debug)]
pub struct PvsOptions {
    /// Megabytes of transposition table; 0 for none.
    pub table: usize,
    /// How moves are ordered.
    pub order: PvsOrder,
    /// How the table tells positions apart.
    pub history: HistoryKey,
    /// Late-move reductions.
    pub reductions: bool,
    /// Enhanced transposition cutoffs.
    pub etc: bool,
    /// ProbCut: the standard deviation, in payoff, of the difference between a search and one four plies less deep; 0 for
    /// no ProbCut.
    pub probcut: f32,
    /// ProbCut: how many standard deviations outside the window are enough.
    pub threshold: f32,
    /// Forced replies cost no depth.
    pub extensions: bool,
    /// A win in one ([`Game::win_in_one`]) is seen without a search.
    pub wins: bool,
    /// Half the width of the aspiration window, in payoff; 0 for none.
    pub aspiration: f32,
    /// A table entry of a deeper search answers a shallower question. Otherwise, and without reductions, ProbCut, extensions
    /// and wins, the value is that of plain minimax to the same depth.
    pub deeper: bool,
    /// Root moves are tried in random order at first: of moves that look alike, any may be played.
    pub shuffled: bool,
}

impl Default for PvsOptions {
    fn default() -> Self {
        PvsOptions {
            table: 16,
            order: PvsOrder::Killers,
            history: HistoryKey::Exact,
            reductions: true,
            etc: true,
            probcut: 0.0,
            threshold: 1.5,
            extensions: true,
            wins: false,
            aspiration: 0.1,
            deeper: true,
            shuffled: true,
        }
    }
}

impl PvsOptions {
    /// No guesses: the value is that of plain minimax to the same depth.
    pub fn exact() -> Self {
        PvsOptions { reductions: false, extensions: false, deeper: false, ..PvsOptions::default() }
    }
}

/// What a search counted.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    evaluations: u64,
    table_asked: u64,
    table_answers: u64,
    cutoffs: u64,
    first_move_cutoffs: u64,
    etc_cutoffs: u64,
    probcuts: u64,
    reduced: u64,
    searched_again: u64,
}

/// The search.
pub struct Pvs<G: Game> {
    eval: Box<dyn Evaluator<G>>,
    options: PvsOptions,
    table: Table,
    cutoffs: Cutoffs,
    /// Buffers, one for each ply.
    stack: Vec<Ply>,
    /// The line of play, by the ply that each move led to.
    steps: Vec<Step>,
    /// By depth and place in the order: plies that a late move is reduced by.
    reductions: Box<[[u8; 64]; 64]>,
    counts: Counts,
}

impl<G: Game> Pvs<G> {
    /// A search with this evaluator at the leaves.
    pub fn new(eval: Box<dyn Evaluator<G>>, options: PvsOptions) -> Self {
        let mut reductions = Box::new([[0; 64]; 64]);
        for (depth, row) in reductions.iter_mut().enumerate().skip(3) {
            for (place, plies) in row.iter_mut().enumerate().skip(3) {
                *plies = ((depth as f32).ln() * (place as f32).ln() / 2.0) as u8;
            }
        }
        let table = Table::new(options.table);
        let (cutoffs, stack, steps, counts) = (Cutoffs::default(), Vec::new(), Vec::new(), Counts::default());
        Pvs { eval, options, table, cutoffs, stack, steps, reductions, counts }
    }

    /// No evaluation: only what is certain counts.
    pub fn plain(options: PvsOptions) -> Self {
        Self::new(Box::new(Zero), options)
    }

    /// A search begins.
    fn begin(&mut self, game: &G) {
        self.stack.resize_with(DEEPEST as usize + 2, Ply::default);
        self.steps.resize_with(DEEPEST as usize + 2, Step::default);
        self.steps[0].mv = NO_MOVE;
        self.cutoffs.begin(game.info().moves as usize, DEEPEST as usize + 2);
        self.table.begin();
        self.counts = Counts::default();
    }

    /// The key of a state in the table.
    #[inline]
    fn key(&self, game: &G, s: &G::State) -> u64 {
        match self.options.history {
            HistoryKey::Exact => game.key(s) ^ game.history_key(s),
            HistoryKey::Ignore => game.key(s),
        }
    }

    /// What an iteration says about the root moves, and the move to play by it.
    fn choice(&self, game: &G, s: &G::State, moves: &[Move], iteration: &Iteration) -> Choice {
        let mover = game.mover(s);
        let payoffs = |v: i32| Payoffs::of(mover, payoff(v));
        let provable = self.options.history == HistoryKey::Exact;
        let root_move = |&mv: &Move| match iteration.moves.iter().find(|r| r.mv == mv) {
            None => unexplored(mv),
            Some(r) => {
                // Nothing is worse than a loss: there an upper bound is the value.
                let known = r.exact || (r.complete && r.value < -DECISIVE);
                let (value, proven) = (known.then(|| payoffs(r.value)), known && r.complete && provable);
                RootMove { mv, visits: r.nodes, value, prior: 0.0, proven }
            }
        };
        let mut root: Vec<RootMove> = moves.iter().map(root_move).collect();
        root.sort_by_key(|r| r.mv);
        let line = self.longer_line(game, s, &iteration.line, iteration.complete);
        let (mv, value, bytes) = (line[0], payoffs(iteration.best), self.table.bytes() as u64);
        Choice { mv, value, root, nodes: 0, simulations: 0, depth: iteration.depth, line, bytes }
    }

    /// A line, and how it goes on by the table.
    fn longer_line(&self, game: &G, s: &G::State, line: &[Move], complete: bool) -> Vec<Move> {
        let (mut line, mut s, mut moves) = (line.to_vec(), s.clone(), Vec::new());
        line.iter().for_each(|&m| game.play(&mut s, m));
        while line.len() < DEEPEST as usize && game.outcome(&s).is_none() {
            let Some(e) = self.table.get(self.key(game, &s)) else { break };
            game.legal(&s, &mut moves);
            let goes_on = if complete { e.complete } else { e.bound == Bound::Exact };
            if !goes_on || !moves.contains(&e.best) {
                break;
            }
            game.play(&mut s, e.best);
            line.push(e.best);
        }
        line
    }
}

/// What one iteration found.
struct Iteration {
    /// Plies of this iteration, or of the one before as long as this one is not finished.
    depth: u32,
    /// The root moves that were finished.
    moves: Vec<RootResult>,
    best: i32,
    line: Vec<Move>,
    /// The value is certain.
    complete: bool,
    /// All root moves were finished.
    finished: bool,
}

/// What one iteration found out about a root move.
struct RootResult {
    mv: Move,
    value: i32,
    /// The value is more than an upper bound.
    exact: bool,
    complete: bool,
    nodes: u64,
}

/// A root move of which nothing is known.
fn unexplored(mv: Move) -> RootMove {
    RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false }
}

/// Any move, where not a single one could be looked at.
fn any_move(moves: Vec<Move>, players: usize, nodes: u64, bytes: u64) -> Choice {
    let mv = *moves.first().expect("the game is not over");
    let mut root: Vec<RootMove> = moves.into_iter().map(unexplored).collect();
    root.sort_by_key(|r| r.mv);
    Choice { mv, value: Payoffs::draw(players), root, nodes, simulations: 0, depth: 0, line: vec![mv], bytes }
}

impl<G: Game> Search<G> for Pvs<G> {
    fn search(&mut self, game: &G, s: &G::State, control: &Control, rng: &mut Rng) -> Choice {
        debug_assert!(game.info().zero_sum);
        let limit = effective_limit(self, control);
        let deepest = limit.depth.unwrap_or(DEEPEST).clamp(1, DEEPEST);
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        if self.options.shuffled {
            rng.shuffle(&mut moves);
        }
        self.begin(game);
        let (last, nodes) = match self.eval.follows() {
            true => {
                self.eval.refresh(game, s);
                let mut worker = Worker::<_, true>::new(game, self, control, &limit);
                (worker.deepen(s, &mut moves, deepest), worker.nodes)
            }
            false => {
                let mut worker = Worker::<_, false>::new(game, self, control, &limit);
                (worker.deepen(s, &mut moves, deepest), worker.nodes)
            }
        };
        match last {
            Some(iteration) => Choice { nodes, ..self.choice(game, s, &moves, &iteration) },
            None => any_move(moves, 2, nodes, self.table.bytes() as u64),
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

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let c = &self.counts;
        [
            ("evaluations", c.evaluations),
            ("table asked", c.table_asked),
            ("table answers", c.table_answers),
            ("cutoffs", c.cutoffs),
            ("first-move cutoffs", c.first_move_cutoffs),
            ("etc cutoffs", c.etc_cutoffs),
            ("probcuts", c.probcuts),
            ("reduced", c.reduced),
            ("searched again", c.searched_again),
        ]
        .map(|(name, n)| (name, n as f64))
        .to_vec()
    }
}
