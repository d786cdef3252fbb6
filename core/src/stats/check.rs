//! The check sum of records and reasons: it finds one that is half written, not one that is forged.

/// Odd, so that each bit of a word counts; one for each place, so that the place counts.
const FACTORS: [u64; 12] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xff51_afd7_ed55_8ccd,
    0xc4ce_b9fe_1a85_ec53,
    0xd1b5_4a32_d192_ed03,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0x1d8e_4e27_c47d_124f,
];

/// Sum of the words, each times its factor: the multiplications do not wait for one another.
#[inline]
fn sum(words: &[u64]) -> u64 {
    let products = words.iter().zip(FACTORS);
    products.fold(1 << 63, |sum, (word, factor)| {
        sum.wrapping_add(word.wrapping_mul(factor))
    })
}

/// 40 bits, then it wraps.
const NUMBER: u64 = (1 << 40) - 1;

/// First word of a record: its number (from 1) and the check sum of the other words, of which there are at
/// most twelve.
#[inline]
pub fn sealed(number: u64, words: &[u64]) -> u64 {
    debug_assert!(words.len() <= FACTORS.len());
    let mixed = sum(words).wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95));
    (number & NUMBER) << 24 | mixed >> 40
}

/// The number, if the words belong to it.
#[inline]
pub fn opened(seal: u64, words: &[u64]) -> Option<u64> {
    let number = number(seal);
    (number != 0 && sealed(number, words) == seal).then_some(number)
}

/// The number alone.
#[inline]
pub fn number(seal: u64) -> u64 {
    seal >> 24
}
