//! Nets as they are stored: plain weights in `f32` over encoded inputs.
//!
//! [`Net::forward`] is the definition, slow and simple. Searches use [`crate::Folded`], which computes the same thing
//! from facts in well under a microsecond.

use crate::{Act, Error, Link, Row};

/// A trained net.
#[derive(Clone, PartialEq, Debug)]
pub enum Net {
    /// Layers, each fully connected to the next; without hidden layers it is linear.
    Mlp(Mlp),
    /// Units added one at a time, each seeing the inputs and earlier units.
    Cascade(Cascade),
}

/// A net of layers.
#[derive(Clone, PartialEq, Debug)]
pub struct Mlp {
    /// At least one; the last one gives the outputs.
    pub layers: Vec<Layer>,
    /// What hidden units do with their sums.
    pub hidden: Act,
    /// What the outputs do with theirs.
    pub link: Link,
}

/// One fully connected layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// How many values come in.
    pub inputs: usize,
    /// How many values go out.
    pub outputs: usize,
    /// `weights[i * outputs + o]` leads from input `i` to output `o`.
    pub weights: Vec<f32>,
    /// One per output.
    pub bias: Vec<f32>,
}

/// A cascade-correlation net (Fahlman & Lebiere 1990).
#[derive(Clone, PartialEq, Debug)]
pub struct Cascade {
    /// The number of inputs.
    pub inputs: usize,
    /// The hidden units, in the order in which they were installed.
    pub units: Vec<Unit>,
    /// For each output its weights: bias, inputs, units.
    pub out: Vec<Vec<f32>>,
    /// What the outputs do with their sums.
    pub link: Link,
}

/// A hidden unit, frozen when it was installed.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// What it does with its sum.
    pub act: Act,
    /// 1 if it sees inputs only, otherwise more than any unit it sees.
    pub depth: u32,
    /// Bias, inputs, earlier units; 0 for units that are not of lower depth.
    pub weights: Vec<f32>,
}

impl Net {
    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[0].inputs,
            Net::Cascade(c) => c.inputs,
        }
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[m.layers.len() - 1].outputs,
            Net::Cascade(c) => c.out.len(),
        }
    }

    /// The number of hidden units.
    pub fn units(&self) -> usize {
        match self {
            Net::Mlp(m) => m.layers[..m.layers.len() - 1].iter().map(|l| l.outputs).sum(),
            Net::Cascade(c) => c.units.len(),
        }
    }

    /// How sums become outputs.
    pub fn link(&self) -> Link {
        match self {
            Net::Mlp(m) => m.link,
            Net::Cascade(c) => c.link,
        }
    }

    /// The outputs for one encoded row: the definition, not the fast way.
    pub fn forward(&self, row: Row) -> Vec<f32> {
        match self {
            Net::Mlp(m) => m.forward(row),
            Net::Cascade(c) => c.forward(row),
        }
    }

    /// Whether all parts fit together and all weights are finite.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Net::Mlp(m) => m.check(),
            Net::Cascade(c) => c.check(),
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
            let y: Vec<f32> = z.iter().map(|&v| self.hidden.one(v)).collect();
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
    /// The weights that leave input `i`.
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
            y.push(unit.act.one(sum(&unit.weights, &y)));
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

fn finite(weights: &[f32], what: &str) -> Result<(), Error> {
    if weights.iter().all(|w| w.is_finite()) {
        Ok(())
    } else {
        Err(Error::Shape(format!("{what} has a weight that is not finite")))
    }
}
