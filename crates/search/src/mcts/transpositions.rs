//! Transpositions: a position that several orders of moves lead to is searched once.
//!
//! The first node of a position that is expanded is its *canonical* node. Every other node of that position is linked to it
//! ([`Tree::canonical`]) and takes its children and its mean, so that the tree becomes a graph. A linked node keeps its own
//! count of visits: the mean of an edge is that of all simulations through the position, its exploration term counts only
//! those that went along the edge (one of the ways that Childs, Brodeur & Kocsis 2008 compare).
//!
//! Rules that lead in circles are safe: a simulation that would come back to a node of its own path plays out instead.
//!
//! Not done here: results do not reach the other parents of a canonical node until a simulation comes by there.

use super::path::Path;
use super::proofs::{ByKey, position_key};
use super::tree::{NodeId, Tree};
use ludex_core::Game;

/// The canonical node of each position expanded in this search.
#[derive(Default)]
pub(super) struct Transpositions(ByKey<NodeId>);

impl Transpositions {
    /// Forgets everything: nodes have moved, or a new search begins.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The canonical node for the last node of the path, which is about to be expanded in state `s`; it takes that node's
    /// place on the path. The node itself if it is the first of its position, or if the path would become a circle.
    pub fn look_up<G: Game>(&mut self, game: &G, s: &G::State, tree: &mut Tree, path: &mut Path) -> NodeId {
        let at = path.last();
        let key = path.keys.last().copied().unwrap_or_else(|| position_key(game, s));
        let canonical = *self.0.entry(key).or_insert(at);
        tree.mark_looked_up(at);
        if path.nodes.contains(&canonical) {
            return at;
        }
        tree.link_transposition(at, canonical);
        path.nodes.pop();
        stand_in(tree, path, canonical, at);
        canonical
    }
}

/// Goes on to a child, or to its canonical node if it has been linked to one that is not on the path already.
#[inline]
pub(super) fn step_to(tree: &mut Tree, path: &mut Path, child: NodeId) -> NodeId {
    let canonical = tree.canonical(child);
    if canonical == child || path.nodes.contains(&canonical) {
        path.nodes.push(child);
        return child;
    }
    stand_in(tree, path, canonical, child);
    canonical
}

/// Goes on to `canonical` in place of `transposed`, which gets the result and the proof too.
#[inline]
fn stand_in(tree: &mut Tree, path: &mut Path, canonical: NodeId, transposed: NodeId) {
    path.transposed.push((path.nodes.len(), transposed));
    path.nodes.push(canonical);
    path.beside.push(transposed);
    if tree.node(canonical).proven() && !tree.node(transposed).proven() {
        tree.prove(transposed, &tree.means(canonical));
    }
}
