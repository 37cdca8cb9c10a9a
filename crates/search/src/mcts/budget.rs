//! What a search has spent, and whether anything of its limit is left.

use super::path::Path;
use super::tree::{ROOT, Tree};
use ludex_core::Limit;

/// Counts simulations, visits and expansions against a limit. Time is the clock's business.
pub(super) struct Budget {
    /// Simulations done.
    pub simulations: u64,
    /// Plies of the deepest one within the tree.
    pub depth: u32,
    visits: u64,
    most_simulations: u64,
    most_visits: u64,
    most_nodes: u64,
}

impl Budget {
    /// All that the limit allows to a search that begins with this tree.
    pub fn new(limit: &Limit, tree: &Tree) -> Self {
        let most = |n: Option<u64>| n.unwrap_or(u64::MAX);
        // Visits are counted in 32 bits. A tree that is complete or full no longer grows: so many simulations then end what
        // is limited by expansions alone.
        let countable = (u32::MAX - tree.node(ROOT).visits()) as u64;
        let growing = limit.expansions.map_or(u64::MAX, |n| n.saturating_mul(4).max(1_000));
        Budget {
            simulations: 0,
            depth: 0,
            visits: 0,
            most_simulations: most(limit.simulations).min(countable).min(growing),
            most_visits: most(limit.visits),
            most_nodes: most(limit.expansions).saturating_add(tree.len() as u64),
        }
    }

    /// Whether another simulation may begin.
    #[inline]
    pub fn lasts(&self, tree: &Tree) -> bool {
        self.simulations < self.most_simulations
            && self.visits < self.most_visits
            && (tree.len() as u64) < self.most_nodes
    }

    /// Counts a simulation.
    #[inline]
    pub fn spend(&mut self, path: &Path) {
        self.simulations += 1;
        self.visits += path.nodes.len() as u64;
        self.depth = self.depth.max(path.depth());
    }
}
