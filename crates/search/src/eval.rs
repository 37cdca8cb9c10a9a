//! Evaluators that need no learning: zero, random values, random rollouts.

use ludex_core::{Evaluator, Game, Payoffs, Player, Rng, mix, playout};

/// Every state is worth 0 to every player.
#[derive(Clone, Copy, Default, Debug)]
pub struct Zero;

impl<G: Game> Evaluator<G> for Zero {
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }
}

/// Uniform values in [-1, 1]: an opponent that knows the rules and nothing else (the "random heuristic" of NHB).
#[derive(Clone, Debug)]
pub enum RandomValue {
    /// The same state always gets the same value, by a hash with this seed.
    Hashed(u64),
    /// A fresh value at each call.
    Fresh(Rng),
}

impl<G: Game> Evaluator<G> for RandomValue {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let unit = match self {
            RandomValue::Hashed(seed) => (mix(game.key(s) ^ *seed) >> 40) as f32 / (1 << 24) as f32,
            RandomValue::Fresh(rng) => rng.unit() as f32,
        };
        match game.info().zero_sum {
            true => Payoffs::of(Player(0), 2.0 * unit - 1.0),
            false => {
                let mut p = Payoffs::draw(game.info().players());
                let mut bits = mix(unit.to_bits() as u64);
                for i in 0..p.players() {
                    bits = mix(bits);
                    p[Player(i as u8)] = 2.0 * (bits >> 40) as f32 / (1 << 24) as f32 - 1.0;
                }
                p
            }
        }
    }
}

/// The mean of so many uniformly random playouts.
#[derive(Clone, Debug)]
pub struct Rollouts {
    /// How many for each value.
    pub playouts: u32,
    /// Where the randomness comes from.
    pub rng: Rng,
}

impl<G: Game> Evaluator<G> for Rollouts {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let mut mean = Payoffs::draw(game.info().players());
        for _ in 0..self.playouts {
            let (payoffs, _) = playout(game, &mut s.clone(), &mut self.rng);
            for p in (0..mean.players() as u8).map(Player) {
                mean[p] += payoffs[p] / self.playouts as f32;
            }
        }
        mean
    }
}
