//! Dots and Boxes: a search that knows chains, and a plain count of boxes for minimax.
//!
//! [`Chains`] stands in for QDab (Zhuang et al. 2015), the opponent of Cotarelo et al., *Improving Monte Carlo Tree Search
//! with Artificial Neural Networks without Heuristics* (2021), which classifies edges by the chains that they belong to,
//! closes boxes greedily and searches the rest by Monte Carlo. It is written from the rules and from Berlekamp's book, not
//! from QDab, and has no net. How it moves:
//!
//! 1. *Something can be taken*: it takes, all that there is. Only when no safe edge would be left afterwards does it weigh
//!    the double deal (leaving the last two boxes of a chain, four of a loop) against taking these as well, exactly.
//! 2. *A safe edge is left*: it plays one. Which one, a small UCT search says: its tree holds safe edges only, its playouts
//!    draw safe edges at random until there are none, and what is left is valued by the lengths of its chains and loops.
//! 3. *None is left*: it opens the chain or loop that costs least in the end, exactly (up to 200,000 positions with joints,
//!    far more than 5x5 needs; beyond them it guesses that the shortest go first).
//!
//! What it does not do: give up a box while a safe edge is left, be it a sacrifice or a double deal, though that is now and
//! then the only way to win; nor does it expect the opponent to. There, and where playouts are few, it can be beaten.
//!
//! The one setting of strength is the number of playouts in step 2. Below 100 it is also the share of decisions, in percent,
//! that are thought through at all; the others are careless: close a box if one can be closed, else a random safe edge,
//! else a random edge. So 0 is the greedy player of everybody's childhood, and from 100 on the laws above hold always.

pub(crate) mod exact;
pub(crate) mod family;
mod strings;

use crate::squash::share;
use ludex_core::{Choice, Control, Evaluator, Game, Limit, LimitKind, Move, Payoffs, Player, Rng, RootMove, Search};
use ludex_games::{Dots, DotsState, Score, Word};
use strings::{Board, Clock, Endgame, Peel};

/// The strength from which no decision is careless.
const CAREFUL: u64 = 100;
/// Positions with joints that one decision may search.
const ENDGAME_NODES: u64 = 200_000;
/// The same at the end of one playout: with one, a playout is worth more (66 % at equal playouts) but takes three times as
/// long, and at equal time neither is better.
const PLAYOUT_NODES: u64 = 0;
/// The same at a leaf of the tree where no safe edge is left.
const LEAF_NODES: u64 = 2_000;
/// Playouts that value a position whose move is clear.
const GLANCE: u64 = 64;
/// Nodes the tree may have; when it is full, playouts go on from its leaves. 48 MB at most.
const TREE: usize = 1 << 20;
/// What can shorten the search: every limit but depth.
const LIMITS: &[LimitKind] = &[
    LimitKind::Simulations,
    LimitKind::Visits,
    LimitKind::Expansions,
    LimitKind::Nodes,
    LimitKind::Time,
    LimitKind::Cpu,
];
/// The constant of UCT on payoffs in [-1, 1].
const EXPLORATION: f64 = 0.5;

/// The chain-aware search; see the head of this file.
///
/// Deterministic for a given generator. Any limit that is set can only shorten its search: `simulations`, `visits`,
/// `expansions`, `nodes` (positions of the endgame), `time`, `cpu` (by the wall clock, which runs no slower) and `stop`;
/// `depth` means nothing to it. Its values are payoffs of the game; in the safe phase, where only the result counts, a
/// tenth of the value is the share of boxes, so that it neither gives up nor relaxes.
pub struct Chains<B: Word> {
    strength: u64,
    board: Option<Board<B>>,
    endgame: Endgame<B>,
    tree: Vec<Node<B>>,
}

/// A safe edge drawn, in the tree of the safe phase. Children form a list.
struct Node<B> {
    tried: B,
    /// Summed for the player who drew the edge.
    total: f64,
    visits: u32,
    first: u32,
    next: u32,
    edge: u8,
    /// The value for the player to move, if no safe edge is left.
    exact: Option<i8>,
}

const NONE: u32 = u32::MAX;

impl<B: Word> Node<B> {
    fn new(edge: u32, next: u32) -> Self {
        Node { tried: B::ZERO, total: 0.0, visits: 0, first: NONE, next, edge: edge as u8, exact: None }
    }
}

impl<B: Word> Default for Chains<B> {
    fn default() -> Self {
        Chains::new(Self::STRENGTH)
    }
}

impl<B: Word> Chains<B> {
    /// The standard strength, with which others are measured.
    pub const STRENGTH: u64 = 1_000;

    /// Plays this many playouts for a move of the safe phase; below 100, a careless one.
    pub fn new(strength: u64) -> Self {
        Chains { strength, board: None, endgame: Endgame::new(), tree: Vec::new() }
    }

    /// The number of playouts.
    pub fn strength(&self) -> u64 {
        self.strength
    }
}

/// The position to decide about, and how final margins are worth.
struct Task<'a, B: Word> {
    game: &'a Dots<B>,
    board: &'a Board<B>,
    drawn: B,
    mover: Player,
    /// Boxes that the mover is ahead.
    lead: i32,
}

impl<B: Word> Task<'_, B> {
    /// What a final lead of so many boxes is worth to the mover by the rules.
    fn payoff(&self, margin: i32) -> f32 {
        match self.game.score() {
            Score::Win => margin.signum() as f32,
            Score::Margin => margin as f32 / self.board.boxes() as f32,
        }
    }

    /// The same with a tenth for the boxes, where the rules count only the result.
    fn reward(&self, margin: i32) -> f64 {
        let share = margin as f64 / self.board.boxes() as f64;
        match self.game.score() {
            Score::Win => 0.9 * margin.signum() as f64 + 0.1 * share,
            Score::Margin => share,
        }
    }

    /// The bits of a set of edges.
    fn edges(&self, set: B) -> impl Iterator<Item = u32> {
        (0..self.game.info().moves).filter(move |&e| set & B::bit(e) != B::ZERO)
    }

    /// The first edge that closes a box, where something can be taken.
    fn capture(&self, peel: &Peel<B>) -> u32 {
        let mut edges = self.edges(peel.rest & !self.drawn);
        edges.find(|&e| self.board.closes(self.drawn, e) > 0).expect("what can be taken begins with a capture")
    }

    fn choice(&self, mv: u32, value: f32) -> Choice {
        let edges = self.edges(self.board.all & !self.drawn);
        let root = |e| RootMove { mv: Move(e), visits: 0, value: None, prior: 0.0, proven: false };
        Choice {
            mv: Move(mv),
            value: Payoffs::of(self.mover, value),
            root: edges.map(root).collect(),
            nodes: 1,
            simulations: 0,
            depth: 1,
            line: vec![Move(mv)],
            bytes: 0,
        }
    }

    /// A move of known value.
    fn settle(&self, choice: &mut Choice, e: u32, visits: u64, value: f32, proven: bool) {
        let root = choice.root.iter_mut().find(|r| r.mv == Move(e)).expect("a free edge is a root move");
        (root.visits, root.value, root.proven) = (visits, Some(Payoffs::of(self.mover, value)), proven);
    }
}

impl<B: Word> Search<Dots<B>> for Chains<B> {
    fn search(&mut self, game: &Dots<B>, s: &DotsState<B>, control: &Control, rng: &mut Rng) -> Choice {
        let limit = &control.limit;
        let board = match self.board.take() {
            Some(board) if board.size == game.size() => board,
            _ => Board::new(game),
        };
        let mover = game.mover(s);
        let boxes = game.boxes(s).map(|n| n as i32);
        let lead = boxes[mover.index()] - boxes[mover.other().index()];
        let task = Task { game, board: &board, drawn: game.drawn(s), mover, lead };
        self.endgame.begin(limit.nodes.unwrap_or(ENDGAME_NODES).min(ENDGAME_NODES), Clock::new(control));
        let mut choice = self.decide(&task, limit, rng);
        choice.nodes += self.endgame.searched;
        self.board = Some(board);
        choice
    }

    fn limits(&self) -> &'static [LimitKind] {
        LIMITS
    }

    fn default_limit(&self) -> Limit {
        Limit::simulations(self.strength)
    }

    fn reset(&mut self) {
        self.tree.clear();
    }
}

impl<B: Word> Chains<B> {
    fn decide(&mut self, task: &Task<B>, limit: &Limit, rng: &mut Rng) -> Choice {
        let board = task.board;
        let safe = board.safe(task.drawn);
        let peel = board.peel(task.drawn);
        if self.strength < CAREFUL && rng.below(CAREFUL as u32) as u64 >= self.strength {
            self.slip(task, &peel, safe, rng)
        } else if peel.boxes > 0 && board.safe(peel.rest) != B::ZERO {
            self.take(task, &peel, limit, rng)
        } else if safe != B::ZERO && peel.boxes == 0 {
            self.probe(task, safe, limit, rng)
        } else {
            self.solve(task, &peel)
        }
    }

    /// Closes a box, else draws a random safe edge, else a random edge. All that it sees is the score.
    fn slip(&self, task: &Task<B>, peel: &Peel<B>, safe: B, rng: &mut Rng) -> Choice {
        let free = if safe != B::ZERO { safe } else { task.board.all & !task.drawn };
        let edge = if peel.boxes > 0 { task.capture(peel) } else { free.select(rng.below(free.count())) };
        task.choice(edge, task.reward(task.lead) as f32)
    }

    /// The edge that is best by net boxes to come, without a safe one. Of equals the first, captures before others and
    /// short chains before long: they give least if the opponent errs.
    fn solve(&mut self, task: &Task<B>, peel: &Peel<B>) -> Choice {
        let (board, drawn) = (task.board, task.drawn);
        let values: Vec<(u32, i32)> = if peel.boxes > 0 {
            let mut edges: Vec<u32> = task.edges(peel.rest & !drawn).collect();
            edges.sort_by_key(|&e| board.closes(drawn, e) == 0);
            edges.iter().map(|&e| (e, self.endgame.value_after(board, drawn, e))).collect()
        } else {
            let mut openings = self.endgame.openings(board, drawn);
            openings.sort_by_key(|(s, _)| (s.boxes, s.opening));
            openings.iter().map(|(s, v)| (s.opening as u32, *v)).collect()
        };
        let proven = self.endgame.nodes > 0;
        let best = values.iter().map(|v| v.1).max().expect("a game that is not over has a move");
        let edge = values.iter().find(|v| v.1 == best).map_or(0, |v| v.0);
        let mut choice = task.choice(edge, task.payoff(task.lead + best));
        for (e, v) in values {
            task.settle(&mut choice, e, 1, task.payoff(task.lead + v), proven);
        }
        choice
    }

    /// Takes what there is to take; looks ahead only for the sake of the value.
    fn take(&mut self, task: &Task<B>, peel: &Peel<B>, limit: &Limit, rng: &mut Rng) -> Choice {
        let (safe, lead) = (task.board.safe(peel.rest), task.lead + peel.boxes);
        let playouts = self.playouts(limit).min(GLANCE);
        let (mut total, mut n) = (0.0, 0);
        while n < playouts && !self.rings(n) {
            total += task.reward(lead + self.playout(task.board, peel.rest, safe, rng));
            n += 1;
        }
        let value = if n > 0 { (total / n as f64) as f32 } else { task.reward(lead) as f32 };
        let edge = task.capture(peel);
        let mut choice = task.choice(edge, value);
        task.settle(&mut choice, edge, n, value, false);
        choice.simulations = n;
        choice
    }

    fn playouts(&self, limit: &Limit) -> u64 {
        limit.simulations.unwrap_or(u64::MAX).min(self.strength)
    }

    /// Whether to stop after so many playouts; looks at the clock now and then.
    fn rings(&self, playouts: u64) -> bool {
        playouts.is_multiple_of(8) && self.endgame.clock.rings()
    }

    /// Draws safe edges at random to the last; the net boxes to come, for the player to move.
    fn playout(&mut self, board: &Board<B>, mut drawn: B, mut safe: B, rng: &mut Rng) -> i32 {
        let mut sign = 1;
        while safe != B::ZERO {
            let e = safe.select(rng.below(safe.count()));
            drawn |= B::bit(e);
            safe = board.still_safe(drawn, safe, e);
            sign = -sign;
        }
        sign * self.leaf(board, drawn, PLAYOUT_NODES)
    }

    /// The value of a position without a safe edge for this many positions searched.
    fn leaf(&mut self, board: &Board<B>, drawn: B, nodes: u64) -> i32 {
        self.endgame.nodes = nodes;
        self.endgame.value(board, drawn)
    }

    /// UCT among safe edges.
    fn probe(&mut self, task: &Task<B>, safe: B, limit: &Limit, rng: &mut Rng) -> Choice {
        self.tree.clear();
        self.tree.push(Node::new(0, NONE));
        let playouts = self.playouts(limit);
        let (mut n, mut visits, mut depth) = (0, 0, 0);
        let within = |cap: Option<u64>, n: u64| cap.is_none_or(|cap| n < cap);
        while n < playouts
            && within(limit.visits, visits)
            && within(limit.expansions, self.tree.len() as u64 - 1)
            && !self.rings(n)
        {
            let path = self.simulate(task, safe, rng);
            visits += path as u64;
            depth = depth.max(path as u32);
            n += 1;
        }
        let line = self.line();
        let Some(&best) = line.first() else {
            // Without a playout: any safe edge.
            return task.choice(safe.select(rng.below(safe.count())), task.reward(task.lead) as f32);
        };
        let mean = |node: &Node<B>| (node.total / node.visits as f64) as f32;
        let mut choice = task.choice(self.tree[best as usize].edge as u32, mean(&self.tree[best as usize]));
        for child in self.children(0) {
            let node = &self.tree[child as usize];
            task.settle(&mut choice, node.edge as u32, node.visits as u64, mean(node), false);
        }
        choice.line = line.iter().map(|&i| Move(self.tree[i as usize].edge as u32)).collect();
        (choice.nodes, choice.simulations, choice.depth) = (self.tree.len() as u64, n, depth);
        choice
    }

    fn children(&self, node: u32) -> impl Iterator<Item = u32> {
        let mut next = self.tree[node as usize].first;
        std::iter::from_fn(move || {
            let child = (next != NONE).then_some(next)?;
            next = self.tree[child as usize].next;
            Some(child)
        })
    }

    /// The most visited moves from the root on; of equals the better, then the smaller edge.
    fn line(&self) -> Vec<u32> {
        let mut line = Vec::new();
        let mut at = 0;
        let rank = |i: &u32| {
            let node = &self.tree[*i as usize];
            (node.visits, node.total, std::cmp::Reverse(node.edge))
        };
        let order = |a: &u32, b: &u32| rank(a).partial_cmp(&rank(b)).expect("totals are numbers");
        while let Some(best) = self.children(at).max_by(order) {
            line.push(best);
            at = best;
        }
        line
    }

    /// One way down the tree, one new node, one playout, and back; gives the length of the way.
    fn simulate(&mut self, task: &Task<B>, mut safe: B, rng: &mut Rng) -> usize {
        let board = task.board;
        let (mut drawn, mut at) = (task.drawn, 0u32);
        let mut path = [0u32; 129];
        let mut length = 0;
        let mut fresh = false;
        while safe != B::ZERO && !fresh {
            let untried = safe & !self.tree[at as usize].tried;
            let child = if untried != B::ZERO && self.tree.len() < TREE {
                fresh = true;
                self.grow(at, untried.select(rng.below(untried.count())))
            } else {
                match self.select(at) {
                    Some(child) => child,
                    None => break,
                }
            };
            let e = self.tree[child as usize].edge as u32;
            drawn |= B::bit(e);
            safe = board.still_safe(drawn, safe, e);
            at = child;
            path[length] = child;
            length += 1;
        }
        let to_come = if safe != B::ZERO {
            self.playout(board, drawn, safe, rng)
        } else if let Some(value) = self.tree[at as usize].exact {
            value as i32
        } else {
            let value = self.leaf(board, drawn, LEAF_NODES);
            self.tree[at as usize].exact = Some(value as i8);
            value
        };
        // Safe edges close nothing, so that turns alternate within the tree.
        let sign = if length % 2 == 0 { 1 } else { -1 };
        let reward = task.reward(task.lead + sign * to_come);
        for (i, &node) in path[..length].iter().enumerate() {
            let node = &mut self.tree[node as usize];
            node.visits += 1;
            node.total += if i % 2 == 0 { reward } else { -reward };
        }
        self.tree[0].visits += 1;
        length
    }

    fn grow(&mut self, parent: u32, edge: u32) -> u32 {
        let child = self.tree.len() as u32;
        let node = &mut self.tree[parent as usize];
        node.tried |= B::bit(edge);
        let next = std::mem::replace(&mut node.first, child);
        self.tree.push(Node::new(edge, next));
        child
    }

    /// The child with the largest upper confidence bound.
    fn select(&self, parent: u32) -> Option<u32> {
        let log = (self.tree[parent as usize].visits.max(1) as f64).ln();
        let bound = |i: u32| {
            let node = &self.tree[i as usize];
            let n = node.visits as f64;
            node.total / n + EXPLORATION * (log / n).sqrt()
        };
        self.children(parent).map(|i| (i, bound(i))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
    }
}

/// Boxes now, plus those that the player to move can take at once, as a share of all: for minimax.
///
/// It knows nothing of chains; the setting of strength is the depth of the search around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetBoxes;

impl<B: Word> Evaluator<Dots<B>> for NetBoxes {
    fn value(&mut self, game: &Dots<B>, s: &DotsState<B>) -> Payoffs {
        let mover = game.mover(s);
        let boxes = game.boxes(s).map(|n| n as f32);
        let (cols, rows) = game.size();
        let mut drawn = game.drawn(s);
        let mut taken = 0.0;
        // A box taken may open its neighbour: until nothing is left with one edge.
        while let Some(open) = (0..cols * rows).map(|b| game.sides(b) & !drawn).find(|open| open.count() == 1) {
            let closed = |b: &usize| game.sides(*b) & !drawn == open;
            taken += (0..cols * rows).filter(closed).count() as f32;
            drawn |= open;
        }
        share(mover, boxes[mover.index()] - boxes[mover.other().index()] + taken, (cols * rows) as f32)
    }
}
