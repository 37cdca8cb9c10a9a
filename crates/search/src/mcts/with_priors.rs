//! Expansion that asks an evaluator about the new children and notes its answers as their priors.
//!
//! Any expansion may add the children. When the last child of a node has been added, the evaluator is asked about all of them
//! in one call, once for each node: before, nobody chooses among them. What it says is for the player who chooses there.

use super::expand::{At, Expand, Step};
use super::tree::Tree;
use ludex_core::{Evaluator, Game, Move, Rng};

/// Where priors come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PriorSource {
    /// [`Evaluator::child_values`], as they are: a value function (NeuralMCTS, Rezende & Chaimowicz).
    ChildValues,
    /// [`Evaluator::score_moves`], cut off at -1 and 1: an action-value function (CARL, Loftsdóttir et al. 2019).
    MoveScores,
}

/// Any expansion, with priors.
pub struct WithPriors<G: Game> {
    inner: Box<dyn Expand<G>>,
    eval: Box<dyn Evaluator<G>>,
    source: PriorSource,
    moves: Vec<Move>,
    priors: Vec<f32>,
}

impl<G: Game> WithPriors<G> {
    /// Children are added by `inner` and judged by `eval`.
    pub fn new(inner: Box<dyn Expand<G>>, eval: Box<dyn Evaluator<G>>, source: PriorSource) -> Self {
        WithPriors { inner, eval, source, moves: Vec::new(), priors: Vec::new() }
    }
}

impl<G: Game> Expand<G> for WithPriors<G> {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, rng: &mut Rng) -> Step {
        let step = self.inner.expand(game, s, tree, at, rng);
        if tree.node(at.node).complete() {
            self.moves.clear();
            self.moves.extend(tree.children(at.node).iter().map(|&c| tree.node(c).mv()));
            self.priors.resize(self.moves.len(), 0.0);
            match self.source {
                PriorSource::ChildValues => self.eval.child_values(game, s, &self.moves, &mut self.priors),
                PriorSource::MoveScores => {
                    self.eval.score_moves(game, s, &self.moves, &mut self.priors);
                    self.priors.iter_mut().for_each(|p| *p = p.clamp(-1.0, 1.0));
                }
            }
            for (i, &prior) in self.priors.iter().enumerate() {
                tree.set_prior(tree.child(at.node, i), prior);
            }
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        AllChildren, Fpu, Mcts, MctsOptions, Mean, Next, NodeId, OneChild, PlayoutFrom, QPrior, ROOT, Uniform, When,
    };
    use super::*;
    use ludex_core::toy::Nim;
    use ludex_core::{Limit, Payoffs, Player, Search};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

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

    #[test]
    fn a_child_that_wins_at_once_has_the_prior_of_a_win_for_its_chooser() {
        let game = Nim::new(2);
        let mut tree = Tree::new(2, 100, false);
        tree.enter(ROOT, Player(0), false);
        let inner = AllChildren::new(When::FIRST, PlayoutFrom::Child);
        let mut expand = WithPriors::new(Box::new(inner), Box::new(Oracle), PriorSource::ChildValues);
        assert_eq!(expand.expand(&game, &game.initial(), &mut tree, At::START, &mut Rng::new(1)), Step::Try);
        let priors: Vec<f32> = tree.children(ROOT).iter().map(|&c| tree.prior(c)).collect();
        assert_eq!(priors.iter().copied().fold(-2.0, f32::max), 1.0);
        assert_eq!(priors.len(), game.count_legal(&game.initial()));
    }

    /// Prefers to leave a multiple of four; counts how often it is asked.
    struct Scores(Arc<AtomicU32>);

    impl Evaluator<Nim> for Scores {
        fn value(&mut self, _: &Nim, _: &<Nim as Game>::State) -> Payoffs {
            Payoffs::draw(2)
        }
        fn score_moves(&mut self, _: &Nim, s: &<Nim as Game>::State, moves: &[Move], scores: &mut [f32]) {
            self.0.fetch_add(1, Ordering::Relaxed);
            let good = |m: &Move| (s.left - m.0 - 1).is_multiple_of(4);
            scores.iter_mut().zip(moves).for_each(|(v, m)| *v = if good(m) { 3.0 } else { -3.0 });
        }
    }

    #[test]
    fn priors_are_noted_once_for_each_node_whatever_adds_the_children() {
        let game = Nim::new(11);
        let ways: [(Box<dyn Expand<Nim>>, Fpu); 2] = [
            (Box::new(OneChild::new(Next::Leftmost)), Fpu::Infinite),
            (Box::new(AllChildren::new(When::FIRST, PlayoutFrom::Child)), Fpu::Prior),
        ];
        for (inner, fpu) in ways {
            let asked = Arc::default();
            let expand = WithPriors::new(inner, Box::new(Scores(Arc::clone(&asked))), PriorSource::MoveScores);
            let select = QPrior::new(0.3, 1e6, fpu);
            let options = MctsOptions::default();
            let mut mcts =
                Mcts::new(&game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), options);
            let choice = mcts.search(&game, &game.initial(), &Limit::simulations(60).into(), &mut Rng::new(1));
            let priors: Vec<f32> = choice.root.iter().map(|r| r.prior).collect();
            assert_eq!(priors, [-1.0, -1.0, 1.0], "cut off at 1");
            assert_eq!(game.move_name(choice.mv), "3");
            let tree = mcts.tree();
            let nodes = (0..tree.len() as u32).map(NodeId);
            let complete = nodes.filter(|&n| tree.node(n).complete() && !tree.children(n).is_empty()).count();
            assert_eq!(asked.load(Ordering::Relaxed) as usize, complete);
        }
    }
}
