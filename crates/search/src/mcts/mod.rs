//! Monte Carlo tree search in four exchangeable phases.
//!
//! A simulation goes down the tree ([`Select`]), lets it grow ([`Expand`]), plays to the end ([`Playout`]) and carries the
//! result up ([`Backup`]); [`FinalMove`] then chooses at the root. The phases are parts behind small traits, one virtual call
//! each, while the inner loops inside them know the game's type. Totals are kept per player, so that draws, repeated turns,
//! more than two players and payoffs that do not add up to zero need nothing special: each player maximises its own.
//!
//! This file holds the parts together and plays one simulation; `search.rs` plays as many as the limit allows. What is not a
//! phase has a file of its own: the [`Tree`], transpositions, information sets (simultaneous moves), the [`Solver`] and its
//! shared proofs.
//!
//! Not done here: threads inside one search (run several searches instead), hidden information beyond simultaneous moves.

mod amaf;
mod backup;
mod budget;
mod cut_playout;
mod expand;
mod final_move;
mod guided_playout;
mod infosets;
mod options;
mod path;
mod playout;
mod prior;
mod proofs;
mod q_prior;
mod ranked;
mod reuse;
mod search;
mod select;
mod solver;
mod timed;
mod transpositions;
mod tree;
mod with_priors;

pub use amaf::Amaf;
pub use backup::{Backup, Mean, UniqueCounter};
pub use cut_playout::{CutCheck, CutCounts, CutPlayout, CutValue, Wdl, WdlEvaluator};
pub use expand::{AllChildren, At, Expand, Next, OneChild, PlayoutFrom, Step, When};
pub use final_move::FinalMove;
pub use guided_playout::{ActionValues, GuidedPlayout, Sampling};
pub use options::MctsOptions;
pub use playout::{Decisive, Mast, Playout, PlayoutContext, Uniform, Valued};
pub use prior::{PriorBonus, PriorMean};
pub use q_prior::{Fpu, QPrior};
pub use ranked::{Depth, Keep, Ranked, Ranking};
pub use select::{Descent, Form, Grave, Reward, Select, Ucb1, Ucb1Abs, Ucb1Tuned};
pub use solver::Solver;
pub use timed::{Timed, timed};
pub use tree::{EdgeStats, Node, NodeId, ROOT, Tree};
pub use with_priors::{PriorSource, WithPriors};

use crate::Clock;
use infosets::{InfoSets, Site};
use ludex_core::{Game, Payoffs, Rng};
use path::Path;
use proofs::{Proofs, position_key};
use reuse::MatchLine;
use transpositions::Transpositions;

/// The search.
pub struct Mcts<G: Game> {
    select: Box<dyn Select>,
    expand: Box<dyn Expand<G>>,
    playout: Box<dyn Playout<G>>,
    backup: Box<dyn Backup>,
    options: MctsOptions,
    tree: Tree,
    path: Path,
    /// The moves of each simulation are kept.
    traced: bool,
    amaf: Option<Amaf>,
    infosets: InfoSets,
    transpositions: Option<Transpositions>,
    proofs: Option<Proofs>,
    line: MatchLine<G::State>,
}

/// How far a simulation has come on its way down.
enum Way {
    /// It goes on at this node.
    On(NodeId),
    /// A playout begins here.
    Leaf,
    /// The value is known here: no playout is needed.
    Known(Payoffs),
}

impl<G: Game> Mcts<G> {
    /// A search made of these parts.
    pub fn new(
        game: &G,
        select: Box<dyn Select>,
        expand: Box<dyn Expand<G>>,
        playout: Box<dyn Playout<G>>,
        backup: Box<dyn Backup>,
        options: MctsOptions,
    ) -> Self {
        let info = game.info();
        let amaf = select.wants_amaf().then(|| Amaf::new(info.players(), info.moves as usize, amaf::MOST_BYTES));
        let tree = Tree::new(info.players(), options.capacity, select.wants_squares());
        Mcts {
            tree: tree.with_prior_visits(select.prior_visits()),
            path: Path::default(),
            traced: amaf.is_some() || playout.wants_trace(),
            amaf,
            infosets: InfoSets::default(),
            transpositions: options.transpositions.then(Transpositions::default),
            proofs: (options.solver == Solver::Shared).then(Proofs::default),
            line: MatchLine::default(),
            select,
            expand,
            playout,
            backup,
            options,
        }
    }

    /// Plain UCT: UCB1 with this constant (plain form, rewards in [0, 1]), one random child for each simulation, uniform
    /// playouts, the most visited move.
    pub fn uct(game: &G, c: f64) -> Self {
        let select = Ucb1::new(c, Form::Plain, Reward::Unit);
        let expand = OneChild::new(Next::Random);
        Self::new(game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), MctsOptions::default())
    }

    /// The tree of the last search.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// One simulation. `None` if time ran out in its playout; then it does not count.
    ///
    /// The two phases of the loop are always inlined: calls would cost up to 4 %.
    #[inline]
    fn simulate(&mut self, game: &G, root: &G::State, clock: &mut Clock, rng: &mut Rng) -> Option<()> {
        let mut s = root.clone();
        self.path.begin(self.proofs.as_ref().map(|_| position_key(game, root)));
        let mut way = Way::On(ROOT);
        while let Way::On(at) = way {
            let (at, step) = self.expand(game, &s, at, rng);
            way = self.select(game, &mut s, at, step, rng);
        }
        let payoffs = self.play_out(game, &mut s, way, clock, rng)?;
        self.back_up(&payoffs);
        Some(())
    }

    /// Adds children to the node that is searched at `at`, if it lacks some; gives that node, and what to do there.
    #[inline(always)]
    fn expand(&mut self, game: &G, s: &G::State, at: NodeId, rng: &mut Rng) -> (Site, Step) {
        let at = self.canonical(game, s, at);
        if at != ROOT && self.tree.node(at).proven() {
            return (Site { at, chooser: at }, Step::Value(self.tree.means(at)));
        }
        let chooser = self.infosets.chooser(game, s, &mut self.tree, &self.path, at);
        let step = match self.tree.node(chooser).complete() {
            true => Step::Descend,
            false => self.expand.expand(game, s, &mut self.tree, self.path.at(chooser, self.line.ply), rng),
        };
        (Site { at, chooser }, step)
    }

    /// Goes on to a child, or ends the way down.
    #[inline(always)]
    fn select(&mut self, game: &G, s: &mut G::State, site: Site, step: Step, rng: &mut Rng) -> Way {
        let child = match step {
            Step::Descend | Step::Try => self.best_child(site, rng),
            Step::Enter(child) => child,
            Step::Playout => return Way::Leaf,
            Step::Value(payoffs) => return Way::Known(payoffs),
        };
        let at = self.enter(game, s, site, child);
        if let Some(proofs) = &self.proofs
            && let Some(value) = proofs.recall(game, s, &mut self.tree, &mut self.path)
        {
            return Way::Known(value);
        }
        // A transposed node that was not left for its canonical one closes a circle.
        let circle = self.tree.canonical(at) != at;
        match self.tree.node(at) {
            node if node.over() => game.outcome(s).map_or(Way::Leaf, Way::Known),
            _ if step != Step::Descend || circle => Way::Leaf,
            node if node.proven() => Way::Known(self.tree.means(at)),
            _ => Way::On(at),
        }
    }

    #[inline]
    fn play_out(&mut self, game: &G, s: &mut G::State, way: Way, clock: &mut Clock, rng: &mut Rng) -> Option<Payoffs> {
        if let Way::Known(value) = way {
            return Some(value);
        }
        let trace = if self.traced { Some(&mut self.path.trace) } else { None };
        self.playout.playout(game, s, &mut PlayoutContext { rng, clock, trace })
    }

    /// Carries the result up, lets those learn who do, and proves what follows from it.
    #[inline]
    fn back_up(&mut self, payoffs: &Payoffs) {
        let Path { nodes, beside, trace, .. } = &self.path;
        self.backup.backup(&mut self.tree, nodes, payoffs);
        if !beside.is_empty() {
            self.backup.backup(&mut self.tree, beside, payoffs);
        }
        if self.traced {
            self.playout.learn(trace, payoffs);
            self.amaf.iter_mut().for_each(|amaf| amaf.add(nodes, trace, payoffs));
        }
        self.options.solver.settle(&mut self.tree, &self.path, payoffs, self.proofs.as_mut());
    }

    /// The node that is searched for the position of `at`: another one if the position has come up before.
    #[inline]
    fn canonical(&mut self, game: &G, s: &G::State, at: NodeId) -> NodeId {
        let Some(transpositions) = &mut self.transpositions else { return at };
        let node = self.tree.node(at);
        let settled = node.opened() || node.looked_up() || game.hidden(s);
        if settled { at } else { transpositions.look_up(game, s, &mut self.tree, &mut self.path) }
    }

    #[inline]
    fn best_child(&mut self, Site { at, chooser }: Site, rng: &mut Rng) -> usize {
        // An information set has no path of its own.
        let (path, amaf) = match chooser == at {
            true => (&self.path.nodes[..], self.amaf.as_ref()),
            false => (std::slice::from_ref(&chooser), None),
        };
        self.select.select(&Descent { tree: &self.tree, path, amaf }, rng)
    }

    /// Plays the move to a child and notes what is found there.
    #[inline(always)]
    fn enter(&mut self, game: &G, s: &mut G::State, site: Site, child: usize) -> NodeId {
        let Site { at, chooser } = site;
        let child = match chooser == at {
            true => child,
            false => infosets::own_child(game, s, &mut self.tree, &mut self.path, site, child),
        };
        let child = self.tree.child(at, child);
        let m = self.tree.node(child).mv();
        if self.traced {
            self.path.trace.push((self.tree.node(at).mover(), m));
        }
        game.play(s, m);
        if !self.tree.node(child).entered() {
            self.tree.enter(child, game.mover(s), game.outcome(s).is_some());
        }
        transpositions::step_to(&mut self.tree, &mut self.path, child)
    }
}
