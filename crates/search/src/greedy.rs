//! The player without search: it plays by its evaluator's scores of the legal moves, which shows what was learned alone.

use ludex_core::{Choice, Control, Evaluator, Game, INSTANT, Limit, LimitKind, Move, Payoffs, Rng, RootMove, Search};

/// Plays the move with the highest score; of equals a random one.
pub struct Greedy<G: Game> {
    eval: Box<dyn Evaluator<G>>,
    moves: Vec<Move>,
    scores: Vec<f32>,
}

impl<G: Game> Greedy<G> {
    /// By the scores of this evaluator.
    pub fn new(eval: Box<dyn Evaluator<G>>) -> Self {
        Greedy { eval, moves: Vec::new(), scores: Vec::new() }
    }
}

impl<G: Game> Search<G> for Greedy<G> {
    fn search(&mut self, game: &G, s: &G::State, _: &Control, rng: &mut Rng) -> Choice {
        game.legal(s, &mut self.moves);
        self.scores.resize(self.moves.len(), 0.0);
        self.eval.score_moves(game, s, &self.moves, &mut self.scores);
        let top = self.scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scored = || self.moves.iter().zip(&self.scores);
        let tied: Vec<Move> = scored().filter(|(_, v)| **v == top).map(|(m, _)| *m).collect();
        let mv = *rng.pick(&tied).or(self.moves.first()).expect("the game is not over");
        let root = scored().map(|(&mv, &prior)| RootMove { mv, visits: 0, value: None, prior, proven: false });
        let mover = game.mover(s);
        let mut value = Payoffs::draw(game.info().players());
        value[mover] = top.clamp(-1.0, 1.0);
        if game.info().zero_sum {
            value = Payoffs::of(mover, value[mover]);
        }
        let nodes = self.moves.len() as u64;
        Choice { mv, value, root: root.collect(), nodes, simulations: 0, depth: 1, line: vec![mv], bytes: 0 }
    }

    fn limits(&self) -> &'static [LimitKind] {
        INSTANT
    }

    fn default_limit(&self) -> Limit {
        Limit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::toy::Nim;

    /// A value of 1 for whoever leaves a multiple of four.
    struct Knows;

    impl Evaluator<Nim> for Knows {
        fn value(&mut self, game: &Nim, s: &<Nim as Game>::State) -> Payoffs {
            Payoffs::of(game.mover(s), if s.left.is_multiple_of(4) { -1.0 } else { 1.0 })
        }
    }

    #[test]
    fn the_highest_score_is_played() {
        let nim = Nim::new(11);
        let choice = Greedy::new(Box::new(Knows)).search(&nim, &nim.initial(), &Control::default(), &mut Rng::new(1));
        assert_eq!((nim.move_name(choice.mv).as_str(), choice.root.len()), ("3", 3));
        assert_eq!(choice.value[nim.mover(&nim.initial())], 1.0);
    }
}
