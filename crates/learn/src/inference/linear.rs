//! Scores of moves by a linear net, kept up to date along a line of play in lanes of 16 bits: cheap enough for every
//! ply of a playout.
//!
//! A net of one layer from facts to moves has a column of weights for each fact, and the scores of a state are the sum
//! of the columns of its facts. A [`LinearScorer`] holds the columns of one view of the board:
//! * what all moves have in common is kept apart ([`LinearScorer::common`]), since a distribution over moves depends on
//!   differences only;
//! * moves with equal weights, such as those of the other role, share one lane;
//! * facts without weights have no column;
//! * weights are integers on one grid, 1 / 32,000 of the largest possible sum, so that updates give the bits of a fresh
//!   sum. Scores differ from those of [`crate::InferenceNet::score_moves`] by that rounding.
//!
//! Nets with hidden layers, input codes or moves as inputs are not supported: [`LinearScorer::new`] gives `None`.

use crate::{Activation, Encoder, Link, Mlp, MoveInputs, Net};
use ludex_core::{Fact, Move};
use std::collections::HashMap;

const LANES: usize = 16;
/// The largest possible sum on the grid.
const MOST: f64 = 32_000.0;
/// The place of facts that have no column.
const NONE: u32 = u32::MAX;

/// The weights of a linear net that scores moves, in one view of the board.
#[derive(Clone, Debug)]
pub struct LinearScorer {
    /// The lane of each move.
    lane: Vec<u16>,
    /// The number of registers of a column.
    width: usize,
    /// Where the column of each fact begins.
    place: Vec<u32>,
    columns: Vec<[i16; LANES]>,
    bias: Vec<[i16; LANES]>,
    unscale: f32,
    /// The mean over lanes of the bias, then of the weights of each fact.
    common: Vec<f32>,
}

/// The scores of all moves in one state, as integer sums; [`LinearScorer::refresh`] fills it.
#[derive(Clone, Debug, Default)]
pub struct LinearAccumulator(Vec<[i16; LANES]>);

impl LinearAccumulator {
    /// Becomes a copy of another accumulator.
    #[inline]
    pub fn copy_from(&mut self, from: &LinearAccumulator) {
        self.0.clone_from(&from.0);
    }
}

impl LinearScorer {
    /// The scorer of a linear net, in the encoder's mirror (the view of player 1) if `mirrored`. `None` if the net is
    /// not one layer from facts to moves.
    pub fn new(net: &Net, encoder: &Encoder, mirrored: bool) -> Option<LinearScorer> {
        let Net::Mlp(Mlp { layers, link: Link::Each(Activation::Identity), .. }) = net else { return None };
        let [layer] = &layers[..] else { return None };
        if encoder.move_inputs() != MoveInputs::None || encoder.codes().is_some() {
            return None;
        }
        let mirror = encoder.mirror().filter(|_| mirrored);
        let fact = |f: usize| mirror.map_or(f, |m| m.facts[f].index());
        let column = |m: usize| mirror.map_or(m, |mirror| mirror.moves[m].index());
        let (facts, moves) = (layer.inputs, layer.outputs);
        // Bias and weights of a move, by fact.
        let row = |m: usize| {
            let weights = (0..facts).map(move |f| layer.weights[fact(f) * moves + column(m)]);
            std::iter::once(layer.bias[column(m)]).chain(weights)
        };
        let (mut known, mut distinct, mut lane) = (HashMap::new(), Vec::new(), Vec::new());
        for m in 0..moves {
            let bits: Vec<u32> = row(m).map(f32::to_bits).collect();
            lane.push(*known.entry(bits).or_insert_with(|| {
                distinct.push(m);
                distinct.len() - 1
            }));
        }
        if distinct.len() > u16::MAX as usize {
            return None;
        }
        let mut rows: Vec<Vec<f64>> = distinct.iter().map(|&m| row(m).map(f64::from).collect()).collect();
        let mut common = Vec::new();
        for f in 0..=facts {
            let mean = rows.iter().map(|row| row[f]).sum::<f64>() / rows.len().max(1) as f64;
            rows.iter_mut().for_each(|row| row[f] -= mean);
            common.push(mean as f32);
        }
        let largest = rows.iter().map(|row| row.iter().map(|w| w.abs()).sum::<f64>()).fold(0.0, f64::max);
        let scale = if largest > 0.0 { MOST / largest } else { 1.0 };
        let width = distinct.len().div_ceil(LANES);
        let grid = |f: usize, l: usize| rows.get(l).map_or(0, |row| (row[f] * scale).round() as i16);
        let registers = |f: usize| (0..width).map(move |r| std::array::from_fn(|k| grid(f, r * LANES + k)));
        let (mut place, mut columns) = (vec![NONE; facts], Vec::new());
        for (f, place) in place.iter_mut().enumerate() {
            if registers(f + 1).any(|r| r != [0; LANES]) {
                *place = columns.len() as u32;
                columns.extend(registers(f + 1));
            }
        }
        let bias = registers(0).collect();
        let lane = lane.into_iter().map(|l| l as u16).collect();
        Some(LinearScorer { lane, width, place, columns, bias, unscale: (1.0 / scale) as f32, common })
    }

    #[inline(always)]
    fn column(&self, f: Fact) -> Option<&[[i16; LANES]]> {
        match self.place[f.index()] {
            NONE => None,
            at => Some(&self.columns[at as usize..][..self.width]),
        }
    }

    /// Computes an accumulator afresh, for the state with these facts.
    pub fn refresh(&self, accumulator: &mut LinearAccumulator, facts: &[Fact]) {
        accumulator.0.clear();
        accumulator.0.extend_from_slice(&self.bias);
        self.update(accumulator, facts, &[]);
    }

    /// Applies a move that turned the facts `on` on and the facts `off` off. Exact: any number of updates gives the
    /// bits of a refresh.
    #[inline]
    pub fn update(&self, accumulator: &mut LinearAccumulator, on: &[Fact], off: &[Fact]) {
        for column in on.iter().filter_map(|&f| self.column(f)) {
            accumulator
                .0
                .iter_mut()
                .zip(column)
                .for_each(|(s, c)| s.iter_mut().zip(c).for_each(|(s, c)| *s = s.wrapping_add(*c)));
        }
        for column in off.iter().filter_map(|&f| self.column(f)) {
            accumulator
                .0
                .iter_mut()
                .zip(column)
                .for_each(|(s, c)| s.iter_mut().zip(c).for_each(|(s, c)| *s = s.wrapping_sub(*c)));
        }
    }

    /// The part of the score that all moves of this state share, which [`LinearScorer::scores`] leaves out.
    pub fn common(&self, facts: &[Fact]) -> f32 {
        facts.iter().fold(self.common[0], |sum, f| sum + self.common[1 + f.index()])
    }

    /// The scores of these moves, without the part that all moves share.
    #[inline]
    pub fn scores(&self, accumulator: &LinearAccumulator, moves: &[Move], out: &mut [f32]) {
        let sums = accumulator.0.as_flattened();
        for (out, m) in out.iter_mut().zip(moves) {
            *out = sums[self.lane[m.index()] as usize] as f32 * self.unscale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Head, InferenceNet, Layer};
    use ludex_core::{Mirror, Player, Rng};

    #[test]
    fn differences_between_moves_are_those_of_the_net_along_any_line() {
        let (facts, moves) = (23, 40);
        let mut rng = Rng::new(5);
        let mut draw = |n: usize| (0..n).map(|_| rng.unit() as f32 - 0.5).collect::<Vec<f32>>();
        let mut layer = Layer { inputs: facts, outputs: moves, weights: draw(facts * moves), bias: draw(moves) };
        // Fact 3 means the same to all moves; moves 30 to 39 were never tried.
        for f in 0..facts {
            layer.weights[f * moves + 30..(f + 1) * moves].fill(0.1 * f as f32);
        }
        layer.weights[3 * moves..4 * moves].fill(0.7);
        layer.bias[30..].fill(0.0);
        let net =
            Net::Mlp(Mlp { layers: vec![layer], hidden: Activation::Identity, link: Link::Each(Activation::Identity) });
        let swap = |n: u32| (0..n).map(move |i| if i == n - 1 && n % 2 == 1 { i } else { i ^ 1 });
        let mirror =
            Mirror { facts: swap(facts as u32).map(Fact).collect(), moves: swap(moves as u32).map(Move).collect() };
        let encoder = Encoder::facts(facts).mover_relative(mirror).unwrap();
        let inference = InferenceNet::new(&net, &encoder, Head::MoveScores { moves }).unwrap();
        let all: Vec<Move> = (0..moves as u32).map(Move).collect();
        for (player, mirrored) in [(Player(0), false), (Player(1), true)] {
            let scorer = LinearScorer::new(&net, &encoder, mirrored).unwrap();
            assert_eq!((scorer.width, scorer.place[if mirrored { 2 } else { 3 }]), (2, NONE));
            let mut accumulator = LinearAccumulator::default();
            let mut held = vec![Fact(0), Fact(5), Fact(9)];
            scorer.refresh(&mut accumulator, &held);
            for step in 0..60 {
                let f = Fact((7 * step + 3) % facts as u32);
                match held.iter().position(|&h| h == f) {
                    Some(i) => {
                        held.remove(i);
                        scorer.update(&mut accumulator, &[], &[f]);
                    }
                    None => {
                        held.push(f);
                        scorer.update(&mut accumulator, &[f], &[]);
                    }
                }
                let mut fresh = LinearAccumulator::default();
                scorer.refresh(&mut fresh, &held);
                assert_eq!(fresh.0, accumulator.0, "a line is exact");
                let (mut ours, mut theirs) = (vec![0.0; moves], vec![0.0; moves]);
                scorer.scores(&accumulator, &all, &mut ours);
                inference.score_moves(&held, player, &all, &mut inference.scratch(), &mut theirs);
                let shift = scorer.common(&held);
                assert!(ours.iter().zip(&theirs).all(|(o, t)| (t - o - shift).abs() < 0.02), "{ours:?} {theirs:?}");
            }
        }
    }
}
