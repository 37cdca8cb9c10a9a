//! Training examples packed for the inner loops of the cascade.
//!
//! Consecutive inputs form blocks with few distinct patterns: three cells of a board have 27 patterns, however many
//! examples there are. The weighted sum of each pattern is computed once per epoch; an example then adds one number per
//! block instead of one per active input, and its gradient is added to one pattern per block. An input with too many
//! distinct values for a block is a dense column, like the activations of installed units.
//!
//! Examples are in the order train, validation, test, each part padded to whole tiles. The position of an example in
//! this order is its slot; `mask` is 0 for the slots of the padding.

use crate::{Data, Split};
use std::collections::HashMap;
use std::ops::Range;

/// The number of examples per tile, so that a tile fits the first-level cache.
pub(super) const TILE: usize = 128;

/// The largest number of patterns of a block: 40 blocks of 32 take twice the first-level cache with eight lanes of
/// `f32`.
const MAX_PATTERNS: usize = 32;

/// Training examples packed into blocks of inputs.
pub(super) struct PackedExamples {
    /// For each slot the pattern of each block.
    pub codes: Vec<u8>,
    pub blocks: Vec<Block>,
    /// All patterns of all blocks.
    pub patterns: Vec<Pattern>,
    /// The inputs that are dense columns, and their columns.
    pub dense: Vec<(u32, Vec<f32>)>,
    /// 1 for slots with an example, 0 for the padding.
    pub mask: Vec<f32>,
    /// The example of each slot.
    pub example: Vec<Option<u32>>,
    pub train: Range<usize>,
    pub validation: Range<usize>,
    pub test: Range<usize>,
    /// The mean number of inputs that are not zero.
    pub mean_active: f64,
}

/// The inputs and values of a block that are not zero.
pub(super) type Pattern = Vec<(u32, f32)>;

/// A block under construction: the pattern of each slot by number, and the patterns.
type BlockDraft = (Vec<u8>, Vec<Pattern>);

/// A block of inputs, by the index of its first pattern.
pub(super) struct Block {
    pub first: usize,
}

impl PackedExamples {
    pub(super) fn new(data: &Data, split: &Split) -> Self {
        let mut example = Vec::new();
        let mut part = |rows: &[u32]| {
            let start = example.len();
            example.extend(rows.iter().map(|&i| Some(i)));
            let end = example.len();
            example.resize(end.next_multiple_of(TILE), None);
            start..end
        };
        let (train, validation, test) = (part(&split.train), part(&split.validation), part(&split.test));
        let slots = example.len();

        // The slots and values of each input that are not zero.
        let mut columns: Vec<Vec<(u32, f32)>> = vec![vec![]; data.inputs()];
        let mut active = 0;
        for (slot, i) in example.iter().enumerate() {
            let Some(i) = i else { continue };
            for (input, value) in data.row(*i as usize).iter().filter(|(_, v)| *v != 0.0) {
                columns[input].push((slot as u32, value));
                active += 1;
            }
        }
        let mut packed = PackedExamples {
            codes: vec![],
            blocks: vec![],
            patterns: vec![],
            dense: vec![],
            mask: example.iter().map(|e| e.is_some() as u8 as f32).collect(),
            train,
            validation,
            test,
            mean_active: active as f64 / example.iter().flatten().count().max(1) as f64,
            example,
        };

        let mut blocks: Vec<BlockDraft> = Vec::new();
        let mut current: Option<BlockDraft> = None;
        for (input, column) in columns.into_iter().enumerate() {
            let input = input as u32;
            let empty = || (vec![0; slots], vec![vec![]]);
            let extended = extend(current.as_ref().unwrap_or(&empty()), input, &column);
            match extended {
                Some(block) => current = Some(block),
                None => {
                    blocks.extend(current.take());
                    current = extend(&empty(), input, &column);
                    if current.is_none() {
                        let mut values = vec![0.0; slots];
                        column.iter().for_each(|&(slot, v)| values[slot as usize] = v);
                        packed.dense.push((input, values));
                    }
                }
            }
        }
        blocks.extend(current);
        packed.codes = vec![0; slots * blocks.len()];
        let count = blocks.len();
        for (b, (codes, patterns)) in blocks.into_iter().enumerate() {
            packed.blocks.push(Block { first: packed.patterns.len() });
            packed.patterns.extend(patterns);
            codes.iter().enumerate().for_each(|(slot, &c)| packed.codes[slot * count + b] = c);
        }
        packed
    }

    /// The number of slots, padding included.
    pub(super) fn slots(&self) -> usize {
        self.mask.len()
    }

    /// The patterns of the example at a slot, by block.
    #[inline(always)]
    pub(super) fn codes(&self, slot: usize) -> &[u8] {
        &self.codes[slot * self.blocks.len()..][..self.blocks.len()]
    }

    /// The bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let dense: usize = self.dense.iter().map(|(_, c)| c.len() * 4).sum();
        self.codes.len() + dense + self.mask.len() * 12
    }
}

/// A block with one more input, or `None` if it would have too many patterns.
fn extend((codes, patterns): &BlockDraft, input: u32, column: &[(u32, f32)]) -> Option<BlockDraft> {
    let mut codes = codes.clone();
    let mut patterns = patterns.clone();
    let mut found: HashMap<(u8, u32), u8> = HashMap::new();
    for &(slot, value) in column {
        let code = &mut codes[slot as usize];
        let next = patterns.len();
        let new = *found.entry((*code, value.to_bits())).or_insert(next as u8);
        if new as usize == next {
            if next == MAX_PATTERNS {
                return None;
            }
            let mut pattern = patterns[*code as usize].clone();
            pattern.push((input, value));
            patterns.push(pattern);
        }
        *code = new;
    }
    Some((codes, patterns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    #[test]
    fn codes_and_columns_hold_exactly_the_examples() {
        let mut rng = Rng::new(1);
        let mut data = Data::new(40, 1);
        for _ in 0..500 {
            let at: Vec<u32> = (0..40).filter(|_| rng.unit() < 0.4).collect();
            let value = |i: u32, rng: &mut Rng| match i {
                7 => rng.normal() as f32, // never the same value twice: becomes a dense column
                i if i > 30 => 0.25 * (1 + rng.below(3)) as f32,
                _ => 1.0,
            };
            let values: Vec<f32> = at.iter().map(|&i| value(i, &mut rng)).collect();
            data.push_row(crate::Row::new(&at, &values), &[0.0]).unwrap();
        }
        let packed = PackedExamples::new(&data, &Split::random(500, 0.2, 0.1, &mut rng));
        assert_eq!(packed.dense.len(), 1);
        assert!(packed.blocks.len() < 20);
        for (slot, example) in packed.example.iter().enumerate() {
            let mut row: Vec<(u32, f32)> = packed
                .codes(slot)
                .iter()
                .zip(&packed.blocks)
                .flat_map(|(&c, b)| packed.patterns[b.first + c as usize].clone())
                .chain(packed.dense.iter().map(|(i, c)| (*i, c[slot])))
                .filter(|(_, v)| *v != 0.0)
                .collect();
            row.sort_by_key(|(i, _)| *i);
            let want = example.map_or(vec![], |i| data.row(i as usize).iter().map(|(i, v)| (i as u32, v)).collect());
            assert_eq!(row, want);
            assert_eq!(packed.mask[slot], example.is_some() as u8 as f32);
        }
        assert_eq!(packed.train.len() + packed.validation.len() + packed.test.len(), 500);
    }
}
