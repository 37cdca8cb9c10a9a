//! Selection by priors: what an evaluator thought of each child beforehand ([`super::WithPriors`]), C in [-1, 1] for the
//! player who chooses it.
//!
//! * [`PriorBonus`], NeuralMCTS as printed (Rezende & Chaimowicz):  S + B,  S = Q/V,  B = w(C) c sqrt(2 (1 + ln N) / n)  with
//!   w(C) = (C + 1)/2; before the first visit S = 1 and B = w(C), so that a child with C near -1 may never be tried. Its
//!   `influence` i weakens the prior: w(C) = 1 - i + i (C + 1)/2.
//! * [`PriorMean`]:  (1 - b) q + b C + c sqrt(ln N / (n + 1)),  where the prior counts like b = k / (k + n) for k visits of its
//!   own, and stands for the mean before the first visit.

use super::select::{Descent, Form, Logs, Reward, Select, Ucb1, best};
use ludex_core::Rng;

/// S + B of NeuralMCTS.
#[derive(Clone, Debug)]
pub struct PriorBonus {
    c: f32,
    influence: f32,
    logs: Logs,
}

impl PriorBonus {
    /// The rule with the constant of the signed scale; `influence` 1 is as printed.
    pub fn new(c: f64, influence: f64) -> Self {
        PriorBonus { c: c as f32, influence: influence as f32, logs: Logs::default() }
    }
}

impl Select for PriorBonus {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let spread = self.c * (2.0 * (1.0 + self.logs.ln(node.visits().max(1)))).sqrt();
        let children = tree.children(at.node());
        let stats = tree.edge_stats(at.node());
        best(tree, children, node.mover(), rng, |i, c| {
            let w = 1.0 - self.influence + self.influence * (tree.prior(c) + 1.0) / 2.0;
            match stats[i].mean {
                f32::INFINITY => 1.0 + w,
                mean => mean + w * spread * stats[i].inv_sqrt_visits,
            }
        })
    }
}

/// The mean, mixed with the prior as if that were `k` visits: UCB1 over edge statistics that include it.
#[derive(Clone, Debug)]
pub struct PriorMean {
    k: f32,
    rule: Ucb1,
}

impl PriorMean {
    /// The rule with this constant (plain form, rewards in [0, 1]) and weight of the prior in visits.
    pub fn new(c: f64, k: f64) -> Self {
        PriorMean { k: k as f32, rule: Ucb1::new(c, Form::Plain, Reward::Unit) }
    }
}

impl Select for PriorMean {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        self.rule.select(at, rng)
    }

    fn prior_visits(&self) -> Option<f32> {
        Some(self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        AllChildren, Mcts, MctsOptions, Mean, PlayoutFrom, PriorSource, ROOT, Tree, Uniform, When, WithPriors,
    };
    use super::*;
    use ludex_core::toy::Nim;
    use ludex_core::{Evaluator, Game, Limit, Move, Payoffs, Player, Search};

    /// Knows the value of Nim.
    struct Oracle;

    impl Evaluator<Nim> for Oracle {
        fn value(&mut self, game: &Nim, s: &<Nim as Game>::State) -> Payoffs {
            let mut moves = Vec::new();
            game.legal(s, &mut moves);
            let mover = game.mover(s);
            let wins = moves.iter().any(|&m| {
                let mut child = *s;
                game.play(&mut child, m);
                game.outcome(&child).unwrap_or_else(|| self.value(game, &child))[mover] > 0.0
            });
            Payoffs::of(mover, if wins { 1.0 } else { -1.0 })
        }
    }

    fn search(select: Box<dyn Select>, sims: u64) -> ludex_core::Choice {
        let game = Nim::new(7);
        let inner = AllChildren::new(When::FIRST, PlayoutFrom::Child);
        let expand = WithPriors::new(Box::new(inner), Box::new(Oracle), PriorSource::ChildValues);
        let mut mcts =
            Mcts::new(&game, select, Box::new(expand), Box::new(Uniform), Box::new(Mean), MctsOptions::default());
        mcts.search(&game, &game.initial(), &Limit::simulations(sims).into(), &mut Rng::new(1))
    }

    #[test]
    fn a_prior_that_knows_better_is_followed_from_the_first_simulation() {
        let rules: [fn() -> Box<dyn Select>; 2] =
            [|| Box::new(PriorBonus::new(0.7, 1.0)), || Box::new(PriorMean::new(0.3, 10.0))];
        for rule in rules {
            let choice = search(rule(), 1);
            let best = choice.root.iter().max_by(|a, b| a.prior.total_cmp(&b.prior)).unwrap();
            assert_eq!(choice.mv, best.mv);
            assert_eq!(best.prior, 1.0, "the winning child is worth 1 to the player who chooses it");
        }
    }

    #[test]
    fn without_influence_the_printed_rule_ignores_the_prior() {
        let mut wrong = PriorBonus::new(0.7, 0.0);
        let mut tree = Tree::new(2, 100, false);
        tree.enter(ROOT, Player(0), false);
        tree.open(ROOT, 2);
        for (m, prior) in [(0, -1.0), (1, 1.0)] {
            let child = tree.add_child(ROOT, Move(m));
            tree.set_prior(tree.child(ROOT, child), prior);
        }
        let mut rng = Rng::new(1);
        let picks: Vec<usize> =
            (0..200).map(|_| wrong.select(&Descent { tree: &tree, path: &[ROOT], amaf: None }, &mut rng)).collect();
        let first = picks.iter().filter(|&&i| i == 0).count();
        assert!((60..140).contains(&first), "{first} of 200");
        let mut printed = PriorBonus::new(0.7, 1.0);
        assert_eq!(printed.select(&Descent { tree: &tree, path: &[ROOT], amaf: None }, &mut rng), 1);
    }
}
