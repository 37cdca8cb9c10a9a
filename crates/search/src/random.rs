//! A player that chooses uniformly: the bottom of every scale, and the proof that a search interface works.

use ludex_core::{Choice, Game, Limit, Payoffs, Rng, RootMove, Search};

/// Chooses uniformly among the legal moves.
#[derive(Clone, Copy, Default, Debug)]
pub struct Random;

impl<G: Game> Search<G> for Random {
    fn search(&mut self, game: &G, s: &G::State, _: &Limit, rng: &mut Rng) -> Choice {
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        let mv = *rng.pick(&moves).expect("the game is not over");
        let root = moves.iter().map(|&mv| RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false });
        let value = Payoffs::draw(game.info().players());
        Choice { mv, value, root: root.collect(), nodes: 0, simulations: 0, depth: 0, line: vec![mv] }
    }
}
