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
fn sum(words: &[u64]) -> u64 {
    let products = words.iter().zip(FACTORS);
    products.fold(FIRST, |sum, (word, factor)| {
        sum.wrapping_add(word.wrapping_mul(factor))
    })
}

const FIRST: u64 = 1 << 63;

/// 40 bits, then it wraps.
const NUMBER: u64 = (1 << 40) - 1;

/// First word of a record: its number (from 1) and the check sum of the other words, of which there are at
/// most twelve.
pub fn sealed(number: u64, words: &[u64]) -> u64 {
    debug_assert!(words.len() <= FACTORS.len());
    with_sum(number, sum(words))
}

/// The same for seven words, in each call's way: without a loop, which a library built for size would keep.
#[inline(always)]
pub fn sealed_7(number: u64, words: [u64; 7]) -> u64 {
    let [a, b, c, d, e, f, g] = words;
    let [fa, fb, fc, fd, fe, ff, fg, ..] = FACTORS;
    let low = FIRST.wrapping_add(a.wrapping_mul(fa));
    let low = low.wrapping_add(b.wrapping_mul(fb));
    let low = low.wrapping_add(c.wrapping_mul(fc));
    let high = d.wrapping_mul(fd).wrapping_add(e.wrapping_mul(fe));
    let high = high.wrapping_add(f.wrapping_mul(ff));
    let high = high.wrapping_add(g.wrapping_mul(fg));
    with_sum(number, low.wrapping_add(high))
}

#[inline(always)]
fn with_sum(number: u64, sum: u64) -> u64 {
    let mixed = sum.wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95));
    (number & NUMBER) << 24 | mixed >> 40
}

/// The number, if the words belong to it.
pub fn opened(seal: u64, words: &[u64]) -> Option<u64> {
    let number = number(seal);
    (number != 0 && sealed(number, words) == seal).then_some(number)
}

/// The number alone.
#[inline]
pub fn number(seal: u64) -> u64 {
    seal >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_loop_it_is_the_same() {
        let words = [0, u64::MAX, 3 << 40, 0x5555, 5, 1 << 63, 7].map(|word: u64| word ^ 0x1234);
        for number in [1, 7, NUMBER] {
            assert_eq!(sealed_7(number, words), sealed(number, &words));
            assert_eq!(opened(sealed_7(number, words), &words), Some(number));
        }
    }
}
