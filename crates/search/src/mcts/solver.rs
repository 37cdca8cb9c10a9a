//! Proven values are carried up the tree (MCTS-Solver, Winands, Björnsson & Saito 2008), for any number of players.
//!
//! A node is proven if the game is over there; if one child is proven to give its chooser the most there is to get; or if
//! all moves are tried and all children proven, and then it is worth what the chooser's best child is worth.

use super::tree::{NodeId, Tree};
use ludex_core::Payoffs;

/// After a simulation along `path`: if it ended where the game is over, that value is certain.
pub(crate) fn settle_end(tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
    if let Some(&end) = path.last().filter(|n| tree.node(**n).over() && !tree.node(**n).proven()) {
        tree.prove(end, payoffs);
    }
}

/// After a simulation along `path` that ended with `payoffs`: proves what can be proven, from the leaf up.
pub(crate) fn settle(tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
    for (i, &n) in path.iter().enumerate().rev() {
        let node = tree.node(n);
        if node.hidden() {
            return; // its mover cannot choose by what it must not see
        }
        if node.proven() {
            continue;
        }
        let value = match node.over() {
            true if i + 1 == path.len() => Some(*payoffs),
            true => None,
            false => derived(tree, n),
        };
        match value {
            Some(value) => tree.prove(n, &value),
            None => return,
        }
    }
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
