//! Playouts: how a simulation is played to its end, and what is learned from it for the next ones.

use crate::Clock;
use ludex_core::{Evaluator, Game, Move, Payoffs, Player, Rng};

/// What a playout may use besides the game.
pub struct PlayoutContext<'a> {
    /// Where random choices come from.
    pub rng: &'a mut Rng,
    /// To be ticked now and then, so that a slow or endless playout does not overrun a time limit.
    pub clock: &'a mut Clock,
    /// The moves of this simulation from the root on, if somebody learns from them.
    pub trace: Option<&'a mut Vec<(Player, Move)>>,
}

/// Plays a simulation to its end.
pub trait Playout<G: Game>: Send {
    /// The payoffs at the end of a line of play from `s`; `None` if time ran out before.
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs>;

    /// The moves of each simulation must be kept.
    fn wants_trace(&self) -> bool {
        false
    }

    /// Learns from a whole simulation.
    fn learn(&mut self, _trace: &[(Player, Move)], _payoffs: &Payoffs) {}

    /// A search begins; with `fresh` it is the first of its match.
    fn begin_search(&mut self, _game: &G, _fresh: bool) {}

    /// What was counted since the search began, by name.
    fn counters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Plays to the end with moves that `choose` gives; the clock is looked at every 32 plies.
#[inline]
fn play_out<G: Game>(
    game: &G,
    s: &mut G::State,
    context: &mut PlayoutContext<'_>,
    mut choose: impl FnMut(&G, &G::State, &mut Rng) -> Option<Move>,
) -> Option<Payoffs> {
    let horizon = game.info().horizon;
    let cap = horizon.map_or(u32::MAX, |h| h.plies);
    for ply in 1..=cap {
        let Some(m) = choose(game, s, context.rng) else { return game.outcome(s) };
        if let Some(trace) = &mut context.trace {
            trace.push((game.mover(s), m));
        }
        game.play(s, m);
        if ply % 32 == 0 && context.clock.tick() {
            return None;
        }
    }
    game.outcome(s).or(horizon.map(|h| h.payoffs))
}

/// Uniformly random moves.
#[derive(Clone, Copy, Default, Debug)]
pub struct Uniform;

impl<G: Game> Playout<G> for Uniform {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        play_out(game, s, context, |game, s, rng| game.sample(s, rng))
    }
}

/// A move that wins at once is played; otherwise a uniformly random one (decisive moves, Teytaud & Teytaud 2010).
#[derive(Clone, Default, Debug)]
pub struct Decisive {
    moves: Vec<Move>,
}

impl<G: Game> Playout<G> for Decisive {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        let moves = &mut self.moves;
        play_out(game, s, context, |game, s, rng| {
            game.legal(s, moves);
            winning(game, s, moves).or_else(|| rng.pick(moves).copied())
        })
    }
}

/// The first move that wins at once.
pub(crate) fn winning<G: Game>(game: &G, s: &G::State, moves: &[Move]) -> Option<Move> {
    let mover = game.mover(s);
    moves.iter().copied().find(|&m| {
        let mut child = s.clone();
        game.play(&mut child, m);
        game.outcome(&child).is_some_and(|p| p[mover] >= 1.0)
    })
}

/// After so many uniformly random plies an evaluator is asked. Its value weighs `weight`, the end of the playout the rest;
/// with weight 1 nothing is played on.
pub struct Valued<G: Game> {
    /// The evaluator that is asked.
    pub eval: Box<dyn Evaluator<G>>,
    /// Random plies before.
    pub plies: u32,
    /// The share of the value in the result.
    pub weight: f32,
}

impl<G: Game> Playout<G> for Valued<G> {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        for _ in 0..self.plies {
            let Some(m) = game.sample(s, context.rng) else { break };
            if let Some(trace) = &mut context.trace {
                trace.push((game.mover(s), m));
            }
            game.play(s, m);
        }
        if let Some(end) = game.outcome(s) {
            return Some(end);
        }
        let mut value = self.eval.value(game, s);
        if self.weight < 1.0 {
            let end = Uniform.playout(game, s, context)?;
            for p in (0..value.players() as u8).map(Player) {
                value[p] = self.weight * value[p] + (1.0 - self.weight) * end[p];
            }
        }
        Some(value)
    }
}

/// Move-average sampling (Finnsson & Björnsson 2008), epsilon-greedy (Tak et al. 2012): the move that did best on average
/// wherever it was played in this search, and with probability `epsilon` a random one.
#[derive(Clone, Debug)]
pub struct Mast {
    epsilon: f64,
    /// Visits and total, by player and move; both fade from move to move of a match.
    table: Vec<(f32, f32)>,
    moves: Vec<Move>,
    stride: usize,
}

/// What is left of the statistics when the next search of a match begins (decay of Tak et al. 2014).
const FADE: f32 = 0.5;

impl Mast {
    /// The policy with this share of random moves.
    pub fn new(epsilon: f64) -> Self {
        Mast { epsilon, table: Vec::new(), moves: Vec::new(), stride: 0 }
    }
}

impl<G: Game> Playout<G> for Mast {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        let (table, moves, stride, epsilon) = (&self.table, &mut self.moves, self.stride, self.epsilon);
        play_out(game, s, context, |game, s, rng| {
            if rng.unit() < epsilon {
                return game.sample(s, rng);
            }
            game.legal(s, moves);
            let at = game.mover(s).index() * stride;
            let (mut top, mut found, mut equals) = (f32::NEG_INFINITY, None, 0);
            for &m in moves.iter() {
                let (n, total) = table[at + m.index()];
                let score = if n == 0.0 { 1.0 } else { total / n };
                if score > top {
                    (top, found, equals) = (score, Some(m), 1);
                } else if score == top {
                    equals += 1;
                    if rng.below(equals) == 0 {
                        found = Some(m);
                    }
                }
            }
            found
        })
    }

    fn wants_trace(&self) -> bool {
        true
    }

    fn learn(&mut self, trace: &[(Player, Move)], payoffs: &Payoffs) {
        for &(p, m) in trace {
            let cell = &mut self.table[p.index() * self.stride + m.index()];
            cell.0 += 1.0;
            cell.1 += payoffs[p];
        }
    }

    fn begin_search(&mut self, game: &G, fresh: bool) {
        self.stride = game.info().moves as usize;
        if fresh {
            self.table.clear();
        }
        self.table.resize(self.stride * game.info().players(), (0.0, 0.0));
        self.table.iter_mut().for_each(|(n, t)| (*n, *t) = (*n * FADE, *t * FADE));
    }
}
