//! A hasher whose results are the same on every machine and in every version: keys of states decide what searches do, so
//! they must not depend on the standard library's choice of hash.

use crate::mix;
use std::hash::Hasher;

/// Hashes with [`mix`], eight bytes at a time, little-endian.
#[derive(Clone, Copy, Default, Debug)]
pub struct StableHasher(u64);

impl Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n as u64);
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n as u64);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n as u64);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    #[test]
    fn a_value_has_the_same_hash_forever() {
        let hash = |value: (u8, u32, &[u64])| {
            let mut hasher = StableHasher::default();
            value.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash((1, 2, &[3, 4])), 936_640_963_357_064_004);
        assert_ne!(hash((1, 2, &[3, 4])), hash((1, 2, &[4, 3])));
    }
}
