//! Short texts in words, padded with zero bytes.

use super::is_dangerous;

/// Packs a text, cut at a character if it is too long.
pub fn pack<const N: usize>(text: &str) -> [u64; N] {
    let mut length = text.len().min(N * 8);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    let mut words = [0; N];
    for (word, piece) in words.iter_mut().zip(text.as_bytes()[..length].chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..piece.len()].copy_from_slice(piece);
        *word = u64::from_ne_bytes(bytes);
    }
    words
}

/// Unpacks a text of a file that nobody vouches for: what could disturb a terminal becomes `?`.
pub fn unpack(words: &[u64]) -> String {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| w.to_ne_bytes())
        .take_while(|b| *b != 0)
        .collect();
    String::from_utf8_lossy(&bytes)
        .chars()
        .map(|c| {
            if is_dangerous(c) || c == '\u{fffd}' {
                '?'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_are_cut_at_a_character() {
        assert_eq!(unpack(&pack::<2>("rping")), "rping");
        assert_eq!(unpack(&pack::<1>("1234567ä")), "1234567");
        assert_eq!(unpack(&pack::<1>("")), "");
        assert_eq!(unpack(&pack::<1>("a\x1b[2J")), "a?[2J");
        assert_eq!(unpack(&pack::<2>("a\u{202e}b\u{ffff}")), "a?b?");
    }
}
