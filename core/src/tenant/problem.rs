//! Something wrong in a policy file, with its place and what would be right.

use std::fmt;

/// One wrong thing. It prints as one physical line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; 0 when it is about the whole file.
    pub line: usize,
    /// From 1, in characters; 0 when it is about the whole file.
    pub column: usize,
    /// The key as it reads from the root of the file: `tenant.peers`.
    pub key: Option<String>,
    pub what: String,
    /// What may be written instead. May be empty.
    pub hint: String,
}

impl Problem {
    /// About the whole file.
    pub(super) fn of_file(what: impl Into<String>) -> Problem {
        Problem {
            line: 0,
            column: 0,
            key: None,
            what: what.into(),
            hint: String::new(),
        }
    }

    /// With the file's name in front: `FILE:LINE:COLUMN: key: what; hint`.
    pub fn in_file(&self, file: &str) -> String {
        match self.line {
            0 => format!("{file}: {self}"),
            _ => format!("{file}:{self}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}
