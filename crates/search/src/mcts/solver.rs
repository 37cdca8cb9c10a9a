//! Proven values are carried up the tree (MCTS-Solver, Winands, Björnsson & Saito 2008), for any number of players.
//!
//! A node is proven if the game is over there; if one child is proven to give its chooser the most there is to get; or if
//! all moves are tried and all children proven, and then it is worth what the chooser's best child is worth.
//!
//! [`Proofs`] finds a proven value again where another order of moves leads to the same position.

use super::tree::{NodeId, Tree};
use ludex_core::{Game, Payoffs};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Proven values by position, history included. What is proven stays so: they are kept for the whole match.
#[derive(Default)]
pub(crate) struct Proofs(ByKey<Payoffs>);

/// Something for each position.
pub(crate) type ByKey<T> = HashMap<u64, T, BuildHasherDefault<Plain>>;

/// What a position is looked up by: all that the future depends on, so that a line of play never leads to the same key twice.
pub(crate) fn position_key<G: Game>(game: &G, s: &G::State) -> u64 {
    game.key(s) ^ game.history_key(s)
}

impl Proofs {
    pub fn get(&self, key: u64) -> Option<Payoffs> {
        self.0.get(&key).copied()
    }

    /// Notes nodes that have been proven; of more positions than a tree may have nodes, none.
    pub fn note(&mut self, tree: &Tree, nodes: &[NodeId], keys: &[u64]) {
        if self.0.len() < tree.capacity() {
            self.0.extend(keys.iter().zip(nodes).map(|(&key, &n)| (key, tree.means(n))));
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Keys are hashes already.
#[derive(Default)]
pub(crate) struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are whole numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// After a simulation along `path`: if it ended where the game is over, that value is certain.
pub(crate) fn settle_end(tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
    if let Some(&end) = path.last().filter(|n| tree.node(**n).over() && !tree.node(**n).proven()) {
        tree.prove(end, payoffs);
    }
}

/// After a simulation along `path` that ended with `payoffs`: proves what can be proven, from the leaf up, and with a node the one
/// that is `joined` to it at its place on the path. Gives the place from which on the path is proven.
pub(crate) fn settle(tree: &mut Tree, path: &[NodeId], joined: &[(usize, NodeId)], payoffs: &Payoffs) -> usize {
    let mut joined = joined.iter().rev().peekable();
    for (i, &n) in path.iter().enumerate().rev() {
        let node = tree.node(n);
        if node.hidden() {
            return i + 1; // its mover cannot choose by what it must not see
        }
        if !node.proven() {
            let value = match node.over() {
                true if i + 1 == path.len() => Some(*payoffs),
                true => None,
                false => derived(tree, n),
            };
            match value {
                Some(value) => tree.prove(n, &value),
                None => return i + 1,
            }
        }
        if let Some((_, double)) = joined.next_if(|(place, _)| *place == i) {
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
