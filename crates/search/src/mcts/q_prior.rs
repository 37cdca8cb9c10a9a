//! Selection by a learned action value that fades as a node is visited (CARL, Loftsdóttir et al. 2019, equations 2 to 4).
//!
//!   Q = b Q_learned + (1 - b) q,   b = sqrt(k / (3 N + k)),   chosen by  Q + c sqrt(ln N / n)
//!
//! with N the visits of the node: at N = k both weigh the same. What a child without a visit counts is the first-play urgency
//! ([`Fpu`]). The learned values are the children's priors, in [-1, 1]; [`super::WithPriors`] notes them.

use super::select::{Descent, Logs, Select, highest_of};
use ludex_core::Rng;

/// First-play urgency: what a child without a visit counts (Gelly & Wang 2006).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fpu {
    /// More than any child that has been visited.
    Infinite,
    /// Its prior, and as much exploration as a child with one visit.
    Prior,
}

/// The weighted sum of the learned value and the mean.
#[derive(Clone, Debug)]
pub struct QPrior {
    c: f32,
    k: f32,
    fpu: Fpu,
    logs: Logs,
}

impl QPrior {
    /// The rule with this constant (plain form, rewards in [0, 1]) and equivalence parameter.
    pub fn new(c: f64, k: f64, fpu: Fpu) -> Self {
        QPrior { c: 2.0 * c as f32, k: k as f32, fpu, logs: Logs::default() }
    }

    /// b, the weight of the learned value after so many visits.
    pub fn weight(k: f32, visits: u32) -> f32 {
        if k > 0.0 { (k / (3.0 * visits as f32 + k)).sqrt() } else { 0.0 }
    }
}

impl Select for QPrior {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let spread = self.c * self.logs.root(node.visits().max(1));
        let b = Self::weight(self.k, node.visits());
        // Wdl say all that is needed, a proven loss included: no node is looked at.
        let scores = tree.children(at.node()).iter().zip(tree.edge_stats(at.node())).map(|(&c, stats)| {
            let prior = tree.prior(c);
            match stats.mean {
                f32::INFINITY if self.fpu == Fpu::Infinite => f32::INFINITY,
                f32::INFINITY => prior + spread,
                mean => b * prior + (1.0 - b) * mean + spread * stats.inv_sqrt_visits,
            }
        });
        highest_of(scores, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{ROOT, Tree};
    use super::*;
    use ludex_core::{Move, Payoffs, Player};

    #[test]
    fn learned_value_and_mean_weigh_the_same_at_k_visits() {
        for k in [1u32, 100, 4000] {
            assert_eq!(QPrior::weight(k as f32, k), 0.5);
            assert_eq!(QPrior::weight(k as f32, 0), 1.0);
        }
        assert_eq!(QPrior::weight(0.0, 0), 0.0);
    }

    #[test]
    fn the_rule_chooses_by_the_formula() {
        // Two children with equal visits: mean 0.6 and prior -0.8 against mean -0.2 and prior 0.2. At N = k the sums are
        // -0.1 and 0, so that the second is chosen; with k = 0 only the means count.
        let mut tree = Tree::new(2, 100, false);
        tree.enter(ROOT, Player(0), false);
        tree.open(ROOT, 2);
        for (m, prior, mean) in [(0, -0.8, 0.6), (1, 0.2, -0.2)] {
            let child = tree.add_child(ROOT, Move(m));
            let child = tree.child(ROOT, child);
            tree.set_prior(child, prior);
            (0..5).for_each(|_| tree.add(child, &Payoffs::of(Player(0), mean)));
        }
        (0..10).for_each(|_| tree.add(ROOT, &Payoffs::draw(2)));
        let at = Descent { tree: &tree, path: &[ROOT], amaf: None };
        let mut rng = Rng::new(1);
        assert_eq!(QPrior::new(1.4, 10.0, Fpu::Infinite).select(&at, &mut rng), 1);
        assert_eq!(QPrior::new(1.4, 0.0, Fpu::Infinite).select(&at, &mut rng), 0);
    }
}
