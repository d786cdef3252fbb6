//! "Did you mean": the known name that is nearest to an unknown one.

/// The candidate nearest to `name`, if any is near enough to be a slip of the hand.
pub(crate) fn nearest<'c>(name: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let wanted = folded(name);
    if wanted.len() > 64 {
        return None;
    }
    let limit = (wanted.chars().count() / 4).clamp(1, 3);
    let by_letters = candidates
        .iter()
        .map(|&c| (strsim::osa_distance(&wanted, &folded(c)), c))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c);
    by_letters.or_else(|| in_other_section(&wanted, candidates))
}

/// A key written under the wrong section, or under none.
fn in_other_section<'c>(wanted: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let leaf = |s: &str| s.rsplit('.').next().unwrap_or(s).to_owned();
    let wanted = leaf(wanted);
    candidates
        .iter()
        .copied()
        .find(|c| c.contains('.') && leaf(&folded(c)) == wanted)
}

fn folded(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "log.level",
        "log.format",
        "listen.min_backlog",
        "listen",
        "skip",
    ];

    #[test]
    fn finds_slips_and_wrong_sections() {
        assert_eq!(nearest("log.levle", NAMES), Some("log.level"));
        assert_eq!(
            nearest("Listen.Min-Backlog", NAMES),
            Some("listen.min_backlog")
        );
        assert_eq!(nearest("lisen", NAMES), Some("listen"));
        assert_eq!(
            nearest("log.min_backlog", NAMES),
            Some("listen.min_backlog")
        );
        assert_eq!(nearest("format", NAMES), Some("log.format"));
    }

    #[test]
    fn says_nothing_when_nothing_is_near() {
        assert_eq!(nearest("colour", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
        assert_eq!(nearest(&"x".repeat(5000), NAMES), None);
    }
}
