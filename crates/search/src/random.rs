//! The uniformly random player: the bottom of every scale of strength, and the smallest search there is.

use ludex_core::{Choice, Control, Game, INSTANT, Limit, LimitKind, Payoffs, Rng, RootMove, Search};

/// Chooses uniformly among the legal moves.
#[derive(Clone, Copy, Default, Debug)]
pub struct Random;

impl<G: Game> Search<G> for Random {
    fn search(&mut self, game: &G, s: &G::State, _: &Control, rng: &mut Rng) -> Choice {
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        let mv = *rng.pick(&moves).expect("the game is not over");
        let root = moves.iter().map(|&mv| RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false });
        let value = Payoffs::draw(game.info().players());
        Choice { mv, value, root: root.collect(), nodes: 0, simulations: 0, depth: 0, line: vec![mv], bytes: 0 }
    }

    fn limits(&self) -> &'static [LimitKind] {
        INSTANT
    }

    fn default_limit(&self) -> Limit {
        Limit::default()
    }
}
