//! Proven values are carried up the tree (MCTS-Solver, Winands, Björnsson & Saito 2008), for any number of players.
//!
//! A node is proven if the game is over there; if one child is proven to give its chooser the most there is to get; or if
//! all moves are tried and all children proven, and then it is worth what the chooser's best child is worth. Selection takes
//! a child proven lost only if there is no other, and a simulation that comes to a proven node ends there.
//!
//! Not done here: a node below which choices are hidden is never proven, since its mover cannot choose by what it must not
//! see.

use super::path::Path;
use super::proofs::Proofs;
use super::tree::{NodeId, Tree};
use ludex_core::Payoffs;

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

impl Solver {
    /// After a simulation along `path` that ended with `payoffs`: proves what follows from it, and notes it where proofs are
    /// shared.
    #[inline]
    pub(super) fn settle(self, tree: &mut Tree, path: &Path, payoffs: &Payoffs, proofs: Option<&mut Proofs>) {
        match self {
            Solver::Off => {}
            Solver::Ends => settle_end(tree, path.last(), payoffs),
            Solver::Full | Solver::Shared => {
                let from = settle_path(tree, path, payoffs);
                if let Some(proofs) = proofs {
                    proofs.note(tree, &path.nodes[from..], &path.keys[from..]);
                }
            }
        }
    }
}

/// If the game is over at a node, its value is certain.
#[inline]
fn settle_end(tree: &mut Tree, n: NodeId, payoffs: &Payoffs) {
    if tree.node(n).over() && !tree.node(n).proven() {
        tree.prove(n, payoffs);
    }
}

/// Proves what can be proven, from the leaf up, and with a canonical node the transposed one whose place it has taken. Gives
/// the place from which on the path is proven.
fn settle_path(tree: &mut Tree, path: &Path, payoffs: &Payoffs) -> usize {
    let mut transposed = path.transposed.iter().rev().peekable();
    for (i, &n) in path.nodes.iter().enumerate().rev() {
        let node = tree.node(n);
        if node.hidden() {
            return i + 1;
        }
        if !node.proven() {
            let value = match node.over() {
                true if i + 1 == path.nodes.len() => Some(*payoffs),
                true => None,
                false => derived(tree, n),
            };
            match value {
                Some(value) => tree.prove(n, &value),
                None => return i + 1,
            }
        }
        if let Some((_, double)) = transposed.next_if(|(place, _)| *place == i) {
            tree.prove(*double, &tree.means(n));
        }
    }
    0
}

/// The value of a node as far as its children prove it.
fn derived(tree: &Tree, n: NodeId) -> Option<Payoffs> {
    let node = tree.node(n);
    let p = node.mover();
    let proven = |c: &&NodeId| tree.node(**c).proven();
    let best = tree.children(n).iter().filter(proven).max_by(|a, b| tree.mean(**a, p).total_cmp(&tree.mean(**b, p)))?;
    let won = tree.mean(*best, p) >= 1.0;
    let all = node.complete() && tree.children(n).iter().all(|c| tree.node(*c).proven());
    (won || all).then(|| tree.means(*best))
}
