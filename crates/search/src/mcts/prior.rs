//! An evaluator's opinion of every child, noted when a leaf is expanded, and the rules that select with it.
//!
//! [`Informed`] adds all children of a leaf at once and asks the evaluator about all of them in one call; what it says for the
//! player who chooses there becomes their prior C in [-1, 1]. Two rules use priors:
//!
//! * [`PriorBonus`], NeuralMCTS as printed (Rezende & Chaimowicz):  S + B,  S = Q/V,  B = w(C) c sqrt(2 (1 + ln N) / n)  with
//!   w(C) = (C + 1)/2; before the first visit S = 1 and B = w(C), so that a child with C near -1 may never be tried. Its
//!   `influence` i weakens the prior: w(C) = 1 - i + i (C + 1)/2.
//! * [`PriorMean`]:  (1 - b) q + b C + c sqrt(ln N / (n + 1)),  where the prior counts like b = k / (k + n) for k visits of its
//!   own, and stands for the mean before the first visit.

use super::expand::{At, Expand, Step, When};
use super::select::{Descent, Form, Logs, Reward, Select, Ucb1, best};
use super::tree::Tree;
use ludex_core::{Evaluator, Game, Move, Rng};

/// Where the playout begins when a leaf has been expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// At the new child that selection likes best.
    Child,
    /// At the leaf itself.
    Leaf,
}

/// All children at once, with priors.
pub struct Informed<G: Game> {
    eval: Box<dyn Evaluator<G>>,
    when: When,
    from: From,
    moves: Vec<Move>,
    values: Vec<f32>,
}

impl<G: Game> Informed<G> {
    /// Children are added at this time, and judged by this evaluator.
    pub fn new(eval: Box<dyn Evaluator<G>>, when: When, from: From) -> Self {
        Informed { eval, when, from, moves: Vec::new(), values: Vec::new() }
    }
}

impl<G: Game> Expand<G> for Informed<G> {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, _: &mut Rng) -> Step {
        let node = at.node;
        if self.when.waits(tree, node) || tree.full() {
            return Step::Playout;
        }
        game.legal(s, &mut self.moves);
        self.values.resize(self.moves.len(), 0.0);
        self.eval.child_values(game, s, &self.moves, &mut self.values);
        tree.open(node, self.moves.len());
        tree.reserve(node);
        // A node may have more moves than it can hold.
        for (&m, &value) in self.moves.iter().zip(&self.values).take(tree.node(node).untried()) {
            let child = tree.add_child(node, m);
            tree.set_prior(tree.child(node, child), value);
        }
        match self.from {
            From::Child => Step::Try,
            From::Leaf => Step::Playout,
        }
    }
}

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
        let chances = tree.chances(at.node());
        best(tree, children, node.mover(), rng, |i, c| {
            let w = 1.0 - self.influence + self.influence * (tree.prior(c) + 1.0) / 2.0;
            match chances[i].mean {
                f32::INFINITY => 1.0 + w,
                mean => mean + w * spread * chances[i].doubt,
            }
        })
    }
}

/// The mean, mixed with the prior as if that were `k` visits: UCB1 over chances that have it in them.
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
    use super::super::{Mcts, Mean, Options, ROOT, Uniform};
    use super::*;
    use ludex_core::toy::Nim;
    use ludex_core::{Limit, Payoffs, Player, Search};

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
        let expand = Informed::new(Box::new(Oracle), When::FIRST, From::Child);
        let mut mcts =
            Mcts::new(&game, select, Box::new(expand), Box::new(Uniform), Box::new(Mean), Options::default());
        mcts.search(&game, &game.initial(), &Limit::simulations(sims), &mut Rng::new(1))
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
    fn a_child_that_wins_at_once_has_the_prior_of_a_win_for_its_chooser() {
        let game = Nim::new(2);
        let mut tree = Tree::new(2, 100, false);
        tree.enter(ROOT, Player(0), false);
        let mut expand = Informed::new(Box::new(Oracle), When::FIRST, From::Child);
        assert_eq!(expand.expand(&game, &game.initial(), &mut tree, At::START, &mut Rng::new(1)), Step::Try);
        let priors: Vec<f32> = tree.children(ROOT).iter().map(|&c| tree.prior(c)).collect();
        assert_eq!(priors.iter().copied().fold(-2.0, f32::max), 1.0);
        assert_eq!(priors.len(), game.count_legal(&game.initial()));
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
