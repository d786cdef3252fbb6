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
        .map(|&c| (distance(&wanted, &folded(c)), c))
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

/// Insertions, deletions, exchanges of one letter and swaps of two neighbours.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let exchange = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = exchange.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
    fn counts_edits() {
        assert_eq!(distance("skip", "skip"), 0);
        assert_eq!(distance("sikp", "skip"), 1);
        assert_eq!(distance("skips", "skip"), 1);
        assert_eq!(distance("", "skip"), 4);
    }

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
