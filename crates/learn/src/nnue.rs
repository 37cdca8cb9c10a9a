//! NNUE (Nasu 2018): an efficiently updatable net on a game's facts.
//!
//! ```text
//! accumulator  z = bias + Σ column(f) over the facts f that hold        width H, changed by a few columns a move
//! activation   y = clamp(z, 0, 1)²                                      squared clipped ReLU
//! head         y -> 16 -> 16 -> outputs, clipped ReLU between           one head for each mover and phase
//! ```
//!
//! The value is that of the player to move, so every player has heads of its own and facts that only say who moves need no
//! column. A game may be cut into phases by the number of certain facts that hold ([`Phases`]): each has heads of its own.
//! [`Nnue::forward`] defines the outputs in plain loops of `f32`; at play [`crate::QuantisedNnue`] computes them in integers.

use crate::net::finite;
use crate::{Activation, Error, Layer, Link, Row};

/// The units of both hidden layers of a head.
pub const HIDDEN: usize = 16;

/// The widths that an accumulator may have.
pub const WIDTHS: [usize; 5] = [64, 128, 256, 512, 1024];

/// An accumulator on facts with small dense heads. Inputs are the facts, then one for each player: who moves.
#[derive(Clone, PartialEq, Debug)]
pub struct Nnue {
    /// From facts to the accumulator.
    pub transformer: Layer,
    /// The heads: those of player 0 by phase, then those of player 1, and so on.
    pub heads: Vec<NnueHead>,
    /// The number of players.
    pub movers: usize,
    /// Which phase a state is in.
    pub phases: Phases,
    /// The most facts that hold at once: bounds the sums of the quantised accumulator.
    pub most_active: usize,
    /// The activation of the outputs.
    pub link: Link,
}

/// The layers above the accumulator: to 16, to 16, to the outputs.
pub type NnueHead = [Layer; 3];

/// Cuts a game into phases by how many of some facts hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phases {
    /// Whether a fact counts; empty if there is one phase.
    pub counted: Vec<bool>,
    /// Phase `p + 1` begins where `starts[p]` counted facts hold; in increasing order.
    pub starts: Vec<u32>,
}

impl Phases {
    /// The number of phases.
    pub fn len(&self) -> usize {
        self.starts.len() + 1
    }

    /// Whether the game is not cut at all.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The phase of a state in which so many counted facts hold.
    #[inline]
    pub fn phase(&self, count: u32) -> usize {
        self.starts.iter().take_while(|&&start| count >= start).count()
    }

    /// Whether this fact counts.
    #[inline]
    pub fn counts(&self, fact: usize) -> bool {
        self.counted.get(fact).copied().unwrap_or(false)
    }
}

impl Nnue {
    /// The number of facts.
    pub fn facts(&self) -> usize {
        self.transformer.inputs
    }

    /// The width of the accumulator.
    pub fn width(&self) -> usize {
        self.transformer.outputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.heads[0][2].outputs
    }

    /// The head for a mover and a number of counted facts.
    pub fn head(&self, mover: usize, count: u32) -> usize {
        mover * self.phases.len() + self.phases.phase(count)
    }

    /// The outputs for one encoded row: slow, the definition.
    pub(crate) fn forward(&self, row: Row) -> Vec<f32> {
        let (mut z, mut mover, mut count) = (self.transformer.bias.clone(), 0, 0);
        for (i, x) in row.iter() {
            match i.checked_sub(self.facts()) {
                Some(player) => mover = player,
                None => {
                    count += self.phases.counts(i) as u32;
                    self.transformer.column(i).iter().zip(&mut z).for_each(|(w, z)| *z += x * w);
                }
            }
        }
        let clamp = |v: f32| v.clamp(0.0, 1.0);
        let mut y: Vec<f32> = z.iter().map(|&v| clamp(v) * clamp(v)).collect();
        for (k, layer) in self.heads[self.head(mover, count)].iter().enumerate() {
            let mut sums = layer.bias.clone();
            for (i, y) in y.iter().enumerate() {
                layer.column(i).iter().zip(&mut sums).for_each(|(w, s)| *s += y * w);
            }
            y = if k < 2 { sums.iter().map(|&v| clamp(v)).collect() } else { sums };
        }
        self.link.apply(&mut y);
        y
    }

    /// An error unless all parts fit together and all weights are finite.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let shape = |text: String| Err(Error::Shape(text));
        if !WIDTHS.contains(&self.width()) {
            return shape(format!("an accumulator of width {}: there are {WIDTHS:?}", self.width()));
        }
        if self.movers == 0 || self.heads.len() != self.movers * self.phases.len() {
            return shape(format!(
                "{} heads for {} players and {} phases",
                self.heads.len(),
                self.movers,
                self.phases.len()
            ));
        }
        if !self.phases.is_empty() && self.phases.counted.len() != self.facts() || !self.phases.starts.is_sorted() {
            return shape("phases do not fit the facts".into());
        }
        if self.most_active == 0 || self.link != Link::Each(Activation::Tanh) {
            return shape("an accumulator net without active facts, or without tanh".into());
        }
        let outputs = self.outputs();
        let sizes = [(self.width(), HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)];
        let layers = self.heads.iter().flat_map(|head| head.iter().zip(sizes));
        for (layer, (inputs, outputs)) in layers.chain([(&self.transformer, (self.facts(), self.width()))]) {
            let fits = (layer.inputs, layer.outputs) == (inputs, outputs);
            if !fits || layer.weights.len() != inputs * outputs || layer.bias.len() != outputs || outputs == 0 {
                return shape(format!(
                    "a layer of {} by {} where {inputs} by {outputs} is due",
                    layer.inputs, layer.outputs
                ));
            }
            finite(&layer.weights, "a layer")?;
            finite(&layer.bias, "a layer")?;
        }
        Ok(())
    }
}
