//! Backward iterative deepening (Ghignone & Cancelliere): finds terminal states around a match that was played, and the exact
//! values that follow from them.
//!
//! ```text
//! line   s0 .. s(T-2)  s(T-1)  s(T)          step 1: root s(T-1), 1 ply;   step 2: root s(T-2), 2 plies;   ..
//! ```
//! The root steps back along the match one state at a time while the bottom level stays where the match ended, so that each
//! sub-search contains the one before. That one is not searched again: its value is passed on, and all steps together visit
//! exactly the nodes of the last.
//!
//! Nothing is pruned unless asked for, because terminal states are what is sought. A value is known if it follows from
//! terminal states: a win if one child wins, anything else only if all children are known. States at the bottom that are not
//! terminal are unknown, unless a [`Frontier`] gives them a value ([`Consistent`]: Gherrity 1993). Known nodes are reported to
//! an [`ExactObserver`]. [`full_width`] does the same below one state.
//!
//! The game says at every node who moves, so turns may repeat.

use crate::Clock;
use crate::observer::{ExactObserver, Source};
use ludex_core::{Control, Evaluator, Game, Move, Payoffs, Player};
use std::collections::HashMap;

/// What is not searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pruning {
    /// Everything is searched: every terminal state is found.
    #[default]
    None,
    /// The siblings of a move that wins for certain are not: all that alpha-beta can cut and still give values, not bounds.
    Wins,
}

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BackwardOptions {
    /// What is not searched.
    pub pruning: Pruning,
    /// A state that another order of moves leads to is not searched again. Fewer nodes then find the same terminal states, and
    /// node counts are no longer those of trees.
    pub transpositions: bool,
}

/// Gives values to states at the bottom that are not over.
pub trait Frontier<G: Game> {
    /// What the state is worth; `None` if that is not known well enough to be relied on.
    fn value(&mut self, game: &G, s: &G::State) -> Option<Payoffs>;
}

/// States at the bottom are unknown: only what follows from terminal states counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoFrontier;

impl<G: Game> Frontier<G> for NoFrontier {
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
pub struct DeepeningStep {
    /// The place of the root in the line.
    pub ply: usize,
    /// Nodes visited in this step alone.
    pub nodes: u64,
    /// What the root is worth, if that is known.
    pub value: Option<Payoffs>,
}

/// What backward deepening did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Deepening {
    /// The finished steps.
    pub steps: Vec<DeepeningStep>,
    /// All nodes, those of an unfinished step too.
    pub nodes: u64,
}

/// A value and what it rests on.
type Known = (Payoffs, Source);

/// Steps back from the last state of a line, the states of a match in order, until the limit (nodes or time) or the start
/// is reached.
pub fn deepen<G: Game, O: ExactObserver<G>>(
    game: &G,
    line: &[G::State],
    options: BackwardOptions,
    control: &Control,
    frontier: &mut dyn Frontier<G>,
    observer: &mut O,
) -> Deepening {
    let mut searcher = Searcher::new(game, options, control, frontier, observer);
    let mut done = Deepening::default();
    let Some((last, before)) = line.split_last() else { return done };
    let mut below = searcher.node(last, 0);
    for (ply, root) in before.iter().enumerate().rev() {
        if searcher.aborted {
            break;
        }
        let start = if done.steps.is_empty() { 0 } else { searcher.nodes };
        let value = searcher.root(root, (before.len() - ply) as u32, &line[ply + 1], below);
        if !searcher.aborted {
            done.steps.push(DeepeningStep { ply, nodes: searcher.nodes - start, value: value.map(|k| k.0) });
            below = value;
        }
    }
    done.nodes = searcher.nodes;
    done
}

/// Searches everything at most `depth` plies below a state; gives its value, if that is known.
pub fn full_width<G: Game, O: ExactObserver<G>>(
    game: &G,
    s: &G::State,
    depth: u32,
    control: &Control,
    frontier: &mut dyn Frontier<G>,
    observer: &mut O,
) -> Option<Payoffs> {
    Searcher::new(game, BackwardOptions::default(), control, frontier, observer).node(s, depth).map(|k| k.0)
}

struct Searcher<'a, G: Game, O: ExactObserver<G>> {
    game: &'a G,
    options: BackwardOptions,
    clock: Clock,
    frontier: &'a mut dyn Frontier<G>,
    observer: &'a mut O,
    nodes: u64,
    most_nodes: u64,
    aborted: bool,
    /// Move lists, one for each ply that is being searched.
    lists: Vec<Vec<Move>>,
    /// What is known of states with so many plies below them, by key and depth.
    known: HashMap<u64, Option<Known>>,
}

/// The value of a node from those of its children, as they come.
struct ChildValues {
    mover: Player,
    best: Option<Known>,
    source: Source,
    all: bool,
}

impl ChildValues {
    fn new(mover: Player) -> Self {
        ChildValues { mover, best: None, source: Source::Terminal, all: true }
    }

    /// Adds the value of a child; whether it wins for the mover.
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

impl<'a, G: Game, O: ExactObserver<G>> Searcher<'a, G, O> {
    fn new(
        game: &'a G,
        options: BackwardOptions,
        control: &Control,
        frontier: &'a mut dyn Frontier<G>,
        observer: &'a mut O,
    ) -> Self {
        Searcher {
            game,
            options,
            clock: Clock::start(control),
            frontier,
            observer,
            nodes: 0,
            most_nodes: control.limit.nodes.unwrap_or(u64::MAX),
            aborted: false,
            lists: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The value of a root, one of whose children was searched in the step before.
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
            self.observer.exact(self.game, s, value, Source::Terminal);
            return Some((value, Source::Terminal));
        }
        if depth == 0 {
            return self.frontier.value(self.game, s).map(|value| (value, Source::Consistent));
        }
        let key = match self.options.transpositions {
            true => ludex_core::mix(self.game.key(s) ^ self.game.history_key(s)) ^ depth as u64,
            false => return self.children(s, depth, None),
        };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let known = self.children(s, depth, None);
        if !self.aborted {
            self.known.insert(key, known);
        }
        known
    }

    /// The value of a node by those of its children, one of which may be known beforehand.
    fn children(&mut self, s: &G::State, depth: u32, given: Option<(&G::State, Option<Known>)>) -> Option<Known> {
        let mut moves = self.lists.pop().unwrap_or_default();
        self.game.legal(s, &mut moves);
        let mut values = ChildValues::new(self.game.mover(s));
        for &m in &moves {
            let mut child = s.clone();
            self.game.play(&mut child, m);
            let value = match given {
                Some((played, below)) if *played == child => below,
                _ => self.node(&child, depth - 1),
            };
            let wins = values.add(value);
            if self.aborted || (wins && self.options.pruning == Pruning::Wins) {
                break;
            }
        }
        self.lists.push(moves);
        if self.aborted {
            return None;
        }
        let known = values.value();
        if let Some((value, source)) = known {
            self.observer.exact(self.game, s, value, source);
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
