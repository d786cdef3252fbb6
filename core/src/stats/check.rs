//! The check sum of records and reasons: it finds one that is half written, not one that is forged.

/// Folds words; the place of each one counts.
pub fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |sum, word| {
        (sum.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd)
    })
}

/// First word of a record: number of the record (from 1) and check sum of the other words.
pub fn sealed(number: u64, words: &[u64]) -> u64 {
    (number & NUMBER) << 24 | (sum(words) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 40
}

/// 40 bits, then it wraps.
const NUMBER: u64 = (1 << 40) - 1;

/// The number, if the words belong to it.
pub fn opened(seal: u64, words: &[u64]) -> Option<u64> {
    let number = seal >> 24;
    (number != 0 && sealed(number, words) == seal).then_some(number)
}
