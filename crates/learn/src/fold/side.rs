//! Linear move scores along a line of play, in lanes of 16 bits: what a playout can afford at every ply.
//!
//! A net of one layer from facts to moves is a column of weights per fact, and a state's scores are the sum of the columns of
//! its facts. A [`Side`] keeps them for one view of the board so that a ply costs little:
//! * what all moves have in common is kept apart, for only differences between moves matter in a distribution over them;
//! * moves with equal weights (those of the other role, never tried) share one lane;
//! * facts without any weight are skipped;
//! * weights are integers on one grid, so that a line followed move by move has the bits of a fresh sum. The grid is 1 / 32,000
//!   of the largest possible sum.

use crate::{Act, Actions, Encoder, Link, Mlp, Net};
use ludex_core::{Fact, Move};
use std::collections::HashMap;

const LANES: usize = 16;
/// The largest possible sum on the grid.
const MOST: f64 = 32_000.0;
/// Facts that have no column.
const NONE: u32 = u32::MAX;

/// Linear move scores, seen by one role.
#[derive(Clone, Debug)]
pub struct Side {
    /// Where the weights of each move stand.
    lane: Vec<u16>,
    /// Registers of a column.
    width: usize,
    /// Where the column of each fact begins.
    place: Vec<u32>,
    columns: Vec<[i16; LANES]>,
    bias: Vec<[i16; LANES]>,
    unscale: f32,
    /// What all moves have in common: the bias, then a weight for each fact.
    common: Vec<f32>,
}

/// Sums along a line of play.
#[derive(Clone, Debug, Default)]
pub struct SideLine(Vec<[i16; LANES]>);

impl Side {
    /// The scores of a linear net; `turned` if the second player sees the board through the encoder's mirror. `None` if the net
    /// is not one layer from facts to moves.
    pub fn new(net: &Net, encoder: &Encoder, turned: bool) -> Option<Side> {
        let Net::Mlp(Mlp { layers, link: Link::Each(Act::Identity), .. }) = net else { return None };
        let [layer] = &layers[..] else { return None };
        if encoder.actions() != Actions::None || encoder.table().is_some() {
            return None;
        }
        let mirror = encoder.mirror().filter(|_| turned);
        let fact = |f: usize| mirror.map_or(f, |m| m.facts[f].index());
        let column = |m: usize| mirror.map_or(m, |mirror| mirror.moves[m].index());
        let (facts, moves) = (layer.inputs, layer.outputs);
        // Bias and weights of a move, by fact.
        let row = |m: usize| {
            let weights = (0..facts).map(move |f| layer.weights[fact(f) * moves + column(m)]);
            std::iter::once(layer.bias[column(m)]).chain(weights)
        };
        let (mut known, mut shown, mut lane) = (HashMap::new(), Vec::new(), Vec::new());
        for m in 0..moves {
            let bits: Vec<u32> = row(m).map(f32::to_bits).collect();
            lane.push(*known.entry(bits).or_insert_with(|| {
                shown.push(m);
                shown.len() - 1
            }));
        }
        if shown.len() > u16::MAX as usize {
            return None;
        }
        let mut table: Vec<Vec<f64>> = shown.iter().map(|&m| row(m).map(f64::from).collect()).collect();
        let mut common = Vec::new();
        for f in 0..=facts {
            let mean = table.iter().map(|row| row[f]).sum::<f64>() / table.len().max(1) as f64;
            table.iter_mut().for_each(|row| row[f] -= mean);
            common.push(mean as f32);
        }
        let largest = table.iter().map(|row| row.iter().map(|w| w.abs()).sum::<f64>()).fold(0.0, f64::max);
        let scale = if largest > 0.0 { MOST / largest } else { 1.0 };
        let width = shown.len().div_ceil(LANES);
        let grid = |f: usize, l: usize| table.get(l).map_or(0, |row| (row[f] * scale).round() as i16);
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
        Some(Side { lane, width, place, columns, bias, unscale: (1.0 / scale) as f32, common })
    }

    #[inline(always)]
    fn column(&self, f: Fact) -> Option<&[[i16; LANES]]> {
        match self.place[f.index()] {
            NONE => None,
            at => Some(&self.columns[at as usize..][..self.width]),
        }
    }

    /// Begins a line at the state with these facts.
    pub fn start(&self, line: &mut SideLine, facts: &[Fact]) {
        line.0.clear();
        line.0.extend_from_slice(&self.bias);
        self.update(line, facts, &[]);
    }

    /// Makes `line` stand where `from` stands.
    #[inline]
    pub fn rewind(&self, line: &mut SideLine, from: &SideLine) {
        line.0.clone_from(&from.0);
    }

    /// Follows a move that turned these facts on and those off. Exact: any number of updates equals a new start.
    #[inline]
    pub fn update(&self, line: &mut SideLine, on: &[Fact], off: &[Fact]) {
        for column in on.iter().filter_map(|&f| self.column(f)) {
            line.0
                .iter_mut()
                .zip(column)
                .for_each(|(s, c)| s.iter_mut().zip(c).for_each(|(s, c)| *s = s.wrapping_add(*c)));
        }
        for column in off.iter().filter_map(|&f| self.column(f)) {
            line.0
                .iter_mut()
                .zip(column)
                .for_each(|(s, c)| s.iter_mut().zip(c).for_each(|(s, c)| *s = s.wrapping_sub(*c)));
        }
    }

    /// What all moves have in common in the state with these facts: what [`Side::scores`] leaves out.
    pub fn common(&self, facts: &[Fact]) -> f32 {
        facts.iter().fold(self.common[0], |sum, f| sum + self.common[1 + f.index()])
    }

    /// The scores of these moves at the end of a line, up to what all moves have in common.
    #[inline]
    pub fn scores(&self, line: &SideLine, moves: &[Move], out: &mut [f32]) {
        let sums = line.0.as_flattened();
        for (out, m) in out.iter_mut().zip(moves) {
            *out = sums[self.lane[m.index()] as usize] as f32 * self.unscale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Folded, Head, Layer};
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
        let net = Net::Mlp(Mlp { layers: vec![layer], hidden: Act::Identity, link: Link::Each(Act::Identity) });
        let swap = |n: u32| (0..n).map(move |i| if i == n - 1 && n % 2 == 1 { i } else { i ^ 1 });
        let mirror =
            Mirror { facts: swap(facts as u32).map(Fact).collect(), moves: swap(moves as u32).map(Move).collect() };
        let encoder = Encoder::facts(facts).relative(mirror).unwrap();
        let folded = Folded::new(&net, &encoder, Head::MoveScores { moves }).unwrap();
        let all: Vec<Move> = (0..moves as u32).map(Move).collect();
        for (player, turned) in [(Player(0), false), (Player(1), true)] {
            let side = Side::new(&net, &encoder, turned).unwrap();
            assert_eq!((side.width, side.place[if turned { 2 } else { 3 }]), (2, NONE));
            let mut line = SideLine::default();
            let mut held = vec![Fact(0), Fact(5), Fact(9)];
            side.start(&mut line, &held);
            for step in 0..60 {
                let f = Fact((7 * step + 3) % facts as u32);
                match held.iter().position(|&h| h == f) {
                    Some(i) => {
                        held.remove(i);
                        side.update(&mut line, &[], &[f]);
                    }
                    None => {
                        held.push(f);
                        side.update(&mut line, &[f], &[]);
                    }
                }
                let mut fresh = SideLine::default();
                side.start(&mut fresh, &held);
                assert_eq!(fresh.0, line.0, "a line is exact");
                let (mut ours, mut theirs) = (vec![0.0; moves], vec![0.0; moves]);
                side.scores(&line, &all, &mut ours);
                folded.score_moves(&held, player, &all, &mut folded.scratch(), &mut theirs);
                let shift = side.common(&held);
                assert!(ours.iter().zip(&theirs).all(|(o, t)| (t - o - shift).abs() < 0.02), "{ours:?} {theirs:?}");
            }
        }
    }
}
