//! Training examples: sparse inputs, targets, and their split into train, validation and test.
//!
//! A row lists the inputs that are not zero. Rows of facts hold ones only and are stored without values; rows of codes
//! such as 0.25 / 0.5 / 0.75 have values. A target may be unknown (that of an illegal move, where each move has an
//! output): it then counts in no error.

use crate::Error;
use ludex_core::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The inputs of one example that are not zero.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    indices: &'a [u32],
    values: &'a [f32],
}

impl<'a> Row<'a> {
    /// These inputs are 1, all others 0.
    #[inline]
    pub fn ones(indices: &'a [u32]) -> Self {
        Row { indices, values: &[] }
    }

    /// Input `indices[k]` is `values[k]`, all others are 0.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new(indices: &'a [u32], values: &'a [f32]) -> Self {
        assert_eq!(indices.len(), values.len(), "a value for each input");
        Row { indices, values }
    }

    /// How many inputs are not zero.
    #[inline]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether all inputs are zero.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Pairs of input and value.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (usize, f32)> + 'a {
        let value = move |k| self.values.get(k).copied().unwrap_or(1.0);
        self.indices.iter().enumerate().map(move |(k, &i)| (i as usize, value(k)))
    }
}

/// A set of training examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    inputs: usize,
    outputs: usize,
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>, // empty while every value is 1
    targets: Vec<f32>,
    known: Vec<bool>, // empty while every target is known
}

impl Data {
    /// An empty set of examples of this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Data { inputs, outputs, ends: vec![], indices: vec![], values: vec![], targets: vec![], known: vec![] }
    }

    /// Adds an example whose active inputs are 1.
    pub fn push(&mut self, active: &[u32], targets: &[f32]) -> Result<(), Error> {
        self.push_row(Row::ones(active), targets)
    }

    /// Adds an example with any input values.
    pub fn push_row(&mut self, row: Row, targets: &[f32]) -> Result<(), Error> {
        if let Some(&input) = row.indices.iter().find(|&&i| i as usize >= self.inputs) {
            return Err(Error::Input { input: input as usize, inputs: self.inputs });
        }
        if targets.len() != self.outputs {
            return Err(Error::Targets { found: targets.len(), outputs: self.outputs });
        }
        if !targets.iter().chain(row.values).all(|v| v.is_finite()) {
            return Err(Error::NotFinite { example: self.len() });
        }
        if !row.values.is_empty() && self.values.is_empty() {
            self.values.resize(self.indices.len(), 1.0);
        }
        if !self.values.is_empty() || !row.values.is_empty() {
            self.values.extend(row.iter().map(|(_, v)| v));
        }
        self.indices.extend_from_slice(row.indices);
        self.ends.push(self.indices.len());
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
        Row {
            indices: &self.indices[range.clone()],
            values: if self.values.is_empty() { &[] } else { &self.values[range] },
        }
    }

    /// The targets of example `i`.
    #[inline]
    pub fn targets(&self, i: usize) -> &[f32] {
        &self.targets[i * self.outputs..(i + 1) * self.outputs]
    }

    /// Whether target `o` of example `i` is known.
    #[inline]
    pub fn known(&self, i: usize, o: usize) -> bool {
        self.known.is_empty() || self.known[i * self.outputs + o]
    }

    /// Whether some targets are unknown.
    pub fn masked(&self) -> bool {
        !self.known.is_empty()
    }

    /// The sha256 of all examples, as hexadecimal digits: the data hash of a model's provenance.
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
        crate::tensor_file::hex(&hash.finalize())
    }
}

/// The examples to train on, to select by (penalties, the best snapshot), and to test on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Split {
    /// Weights are fitted to these.
    pub train: Vec<u32>,
    /// Settings and snapshots are selected by the error on these.
    pub validation: Vec<u32>,
    /// The error on these is reported and decides nothing.
    pub test: Vec<u32>,
}

impl Split {
    /// All examples are for training.
    pub fn all(examples: usize) -> Self {
        Split { train: (0..examples as u32).collect(), ..Split::default() }
    }

    /// A uniformly random split; `validation` and `test` are shares of the examples.
    pub fn random(examples: usize, validation: f64, test: f64, rng: &mut Rng) -> Self {
        Split::by_group(&(0..examples as u64).collect::<Vec<_>>(), validation, test, rng)
    }

    /// A random split that keeps all examples of a group, such as a match, together, so that near-duplicates do not
    /// leak from train into test. `validation` and `test` are shares of the groups.
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
            let part = match place {
                p if p < test_end => &mut split.test,
                p if p < validation_end => &mut split.validation,
                _ => &mut split.train,
            };
            part.push(i as u32);
        }
        split
    }
}

/// The mean squared errors on each part of a [`Split`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SplitErrors {
    /// On the training examples.
    pub train: f64,
    /// On the validation examples, if there are any.
    pub validation: Option<f64>,
    /// On the test examples, if there are any.
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
