//! Information sets: where choices are hidden, statistics are shared by all nodes that the mover cannot tell apart.
//!
//! Games with simultaneous moves let the roles choose one after another, and who chooses later must not see what was chosen
//! before (`Game::hidden`). A chooser's statistics are therefore kept at one node for its whole information set
//! (`Game::infoset_key`), so that nobody answers a choice that it must not see: each role learns its own choice against the
//! mix of the others' (decoupled UCT, analysed by Shafiei, Sturtevant & Schaeffer 2009). The states themselves keep nodes of their own, for
//! what happens once the choices are shown.
//!
//! Asked where choices are hidden already, the search begins before them (`Game::before_hidden`) and answers with what it
//! learned at the mover's information set.
//!
//! Not done here: beliefs about what was hidden before the last state that everybody knew.

use super::path::Path;
use super::tree::{NodeId, ROOT, Tree};
use ludex_core::Game;
use std::collections::HashMap;

/// The node of each information set, by the last node on the way there without hidden choices and the set's key.
#[derive(Default)]
pub(super) struct InfoSets(HashMap<(NodeId, u64), NodeId>);

impl InfoSets {
    /// Forgets everything: nodes have moved, or a new search begins.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The node at which the mover of `s`, the state of `at`, chooses: that of its information set, or `at` itself where
    /// nothing is hidden.
    #[inline]
    pub fn chooser<G: Game>(&mut self, game: &G, s: &G::State, tree: &mut Tree, path: &Path, at: NodeId) -> NodeId {
        if game.hidden(s) && at != ROOT { self.node(game, s, tree, path) } else { at }
    }

    #[cold]
    fn node<G: Game>(&mut self, game: &G, s: &G::State, tree: &mut Tree, path: &Path) -> NodeId {
        tree.hide(path.last());
        let known = path.nodes.iter().rev().find(|&&n| !tree.node(n).hidden()).copied().unwrap_or(ROOT);
        *self.0.entry((known, game.infoset_key(s))).or_insert_with(|| tree.detached(game.mover(s)))
    }

    /// The node that answers for `s`, whose hidden choices were made just after the root.
    pub fn after_root<G: Game>(&self, game: &G, s: &G::State) -> Option<NodeId> {
        self.0.get(&(ROOT, game.infoset_key(s))).copied()
    }
}

/// Where a simulation chooses.
#[derive(Clone, Copy)]
pub(super) struct Site {
    /// The node of the state.
    pub at: NodeId,
    /// The node with the statistics: the same, unless choices are hidden.
    pub chooser: NodeId,
}

/// The index of the child for the move that was chosen at the information set, where the choice is counted.
#[cold]
pub(super) fn own_child<G: Game>(
    game: &G,
    s: &G::State,
    tree: &mut Tree,
    path: &mut Path,
    Site { at, chooser }: Site,
    chosen: usize,
) -> usize {
    let chosen = tree.child(chooser, chosen);
    path.beside.extend([chooser, chosen]);
    if !tree.node(at).opened() {
        tree.open(at, game.count_legal(s));
    }
    tree.child_for(at, tree.node(chosen).mv())
}
