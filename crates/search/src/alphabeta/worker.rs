//! One alpha-beta search in progress: the recursion, and one iteration at the root.

use super::order::{Order, Ply};
use super::transposition_table::Bound;
use super::{AlphaBeta, Iteration, NO_MOVE, RootResult, Ties, WIN};
use crate::Clock;
use crate::observer::{ExactObserver, Source};
use ludex_core::{Choice, Control, Game, Limit, Move, Payoffs, Player, Progress, Rng};
use std::ops::RangeInclusive;

/// What a subtree is worth to its mover, and whether no leaf of it was cut at the horizon.
#[derive(Clone, Copy)]
struct NodeValue {
    value: f32,
    complete: bool,
}

const ABORTED: NodeValue = NodeValue { value: 0.0, complete: false };

/// One search in progress. `FOLLOWS`: the evaluator is told of every move of the line; known at compile time, since most are
/// not and asking at every node costs 4 %.
pub(super) struct Worker<'a, G: Game, O: ExactObserver<G>, const FOLLOWS: bool> {
    game: &'a G,
    search: &'a mut AlphaBeta<G, O>,
    clock: Clock,
    progress: Option<&'a Progress>,
    rng: &'a mut Rng,
    /// Positions searched, the root included.
    pub nodes: u64,
    most_nodes: u64,
    aborted: bool,
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

impl<'a, G: Game, O: ExactObserver<G>, const FOLLOWS: bool> Worker<'a, G, O, FOLLOWS> {
    /// Starts the clock.
    pub fn new(
        game: &'a G,
        search: &'a mut AlphaBeta<G, O>,
        control: &'a Control,
        limit: &Limit,
        rng: &'a mut Rng,
    ) -> Self {
        let (clock, progress) = (Clock::start(control), control.progress.as_ref());
        let most_nodes = limit.nodes.unwrap_or(u64::MAX);
        Worker { game, search, clock, progress, rng, nodes: 1, most_nodes, aborted: false }
    }

    /// Searches deeper and deeper, the moves of the root sorted anew each time. Gives the last iteration, unless not a single
    /// move of the first one was finished.
    pub fn deepen(&mut self, s: &G::State, moves: &mut [Move], depths: RangeInclusive<u32>) -> Option<Iteration> {
        let mut last = None;
        for depth in depths {
            let before = last.as_ref().map_or(0, |i: &Iteration| i.depth);
            let Some(mut iteration) = self.iterate(s, depth, moves, before) else { break };
            if iteration.finished {
                iteration.depth = depth;
                iteration.sort(moves);
                self.report(s, moves, &iteration);
            }
            // It began with the best move known, so even a part of it says more than the iteration before.
            let end = !iteration.finished || iteration.decided();
            last = Some(iteration);
            if end {
                break;
            }
        }
        last
    }

    /// Reports what the search would choose now. The choice is drawn from a copy of the generator: reports change nothing.
    fn report(&self, s: &G::State, moves: &[Move], iteration: &Iteration) {
        if let Some(progress) = self.progress {
            let choice = self.search.choice(self.game.mover(s), moves, iteration, &mut self.rng.clone());
            progress(&Choice { nodes: self.nodes, ..choice });
        }
    }

    /// One iteration at the root, after one of depth `before`. `None` if it was cut short before any move was finished.
    fn iterate(&mut self, s: &G::State, depth: u32, moves: &[Move], before: u32) -> Option<Iteration> {
        let mover = self.game.mover(s);
        let mut iteration = Iteration::new(before);
        for &m in moves {
            // Open by a hair, so that moves exactly as good as the best are known as such.
            let alpha = match self.search.options.ties {
                Ties::Random => iteration.best.next_down(),
                Ties::First => iteration.best,
            };
            let nodes_before = self.nodes;
            let below = self.below(s, mover, m, depth, 0, alpha, f32::INFINITY);
            if self.aborted {
                iteration.finished = false;
                break;
            }
            iteration.complete &= below.complete;
            let (exact, nodes) = (below.value > alpha, self.nodes - nodes_before);
            iteration.moves.push(RootResult { mv: m, value: below.value, exact, complete: below.complete, nodes });
            if below.value > iteration.best {
                iteration.best = below.value;
                let rest = if depth > 1 { &self.search.stack[1].line[..] } else { &[] };
                iteration.line = std::iter::once(m).chain(rest.iter().copied()).collect();
            }
            if self.clock.report_due() {
                self.report(s, moves, &iteration);
            }
        }
        if O::OBSERVES && (iteration.finished || iteration.best > WIN / 2.0) {
            let value = NodeValue { value: iteration.best, complete: iteration.complete };
            self.observe(s, mover, value, f32::NEG_INFINITY, f32::INFINITY);
        }
        (!iteration.moves.is_empty()).then_some(iteration)
    }

    /// The value of `s` for its mover, by a search `depth` plies deep; exact within (alpha, beta), a bound outside.
    fn node(&mut self, s: &G::State, depth: u32, ply: u32, mut alpha: f32, beta: f32) -> NodeValue {
        self.nodes += 1;
        self.search.stack[ply as usize].line.clear();
        if self.nodes >= self.most_nodes || self.clock.tick() {
            self.aborted = true;
            return ABORTED;
        }
        let mover = self.game.mover(s);
        if let Some(payoffs) = self.game.outcome(s) {
            if O::OBSERVES {
                self.search.observer.exact(self.game, s, payoffs, Source::Terminal);
            }
            return NodeValue { value: terminal(payoffs[mover], ply), complete: true };
        }
        let mut key = 0;
        let mut known = NO_MOVE;
        // One ply above the leaves a look into the table costs more than it saves.
        let tabled = depth > 1 && !self.search.table.is_empty();
        if tabled {
            key = self.game.key(s) ^ self.game.history_key(s);
            if let Some(e) = self.search.table.get(key) {
                known = e.best;
                let value = shifted(e.value, -(ply as i32));
                let fits = e.depth as u32 == depth || (e.complete && e.depth as u32 <= depth);
                let decides = match e.bound {
                    Bound::Exact => true,
                    Bound::AtLeast => value >= beta,
                    Bound::AtMost => value <= alpha,
                };
                if fits && decides {
                    return NodeValue { value, complete: e.complete };
                }
            }
        }
        let mut here = std::mem::take(&mut self.search.stack[ply as usize]);
        self.game.legal(s, &mut here.moves);
        let ranked = depth > 1;
        match ranked {
            true => self.rank(s, mover, ply, known, &mut here),
            false => self.order_last(ply, &mut here.moves),
        }
        let (floor, mut best, mut best_move) = (alpha, f32::NEG_INFINITY, NO_MOVE);
        let (mut complete, mut all) = (false, true);
        for i in 0..here.moves.len() {
            let m = if ranked { here.next_best(i) } else { here.moves[i] };
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
                        here.line.extend_from_slice(&self.search.stack[ply as usize + 1].line);
                    }
                }
                if best >= beta {
                    complete = below.complete;
                    self.search.cutoffs.note(mover, m, depth, ply);
                    break;
                }
            }
        }
        self.search.stack[ply as usize] = here;
        if self.aborted {
            return ABORTED;
        }
        complete |= all;
        if O::OBSERVES {
            self.observe(s, mover, NodeValue { value: best, complete }, floor, beta);
        }
        if tabled {
            let bound = match best {
                b if b >= beta => Bound::AtLeast,
                b if b <= floor => Bound::AtMost,
                _ => Bound::Exact,
            };
            let value = shifted(best, ply as i32);
            self.search.table.put(key, value, best_move, depth as u8, bound, complete);
        }
        NodeValue { value: best, complete }
    }

    /// The value of a move for the mover of `s`.
    #[inline(always)] // a call costs more than what it does at most nodes
    #[allow(clippy::too_many_arguments)] // the arguments of `node`, and the move
    fn below(
        &mut self,
        s: &G::State,
        mover: Player,
        m: Move,
        depth: u32,
        ply: u32,
        alpha: f32,
        beta: f32,
    ) -> NodeValue {
        let mut child = s.clone();
        self.play(&mut child, m);
        let value = if depth == 1 {
            self.leaf(&child, mover, ply + 1)
        } else if self.game.mover(&child) == mover {
            self.node(&child, depth - 1, ply + 1, alpha, beta)
        } else {
            let NodeValue { value, complete } = self.node(&child, depth - 1, ply + 1, -beta, -alpha);
            NodeValue { value: -value, complete }
        };
        if FOLLOWS {
            self.search.eval.pop();
        }
        value
    }

    /// Plays a move, and tells the evaluator if it follows the line.
    #[inline]
    fn play(&mut self, s: &mut G::State, m: Move) {
        if FOLLOWS {
            let AlphaBeta { eval, on, off, .. } = &mut *self.search;
            self.game.play_facts(s, m, on, off);
            eval.push(on, off);
        } else {
            self.game.play(s, m);
        }
    }

    /// The value of a state at the horizon for `p`. Most nodes are such, so they get by without a call of `node`.
    #[inline]
    fn leaf(&mut self, s: &G::State, p: Player, ply: u32) -> NodeValue {
        self.nodes += 1;
        self.aborted |= self.nodes >= self.most_nodes;
        if let Some(payoffs) = self.game.outcome(s) {
            if O::OBSERVES {
                self.search.observer.exact(self.game, s, payoffs, Source::Terminal);
            }
            return NodeValue { value: terminal(payoffs[p], ply), complete: true };
        }
        let payoffs = match FOLLOWS {
            true => self.search.eval.line_value(self.game, s),
            false => self.search.eval.value(self.game, s),
        };
        NodeValue { value: payoffs[p].clamp(-1.0, 1.0), complete: false }
    }

    /// Reports a node searched with this window if its payoff is certain. A win needs no more than a lower bound, a loss no
    /// more than an upper one: nothing is better, or worse.
    fn observe(&mut self, s: &G::State, mover: Player, node: NodeValue, floor: f32, beta: f32) {
        let payoff = match node.value {
            v if v > WIN / 2.0 && v > floor => 1.0,
            v if v < -WIN / 2.0 && v < beta => -1.0,
            v if node.complete && floor < v && v < beta => v.clamp(-1.0, 1.0),
            _ => return,
        };
        self.search.observer.exact(self.game, s, Payoffs::of(mover, payoff), Source::Terminal);
    }

    /// Scores the moves; the loop takes the best of the rest each time.
    #[inline]
    fn rank(&mut self, s: &G::State, mover: Player, ply: u32, known: Move, here: &mut Ply) {
        here.scores.clear();
        match self.search.options.order {
            Order::Eval => {
                here.scores.resize(here.moves.len(), 0.0);
                self.search.eval.score_moves(self.game, s, &here.moves, &mut here.scores);
            }
            Order::Killers => self.search.cutoffs.score(mover, ply, &here.moves, &mut here.scores),
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
        match self.search.options.order {
            Order::None => {}
            Order::Random => self.rng.shuffle(moves),
            Order::Killers | Order::Eval => self.search.cutoffs.killers_first(ply, moves),
        }
    }
}
