//! Examples as the cascade's inner loops want them.
//!
//! Inputs come in blocks whose patterns repeat: three cells of a board have 27 patterns, however many examples there
//! are. The weighted sum of each pattern is computed once an epoch, and an example adds one entry per block instead of
//! one per active input; the gradient goes the same way back. An input with too many values is a dense column, like the
//! activations of units already installed.
//!
//! Examples are laid out train, validation, test, each part padded to whole tiles; `live` is 0 for the padding.

use crate::{Data, Split};
use std::collections::HashMap;
use std::ops::Range;

/// Examples per tile: what the loops keep in the first-level cache.
pub(super) const TILE: usize = 128;

/// The most patterns of a block: 40 blocks of 32 fill the first-level cache twice over with eight lanes of `f32`.
const PATTERNS: usize = 32;

pub(super) struct Coded {
    /// Codes of one example lie together.
    pub codes: Vec<u8>,
    pub blocks: Vec<Block>,
    /// All patterns of all blocks.
    pub patterns: Vec<Pattern>,
    /// Inputs that are dense columns, and the columns.
    pub dense: Vec<(u32, Vec<f32>)>,
    pub live: Vec<f32>,
    /// Which example each place holds.
    pub example: Vec<Option<u32>>,
    pub train: Range<usize>,
    pub validation: Range<usize>,
    pub test: Range<usize>,
    /// The mean number of inputs that are not zero.
    pub active: f64,
}

/// A pattern: inputs and values that are not zero.
pub(super) type Pattern = Vec<(u32, f32)>;

/// A block in the making: the code of each place, and what the codes mean.
type Draft = (Vec<u8>, Vec<Pattern>);

/// Where a block's patterns begin.
pub(super) struct Block {
    pub first: usize,
}

impl Coded {
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
        let places = example.len();

        // Column by column: which places have a value there.
        let mut columns: Vec<Vec<(u32, f32)>> = vec![vec![]; data.inputs()];
        let mut active = 0;
        for (place, i) in example.iter().enumerate() {
            let Some(i) = i else { continue };
            for (input, value) in data.row(*i as usize).iter().filter(|(_, v)| *v != 0.0) {
                columns[input].push((place as u32, value));
                active += 1;
            }
        }
        let mut coded = Coded {
            codes: vec![],
            blocks: vec![],
            patterns: vec![],
            dense: vec![],
            live: example.iter().map(|e| e.is_some() as u8 as f32).collect(),
            train,
            validation,
            test,
            active: active as f64 / example.iter().flatten().count().max(1) as f64,
            example,
        };

        let mut blocks: Vec<Draft> = Vec::new();
        let mut current: Option<Draft> = None;
        for (input, column) in columns.into_iter().enumerate() {
            let input = input as u32;
            let empty = || (vec![0; places], vec![vec![]]);
            let extended = extend(current.as_ref().unwrap_or(&empty()), input, &column);
            match extended {
                Some(block) => current = Some(block),
                None => {
                    blocks.extend(current.take());
                    current = extend(&empty(), input, &column);
                    if current.is_none() {
                        let mut values = vec![0.0; places];
                        column.iter().for_each(|&(place, v)| values[place as usize] = v);
                        coded.dense.push((input, values));
                    }
                }
            }
        }
        blocks.extend(current);
        coded.codes = vec![0; places * blocks.len()];
        let count = blocks.len();
        for (b, (codes, patterns)) in blocks.into_iter().enumerate() {
            coded.blocks.push(Block { first: coded.patterns.len() });
            coded.patterns.extend(patterns);
            codes.iter().enumerate().for_each(|(place, &c)| coded.codes[place * count + b] = c);
        }
        coded
    }

    /// How many places there are, padding included.
    pub(super) fn places(&self) -> usize {
        self.live.len()
    }

    /// The codes of one example.
    #[inline(always)]
    pub(super) fn codes(&self, place: usize) -> &[u8] {
        &self.codes[place * self.blocks.len()..][..self.blocks.len()]
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let dense: usize = self.dense.iter().map(|(_, c)| c.len() * 4).sum();
        self.codes.len() + dense + self.live.len() * 12
    }
}

/// A block with one more input, or `None` if it would have too many patterns.
fn extend((codes, patterns): &Draft, input: u32, column: &[(u32, f32)]) -> Option<Draft> {
    let mut codes = codes.clone();
    let mut patterns = patterns.clone();
    let mut found: HashMap<(u8, u32), u8> = HashMap::new();
    for &(place, value) in column {
        let code = &mut codes[place as usize];
        let next = patterns.len();
        let new = *found.entry((*code, value.to_bits())).or_insert(next as u8);
        if new as usize == next {
            if next == PATTERNS {
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
                7 => rng.normal() as f32, // never twice: becomes a dense column
                i if i > 30 => 0.25 * (1 + rng.below(3)) as f32,
                _ => 1.0,
            };
            let values: Vec<f32> = at.iter().map(|&i| value(i, &mut rng)).collect();
            data.push_row(crate::Row::new(&at, &values), &[0.0]).unwrap();
        }
        let coded = Coded::new(&data, &Split::random(500, 0.2, 0.1, &mut rng));
        assert_eq!(coded.dense.len(), 1);
        assert!(coded.blocks.len() < 20);
        for (place, example) in coded.example.iter().enumerate() {
            let mut row: Vec<(u32, f32)> = coded
                .codes(place)
                .iter()
                .zip(&coded.blocks)
                .flat_map(|(&c, b)| coded.patterns[b.first + c as usize].clone())
                .chain(coded.dense.iter().map(|(i, c)| (*i, c[place])))
                .filter(|(_, v)| *v != 0.0)
                .collect();
            row.sort_by_key(|(i, _)| *i);
            let want = example.map_or(vec![], |i| data.row(i as usize).iter().map(|(i, v)| (i as u32, v)).collect());
            assert_eq!(row, want);
            assert_eq!(coded.live[place], example.is_some() as u8 as f32);
        }
        assert_eq!(coded.train.len() + coded.validation.len() + coded.test.len(), 500);
    }
}
