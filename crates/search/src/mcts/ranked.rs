//! Expansion that drops the moves an evaluator likes least (UCT-NN, Burger, du Plessis & Cilliers 2013).
//!
//! When a leaf with n legal moves is expanded, the evaluator ranks them in one call and the worst k get no child: they are not
//! searched at all below this node. [`Keep`] says how many:
//!
//!   constant      k = floor(p n)
//!   linear        k = floor(p n0) - d,  n0 being the moves where d was 0
//!   exponential   k = floor(p exp(-r d) n)
//!
//! and at least one move is always kept. The paper gives no formula for the exponential scheme; p = 0.5 and r = 0.23 are what
//! "50 % at first, below 10 % after the seventh ply" says. The kept children stand in the order of their moves, whatever their
//! rank, so that nothing dropped means exactly [`super::AllChildren`].
//!
//! The depth d is that of the board or of the tree ([`Depth`]). Rules do not say how many plies a state is from the start, so
//! on the board d is the larger of two numbers that every game has: the plies since the match was set up, and the legal moves
//! that have gone since the start. Where each move takes one away, as in Go-Moku or Dots and Boxes, the latter is the number of
//! stones, also in a position set up from text; elsewhere the former counts.
//!
//! Not done here: moves that were dropped never come back (progressive unpruning).

use super::expand::{At, Expand, PlayoutFrom, Step, When};
use super::tree::{ROOT, Tree};
use ludex_core::{Evaluator, Game, Move, Rng};

/// How many of the ranked moves get a child.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Keep {
    /// All but a fixed share.
    Constant(f64),
    /// All but a share at the start, of which one more is kept with each ply.
    Linear(f64),
    /// All but a share that decays with depth.
    Exponential {
        /// The share dropped at depth 0.
        first: f64,
        /// How fast it decays.
        rate: f64,
    },
}

impl Keep {
    /// 50 % at first, below 10 % after the seventh ply.
    pub const EXPONENTIAL: Keep = Keep::Exponential { first: 0.5, rate: 0.23 };

    /// How many of `n` moves are kept at depth `d`, if there were `n0` at depth 0; at least one.
    pub fn kept(self, n: usize, d: u32, n0: usize) -> usize {
        let dropped = match self {
            Keep::Constant(p) => (p * n as f64).floor() as usize,
            Keep::Linear(p) => ((p * n0 as f64).floor() as usize).saturating_sub(d as usize),
            Keep::Exponential { first, rate } => (first * (-rate * d as f64).exp() * n as f64).floor() as usize,
        };
        n.saturating_sub(dropped).max(1)
    }
}

/// What depth is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Plies since the start of the game, as far as they can be known (see the module).
    Board,
    /// Plies since the root of the tree.
    Tree,
}

/// How moves are ranked and dropped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranking {
    /// How many are kept.
    pub keep: Keep,
    /// What depth is.
    pub depth: Depth,
    /// Whether moves are dropped at the root too.
    pub root: bool,
    /// Whether a move that wins at once is kept whatever its rank.
    pub decisive: bool,
}

/// Adds the best-ranked children at once.
pub struct Ranked<G: Game> {
    eval: Box<dyn Evaluator<G>>,
    ranking: Ranking,
    when: When,
    from: PlayoutFrom,
    /// Legal moves at depth 0.
    first: usize,
    moves: Vec<Move>,
    scores: Vec<f32>,
    /// Places of moves, from the best to the worst.
    order: Vec<u32>,
    /// Whether the move at this place is kept.
    kept: Vec<bool>,
}

impl<G: Game> Ranked<G> {
    /// Children are added at this time, ranked by this evaluator.
    pub fn new(game: &G, eval: Box<dyn Evaluator<G>>, ranking: Ranking, when: When, from: PlayoutFrom) -> Self {
        let first = game.count_legal(&game.initial());
        let (moves, scores, order, kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ranked { eval, ranking, when, from, first, moves, scores, order, kept }
    }

    fn depth(&self, at: At) -> u32 {
        match self.ranking.depth {
            Depth::Board => at.ply.max(self.first.saturating_sub(self.moves.len()) as u32),
            Depth::Tree => at.depth,
        }
    }

    /// Leaves in `moves` those that get a child, in their order.
    fn drop_worst(&mut self, game: &G, s: &G::State, at: At) {
        if self.ranking.depth == Depth::Tree && at.node == ROOT {
            self.first = self.moves.len();
        }
        let n = self.moves.len();
        let wanted = self.ranking.keep.kept(n, self.depth(at), self.first);
        if wanted >= n || at.node == ROOT && !self.ranking.root {
            return;
        }
        self.scores.clear();
        self.scores.resize(n, 0.0);
        self.eval.score_moves(game, s, &self.moves, &mut self.scores);
        self.order.clear();
        self.order.extend(0..n as u32);
        let scores = &self.scores;
        let better = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
        self.order.select_nth_unstable_by(wanted - 1, better);
        self.kept.clear();
        self.kept.resize(n, false);
        self.order[..wanted].iter().for_each(|&i| self.kept[i as usize] = true);
        if self.ranking.decisive {
            let mover = game.mover(s);
            for &i in &self.order[wanted..] {
                let mut child = s.clone();
                game.play(&mut child, self.moves[i as usize]);
                self.kept[i as usize] = game.outcome(&child).is_some_and(|p| p[mover] >= 1.0);
            }
        }
        let mut kept = self.kept.iter();
        self.moves.retain(|_| kept.next().copied().unwrap_or(true));
    }
}

impl<G: Game> Expand<G> for Ranked<G> {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, _: &mut Rng) -> Step {
        let node = at.node;
        if self.when.waits(tree, node) || tree.full() {
            return Step::Playout;
        }
        game.legal(s, &mut self.moves);
        self.drop_worst(game, s, at);
        tree.open(node, self.moves.len());
        tree.reserve(node);
        for &m in self.moves.iter().take(tree.node(node).untried()) {
            tree.add_child(node, m);
        }
        self.from.step()
    }
}
