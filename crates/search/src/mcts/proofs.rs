//! Proven values by position: a proof counts wherever the position comes up again by another order of moves.

use super::path::Path;
use super::tree::{NodeId, Tree};
use ludex_core::{Game, Payoffs};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Proven values by position, history included. What is proven stays so: they are kept for the whole match.
#[derive(Default)]
pub(super) struct Proofs(ByKey<Payoffs>);

impl Proofs {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes the key of `s`, the state of the last node of the path. If that node is new and its position has been proven
    /// elsewhere, it is proven too: gives the value.
    #[inline]
    pub fn recall<G: Game>(&self, game: &G, s: &G::State, tree: &mut Tree, path: &mut Path) -> Option<Payoffs> {
        let (key, at) = (position_key(game, s), path.last());
        path.keys.push(key);
        if tree.node(at).visits() > 0 {
            return None;
        }
        let value = *self.0.get(&key)?;
        tree.prove(at, &value);
        Some(value)
    }

    /// Notes nodes that have been proven, with their position keys; of more positions than a tree may have nodes, none.
    pub fn note(&mut self, tree: &Tree, nodes: &[NodeId], keys: &[u64]) {
        if self.0.len() < tree.capacity() {
            self.0.extend(keys.iter().zip(nodes).map(|(&key, &n)| (key, tree.means(n))));
        }
    }
}

/// What a position is looked up by: all that the future depends on, so that a line of play never leads to the same key twice.
pub(super) fn position_key<G: Game>(game: &G, s: &G::State) -> u64 {
    game.key(s) ^ game.history_key(s)
}

/// Something for each position key.
pub(super) type ByKey<T> = HashMap<u64, T, BuildHasherDefault<KeyHasher>>;

/// Position keys are hashes already: they are taken as they are.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
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
