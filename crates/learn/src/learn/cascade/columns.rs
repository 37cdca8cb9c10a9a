//! Columns of numbers, one per dense input and installed unit, in the order in which passes read them.
//!
//! Each tile of examples holds the values of all columns for these examples, so that a pass reads memory in order: with
//! 130 units the activations are far larger than any cache, and 130 separate columns would be 130 streams.

use super::packed::TILE;

/// Columns of numbers, tile by tile.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    tiles: usize,
    count: usize,
    capacity: usize, // columns that fit before everything is copied
    values: Vec<f32>,
}

impl Columns {
    /// No columns yet, for this many slots (a multiple of [`TILE`]).
    pub(super) fn new(slots: usize) -> Self {
        Columns { tiles: slots / TILE, ..Columns::default() }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a column, a number for each slot.
    pub(super) fn push(&mut self, column: &[f32]) {
        if self.count == self.capacity {
            let capacity = self.capacity + (self.capacity / 2).max(8);
            let mut values = vec![0.0; self.tiles * capacity * TILE];
            for (new, old) in values.chunks_mut(capacity * TILE).zip(self.values.chunks(self.capacity.max(1) * TILE)) {
                new[..old.len()].copy_from_slice(old);
            }
            (self.values, self.capacity) = (values, capacity);
        }
        for (tile, column) in self.values.chunks_mut(self.capacity * TILE).zip(column.chunks(TILE)) {
            tile[self.count * TILE..][..TILE].copy_from_slice(column);
        }
        self.count += 1;
    }

    /// All columns of one tile, [`TILE`] numbers each.
    #[inline(always)]
    pub(super) fn tile(&self, tile: usize) -> &[f32] {
        &self.values[tile * self.capacity * TILE..][..self.count * TILE]
    }

    /// One column of one tile.
    #[inline(always)]
    pub(super) fn part(&self, tile: usize, column: usize) -> &[f32] {
        &self.tile(tile)[column * TILE..][..TILE]
    }

    /// The number of a column at a slot.
    pub(super) fn at(&self, column: usize, slot: usize) -> f32 {
        self.part(slot / TILE, column)[slot % TILE]
    }

    /// The bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.values.len() * 4
    }
}
