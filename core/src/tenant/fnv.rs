//! FNV-1a, 64 bits: names and fingerprints that are the same in every process and build.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

pub(super) const fn hash(bytes: &[u8]) -> u64 {
    let (mut hash, mut at) = (OFFSET, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    /// Values of the reference implementation (draft-eastlake-fnv).
    #[test]
    fn known_values() {
        assert_eq!(super::hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
