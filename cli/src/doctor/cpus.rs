//! Lists of CPUs as the kernel writes them: "0-3,8,10-11".

use std::collections::BTreeSet;

/// More CPUs than a kernel can be built for (CONFIG_NR_CPUS is at most 8192 on x86).
const MOST: u32 = 1 << 16;

/// `None` when it is no such list.
pub fn list(text: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last >= MOST {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// From a mask in hexadecimal words: "ffffffff,0000000f".
pub fn mask(text: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for (word, digits) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        let base = u32::try_from(word).ok()?.checked_mul(32)?;
        all.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| base + bit),
        );
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks() {
        let set = |cpus: &[u32]| Some(cpus.iter().copied().collect::<BTreeSet<u32>>());
        assert_eq!(list("0-2,8\n"), set(&[0, 1, 2, 8]));
        assert_eq!(list(""), set(&[]));
        assert_eq!(list("3-1"), set(&[]));
        for wrong in ["x", "1-", "0-4294967295", "-"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
        assert_eq!(mask("1,00000005"), set(&[0, 2, 32]));
        assert_eq!(mask("g"), None);
    }
}
