//! Backward iterative deepening (Ghignone & Cancelliere): leaves, and what follows from them, around a match that was played.
//!
//! ```text
//! line   s0 .. s(T-2)  s(T-1)  s(T)          step 1: root s(T-1), 1 ply;   step 2: root s(T-2), 2 plies;   ..
//! ```
//! The root steps back along the match one state at a time while the bottom level stays where the match ended, so that each
//! sub-search contains the one before. That one is not searched again: its value is passed on, and all steps together visit
//! exactly the nodes of the last.
//!
//! Nothing is pruned unless asked for, because leaves are what is sought. A value is known if it follows from terminal
//! states: a win if one child wins, anything else only if all children are known. States at the bottom that are not terminal
//! are unknown, unless a [`Frontier`] vouches for them ([`Consistent`]: Gherrity 1993). Known nodes are reported to a
//! [`Watch`]. [`around`] does the same below one state.
//!
//! The player who moves is asked of the game at every node, so turns may repeat.

use crate::watch::{Source, Watch};
use crate::{Clock, Unwatched};
use ludex_core::{Evaluator, Game, Limit, Move, Payoffs, Player};
use std::collections::HashMap;

/// What need not be searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cuts {
    /// Everything is: every leaf is found.
    #[default]
    None,
    /// The brothers of a move that wins for certain: all that alpha-beta can cut and still leave values instead of bounds.
    Wins,
}

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What need not be searched.
    pub cuts: Cuts,
    /// Whether a state that was reached in another order of moves is searched again. If not, fewer nodes find the same
    /// leaves, and node counts are no longer those of trees.
    pub join: bool,
}

/// Vouches for states at the bottom that are not over.
pub trait Frontier<G: Game> {
    /// What the state is worth, if that may be relied on.
    fn value(&mut self, game: &G, s: &G::State) -> Option<Payoffs>;
}

/// Nobody vouches for anything: only what is certain counts.
impl<G: Game> Frontier<G> for Unwatched {
    fn value(&mut self, _: &G, _: &G::State) -> Option<Payoffs> {
        None
    }
}

/// A heuristic h, where it agrees with itself one ply further: |h(s) - minimax_1(h)(s)| <= tolerance for the mover.
pub struct Consistent<'a, G: Game> {
    /// The heuristic.
    pub eval: &'a mut dyn Evaluator<G>,
    /// How far apart both may be.
    pub tolerance: f32,
}

impl<G: Game> Frontier<G> for Consistent<'_, G> {
    fn value(&mut self, game: &G, s: &G::State) -> Option<Payoffs> {
        let mover = game.mover(s);
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        let mut scores = vec![0.0; moves.len()];
        self.eval.score_moves(game, s, &moves, &mut scores);
        let deep = scores.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let here = self.eval.value(game, s);
        ((here[mover] - deep).abs() <= self.tolerance).then_some(here)
    }
}

/// One step: a root, searched to the level of the last state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The place of the root in the line.
    pub ply: usize,
    /// Nodes visited in this step alone.
    pub nodes: u64,
    /// What the root is worth, if that is known.
    pub value: Option<Payoffs>,
}

/// What was done.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Climb {
    /// The finished steps.
    pub steps: Vec<Step>,
    /// All nodes, those of an unfinished step too.
    pub nodes: u64,
}

/// A value and what it rests on.
type Known = (Payoffs, Source);

/// Steps back from the last state of a line, the states of a match in order, until the limit (nodes or time) or the start
/// is reached.
pub fn climb<G: Game, W: Watch<G>>(
    game: &G,
    line: &[G::State],
    options: Options,
    limit: &Limit,
    frontier: &mut dyn Frontier<G>,
    watch: &mut W,
) -> Climb {
    let mut work = Work::new(game, options, limit, frontier, watch);
    let mut climb = Climb::default();
    let Some((last, before)) = line.split_last() else { return climb };
    let mut below = work.node(last, 0);
    for (ply, root) in before.iter().enumerate().rev() {
        if work.aborted {
            break;
        }
        let start = if climb.steps.is_empty() { 0 } else { work.nodes };
        let value = work.root(root, (before.len() - ply) as u32, &line[ply + 1], below);
        if !work.aborted {
            climb.steps.push(Step { ply, nodes: work.nodes - start, value: value.map(|k| k.0) });
            below = value;
        }
    }
    climb.nodes = work.nodes;
    climb
}

/// Searches everything at most `depth` plies below a state; gives its value, if that is known.
pub fn around<G: Game, W: Watch<G>>(
    game: &G,
    s: &G::State,
    depth: u32,
    limit: &Limit,
    frontier: &mut dyn Frontier<G>,
    watch: &mut W,
) -> Option<Payoffs> {
    Work::new(game, Options::default(), limit, frontier, watch).node(s, depth).map(|k| k.0)
}

struct Work<'a, G: Game, W: Watch<G>> {
    game: &'a G,
    options: Options,
    clock: Clock,
    frontier: &'a mut dyn Frontier<G>,
    watch: &'a mut W,
    nodes: u64,
    most_nodes: u64,
    aborted: bool,
    /// Move lists, one for each ply that is being searched.
    lists: Vec<Vec<Move>>,
    /// What is known of states with so many plies below them.
    joined: HashMap<u64, Option<Known>>,
}

/// The value of a node from those of its children, as they come.
struct Family {
    mover: Player,
    best: Option<Known>,
    source: Source,
    all: bool,
}

impl Family {
    fn new(mover: Player) -> Self {
        Family { mover, best: None, source: Source::Terminal, all: true }
    }

    /// Whether this child wins.
    fn add(&mut self, child: Option<Known>) -> bool {
        let Some((value, source)) = child else {
            self.all = false;
            return false;
        };
        self.source = self.source.min(source);
        if self.best.is_none_or(|(best, _)| value[self.mover] > best[self.mover]) {
            self.best = child;
        }
        value[self.mover] >= 1.0
    }

    fn value(self) -> Option<Known> {
        match self.best {
            // Nothing is better than a win, whatever the others are worth.
            Some((value, source)) if value[self.mover] >= 1.0 => Some((value, source)),
            Some((value, _)) if self.all => Some((value, self.source)),
            _ => None,
        }
    }
}

impl<'a, G: Game, W: Watch<G>> Work<'a, G, W> {
    fn new(game: &'a G, options: Options, limit: &Limit, frontier: &'a mut dyn Frontier<G>, watch: &'a mut W) -> Self {
        Work {
            game,
            options,
            clock: Clock::start(limit),
            frontier,
            watch,
            nodes: 0,
            most_nodes: limit.nodes.unwrap_or(u64::MAX),
            aborted: false,
            lists: Vec::new(),
            joined: HashMap::new(),
        }
    }

    /// A root, one of whose children was searched in the step before.
    fn root(&mut self, s: &G::State, depth: u32, played: &G::State, below: Option<Known>) -> Option<Known> {
        if self.enough() {
            return None;
        }
        self.children(s, depth, Some((played, below)))
    }

    fn node(&mut self, s: &G::State, depth: u32) -> Option<Known> {
        if self.enough() {
            return None;
        }
        if let Some(value) = self.game.outcome(s) {
            self.watch.exact(self.game, s, value, Source::Terminal);
            return Some((value, Source::Terminal));
        }
        if depth == 0 {
            return self.frontier.value(self.game, s).map(|value| (value, Source::Consistent));
        }
        let key = match self.options.join {
            true => ludex_core::mix(self.game.key(s) ^ self.game.history_key(s)) ^ depth as u64,
            false => return self.children(s, depth, None),
        };
        if let Some(known) = self.joined.get(&key) {
            return *known;
        }
        let known = self.children(s, depth, None);
        if !self.aborted {
            self.joined.insert(key, known);
        }
        known
    }

    /// The value of a node by those of its children, one of which may be known beforehand.
    fn children(&mut self, s: &G::State, depth: u32, given: Option<(&G::State, Option<Known>)>) -> Option<Known> {
        let mut moves = self.lists.pop().unwrap_or_default();
        self.game.legal(s, &mut moves);
        let mut family = Family::new(self.game.mover(s));
        for &m in &moves {
            let mut child = s.clone();
            self.game.play(&mut child, m);
            let value = match given {
                Some((played, below)) if *played == child => below,
                _ => self.node(&child, depth - 1),
            };
            let wins = family.add(value);
            if self.aborted || (wins && self.options.cuts == Cuts::Wins) {
                break;
            }
        }
        self.lists.push(moves);
        if self.aborted {
            return None;
        }
        let known = family.value();
        if let Some((value, source)) = known {
            self.watch.exact(self.game, s, value, source);
        }
        known
    }

    /// Counts a node, and says whether it is one too many.
    fn enough(&mut self) -> bool {
        self.aborted |= self.nodes >= self.most_nodes || self.clock.tick();
        self.nodes += !self.aborted as u64;
        self.aborted
    }
}
