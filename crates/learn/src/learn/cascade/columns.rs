//! Columns of numbers, one per dense input and installed unit, in the order in which passes read them.
//!
//! A tile of examples holds all its columns side by side, so that a pass over the examples is one stream through memory:
//! with 130 units the activations are far larger than any cache, and 130 separate columns would be 130 streams.

use super::coded::TILE;

#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    tiles: usize,
    count: usize,
    room: usize, // columns that fit before everything is laid out anew
    values: Vec<f32>,
}

impl Columns {
    /// No columns yet, for so many places (whole tiles).
    pub(super) fn new(places: usize) -> Self {
        Columns { tiles: places / TILE, ..Columns::default() }
    }

    /// How many columns there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// One more column, a number for each place.
    pub(super) fn push(&mut self, column: &[f32]) {
        if self.count == self.room {
            let room = self.room + (self.room / 2).max(8);
            let mut values = vec![0.0; self.tiles * room * TILE];
            for (new, old) in values.chunks_mut(room * TILE).zip(self.values.chunks(self.room.max(1) * TILE)) {
                new[..old.len()].copy_from_slice(old);
            }
            (self.values, self.room) = (values, room);
        }
        for (tile, column) in self.values.chunks_mut(self.room * TILE).zip(column.chunks(TILE)) {
            tile[self.count * TILE..][..TILE].copy_from_slice(column);
        }
        self.count += 1;
    }

    /// All columns of one tile, [`TILE`] numbers each.
    #[inline(always)]
    pub(super) fn tile(&self, tile: usize) -> &[f32] {
        &self.values[tile * self.room * TILE..][..self.count * TILE]
    }

    /// One column of one tile.
    #[inline(always)]
    pub(super) fn part(&self, tile: usize, column: usize) -> &[f32] {
        &self.tile(tile)[column * TILE..][..TILE]
    }

    /// The number at a place.
    pub(super) fn at(&self, column: usize, place: usize) -> f32 {
        self.part(place / TILE, column)[place % TILE]
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.values.len() * 4
    }
}
