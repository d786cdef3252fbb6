//! What is wrong, with its place.

use crate::tenant::Problem;
use crate::text::Lines;

/// So many are told. More are counted.
const MOST: usize = 1_000;
/// Of so many unknown keys the nearest known one is looked for.
pub(super) const HINTS: usize = 100;

pub(super) struct Notes<'t> {
    lines: Lines<'t>,
    /// In the order of the file.
    problems: Vec<Problem>,
    more: usize,
}

impl<'t> Notes<'t> {
    pub fn of(text: &'t str) -> Notes<'t> {
        Notes {
            lines: Lines::of(text),
            problems: Vec::new(),
            more: 0,
        }
    }

    /// Something is wrong with the byte `at`.
    pub fn add(
        &mut self,
        at: usize,
        key: Option<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.problems.len() >= MOST {
            self.more += 1;
            return;
        }
        let (line, column) = self.lines.position(at);
        let before = |p: &Problem| (p.line, p.column) <= (line, column);
        let place = self.problems.partition_point(before);
        self.problems.insert(
            place,
            Problem {
                line,
                column,
                key,
                what: what.into(),
                hint: hint.into(),
            },
        );
    }

    /// The line of a byte.
    pub fn line(&self, at: usize) -> usize {
        self.lines.position(at).0
    }

    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub fn count(&self) -> usize {
        self.problems.len()
    }

    /// In the order of the file.
    pub fn into_problems(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.problems
                .push(Problem::of_file(format!("and {} more", self.more)));
        }
        self.problems
    }
}
