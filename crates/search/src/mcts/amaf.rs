//! All moves as first (AMAF, Brügmann 1993): how each move did for each player, wherever in a simulation after a node it was
//! played.

use super::tree::NodeId;
use ludex_core::{Move, Payoffs, Player};

/// Memory for the statistics of one search.
pub(super) const MOST_BYTES: usize = 512 << 20;

/// Statistics by node, player and move. A node gets its block with its first simulation; when the memory is used up, later
/// nodes get none and count as unvisited.
#[derive(Clone, Debug)]
pub struct Amaf {
    players: usize,
    moves: usize,
    /// Block number of each node, `u32::MAX` if none.
    block: Vec<u32>,
    /// Visits and total, by block, player and move.
    cells: Vec<(f32, f32)>,
    capacity: usize,
    /// The simulation in which a (player, move) was last counted, so that only its first occurrence counts.
    stamp: Vec<u32>,
    simulation: u32,
}

impl Amaf {
    /// Empty statistics for this many players and moves, in at most `bytes`.
    pub fn new(players: usize, moves: usize, bytes: usize) -> Self {
        let size = players * moves;
        let capacity = bytes / (8 * size.max(1));
        Amaf { players, moves, block: Vec::new(), cells: Vec::new(), capacity, stamp: vec![0; size], simulation: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.block.clear();
        self.cells.clear();
    }

    /// Visits and total of a player's move after a node.
    #[inline]
    pub fn get(&self, n: NodeId, p: Player, m: Move) -> (f32, f32) {
        match self.block.get(n.0 as usize) {
            Some(&b) if b != u32::MAX => self.cells[self.at(b, p, m)],
            _ => (0.0, 0.0),
        }
    }

    #[inline]
    fn at(&self, block: u32, p: Player, m: Move) -> usize {
        (block as usize * self.players + p.index()) * self.moves + m.index()
    }

    /// Counts a simulation: `trace` holds all its moves from the root on, of which the first `path.len() - 1` lie in the
    /// tree.
    pub fn add(&mut self, path: &[NodeId], trace: &[(Player, Move)], payoffs: &Payoffs) {
        for (ply, &node) in path.iter().enumerate() {
            let Some(block) = self.block_of(node) else { continue };
            self.simulation = self.simulation.wrapping_add(1);
            for &(p, m) in &trace[ply.min(trace.len())..] {
                let stamp = &mut self.stamp[p.index() * self.moves + m.index()];
                if std::mem::replace(stamp, self.simulation) != self.simulation {
                    let at = self.at(block, p, m);
                    self.cells[at].0 += 1.0;
                    self.cells[at].1 += payoffs[p];
                }
            }
        }
    }

    fn block_of(&mut self, n: NodeId) -> Option<u32> {
        let size = self.players * self.moves;
        if self.block.len() <= n.0 as usize {
            self.block.resize(n.0 as usize + 1, u32::MAX);
        }
        let blocks = self.cells.len() / size.max(1);
        let block = &mut self.block[n.0 as usize];
        if *block == u32::MAX {
            if blocks >= self.capacity {
                return None;
            }
            *block = blocks as u32;
            self.cells.resize((blocks + 1) * size, (0.0, 0.0));
        }
        Some(*block)
    }
}
