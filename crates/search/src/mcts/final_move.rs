//! Which move is played when the simulations are done, and what the search says about all of them.

use super::tree::{NodeId, Tree};
use ludex_core::{Choice, Game, Move, Payoffs, Rng, RootMove};

/// How the move to play is chosen when the simulations are done. Ties are broken at random.
///
/// Whatever the rule, a child proven won comes first and children proven lost come last; if all are lost, the one that was
/// hardest to refute is played, since an opponent who does not see everything may go wrong there.
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

/// What is known of a child; a greater one is preferred whatever its score.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Class {
    Lost,
    TooFewVisits,
    Open,
    Won,
}

impl FinalMove {
    /// The child of a node to play.
    fn decide(self, tree: &Tree, at: NodeId, rng: &mut Rng) -> Option<NodeId> {
        let children = tree.children(at);
        let score = |c: NodeId| self.score(tree, at, c);
        let top = children.iter().map(|&c| score(c)).fold((Class::Lost, -1.0), |a, b| if b > a { b } else { a });
        let tied: Vec<NodeId> = children.iter().copied().filter(|&c| score(c) == top).collect();
        rng.pick(&tied).copied()
    }

    fn score(self, tree: &Tree, at: NodeId, child: NodeId) -> (Class, f64) {
        let (visits, mean) = (tree.node(child).visits(), tree.mean(child, tree.node(at).mover()));
        match self {
            _ if tree.node(child).proven() && mean >= 1.0 => (Class::Won, 0.0),
            _ if tree.node(child).proven() && mean <= -1.0 => (Class::Lost, visits as f64),
            FinalMove::Robust => (Class::Open, visits as f64 + (mean + 1.0) / 4.0),
            FinalMove::MaxValue { visits: least } if visits < least.max(1) => (Class::TooFewVisits, 0.0),
            FinalMove::MaxValue { .. } => (Class::Open, mean),
            FinalMove::Secure { .. } if visits == 0 => (Class::TooFewVisits, 0.0),
            FinalMove::Secure { a } => (Class::Open, mean - a / (visits as f64).sqrt()),
        }
    }

    /// What was learned at a node about the moves of `s`. Without a node or a child, any legal move: there was no time at all.
    pub(super) fn choice<G: Game>(
        self,
        game: &G,
        s: &G::State,
        tree: &Tree,
        at: Option<NodeId>,
        rng: &mut Rng,
    ) -> Choice {
        let chosen = at.and_then(|n| self.decide(tree, n, rng));
        let mut line = chosen.map_or(Vec::new(), |c| most_visited_line(tree, c));
        let mv = line.first().copied().or_else(|| game.sample(s, rng)).expect("the game is not over");
        if line.is_empty() {
            line.push(mv);
        }
        let value = chosen.map_or(Payoffs::draw(tree.players()), |c| tree.means(c));
        let root = at.map_or(Vec::new(), |n| root_moves(tree, n));
        let (nodes, bytes) = (tree.len() as u64, tree.bytes() as u64);
        Choice { mv, value, root, nodes, simulations: 0, depth: 0, line, bytes }
    }
}

/// What is known of each child, in order of move number.
fn root_moves(tree: &Tree, at: NodeId) -> Vec<RootMove> {
    let root_move = |&c: &NodeId| {
        let node = tree.node(c);
        let (mv, visits, proven) = (node.mv(), node.visits() as u64, node.proven());
        RootMove { mv, visits, value: (visits > 0).then(|| tree.means(c)), prior: tree.prior(c), proven }
    };
    let mut root: Vec<RootMove> = tree.children(at).iter().map(root_move).collect();
    root.sort_by_key(|r| r.mv);
    root
}

/// The expected continuation: the move that leads to a node, then the most visited ones. Where rules lead in circles it ends
/// when it has gone round.
fn most_visited_line(tree: &Tree, start: NodeId) -> Vec<Move> {
    let (mut line, mut passed, mut next) = (Vec::new(), Vec::new(), Some(start));
    while let Some(n) = next {
        line.push(tree.node(n).mv());
        let canonical = tree.canonical(n);
        if passed.contains(&canonical) {
            break;
        }
        passed.push(canonical);
        let visits = |c: &&NodeId| tree.node(**c).visits();
        let most_visited = tree.children(canonical).iter().max_by_key(visits).copied();
        next = most_visited.filter(|&c| tree.node(c).visits() > 0);
    }
    line
}
