//! Nets as they are stored: weights in `f32` over encoded inputs.
//!
//! Three families: multilayer perceptrons, y = act(W·x + b) layer by layer; cascades (Fahlman & Lebiere 1990), in which
//! each hidden unit sees the inputs and earlier units; and accumulators on facts ([`Nnue`]). [`Net::forward`] defines the outputs, slow and simple;
//! searches use [`crate::InferenceNet`], which computes the same from facts, to rounding. Learning is elsewhere.

use crate::{Activation, Error, Link, Nnue, Row};

/// A trained net.
#[derive(Clone, PartialEq, Debug)]
pub enum Net {
    /// A multilayer perceptron; without hidden layers it is linear.
    Mlp(Mlp),
    /// A cascade-correlation net.
    Cascade(Cascade),
    /// An accumulator on facts with small dense heads.
    Nnue(Nnue),
}

/// A multilayer perceptron: layers, each fully connected to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Mlp {
    /// The layers, at least one; the last one gives the outputs.
    pub layers: Vec<Layer>,
    /// The activation of hidden units.
    pub hidden: Activation,
    /// The activation of the outputs.
    pub link: Link,
}

/// One fully connected layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// The number of inputs.
    pub inputs: usize,
    /// The number of outputs.
    pub outputs: usize,
    /// `weights[i * outputs + o]` is the weight from input `i` to output `o`.
    pub weights: Vec<f32>,
    /// The bias of each output.
    pub bias: Vec<f32>,
}

/// A cascade-correlation net (Fahlman & Lebiere 1990).
#[derive(Clone, PartialEq, Debug)]
pub struct Cascade {
    /// The number of inputs.
    pub inputs: usize,
    /// The hidden units, in the order in which they were installed.
    pub units: Vec<Unit>,
    /// The weights of each output: bias, inputs, units.
    pub out: Vec<Vec<f32>>,
    /// The activation of the outputs.
    pub link: Link,
}

/// A hidden unit of a cascade.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Its activation.
    pub act: Activation,
    /// 1 if it sees inputs only, otherwise more than the depth of any unit that it sees.
    pub depth: u32,
    /// Its weights: bias, inputs, earlier units; 0 for units that are not of lower depth.
    pub weights: Vec<f32>,
}

impl Net {
    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[0].inputs,
            Net::Cascade(c) => c.inputs,
            Net::Nnue(n) => n.facts() + n.movers,
        }
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[m.layers.len() - 1].outputs,
            Net::Cascade(c) => c.out.len(),
            Net::Nnue(n) => n.outputs(),
        }
    }

    /// The number of hidden units.
    pub fn units(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[..m.layers.len() - 1].iter().map(|l| l.outputs).sum(),
            Net::Cascade(c) => c.units.len(),
            Net::Nnue(n) => n.width(),
        }
    }

    /// The activation of the outputs.
    pub fn link(&self) -> Link {
        match self {
            Net::Mlp(m) => m.link,
            Net::Cascade(c) => c.link,
            Net::Nnue(n) => n.link,
        }
    }

    /// The outputs for one encoded row: slow, the definition.
    pub fn forward(&self, row: Row) -> Vec<f32> {
        match self {
            Net::Mlp(m) => m.forward(row),
            Net::Cascade(c) => c.forward(row),
            Net::Nnue(n) => n.forward(row),
        }
    }

    /// An error unless all parts fit together and all weights are finite.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Net::Mlp(m) => m.check(),
            Net::Cascade(c) => c.check(),
            Net::Nnue(n) => n.check(),
        }
    }
}

impl Mlp {
    fn forward(&self, row: Row) -> Vec<f32> {
        let first = &self.layers[0];
        let mut z = first.bias.clone();
        for (i, x) in row.iter() {
            first.column(i).iter().zip(&mut z).for_each(|(w, z)| *z += x * w);
        }
        for layer in &self.layers[1..] {
            let y: Vec<f32> = z.iter().map(|&v| self.hidden.apply(v)).collect();
            z.clone_from(&layer.bias);
            for (i, y) in y.iter().enumerate() {
                layer.column(i).iter().zip(&mut z).for_each(|(w, z)| *z += y * w);
            }
        }
        self.link.apply(&mut z);
        z
    }

    fn check(&self) -> Result<(), Error> {
        let Some(last) = self.layers.last() else { return Err(Error::Shape("a net without layers".into())) };
        self.link.check(last.outputs)?;
        for (k, layer) in self.layers.iter().enumerate() {
            if layer.weights.len() != layer.inputs * layer.outputs || layer.bias.len() != layer.outputs {
                return Err(Error::Shape(format!("layer {k} has weights of another size")));
            }
            if k > 0 && layer.inputs != self.layers[k - 1].outputs {
                return Err(Error::Shape(format!("layer {k} does not fit the one before")));
            }
            finite(&layer.weights, &format!("layer {k}"))?;
            finite(&layer.bias, &format!("layer {k}"))?;
        }
        Ok(())
    }
}

impl Layer {
    /// The weights from input `i` to each output.
    #[inline]
    pub fn column(&self, i: usize) -> &[f32] {
        &self.weights[i * self.outputs..(i + 1) * self.outputs]
    }
}

impl Cascade {
    fn forward(&self, row: Row) -> Vec<f32> {
        let mut y = Vec::with_capacity(self.units.len());
        let sum = |weights: &[f32], y: &[f32]| {
            let seen = row.iter().map(|(i, x)| x * weights[1 + i]);
            let before = y.iter().zip(&weights[1 + self.inputs..]).map(|(y, w)| y * w);
            seen.chain(before).fold(weights[0], |sum, term| sum + term)
        };
        for unit in &self.units {
            y.push(unit.act.apply(sum(&unit.weights, &y)));
        }
        let mut out: Vec<f32> = self.out.iter().map(|w| sum(w, &y)).collect();
        self.link.apply(&mut out);
        out
    }

    fn check(&self) -> Result<(), Error> {
        self.link.check(self.out.len())?;
        for (k, unit) in self.units.iter().enumerate() {
            if unit.weights.len() != 1 + self.inputs + k {
                return Err(Error::Shape(format!("unit {k} has {} weights", unit.weights.len())));
            }
            let before = self.units.iter().zip(&unit.weights[1 + self.inputs..]);
            if unit.depth == 0 || before.into_iter().any(|(u, &w)| w != 0.0 && u.depth >= unit.depth) {
                return Err(Error::Shape(format!("unit {k} sees a unit that is not below it")));
            }
            finite(&unit.weights, &format!("unit {k}"))?;
        }
        for (o, weights) in self.out.iter().enumerate() {
            if weights.len() != 1 + self.inputs + self.units.len() {
                return Err(Error::Shape(format!("output {o} has {} weights", weights.len())));
            }
            finite(weights, &format!("output {o}"))?;
        }
        Ok(())
    }
}

pub(crate) fn finite(weights: &[f32], what: &str) -> Result<(), Error> {
    if weights.iter().all(|w| w.is_finite()) {
        Ok(())
    } else {
        Err(Error::Shape(format!("{what} has a weight that is not finite")))
    }
}
