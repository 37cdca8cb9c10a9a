//! Uniformly random play to the end: the oldest evaluator, and the measure of how fast rules are.

use crate::{Game, Payoffs, Rng};

/// Plays uniformly random moves from `s` to the end, or to the game's horizon; gives the payoffs and the plies played.
#[inline]
pub fn playout<G: Game + ?Sized>(game: &G, s: &mut G::State, rng: &mut Rng) -> (Payoffs, u32) {
    let horizon = game.info().horizon;
    let cap = horizon.map_or(u32::MAX, |h| h.plies);
    let mut plies = 0;
    while plies < cap {
        let Some(m) = game.sample(s, rng) else { break };
        game.play(s, m);
        plies += 1;
    }
    let payoffs = game.outcome(s).or(horizon.map(|h| h.payoffs));
    (payoffs.expect("a game without moves has an outcome"), plies)
}

/// The sum of `n` playouts from `s`: total payoff by player (as f64) and total plies.
pub fn playouts<G: Game>(game: &G, s: &G::State, n: u64, rng: &mut Rng) -> (Vec<f64>, u64) {
    let mut totals = vec![0.0; game.info().players()];
    let plies = game.rollouts(s, n, rng, &mut totals);
    (totals, plies)
}
