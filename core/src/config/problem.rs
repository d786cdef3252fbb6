//! Something wrong in the configuration, with its place and what would be right.

use std::fmt;

use serde::Serialize;

use super::table::KEYS;

/// So many problems of one file or environment are told; more are counted.
/// They may all be written at the start of every program.
pub(super) const MAX_PROBLEMS: usize = 20;

/// One wrong thing. It prints as one physical line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file that it stands in; `None` when it is about a variable.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// The variable that it is about.
    pub variable: Option<String>,
    /// The key as written there, with the program's section.
    pub key: Option<String>,
    pub what: String,
    /// What may be written instead, or a key with a similar name. May be empty.
    pub allowed: String,
    /// What holds instead. May be empty.
    pub used: String,
    /// The row of the table, when the key is one.
    #[serde(skip)]
    pub(super) row: Option<usize>,
    /// The program in whose section it stands.
    #[serde(skip)]
    pub(super) program: Option<String>,
}

impl Problem {
    /// Is it about a key of this section ("stats"), or about the whole configuration file?
    pub fn concerns(&self, section: &str) -> bool {
        let of = |name: &str| {
            name.split_once('.')
                .is_some_and(|(first, _)| first == section)
        };
        match self.row {
            Some(row) => of(KEYS[row].name),
            None => self.key.is_none() && self.variable.is_none(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(file) = &self.file {
            let mut place = file.clone();
            for number in [self.line, self.column].into_iter().flatten() {
                place.push_str(&format!(":{number}"));
            }
            parts.push(place);
        }
        parts.extend(self.variable.clone());
        parts.extend(self.key.clone());
        parts.push(self.what.clone());
        f.write_str(&parts.join(": "))?;
        for tail in [&self.allowed, &self.used] {
            if !tail.is_empty() {
                write!(f, "; {tail}")?;
            }
        }
        Ok(())
    }
}
