//! Playouts that follow learned action values (CARL, Loftsdóttir, Hjaltadóttir & Ívarsson 2019).
//!
//! At each ply [`ActionValues`] say what every legal move is worth to the player who chooses it; the values become a probability
//! distribution ([`Sampling`]) and a move is drawn from it:
//!
//!   Gibbs         p(a) ~ exp(Q(a) / tau)
//!   proportional  p(a) ~ Q(a) - min Q + 1, on the scale from 0 to 100
//!
//! The paper does not say which; both give the same whatever is added to all values. With probability `epsilon` a move is
//! uniformly random, and so are all moves after the first `plies`: cheaper playouts that still begin sensibly.
//!
//! The action-value function follows the playout move by move, so that what a move does not change need not be computed again.

use super::playout::{Playout, PlayoutContext, Uniform};
use ludex_core::{Game, Move, Payoffs, Rng};

/// Values of the moves along a line of play: the joint to a learned action-value function.
pub trait ActionValues<G: Game>: Send {
    /// A search begins.
    fn begin_search(&mut self, _game: &G) {}

    /// A playout begins at `s`.
    fn refresh(&mut self, game: &G, s: &G::State);

    /// Plays a legal move in `s`, the state that is followed.
    fn play(&mut self, game: &G, s: &mut G::State, m: Move);

    /// What each of these legal moves is worth to the mover of `s`, the state that is followed, on [-1, 1] or beyond. All may be
    /// off by the same number: no [`Sampling`] depends on it.
    fn values(&mut self, game: &G, s: &G::State, moves: &[Move], out: &mut [f32]);
}

/// How values become probabilities.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sampling {
    /// In proportion to exp(Q / tau), Q and tau on [-1, 1].
    Gibbs {
        /// The temperature.
        tau: f32,
    },
    /// In proportion to Q - min Q + 1 on the scale from 0 to 100.
    Proportional,
}

/// Values are worked on in so many lanes: no sum waits for another.
const LANES: usize = 8;

impl Sampling {
    /// An index drawn by the weight of its value; the values are overwritten.
    #[inline]
    pub fn draw(self, values: &mut Vec<f32>, rng: &mut Rng) -> usize {
        let count = values.len();
        // What fills the last lanes weighs nothing.
        let (neutral, top) = match self {
            Sampling::Gibbs { .. } => (f32::NEG_INFINITY, extreme(values, |a, b| if b > a { b } else { a })),
            Sampling::Proportional => (f32::INFINITY, extreme(values, |a, b| if b < a { b } else { a })),
        };
        values.resize(count.next_multiple_of(LANES), neutral);
        let lanes = values.as_chunks_mut::<LANES>().0;
        let mut total = [0.0f32; LANES];
        for lane in lanes.iter_mut() {
            match self {
                Sampling::Gibbs { tau } => {
                    let factor = std::f32::consts::LOG2_E / tau;
                    lane.iter_mut().for_each(|v| *v = exp2((*v - top) * factor));
                }
                Sampling::Proportional => {
                    lane.iter_mut().for_each(|v| *v = if *v < f32::INFINITY { 50.0 * (*v - top) + 1.0 } else { 0.0 })
                }
            }
            total.iter_mut().zip(lane).for_each(|(t, w)| *t += *w);
        }
        let mut left = sum(&total) * rng.unit() as f32;
        for (c, lane) in lanes.iter().enumerate() {
            let all = sum(lane);
            if left < all {
                for (i, w) in lane.iter().enumerate() {
                    left -= w;
                    if left < 0.0 {
                        return (LANES * c + i).min(count - 1);
                    }
                }
            }
            left -= all;
        }
        // Rounding alone leads here.
        count - 1
    }
}

/// The largest or least value, as `better` says.
#[inline]
fn extreme(values: &[f32], better: impl Fn(f32, f32) -> f32) -> f32 {
    let (lanes, rest) = values.as_chunks::<LANES>();
    let mut top = [values[0]; LANES];
    for lane in lanes {
        top.iter_mut().zip(lane).for_each(|(t, v)| *t = better(*t, *v));
    }
    top.iter_mut().zip(rest).for_each(|(t, v)| *t = better(*t, *v));
    let [a, b, c, d, e, f, g, h] = top;
    better(better(better(a, b), better(c, d)), better(better(e, f), better(g, h)))
}

#[inline]
fn sum([a, b, c, d, e, f, g, h]: &[f32; LANES]) -> f32 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// 2^x for x <= 0, to four digits: plain arithmetic that the compiler turns into lanes.
#[inline]
fn exp2(x: f32) -> f32 {
    /// Added to a small number, it leaves the nearest whole one in the lowest bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x > -126.0 { x } else { -126.0 };
    let shifted = x + MAGIC;
    let f = x - (shifted - MAGIC);
    let mantissa = 1.0 + f * (std::f32::consts::LN_2 + f * (0.240_226_5 + f * (0.055_504_1 + f * 0.009_618_1)));
    f32::from_bits(shifted.to_bits().wrapping_add(127) << 23) * mantissa
}

/// Plays moves drawn by their learned values.
pub struct GuidedPlayout<G: Game> {
    action_values: Box<dyn ActionValues<G>>,
    sampling: Sampling,
    epsilon: f64,
    plies: u32,
    moves: Vec<Move>,
    values: Vec<f32>,
}

impl<G: Game> GuidedPlayout<G> {
    /// Samples by these values for so many plies, with a share of uniform moves.
    pub fn new(action_values: Box<dyn ActionValues<G>>, sampling: Sampling, epsilon: f64, plies: u32) -> Self {
        GuidedPlayout { action_values, sampling, epsilon, plies, moves: Vec::new(), values: Vec::new() }
    }

    #[inline]
    fn choose(&mut self, game: &G, s: &G::State, rng: &mut Rng) -> Option<Move> {
        if self.epsilon > 0.0 && rng.unit() < self.epsilon {
            return game.sample(s, rng);
        }
        game.legal(s, &mut self.moves);
        if self.moves.len() < 2 {
            return self.moves.first().copied();
        }
        self.values.resize(self.moves.len(), 0.0);
        self.action_values.values(game, s, &self.moves, &mut self.values);
        Some(self.moves[self.sampling.draw(&mut self.values, rng)])
    }
}

impl<G: Game> Playout<G> for GuidedPlayout<G> {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        let horizon = game.info().horizon;
        let cap = horizon.map_or(u32::MAX, |h| h.plies);
        self.action_values.refresh(game, s);
        for ply in 0..cap {
            if ply == self.plies {
                return Uniform.playout(game, s, context);
            }
            let Some(m) = self.choose(game, s, context.rng) else { return game.outcome(s) };
            if let Some(trace) = &mut context.trace {
                trace.push((game.mover(s), m));
            }
            self.action_values.play(game, s, m);
            if (ply + 1) % 32 == 0 && context.clock.tick() {
                return None;
            }
        }
        game.outcome(s).or(horizon.map(|h| h.payoffs))
    }

    fn begin_search(&mut self, game: &G, _fresh: bool) {
        self.action_values.begin_search(game);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use ludex_core::toy::Nim;
    use ludex_core::{Control, Player};

    #[test]
    fn powers_of_two_are_right_to_four_digits() {
        for i in 0..2000 {
            let x = -0.01 * i as f32;
            assert!((exp2(x) / x.exp2() - 1.0).abs() < 1e-4, "{x}");
        }
        assert!(exp2(-1e9) < 1e-30);
    }

    #[test]
    fn moves_are_drawn_by_the_stated_distributions() {
        let mut rng = Rng::new(1);
        let mut shares = |sampling: Sampling| {
            let mut counts = [0u32; 3];
            (0..60_000).for_each(|_| counts[sampling.draw(&mut vec![0.2, 0.0, -0.2], &mut rng)] += 1);
            counts.map(|c| c as f64 / 60_000.0)
        };
        // Gibbs with tau = 10 of 100: values 60, 50, 40 weigh e, 1, 1/e.
        let e = std::f64::consts::E;
        for (share, weight) in shares(Sampling::Gibbs { tau: 0.2 }).iter().zip([e, 1.0, 1.0 / e]) {
            assert!((share - weight / (e + 1.0 + 1.0 / e)).abs() < 0.01);
        }
        for (share, weight) in shares(Sampling::Proportional).iter().zip([21.0, 11.0, 1.0]) {
            assert!((share - weight / 33.0).abs() < 0.01);
        }
    }

    /// Knows that leaving a multiple of four wins.
    struct Knows;

    impl ActionValues<Nim> for Knows {
        fn refresh(&mut self, _: &Nim, _: &<Nim as Game>::State) {}
        fn play(&mut self, game: &Nim, s: &mut <Nim as Game>::State, m: Move) {
            game.play(s, m);
        }
        fn values(&mut self, _: &Nim, s: &<Nim as Game>::State, moves: &[Move], out: &mut [f32]) {
            let good = |m: &Move| (s.left - m.0 - 1).is_multiple_of(4);
            out.iter_mut().zip(moves).for_each(|(v, m)| *v = if good(m) { 1.0 } else { -1.0 });
        }
    }

    fn wins(epsilon: f64, plies: u32) -> f64 {
        let nim = Nim::new(23);
        let mut playout = GuidedPlayout::new(Box::new(Knows), Sampling::Gibbs { tau: 0.02 }, epsilon, plies);
        let (mut rng, control) = (Rng::new(2), Control::default());
        let mut clock = Clock::start(&control);
        let mut win = || {
            let mut context = PlayoutContext { rng: &mut rng, clock: &mut clock, trace: None };
            playout.playout(&nim, &mut nim.initial(), &mut context).unwrap()[Player(0)] > 0.0
        };
        (0..2000).filter(|_| win()).count() as f64 / 2000.0
    }

    #[test]
    fn good_values_win_every_playout_unless_they_are_not_followed() {
        assert_eq!(wins(0.0, u32::MAX), 1.0);
        let (some, none) = (wins(0.3, u32::MAX), wins(0.0, 0));
        assert!(some < 0.98 && some > none && (none - 0.5).abs() < 0.1, "{some} {none}");
    }
}
