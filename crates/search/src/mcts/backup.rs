//! Backup: how the result of a simulation is added to the nodes that it went through.

use super::tree::{NodeId, ROOT, Tree};
use ludex_core::{Payoffs, Player};

/// Carries a result up the path.
pub trait Backup: Send {
    /// Adds `payoffs` to the nodes of `path`, which begins at the root.
    fn backup(&mut self, tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs);
}

/// Each node keeps a total for each player: what that player got.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mean;

impl Backup for Mean {
    #[inline]
    fn backup(&mut self, tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
        path.iter().for_each(|&n| tree.add(n, payoffs));
    }
}

/// One total for all players: what the player at the root got, whoever chooses at the node. Cotarelo et al. (2021) began with
/// this mistake; their Table 3 shows it losing 100 : 0. It stays selectable to reproduce that table.
#[derive(Clone, Copy, Default, Debug)]
pub struct UniqueCounter;

impl Backup for UniqueCounter {
    fn backup(&mut self, tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
        let mine = payoffs[tree.node(ROOT).mover()];
        let mut all = Payoffs::draw(payoffs.players());
        (0..all.players() as u8).map(Player).for_each(|p| all[p] = mine);
        path.iter().for_each(|&n| tree.add(n, &all));
    }
}
