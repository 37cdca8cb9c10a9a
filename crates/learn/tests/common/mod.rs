//! Random nets, facts and data for the tests.
#![allow(dead_code)]

use ludex_core::{Fact, Mirror, Move, Rng};
use ludex_learn::{Activation, Cascade, Layer, Link, Mlp, Net, Unit};

fn weights(n: usize, scale: f64, rng: &mut Rng) -> Vec<f32> {
    (0..n).map(|_| (rng.normal() * scale) as f32).collect()
}

/// An MLP with these sizes, inputs first, outputs last.
pub fn mlp(sizes: &[usize], hidden: Activation, link: Link, rng: &mut Rng) -> Net {
    let layer = |w: &[usize]| Layer {
        inputs: w[0],
        outputs: w[1],
        weights: weights(w[0] * w[1], 1.0 / (w[0] as f64).sqrt(), rng),
        bias: weights(w[1], 0.3, rng),
    };
    Net::Mlp(Mlp { layers: sizes.windows(2).map(layer).collect(), hidden, link })
}

/// A cascade whose unit `k` has activation `acts[k % ..]` and depth at most `depth`.
pub fn cascade(inputs: usize, units: usize, outputs: usize, acts: &[Activation], depth: u32, rng: &mut Rng) -> Net {
    let mut net = Cascade { inputs, units: vec![], out: vec![], link: Link::Each(Activation::Tanh) };
    for k in 0..units {
        let deep = 1 + if depth == 0 { k as u32 } else { rng.below(depth) };
        let mut weights = weights(1 + inputs + k, 1.0 / ((inputs + k) as f64).sqrt(), rng);
        for (u, w) in net.units.iter().zip(&mut weights[1 + inputs..]) {
            if u.depth >= deep {
                *w = 0.0;
            }
        }
        net.units.push(Unit { act: acts[k % acts.len()], depth: deep, weights });
    }
    net.out = (0..outputs).map(|_| weights(1 + inputs + units, 0.1, rng)).collect();
    Net::Cascade(net)
}

/// About this share of the facts, in increasing order.
pub fn facts(n: usize, share: f64, rng: &mut Rng) -> Vec<Fact> {
    (0..n as u32).map(Fact).filter(|_| rng.unit() < share).collect()
}

/// A mirror that swaps neighbours.
pub fn mirror(facts: usize, moves: usize) -> Mirror {
    let swap = |i: usize, n: usize| if i ^ 1 < n { i ^ 1 } else { i };
    Mirror {
        facts: (0..facts).map(|i| Fact(swap(i, facts) as u32)).collect(),
        moves: (0..moves).map(|i| Move(swap(i, moves) as u32)).collect(),
    }
}
