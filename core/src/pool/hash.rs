//! A quick hash for the book: its keys are addresses and sizes of this process, which nobody outside of
//! it chooses, and each creation looks some of them up.

use std::hash::{BuildHasherDefault, Hasher};

/// Odd, and without a pattern in its bits (the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Default, Clone, Copy)]
pub struct Quick(u64);

impl Quick {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn write_i32(&mut self, word: i32) {
        self.add(u64::from(word as u32));
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    /// The low bits of a product depend on low bits only, and those of an address are zero.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

/// A map that is looked into at each creation.
pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Quick>>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    #[test]
    fn addresses_of_one_arena_spread() {
        let mut low = [0u32; 64];
        for n in 0..6400usize {
            let mut hasher = Quick::default();
            (0x7f00_0000_0000 + n * 0xb0).hash(&mut hasher);
            low[hasher.finish() as usize % 64] += 1;
        }
        assert!(low.iter().all(|n| (40..=160).contains(n)), "{low:?}");
    }
}
