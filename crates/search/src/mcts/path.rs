//! The way of one simulation through the tree, and what it leaves on its way for the phases that follow.

use super::expand::At;
use super::tree::{NodeId, ROOT};
use ludex_core::{Move, Player};

/// What a simulation went through.
#[derive(Default)]
pub(super) struct Path {
    /// The nodes from the root on.
    pub nodes: Vec<NodeId>,
    /// Nodes beside them to which the result is added as well: those of information sets, and transposed ones.
    pub beside: Vec<NodeId>,
    /// Transposed nodes whose place on the path is taken by their canonical node: the place, and the transposed node.
    pub transposed: Vec<(usize, NodeId)>,
    /// The position keys of the nodes, if proofs are shared.
    pub keys: Vec<u64>,
    /// The moves from the root on, those of the playout included, if anybody learns from them.
    pub trace: Vec<(Player, Move)>,
}

impl Path {
    /// Begins a simulation at the root, which has this position key.
    #[inline]
    pub fn begin(&mut self, key: Option<u64>) {
        self.nodes.clear();
        self.nodes.push(ROOT);
        self.beside.clear();
        self.transposed.clear();
        self.keys.clear();
        self.keys.extend(key);
        self.trace.clear();
    }

    /// The last node.
    #[inline]
    pub fn last(&self) -> NodeId {
        self.nodes[self.nodes.len() - 1]
    }

    /// Plies from the root.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// Where `node` stands, in a search whose root is `ply` plies into the match.
    #[inline]
    pub fn at(&self, node: NodeId, ply: u32) -> At {
        At { node, depth: self.depth(), ply: ply + self.depth() }
    }
}
