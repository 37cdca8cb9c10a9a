//! Examples: sparse inputs, targets, how they are split, and errors by split.
//!
//! A row lists the inputs that are not zero. Boards give rows of ones, kept without their values; the papers' own codes
//! (0.25 / 0.5 / 0.75) keep theirs. A target may be unknown (a taken point in a ranking of moves): it then counts in no
//! error.

use crate::Error;
use ludex_core::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The inputs of one example that are not zero.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    at: &'a [u32],
    values: &'a [f32],
}

impl<'a> Row<'a> {
    /// These inputs are 1, all others 0.
    #[inline]
    pub fn ones(at: &'a [u32]) -> Self {
        Row { at, values: &[] }
    }

    /// Input `at[k]` is `values[k]`, all others are 0.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new(at: &'a [u32], values: &'a [f32]) -> Self {
        assert_eq!(at.len(), values.len(), "a value for each input");
        Row { at, values }
    }

    /// How many inputs are not zero.
    #[inline]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether all inputs are zero.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Pairs of input and value.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (usize, f32)> + 'a {
        let value = move |k| self.values.get(k).copied().unwrap_or(1.0);
        self.at.iter().enumerate().map(move |(k, &i)| (i as usize, value(k)))
    }
}

/// A set of examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    inputs: usize,
    outputs: usize,
    ends: Vec<usize>,
    at: Vec<u32>,
    values: Vec<f32>, // empty while every value is 1
    targets: Vec<f32>,
    known: Vec<bool>, // empty while every target is known
}

impl Data {
    /// No examples yet, of this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Data { inputs, outputs, ends: vec![], at: vec![], values: vec![], targets: vec![], known: vec![] }
    }

    /// Adds an example whose active inputs are 1.
    pub fn push(&mut self, active: &[u32], targets: &[f32]) -> Result<(), Error> {
        self.push_row(Row::ones(active), targets)
    }

    /// Adds an example with any input values.
    pub fn push_row(&mut self, row: Row, targets: &[f32]) -> Result<(), Error> {
        if let Some(&input) = row.at.iter().find(|&&i| i as usize >= self.inputs) {
            return Err(Error::Input { input: input as usize, inputs: self.inputs });
        }
        if targets.len() != self.outputs {
            return Err(Error::Targets { found: targets.len(), outputs: self.outputs });
        }
        if !targets.iter().chain(row.values).all(|v| v.is_finite()) {
            return Err(Error::NotFinite { example: self.len() });
        }
        if !row.values.is_empty() && self.values.is_empty() {
            self.values.resize(self.at.len(), 1.0);
        }
        if !self.values.is_empty() || !row.values.is_empty() {
            self.values.extend(row.iter().map(|(_, v)| v));
        }
        self.at.extend_from_slice(row.at);
        self.ends.push(self.at.len());
        self.targets.extend_from_slice(targets);
        if !self.known.is_empty() {
            self.known.resize(self.targets.len(), true);
        }
        Ok(())
    }

    /// Adds an example of which only some targets are known.
    pub fn push_masked(&mut self, row: Row, targets: &[f32], known: &[bool]) -> Result<(), Error> {
        if known.len() != self.outputs {
            return Err(Error::Targets { found: known.len(), outputs: self.outputs });
        }
        self.push_row(row, targets)?;
        self.known.resize(self.targets.len(), true);
        let start = self.targets.len() - self.outputs;
        self.known[start..].copy_from_slice(known);
        Ok(())
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The inputs of example `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        let range = start..self.ends[i];
        Row { at: &self.at[range.clone()], values: if self.values.is_empty() { &[] } else { &self.values[range] } }
    }

    /// The targets of example `i`.
    #[inline]
    pub fn targets(&self, i: usize) -> &[f32] {
        &self.targets[i * self.outputs..(i + 1) * self.outputs]
    }

    /// Whether target `o` of example `i` counts.
    #[inline]
    pub fn known(&self, i: usize, o: usize) -> bool {
        self.known.is_empty() || self.known[i * self.outputs + o]
    }

    /// Whether some targets are unknown.
    pub fn masked(&self) -> bool {
        !self.known.is_empty()
    }

    /// The sha256 of everything in it, as hexadecimal digits: what a model's provenance calls its data hash.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| hash.update(bytes);
        add(&(self.inputs as u64).to_le_bytes());
        add(&(self.outputs as u64).to_le_bytes());
        for i in 0..self.len() {
            add(&(self.row(i).len() as u64).to_le_bytes());
            for (input, value) in self.row(i).iter() {
                add(&(input as u32).to_le_bytes());
                add(&value.to_le_bytes());
            }
            for (o, t) in self.targets(i).iter().enumerate() {
                add(&t.to_le_bytes());
                add(&[self.known(i, o) as u8]);
            }
        }
        crate::store::hex(&hash.finalize())
    }
}

/// Which examples are learned from, which choose (lambda, the best snapshot), and which are never looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Split {
    /// Learned from.
    pub train: Vec<u32>,
    /// Chosen by.
    pub validation: Vec<u32>,
    /// Reported only.
    pub test: Vec<u32>,
}

impl Split {
    /// Everything is learned from.
    pub fn all(examples: usize) -> Self {
        Split { train: (0..examples as u32).collect(), ..Split::default() }
    }

    /// Each example by itself, uniformly at random; the shares are those of validation and test.
    pub fn random(examples: usize, validation: f64, test: f64, rng: &mut Rng) -> Self {
        Split::by_group(&(0..examples as u64).collect::<Vec<_>>(), validation, test, rng)
    }

    /// All examples of a group (a match) on the same side, so that siblings do not leak; shares are of the groups.
    pub fn by_group(groups: &[u64], validation: f64, test: f64, rng: &mut Rng) -> Self {
        let mut names = groups.to_vec();
        names.sort_unstable();
        names.dedup();
        let mut order: Vec<usize> = (0..names.len()).collect();
        rng.shuffle(&mut order);
        let count = |share: f64| (share * names.len() as f64).round() as usize;
        let (test_end, validation_end) = (count(test), count(test) + count(validation));
        let mut split = Split::default();
        for (i, group) in groups.iter().enumerate() {
            let place = order[names.binary_search(group).expect("listed")];
            let side = match place {
                p if p < test_end => &mut split.test,
                p if p < validation_end => &mut split.validation,
                _ => &mut split.train,
            };
            side.push(i as u32);
        }
        split
    }
}

/// The mean squared errors after an epoch (or an added neuron); an empty split has none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// On what is learned from.
    pub train: f64,
    /// On what chooses.
    pub validation: Option<f64>,
    /// On what only reports.
    pub test: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_a_partition_and_keeps_groups_together() {
        let groups: Vec<u64> = (0..1000).map(|i| i / 7).collect();
        let split = Split::by_group(&groups, 0.2, 0.1, &mut Rng::new(1));
        let mut all = [&split.train[..], &split.validation, &split.test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<u32>>());
        let side = |i: u32| [&split.train, &split.validation, &split.test].map(|s| s.contains(&i));
        for i in 1..1000u32 {
            assert!(i % 7 == 0 || side(i) == side(i - 1));
        }
        assert!((split.test.len() as i32 - 100).abs() < 20 && (split.validation.len() as i32 - 200).abs() < 30);
    }

    #[test]
    fn rows_come_back_as_pushed_and_bad_ones_are_refused() {
        let mut data = Data::new(5, 2);
        data.push(&[1, 4], &[0.5, 1.0]).unwrap();
        data.push_masked(Row::new(&[2], &[0.25]), &[1.0, 0.0], &[true, false]).unwrap();
        data.push(&[0], &[0.0, 0.0]).unwrap();
        assert_eq!(data.row(0).iter().collect::<Vec<_>>(), [(1, 1.0), (4, 1.0)]);
        assert_eq!(data.row(1).iter().collect::<Vec<_>>(), [(2, 0.25)]);
        assert!(data.known(0, 1) && !data.known(1, 1) && data.known(2, 1));
        let before = data.clone();
        assert!(data.push(&[5], &[0.0, 0.0]).is_err());
        assert!(data.push(&[1], &[0.0]).is_err());
        assert!(data.push(&[1], &[0.0, f32::NAN]).is_err());
        assert_eq!((data.hash(), data), (before.hash(), before));
    }
}
