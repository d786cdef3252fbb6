//! From a byte's place in a file to line and column.

/// Where each line starts. A file full of mistakes must not make every program start slowly.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub fn of(text: &'t str) -> Lines<'t> {
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(i, _)| i + 1))
            .collect();
        Lines { text, starts }
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub fn position(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts[line - 1]; // The first line starts at 0, so `line` is at least 1.
        let before = self.text.get(start..at).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
