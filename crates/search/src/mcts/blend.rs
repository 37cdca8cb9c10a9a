//! Selection by a learned action value that fades as a node is visited (CARL, Loftsdóttir et al. 2019, equations 2 to 4).
//!
//!   Q = b Q_learned + (1 - b) q,   b = sqrt(k / (3 N + k)),   chosen by  Q + c sqrt(ln N / n)
//!
//! with N the visits of the node: at N = k both weigh the same. A child without a visit comes first, or counts with the learned
//! value alone ([`First`]). The learned values are the children's priors, in [-1, 1]; [`Advised`] notes them, once for each
//! node and in one call, when the last of its children is added: before, nobody chooses among them.

use super::expand::{At, Expand, Step};
use super::select::{Descent, Logs, Select, highest_of};
use super::tree::Tree;
use ludex_core::{Evaluator, Game, Move, Rng};

/// What a child without a visit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// More than any other.
    Infinite,
    /// Its learned value and as much exploration as a child with one visit.
    Learned,
}

/// The weighted sum of the learned value and the mean.
#[derive(Clone, Debug)]
pub struct Blend {
    c: f32,
    k: f32,
    first: First,
    logs: Logs,
}

impl Blend {
    /// The rule with this constant (plain form, rewards in [0, 1]) and equivalence parameter.
    pub fn new(c: f64, k: f64, first: First) -> Self {
        Blend { c: 2.0 * c as f32, k: k as f32, first, logs: Logs::default() }
    }

    /// b, the weight of the learned value after so many visits.
    pub fn weight(k: f32, visits: u32) -> f32 {
        if k > 0.0 { (k / (3.0 * visits as f32 + k)).sqrt() } else { 0.0 }
    }
}

impl Select for Blend {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let spread = self.c * self.logs.root(node.visits().max(1));
        let b = Self::weight(self.k, node.visits());
        // Chances say all that is needed, a proven loss included: no node is looked at.
        let scores = tree.children(at.node()).iter().zip(tree.chances(at.node())).map(|(&c, chance)| {
            let prior = tree.prior(c);
            match chance.mean {
                f32::INFINITY if self.first == First::Infinite => f32::INFINITY,
                f32::INFINITY => prior + spread,
                mean => b * prior + (1.0 - b) * mean + spread * chance.doubt,
            }
        });
        highest_of(scores, rng)
    }
}

/// Any expansion, with learned values noted as priors.
pub struct Advised<G: Game> {
    inner: Box<dyn Expand<G>>,
    eval: Box<dyn Evaluator<G>>,
    moves: Vec<Move>,
    values: Vec<f32>,
}

impl<G: Game> Advised<G> {
    /// Children are added by `inner`; the evaluator scores moves on [-1, 1], and what lies beyond is cut off there.
    pub fn new(inner: Box<dyn Expand<G>>, eval: Box<dyn Evaluator<G>>) -> Self {
        Advised { inner, eval, moves: Vec::new(), values: Vec::new() }
    }
}

impl<G: Game> Expand<G> for Advised<G> {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, rng: &mut Rng) -> Step {
        let step = self.inner.expand(game, s, tree, at, rng);
        if tree.node(at.node).complete() {
            self.moves.clear();
            self.moves.extend(tree.children(at.node).iter().map(|&c| tree.node(c).mv()));
            self.values.resize(self.moves.len(), 0.0);
            self.eval.score_moves(game, s, &self.moves, &mut self.values);
            for (i, v) in self.values.iter().enumerate() {
                tree.set_prior(tree.child(at.node, i), v.clamp(-1.0, 1.0));
            }
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::ROOT;
    use super::super::{AllChildren, Mcts, Mean, Next, OneChild, Options, Uniform, When};
    use super::*;
    use ludex_core::toy::Nim;
    use ludex_core::{Limit, Payoffs, Player, Search};

    #[test]
    fn learned_value_and_mean_weigh_the_same_at_k_visits() {
        for k in [1u32, 100, 4000] {
            assert_eq!(Blend::weight(k as f32, k), 0.5);
            assert_eq!(Blend::weight(k as f32, 0), 1.0);
        }
        assert_eq!(Blend::weight(0.0, 0), 0.0);
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
        assert_eq!(Blend::new(1.4, 10.0, First::Infinite).select(&at, &mut rng), 1);
        assert_eq!(Blend::new(1.4, 0.0, First::Infinite).select(&at, &mut rng), 0);
    }

    /// Prefers to leave a multiple of four; counts how often it is asked.
    struct Scores(std::sync::Arc<std::sync::atomic::AtomicU32>);

    impl Evaluator<Nim> for Scores {
        fn value(&mut self, _: &Nim, _: &<Nim as Game>::State) -> Payoffs {
            Payoffs::draw(2)
        }
        fn score_moves(&mut self, _: &Nim, s: &<Nim as Game>::State, moves: &[Move], scores: &mut [f32]) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let good = |m: &Move| (s.left - m.0 - 1).is_multiple_of(4);
            scores.iter_mut().zip(moves).for_each(|(v, m)| *v = if good(m) { 3.0 } else { -3.0 });
        }
    }

    #[test]
    fn priors_are_noted_once_for_each_node_whatever_adds_the_children() {
        let game = Nim::new(11);
        let ways: [(Box<dyn Expand<Nim>>, First); 2] = [
            (Box::new(OneChild::new(Next::Leftmost)), First::Infinite),
            (Box::new(AllChildren::new(When::FIRST)), First::Learned),
        ];
        for (inner, first) in ways {
            let asked = std::sync::Arc::default();
            let expand = Advised::new(inner, Box::new(Scores(std::sync::Arc::clone(&asked))));
            let select = Blend::new(0.3, 1e6, first);
            let options = Options::default();
            let mut mcts =
                Mcts::new(&game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), options);
            let choice = mcts.search(&game, &game.initial(), &Limit::simulations(60), &mut Rng::new(1));
            let priors: Vec<f32> = choice.root.iter().map(|r| r.prior).collect();
            assert_eq!(priors, [-1.0, -1.0, 1.0], "cut off at 1");
            assert_eq!(game.move_name(choice.mv), "3");
            let tree = mcts.tree();
            let nodes = (0..tree.len() as u32).map(super::super::NodeId);
            let complete = nodes.filter(|&n| tree.node(n).complete() && !tree.children(n).is_empty()).count();
            assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed) as usize, complete);
        }
    }
}
