//! Monte Carlo tree search in four exchangeable phases.
//!
//! A simulation goes down the tree ([`Select`]), lets it grow ([`Expand`]), plays to the end ([`Playout`]) and carries the
//! result up ([`Backup`]); [`FinalMove`] then chooses at the root. All five are parts behind small traits, one virtual call
//! each, while the inner loops inside them know the game's type. Totals are kept per player, so that draws, repeated turns,
//! more than two players and payoffs that do not add up to zero need nothing special: each player maximises its own.
//!
//! Where moves are simultaneous (`Game::hidden`), a chooser's statistics are shared by all nodes that look alike to it: nobody
//! answers a choice that it must not see. Each role thus learns its own choice against the mix of the others' (decoupled UCT).
//! Asked where choices are hidden already, the search starts before them and answers with what it learned for the mover.
//!
//! With [`Options::graph`] the tree becomes a graph: a position that another order of moves leads to is not
//! expanded again, its node is joined to the first one and has that one's children and mean.
//! Rules that lead in circles are safe: a simulation that comes back to a node on its own path plays out from there.
//!
//! Not done here: threads inside one search (run several searches instead), hidden information.

mod amaf;
mod backup;
mod blend;
mod cut;
mod expand;
mod guide;
mod playout;
mod prior;
mod rank;
mod select;
mod solver;
mod timed;
mod tree;

pub use amaf::Amaf;
pub use backup::{Backup, Mean, UniqueCounter};
pub use blend::{Advised, Blend, First};
pub use cut::{Ask, Call, Chances, CutPlayout, Cuts, Outlook};
pub use expand::{AllChildren, At, Expand, Next, OneChild, Step, When};
pub use guide::{Advice, GuidedPlayout, Law};
pub use playout::{Decisive, Mast, Playout, Run, Uniform, Valued};
pub use prior::{From, Informed, PriorBonus, PriorMean};
pub use rank::{Depth, Keep, Ranked, Ranking};
pub use select::{Descent, Form, Grave, Reward, Select, Ucb1, Ucb1Abs, Ucb1Tuned};
pub use timed::{Timed, timed};
pub use tree::{Chance, Node, NodeId, ROOT, Tree};

use crate::Clock;
use solver::{ByKey, Proofs, position_key};
use std::collections::HashMap;

use ludex_core::{Choice, Game, Limit, Move, Payoffs, Player, Rng, RootMove, Search};

/// How the move to play is chosen when the simulations are done. Ties are broken at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FinalMove {
    /// The most visited; of several, the one with the highest mean.
    Robust,
    /// The highest mean, among children with at least so many visits.
    MaxValue {
        /// The least number of visits.
        visits: u32,
    },
    /// The highest lower confidence bound: mean - a / sqrt(visits), on [-1, 1] (Chaslot et al. 2008).
    Secure {
        /// How cautious.
        a: f64,
    },
}

/// What is made of values that are certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solver {
    /// Nothing: an end of the game counts like any other result.
    Off,
    /// A child in which the game is over counts with its outcome and is not explored (as OpenSpiel's search does).
    Ends,
    /// Proven wins and losses are carried up (MCTS-Solver, Winands et al. 2008).
    Full,
    /// The same, and a proof counts wherever the position comes up again by another order of moves.
    Shared,
}

/// What is not a phase.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How the move is chosen.
    pub final_move: FinalMove,
    /// What is made of values that are certain.
    pub solver: Solver,
    /// Positions that several orders of moves lead to are searched once.
    pub graph: bool,
    /// What is known below the moves played is kept for the next search.
    pub reuse: bool,
    /// The most nodes a tree may have; see [`Tree`] for what happens then.
    pub capacity: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { final_move: FinalMove::Robust, solver: Solver::Off, graph: false, reuse: false, capacity: 16_000_000 }
    }
}

/// The search.
pub struct Mcts<G: Game> {
    select: Box<dyn Select>,
    expand: Box<dyn Expand<G>>,
    playout: Box<dyn Playout<G>>,
    backup: Box<dyn Backup>,
    options: Options,
    tree: Tree,
    amaf: Option<Amaf>,
    path: Vec<NodeId>,
    /// Nodes of shared statistics that this simulation went by.
    shared: Vec<NodeId>,
    /// Where statistics are shared, by the last node without hidden choices and what the mover may know.
    views: HashMap<(NodeId, u64), NodeId>,
    trace: Vec<(Player, Move)>,
    traced: bool,
    /// Values proven in this match by position, if they are shared.
    proofs: Option<Proofs>,
    /// The first node of each position expanded in this search, if it is one of a graph.
    firsts: Option<ByKey<NodeId>>,
    /// Nodes that this simulation came to and whose place on the path another one takes: that place, and the node.
    joined: Vec<(usize, NodeId)>,
    /// The keys of the path's positions, if proven values are looked up by them.
    keys: Vec<u64>,
    /// Where the last search began, and the moves played since: what lies below them may be used again.
    root: Option<G::State>,
    played: Vec<Move>,
    /// Moves played since the match was set up.
    ply: u32,
    /// No search yet in this match.
    fresh: bool,
}

/// Memory for all-moves-as-first statistics.
const AMAF_BYTES: usize = 512 << 20;

/// Simulations, if no limit is given at all.
const DEFAULT: u64 = 1_000;

impl<G: Game> Mcts<G> {
    /// A search made of these parts.
    pub fn new(
        game: &G,
        select: Box<dyn Select>,
        expand: Box<dyn Expand<G>>,
        playout: Box<dyn Playout<G>>,
        backup: Box<dyn Backup>,
        options: Options,
    ) -> Self {
        let info = game.info();
        let amaf = select.wants_amaf().then(|| Amaf::new(info.players(), info.moves as usize, AMAF_BYTES));
        Mcts {
            tree: Tree::new(info.players(), options.capacity, select.wants_squares())
                .with_prior_visits(select.prior_visits()),
            traced: amaf.is_some() || playout.wants_trace(),
            amaf,
            select,
            expand,
            playout,
            backup,
            options,
            path: Vec::new(),
            shared: Vec::new(),
            views: HashMap::new(),
            trace: Vec::new(),
            proofs: (options.solver == Solver::Shared).then(Proofs::default),
            firsts: options.graph.then(ByKey::default),
            joined: Vec::new(),
            keys: Vec::new(),
            root: None,
            played: Vec::new(),
            ply: 0,
            fresh: true,
        }
    }

    /// Plain UCT: UCB1 with this constant (plain form, rewards in [0, 1]), one random child for each simulation, uniform
    /// playouts, the most visited move.
    pub fn uct(game: &G, c: f64) -> Self {
        let select = Ucb1::new(c, Form::Plain, Reward::Unit);
        let expand = OneChild::new(Next::Random);
        Self::new(game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), Options::default())
    }

    /// The tree of the last search.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// One simulation. `None` if time ran out in its playout; then it does not count.
    #[inline]
    fn iterate(&mut self, game: &G, root: &G::State, clock: &mut Clock, rng: &mut Rng) -> Option<()> {
        let mut s = root.clone();
        self.path.clear();
        self.path.push(ROOT);
        self.shared.clear();
        self.trace.clear();
        self.joined.clear();
        self.keys.clear();
        self.keys.extend(self.proofs.as_ref().map(|_| position_key(game, root)));
        let payoffs = self.descend(game, &mut s, clock, rng)?;
        self.backup.backup(&mut self.tree, &self.path, &payoffs);
        if !self.shared.is_empty() {
            self.backup.backup(&mut self.tree, &self.shared, &payoffs);
        }
        if self.traced {
            self.playout.learn(&self.trace, &payoffs);
            if let Some(amaf) = &mut self.amaf {
                amaf.add(&self.path, &self.trace, &payoffs);
            }
        }
        match self.options.solver {
            Solver::Off => {}
            Solver::Ends => solver::settle_end(&mut self.tree, &self.path, &payoffs),
            Solver::Full | Solver::Shared => {
                let from = solver::settle(&mut self.tree, &self.path, &self.joined, &payoffs);
                if let Some(proofs) = &mut self.proofs {
                    proofs.note(&self.tree, &self.path[from..], &self.keys[from..]);
                }
            }
        }
        Some(())
    }

    /// Selection, expansion and playout: the way down from the root to a value.
    #[inline]
    fn descend(&mut self, game: &G, s: &mut G::State, clock: &mut Clock, rng: &mut Rng) -> Option<Payoffs> {
        let mut at = ROOT;
        loop {
            let node = self.tree.node(at);
            if node.over() {
                return game.outcome(s);
            }
            if node.proven() && at != ROOT {
                return Some(self.tree.means(at));
            }
            if self.firsts.is_some() && !node.opened() && !node.listed() && !game.hidden(s) {
                let first = self.first(game, s, at);
                if first != at {
                    at = first;
                    continue;
                }
            }
            // Where choices are hidden, what is chosen is learned at a node shared by all that look alike.
            let view = if game.hidden(s) && at != ROOT { self.view(game, s) } else { at };
            let step = match self.tree.node(view).complete() {
                true => Step::Descend,
                false => {
                    let depth = self.path.len() as u32 - 1;
                    let here = At { node: view, depth, ply: self.ply + depth };
                    self.expand.expand(game, s, &mut self.tree, here, rng)
                }
            };
            let child = match step {
                Step::Descend | Step::Try if view == at => {
                    let descent = Descent { tree: &self.tree, path: &self.path, amaf: self.amaf.as_ref() };
                    self.select.select(&descent, rng)
                }
                Step::Descend | Step::Try => {
                    let descent = Descent { tree: &self.tree, path: &[view], amaf: None };
                    self.select.select(&descent, rng)
                }
                Step::Enter(child) => child,
                Step::Playout => return self.play_out(game, s, clock, rng),
                Step::Value(payoffs) => return Some(payoffs),
            };
            let child = if view == at { child } else { self.own_child(game, s, at, view, child) };
            at = self.enter(game, s, at, child);
            if let Some(value) = self.recall(game, s, at) {
                return Some(value);
            }
            // A joined node that was not left for its first one closes a circle.
            let circle = self.tree.first(at) != at;
            if (step != Step::Descend || circle) && !self.tree.node(at).over() {
                return self.play_out(game, s, clock, rng);
            }
        }
    }

    /// The node of shared statistics for a state with hidden choices.
    #[cold]
    fn view(&mut self, game: &G, s: &G::State) -> NodeId {
        let at = self.path[self.path.len() - 1];
        self.tree.hide(at);
        let open = self.path.iter().rev().find(|&&n| !self.tree.node(n).hidden()).copied().unwrap_or(ROOT);
        let mover = game.mover(s);
        *self.views.entry((open, game.view_key(s))).or_insert_with(|| self.tree.detached(mover))
    }

    /// The child of `at` for the move that was chosen at `view`; both that choice and the view are counted.
    #[cold]
    fn own_child(&mut self, game: &G, s: &G::State, at: NodeId, view: NodeId, chosen: usize) -> usize {
        let chosen = self.tree.child(view, chosen);
        self.shared.extend([view, chosen]);
        if !self.tree.node(at).opened() {
            self.tree.open(at, game.count_legal(s));
        }
        self.tree.child_for(at, self.tree.node(chosen).mv())
    }

    /// Plays the move to a child and notes what is found there.
    #[inline]
    fn enter(&mut self, game: &G, s: &mut G::State, at: NodeId, child: usize) -> NodeId {
        let child = self.tree.child(at, child);
        let m = self.tree.node(child).mv();
        if self.traced {
            self.trace.push((self.tree.node(at).mover(), m));
        }
        game.play(s, m);
        if !self.tree.node(child).entered() {
            self.tree.enter(child, game.mover(s), game.outcome(s).is_some());
        }
        let first = self.tree.first(child);
        if first == child || self.path.contains(&first) {
            self.path.push(child);
            return child;
        }
        self.path.push(first);
        self.stand_in(first, child);
        first
    }

    /// `first` is the last node of the path in place of `child`, which is counted too.
    fn stand_in(&mut self, first: NodeId, child: NodeId) {
        self.joined.push((self.path.len() - 1, child));
        self.shared.push(child);
        if self.tree.node(first).proven() && !self.tree.node(child).proven() {
            self.tree.prove(child, &self.tree.means(first));
        }
    }

    /// The first node that was expanded for the position of the last node of the path, which `at` is; from now on they are one.
    fn first(&mut self, game: &G, s: &G::State, at: NodeId) -> NodeId {
        let Some(firsts) = &mut self.firsts else { return at };
        let key = self.keys.last().copied().unwrap_or_else(|| position_key(game, s));
        let first = *firsts.entry(key).or_insert(at);
        self.tree.list(at);
        if self.path.contains(&first) {
            return at;
        }
        if first != at {
            self.tree.join(at, first);
            self.path.pop();
            self.path.push(first);
            self.stand_in(first, at);
        }
        first
    }

    /// The value of a new node whose position has been proven elsewhere.
    #[inline]
    fn recall(&mut self, game: &G, s: &G::State, at: NodeId) -> Option<Payoffs> {
        let proofs = self.proofs.as_ref()?;
        let key = position_key(game, s);
        self.keys.push(key);
        let value = proofs.get(key).filter(|_| self.tree.node(at).visits() == 0)?;
        self.tree.prove(at, &value);
        Some(value)
    }

    #[inline]
    fn play_out(&mut self, game: &G, s: &mut G::State, clock: &mut Clock, rng: &mut Rng) -> Option<Payoffs> {
        let trace = if self.traced { Some(&mut self.trace) } else { None };
        self.playout.playout(game, s, &mut Run { rng, clock, trace })
    }

    /// Finds the tree for `s`: what was known before, if it may be reused and the moves played since lead here.
    fn prepare(&mut self, game: &G, s: &G::State) {
        let played = std::mem::take(&mut self.played);
        let arrived = self.root.take().is_some_and(|mut root| {
            played.iter().for_each(|&m| game.play(&mut root, m));
            root == *s
        });
        if self.options.reuse && arrived {
            played.iter().for_each(|&m| self.tree.descend(m));
        } else {
            self.tree.clear();
        }
        // A tree that was moved has its nodes in other places: views and first nodes are found anew.
        self.views.clear();
        self.firsts.iter_mut().for_each(ByKey::clear);
        if !self.tree.node(ROOT).entered() {
            self.tree.enter(ROOT, game.mover(s), false);
        }
        if !played.is_empty() || !arrived {
            self.amaf.iter_mut().for_each(Amaf::clear);
        }
        self.playout.begin(game, std::mem::take(&mut self.fresh));
        if self.options.reuse {
            self.root = Some(s.clone());
        }
    }

    /// The child of a node to play, by the final-move rule. If all are lost, the one that was hardest to refute: an opponent
    /// who does not see everything may go wrong there.
    fn decide(&self, at: NodeId, rng: &mut Rng) -> Option<NodeId> {
        let p = self.tree.node(at).mover();
        const LOST: u8 = 0;
        const UNKNOWN: u8 = 1;
        const OPEN: u8 = 2;
        const WON: u8 = 3;
        let score = |c: NodeId| {
            let (visits, mean) = (self.tree.node(c).visits(), self.tree.mean(c, p));
            match self.options.final_move {
                _ if self.tree.node(c).proven() && mean >= 1.0 => (WON, 0.0),
                _ if self.tree.node(c).proven() && mean <= -1.0 => (LOST, visits as f64),
                FinalMove::Robust => (OPEN, visits as f64 + (mean + 1.0) / 4.0),
                FinalMove::MaxValue { visits: least } if visits < least.max(1) => (UNKNOWN, 0.0),
                FinalMove::MaxValue { .. } => (OPEN, mean),
                FinalMove::Secure { .. } if visits == 0 => (UNKNOWN, 0.0),
                FinalMove::Secure { a } => (OPEN, mean - a / (visits as f64).sqrt()),
            }
        };
        let children = self.tree.children(at);
        let top = children.iter().map(|&c| score(c)).fold((LOST, -1.0), |a, b| if b > a { b } else { a });
        let tied: Vec<NodeId> = children.iter().copied().filter(|&c| score(c) == top).collect();
        rng.pick(&tied).copied()
    }

    /// What was learned at a node about the moves of `s`; without a node, nothing.
    fn choice(&self, game: &G, s: &G::State, at: Option<NodeId>, rng: &mut Rng) -> Choice {
        let root = |&c: &NodeId| {
            let node = self.tree.node(c);
            let value = (node.visits() > 0).then(|| self.tree.means(c));
            RootMove {
                mv: node.mv(),
                visits: node.visits() as u64,
                value,
                prior: self.tree.prior(c),
                proven: node.proven(),
            }
        };
        let mut root: Vec<RootMove> = at.map_or(&[][..], |n| self.tree.children(n)).iter().map(root).collect();
        root.sort_by_key(|r| r.mv);
        let mut line = Vec::new();
        let chosen = at.and_then(|n| self.decide(n, rng));
        let (mut next, mut passed) = (chosen, Vec::new());
        while let Some(c) = next {
            line.push(self.tree.node(c).mv());
            let first = self.tree.first(c);
            // Where rules lead in circles the line ends when it has gone round.
            if passed.contains(&first) {
                break;
            }
            passed.push(first);
            let most = |c: &&NodeId| self.tree.node(**c).visits();
            let most_visited = self.tree.children(first).iter().max_by_key(most).copied();
            next = most_visited.filter(|&c| self.tree.node(c).visits() > 0);
        }
        // With no time at all, any legal move is as good as another.
        let mv = line.first().copied().or_else(|| game.sample(s, rng)).expect("the game is not over");
        if line.is_empty() {
            line.push(mv);
        }
        let value = chosen.map_or(Payoffs::draw(self.tree.players()), |c| self.tree.means(c));
        let (nodes, bytes) = (self.tree.len() as u64, self.tree.bytes() as u64);
        Choice { mv, value, root, nodes, simulations: 0, depth: 0, line, bytes }
    }
}

impl<G: Game> Search<G> for Mcts<G> {
    fn search(&mut self, game: &G, s: &G::State, limit: &Limit, rng: &mut Rng) -> Choice {
        // What the mover must not see is not looked at: the search begins where everybody knew everything.
        let open = game.hidden(s).then(|| game.open(s)).filter(|open| !game.hidden(open));
        let start = open.as_ref().unwrap_or(s);
        let limit = limit.or(&Limit::simulations(DEFAULT));
        let mut clock = Clock::start(&limit);
        self.prepare(game, start);
        let most = |n: Option<u64>| n.unwrap_or(u64::MAX);
        let (most_simulations, most_visits) = (most(limit.simulations), most(limit.visits));
        let most_nodes = most(limit.expansions).saturating_add(self.tree.len() as u64);
        let (mut simulations, mut visits, mut depth) = (0, 0, 0);
        while simulations < most_simulations
            && visits < most_visits
            && (self.tree.len() as u64) < most_nodes
            && !self.tree.node(ROOT).proven()
            && !clock.tick()
        {
            if self.iterate(game, start, &mut clock, rng).is_none() {
                break;
            }
            simulations += 1;
            visits += self.path.len() as u64;
            depth = depth.max(self.path.len() - 1);
            // A finished tree no longer grows: without another limit, expansions alone would never be reached.
            if limit.expansions.is_some() && simulations >= most(limit.expansions).saturating_mul(4).max(1_000) {
                break;
            }
        }
        let mut at = Some(ROOT);
        if open.is_some() {
            at = self.views.get(&(ROOT, game.view_key(s))).copied();
            // The moves to come do not lead on from where this search began.
            self.root = None;
        }
        Choice { simulations, depth: depth as u32, ..self.choice(game, s, at, rng) }
    }

    fn advance(&mut self, m: Move) {
        self.played.push(m);
        self.ply += 1;
    }

    fn tally(&self) -> Vec<(&'static str, f64)> {
        self.playout.tally()
    }

    fn reset(&mut self) {
        self.tree.clear();
        self.views.clear();
        self.proofs.iter_mut().for_each(Proofs::clear);
        self.root = None;
        self.played.clear();
        self.ply = 0;
        self.fresh = true;
    }
}
