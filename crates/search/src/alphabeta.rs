//! Alpha-beta with iterative deepening, for two players whose payoffs add up to zero.
//!
//! Values belong to the mover and change sign only where the mover changes, so repeated turns are right by construction.
//! Terminal wins outrank every heuristic and quicker ones outrank slower ones (the reverse for losses); other outcomes count
//! as they are. The table stores a value with the depth it was searched to and gives it back for exactly that depth, or for
//! a greater one if nothing below was cut at the horizon: so the result equals plain minimax, only sooner. Positions with
//! different histories (`Game::history_key`) are different positions to it.
//!
//! Moves are tried in the order: table move, then by evaluator or by killers and history (Akl & Newborn 1977; Schaeffer
//! 1983). At the root the window is left open by a hair, so that moves exactly as good as the best are known as such.
//!
//! A [`Watch`] is told of every node whose payoff is certain: a proven win or loss, or a value inside the window of which no
//! leaf was cut at the horizon. Bounds are never reported; nobody listening costs nothing.
//!
//! Not done here: extensions, reductions and other guesses; they would make the value depend on the order.

use crate::Clock;
use crate::eval::Zero;
use crate::table::{Bound, Table};
use crate::watch::{Source, Unwatched, Watch};
use ludex_core::{Choice, Evaluator, Game, Limit, Move, Payoffs, Player, Rng, RootMove, Search};

/// A win at the root; each ply to it takes one off. Far beyond every heuristic value.
const WIN: f32 = 10_000.0;

/// How moves are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As the game lists them (after the table's move).
    None,
    /// Moves that cut off lately, then moves that cut off often.
    Killers,
    /// By the evaluator's opinion of each move, asked where at least two plies remain; else killers first.
    Eval,
    /// At random.
    Random,
}

/// Which of exactly equal root moves is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// Any, uniformly.
    Random,
    /// The first that was found.
    First,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How moves are ordered.
    pub order: Order,
    /// Which of equal root moves is played.
    pub ties: Ties,
    /// Megabytes of transposition table; 0 for none.
    pub table: usize,
    /// Iterations of growing depth; otherwise the full depth at once.
    pub deepening: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { order: Order::Killers, ties: Ties::Random, table: 16, deepening: true }
    }
}

/// The search.
pub struct AlphaBeta<G: Game, W: Watch<G> = Unwatched> {
    /// Who is told of exact nodes.
    pub watch: W,
    eval: Box<dyn Evaluator<G>>,
    options: Options,
    table: Table,
    /// Two moves a ply that cut off lately.
    killers: Vec<[Move; 2]>,
    /// By player and move: how much was cut off.
    history: Vec<u32>,
    stack: Vec<Ply>,
}

/// Buffers of one ply.
#[derive(Default)]
struct Ply {
    moves: Vec<Move>,
    scores: Vec<f32>,
    line: Vec<Move>,
}

/// What a subtree is worth to its mover, and whether no leaf of it was cut at the horizon.
#[derive(Clone, Copy)]
struct Worth {
    value: f32,
    complete: bool,
}

/// One search in progress.
struct Work<'a, G: Game, W: Watch<G>> {
    game: &'a G,
    my: &'a mut AlphaBeta<G, W>,
    clock: Clock,
    rng: &'a mut Rng,
    nodes: u64,
    most_nodes: u64,
    aborted: bool,
}

/// Plies, if no limit is given at all.
const DEFAULT_DEPTH: u32 = 4;
/// No search goes deeper.
const DEEPEST: u32 = 250;
const NO_MOVE: Move = Move(u32::MAX);

impl<G: Game> AlphaBeta<G> {
    /// A search with this evaluator at the leaves.
    pub fn new(eval: Box<dyn Evaluator<G>>, options: Options) -> Self {
        AlphaBeta::watched(eval, options, Unwatched)
    }

    /// No evaluation: only what is certain counts.
    pub fn plain() -> Self {
        Self::new(Box::new(Zero), Options::default())
    }
}

impl<G: Game, W: Watch<G>> AlphaBeta<G, W> {
    /// The same search, whose exact nodes somebody wants to know.
    pub fn watched(eval: Box<dyn Evaluator<G>>, options: Options, watch: W) -> Self {
        let table = Table::new(options.table);
        AlphaBeta { watch, eval, options, table, killers: Vec::new(), history: Vec::new(), stack: Vec::new() }
    }

    /// The evaluator at the leaves.
    pub fn eval(&mut self) -> &mut dyn Evaluator<G> {
        &mut *self.eval
    }
}

/// The value of an outcome `ply` plies below the root, for a player who gets `payoff`.
#[inline]
fn terminal(payoff: f32, ply: u32) -> f32 {
    match payoff {
        p if p >= 1.0 => WIN - ply as f32,
        p if p <= -1.0 => ply as f32 - WIN,
        p => p,
    }
}

/// A value as the table keeps it, wins counted from the node, and back again with a negative ply.
#[inline]
fn shifted(value: f32, ply: i32) -> f32 {
    match value {
        v if v > WIN / 2.0 => v + ply as f32,
        v if v < -WIN / 2.0 => v - ply as f32,
        v => v,
    }
}

impl<G: Game, W: Watch<G>> Work<'_, G, W> {
    /// The value of `s` for its mover, by a search `depth` plies deep; exact within (alpha, beta), a bound outside.
    fn node(&mut self, s: &G::State, depth: u32, ply: u32, mut alpha: f32, beta: f32) -> Worth {
        self.nodes += 1;
        self.my.stack[ply as usize].line.clear();
        if self.nodes >= self.most_nodes || self.clock.tick() {
            self.aborted = true;
            return Worth { value: 0.0, complete: false };
        }
        let mover = self.game.mover(s);
        if let Some(payoffs) = self.game.outcome(s) {
            if W::LISTENS {
                self.my.watch.exact(self.game, s, payoffs, Source::Terminal);
            }
            return Worth { value: terminal(payoffs[mover], ply), complete: true };
        }
        let mut key = 0;
        let mut known = NO_MOVE;
        // One ply above the leaves a look into the table costs more than it saves.
        let tabled = depth > 1 && !self.my.table.is_empty();
        if tabled {
            key = self.game.key(s) ^ self.game.history_key(s);
            if let Some(e) = self.my.table.get(key) {
                known = e.best;
                let value = shifted(e.value, -(ply as i32));
                let fits = e.depth as u32 == depth || (e.complete && e.depth as u32 <= depth);
                let decides = match e.bound {
                    Bound::Exact => true,
                    Bound::AtLeast => value >= beta,
                    Bound::AtMost => value <= alpha,
                };
                if fits && decides {
                    return Worth { value, complete: e.complete };
                }
            }
        }
        let mut here = std::mem::take(&mut self.my.stack[ply as usize]);
        self.game.legal(s, &mut here.moves);
        let ranked = depth > 1;
        match ranked {
            true => self.order(s, mover, ply, known, &mut here),
            false => self.order_last(ply, &mut here.moves),
        }
        let (floor, mut best, mut best_move) = (alpha, f32::NEG_INFINITY, NO_MOVE);
        let (mut complete, mut all) = (false, true);
        for i in 0..here.moves.len() {
            let m = if ranked { next_best(&mut here, i) } else { here.moves[i] };
            let below = self.below(s, mover, m, depth, ply, alpha, beta);
            if self.aborted {
                break;
            }
            all &= below.complete;
            if below.value > best {
                (best, best_move) = (below.value, m);
                if best > alpha {
                    alpha = best;
                    here.line.clear();
                    here.line.push(m);
                    if depth > 1 {
                        here.line.extend_from_slice(&self.my.stack[ply as usize + 1].line);
                    }
                }
                if best >= beta {
                    complete = below.complete;
                    self.remember_cut(mover, m, depth, ply);
                    break;
                }
            }
        }
        self.my.stack[ply as usize] = here;
        if self.aborted {
            return Worth { value: 0.0, complete: false };
        }
        complete |= all;
        if W::LISTENS {
            self.tell(s, mover, Worth { value: best, complete }, floor, beta);
        }
        if tabled {
            let bound = match best {
                b if b >= beta => Bound::AtLeast,
                b if b <= floor => Bound::AtMost,
                _ => Bound::Exact,
            };
            let value = shifted(best, ply as i32);
            self.my.table.put(key, value, best_move, depth as u8, bound, complete);
        }
        Worth { value: best, complete }
    }

    /// Tells of a node searched with this window if its payoff is certain. For a win that takes no more than a lower bound,
    /// for a loss no more than an upper one: nothing is better, or worse.
    fn tell(&mut self, s: &G::State, mover: Player, worth: Worth, floor: f32, beta: f32) {
        let payoff = match worth.value {
            v if v > WIN / 2.0 && v > floor => 1.0,
            v if v < -WIN / 2.0 && v < beta => -1.0,
            v if worth.complete && floor < v && v < beta => v.clamp(-1.0, 1.0),
            _ => return,
        };
        self.my.watch.exact(self.game, s, Payoffs::of(mover, payoff), Source::Terminal);
    }

    /// The value of a move for the mover of `s`.
    #[inline]
    #[allow(clippy::too_many_arguments)] // the arguments of `node`, and the move
    fn below(&mut self, s: &G::State, mover: Player, m: Move, depth: u32, ply: u32, alpha: f32, beta: f32) -> Worth {
        let mut child = s.clone();
        self.game.play(&mut child, m);
        if depth == 1 {
            return self.leaf(&child, mover, ply + 1);
        }
        if self.game.mover(&child) == mover {
            self.node(&child, depth - 1, ply + 1, alpha, beta)
        } else {
            let Worth { value, complete } = self.node(&child, depth - 1, ply + 1, -beta, -alpha);
            Worth { value: -value, complete }
        }
    }

    /// The value of a state at the horizon for `p`. Most nodes are such, so they get by without a call of `node`.
    #[inline]
    fn leaf(&mut self, s: &G::State, p: Player, ply: u32) -> Worth {
        self.nodes += 1;
        self.aborted |= self.nodes >= self.most_nodes;
        match self.game.outcome(s) {
            Some(payoffs) => {
                if W::LISTENS {
                    self.my.watch.exact(self.game, s, payoffs, Source::Terminal);
                }
                Worth { value: terminal(payoffs[p], ply), complete: true }
            }
            None => Worth { value: self.my.eval.value(self.game, s)[p].clamp(-1.0, 1.0), complete: false },
        }
    }

    /// Scores the moves; the loop takes the best of the rest each time.
    #[inline]
    fn order(&mut self, s: &G::State, mover: Player, ply: u32, known: Move, here: &mut Ply) {
        here.scores.clear();
        let history = mover.index() * self.game.info().moves as usize;
        match self.my.options.order {
            Order::Eval => {
                here.scores.resize(here.moves.len(), 0.0);
                self.my.eval.score_moves(self.game, s, &here.moves, &mut here.scores);
            }
            Order::Killers => {
                let killers = self.my.killers[ply as usize];
                let score = |m: &Move| match m {
                    m if *m == killers[0] => 3e9,
                    m if *m == killers[1] => 2e9,
                    m => self.my.history[history + m.index()] as f32,
                };
                here.scores.extend(here.moves.iter().map(score));
            }
            Order::Random => here.scores.extend(here.moves.iter().map(|_| self.rng.unit() as f32)),
            Order::None => here.scores.extend((0..here.moves.len()).map(|i| -(i as f32))),
        }
        if known != NO_MOVE
            && let Some(i) = here.moves.iter().position(|&m| m == known)
        {
            here.scores[i] = f32::INFINITY;
        }
    }

    /// One ply above the leaves ranking costs more than it saves: only the moves that cut off lately come first.
    #[inline]
    fn order_last(&mut self, ply: u32, moves: &mut [Move]) {
        match self.my.options.order {
            Order::None => {}
            Order::Random => self.rng.shuffle(moves),
            Order::Killers | Order::Eval => {
                for killer in self.my.killers[ply as usize].into_iter().rev() {
                    if let Some(i) = moves.iter().position(|&m| m == killer) {
                        moves.swap(0, i);
                    }
                }
            }
        }
    }

    fn remember_cut(&mut self, mover: Player, m: Move, depth: u32, ply: u32) {
        let killers = &mut self.my.killers[ply as usize];
        if killers[0] != m {
            *killers = [m, killers[0]];
        }
        let cell = &mut self.my.history[mover.index() * self.game.info().moves as usize + m.index()];
        *cell = cell.saturating_add(depth * depth).min(1 << 30);
    }

    /// One iteration at the root. `None` if it was cut short before any move was finished.
    fn root(&mut self, s: &G::State, depth: u32, moves: &[Move]) -> Option<Iteration> {
        let mover = self.game.mover(s);
        let mut done =
            Iteration { moves: Vec::new(), best: f32::NEG_INFINITY, line: Vec::new(), complete: true, finished: true };
        for &m in moves {
            let alpha = match self.my.options.ties {
                Ties::Random => done.best.next_down(),
                Ties::First => done.best,
            };
            let before = self.nodes;
            let below = self.below(s, mover, m, depth, 0, alpha, f32::INFINITY);
            if self.aborted {
                done.finished = false;
                break;
            }
            done.complete &= below.complete;
            let exact = below.value > alpha;
            done.moves.push((m, below.value, exact, below.complete, self.nodes - before));
            if below.value > done.best {
                done.best = below.value;
                let rest = if depth > 1 { &self.my.stack[1].line[..] } else { &[] };
                done.line = std::iter::once(m).chain(rest.iter().copied()).collect();
            }
        }
        if W::LISTENS && (done.finished || done.best > WIN / 2.0) {
            let worth = Worth { value: done.best, complete: done.complete };
            self.tell(s, mover, worth, f32::NEG_INFINITY, f32::INFINITY);
        }
        (!done.moves.is_empty()).then_some(done)
    }
}

/// What one iteration found: each move with its value, whether that is exact, whether it is complete, and its nodes.
struct Iteration {
    moves: Vec<(Move, f32, bool, bool, u64)>,
    best: f32,
    line: Vec<Move>,
    complete: bool,
    finished: bool,
}

impl Iteration {
    fn best_moves(&self) -> Vec<Move> {
        self.moves.iter().filter(|(_, v, exact, ..)| *exact && *v == self.best).map(|(m, ..)| *m).collect()
    }
}

/// Brings the best of the moves from `i` on to place `i`; the first of equals.
#[inline]
fn next_best(here: &mut Ply, i: usize) -> Move {
    let rest = &here.scores[i..];
    let mut top = 0;
    for (j, &score) in rest.iter().enumerate().skip(1) {
        if score > rest[top] {
            top = j;
        }
    }
    here.moves.swap(i, i + top);
    here.scores.swap(i, i + top);
    here.moves[i]
}

impl<G: Game, W: Watch<G>> Search<G> for AlphaBeta<G, W> {
    fn search(&mut self, game: &G, s: &G::State, limit: &Limit, rng: &mut Rng) -> Choice {
        debug_assert!(game.info().zero_sum);
        let limit = limit.or(&Limit::depth(DEFAULT_DEPTH));
        let deepest = limit.depth.unwrap_or(DEEPEST).clamp(1, DEEPEST);
        self.stack.resize_with(DEEPEST as usize + 2, Ply::default);
        self.killers.clear();
        self.killers.resize(DEEPEST as usize + 2, [NO_MOVE; 2]);
        self.history.resize(game.info().moves as usize * 2, 0);
        self.history.iter_mut().for_each(|h| *h /= 8);
        self.table.begin();
        let mover = game.mover(s);
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        let clock = Clock::start(&limit);
        let most_nodes = limit.nodes.unwrap_or(u64::MAX);
        let (options, mut last, mut depth) = (self.options, None::<Iteration>, 0);
        let mut work = Work { game, my: self, clock, rng, nodes: 1, most_nodes, aborted: false };
        for d in (if options.deepening { 1 } else { deepest })..=deepest {
            let Some(done) = work.root(s, d, &moves) else { break };
            if !done.finished {
                // It began with the best move known, so even a part of it says more than the iteration before.
                last = Some(done);
                break;
            }
            depth = d;
            // Best first for the next iteration; a stable sort keeps the order of equals.
            let value = |m: &Move| done.moves.iter().find(|x| x.0 == *m).map_or(f32::NEG_INFINITY, |x| x.1);
            moves.sort_by(|a, b| value(b).total_cmp(&value(a)));
            let decided = done.complete || done.best.abs() > WIN / 2.0;
            last = Some(done);
            if decided {
                break;
            }
        }
        let nodes = work.nodes;
        let Some(done) = last else {
            // Not a single move could be looked at: any will do.
            let mv = *rng.pick(&moves).expect("the game is not over");
            let root =
                moves.iter().map(|&mv| RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false }).collect();
            return Choice {
                mv,
                value: Payoffs::draw(2),
                root,
                nodes,
                simulations: 0,
                depth: 0,
                line: vec![mv],
                bytes: 0,
            };
        };
        let best = done.best_moves();
        let mv = match options.ties {
            Ties::Random => *rng.pick(&best).expect("the best move is among the best"),
            Ties::First => best[0],
        };
        let payoffs = |v: f32| Payoffs::of(mover, v.clamp(-1.0, 1.0));
        let root_move = |&mv: &Move| match done.moves.iter().find(|x| x.0 == mv) {
            None => RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false },
            Some(&(_, v, exact, complete, visits)) => {
                let proven = exact && (complete || v.abs() > WIN / 2.0);
                RootMove { mv, visits, value: exact.then(|| payoffs(v)), prior: 0.0, proven }
            }
        };
        moves.sort();
        let root = moves.iter().map(root_move).collect();
        let line = if done.line.first() == Some(&mv) { done.line.clone() } else { vec![mv] };
        let bytes = self.table.bytes() as u64;
        Choice { mv, value: payoffs(done.best), root, nodes, simulations: 0, depth, line, bytes }
    }

    fn reset(&mut self) {
        self.table.clear();
        self.history.fill(0);
    }
}
