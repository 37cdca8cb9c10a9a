//! Expansion: how the tree grows, and where the playout of a simulation begins.

use super::tree::{NodeId, ROOT, Tree};
use ludex_core::{Game, Move, Payoffs, Rng};

/// What a simulation does next at a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// Choose a child and go on from there.
    Descend,
    /// Choose a child and play out from there.
    Try,
    /// Go to this child and play out from there.
    Enter(usize),
    /// Play out from here.
    Playout,
    /// No playout is needed: this is the value.
    Value(Payoffs),
}

/// Where a simulation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The node.
    pub node: NodeId,
    /// Plies from the root of the tree.
    pub depth: u32,
    /// Plies from the position at which the match was set up, as far as the search was told of them.
    pub ply: u32,
}

impl At {
    /// The root of a tree that belongs to the first move of a match.
    pub const START: At = At { node: ROOT, depth: 0, ply: 0 };
}

/// Decides what a simulation does at each node that is not complete, and adds children.
pub trait Expand<G: Game>: Send {
    /// May add children to the node, whose state is `s` and in which the game goes on.
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, rng: &mut Rng) -> Step;
}

/// Which untried move gets the next child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Any of them, uniformly.
    Random,
    /// The one with the lowest move number.
    Leftmost,
}

/// One child for each simulation, until every move has one.
pub struct OneChild {
    next: Next,
    moves: Vec<Move>,
    tried: Vec<Move>,
}

impl OneChild {
    /// Children are added in this order.
    pub fn new(next: Next) -> Self {
        OneChild { next, moves: Vec::new(), tried: Vec::new() }
    }

    /// A uniformly drawn move that has no child yet.
    fn untried<G: Game>(&mut self, game: &G, s: &G::State, tree: &Tree, node: NodeId, rng: &mut Rng) -> Option<Move> {
        let children = tree.children(node);
        let untried = tree.node(node).untried();
        let taken = |m: Move| children.iter().any(|&c| tree.node(c).mv() == m);
        // As long as few moves are taken, drawing until one is free beats listing them all.
        if 4 * children.len() <= untried {
            for _ in 0..8 {
                if let Some(m) = game.sample(s, rng).filter(|&m| !taken(m)) {
                    return Some(m);
                }
            }
        }
        game.legal(s, &mut self.moves);
        self.tried.clear();
        self.tried.extend(children.iter().map(|&c| tree.node(c).mv()));
        self.tried.sort_unstable();
        let free = |m: &&Move| self.tried.binary_search(m).is_err();
        self.moves.iter().filter(free).nth(rng.below(untried as u32) as usize).copied()
    }
}

impl<G: Game> Expand<G> for OneChild {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, rng: &mut Rng) -> Step {
        let node = at.node;
        if tree.full() {
            return if tree.children(node).is_empty() { Step::Playout } else { Step::Descend };
        }
        if !tree.node(node).opened() {
            tree.open(node, game.count_legal(s));
        }
        let m = match self.next {
            Next::Random => self.untried(game, s, tree, node, rng),
            Next::Leftmost => {
                game.legal(s, &mut self.moves);
                self.moves.get(tree.children(node).len()).copied()
            }
        };
        m.map_or(Step::Descend, |m| Step::Enter(tree.add_child(node, m)))
    }
}

/// When all children of a leaf are added: when a simulation comes to it for so many times. Before, playouts begin at the leaf.
/// The root is expanded at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When(pub u32);

impl When {
    /// As soon as a simulation reaches it; the playout begins at the child that selection likes best.
    pub const FIRST: When = When(1);
    /// When a simulation comes back to it.
    pub const SECOND: When = When(2);

    /// It is too early for this node.
    #[inline]
    pub(super) fn waits(self, tree: &Tree, node: NodeId) -> bool {
        node != ROOT && tree.node(node).visits() + 1 < self.0
    }
}

/// Where the playout begins when a leaf has been expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutFrom {
    /// At the new child that selection likes best.
    Child,
    /// At the leaf itself.
    Leaf,
}

impl PlayoutFrom {
    /// What the simulation does next at the leaf.
    #[inline]
    pub(super) fn step(self) -> Step {
        match self {
            PlayoutFrom::Child => Step::Try,
            PlayoutFrom::Leaf => Step::Playout,
        }
    }
}

/// All children at once.
pub struct AllChildren {
    when: When,
    from: PlayoutFrom,
    moves: Vec<Move>,
}

impl AllChildren {
    /// Children are added at this time; then the playout begins there.
    pub fn new(when: When, from: PlayoutFrom) -> Self {
        AllChildren { when, from, moves: Vec::new() }
    }
}

impl<G: Game> Expand<G> for AllChildren {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, _: &mut Rng) -> Step {
        let node = at.node;
        if self.when.waits(tree, node) || tree.full() {
            return Step::Playout;
        }
        game.legal(s, &mut self.moves);
        tree.open(node, self.moves.len());
        tree.reserve(node);
        for &m in self.moves.iter().take(tree.node(node).untried()) {
            tree.add_child(node, m);
        }
        self.from.step()
    }
}
