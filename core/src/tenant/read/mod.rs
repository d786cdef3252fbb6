//! From a policy file to a policy. Everything that is wrong is told, not only the first thing.

mod conditions;
mod fields;
mod limits;
mod notes;
mod overlap;
mod tables;

use super::problem::Problem;
use super::Policy;
use notes::Notes;
use std::path::Path;
use toml::de::DeTable;

/// A larger file is refused before it is read.
pub const MAX_BYTES: u64 = 16 << 20;
/// Prefixes in one file, of all lists together.
pub const MAX_PREFIXES: usize = 100_000;
/// Tenants and egress rules. Those at one prefix are asked one after another.
pub const MAX_TABLES: usize = 20_000;
/// Tenants and egress rules with a limit. Each needs a row of the sharing file, which has some more: for
/// connections of no tenant, and for names of earlier policies.
pub const MAX_LIMITED: usize = 1_000;

/// Reads the bytes of a policy file: a regular file of at most [`MAX_BYTES`].
pub fn file(path: &Path) -> Result<Vec<u8>, Problem> {
    crate::config::read_bytes(path, MAX_BYTES).map_err(Problem::of_file)
}

pub(super) fn policy(bytes: &[u8]) -> Result<Policy, Vec<Problem>> {
    let text = match std::str::from_utf8(bytes) {
        _ if bytes.len() as u64 > MAX_BYTES => {
            let what = format!("larger than {MAX_BYTES} bytes");
            return Err(vec![Problem::of_file(what)]);
        }
        Ok(text) => text,
        Err(error) => return Err(vec![not_utf8(bytes, error.valid_up_to())]),
    };
    let mut notes = Notes::of(text);
    if text.trim().is_empty() {
        notes.add(0, None, "the file is empty", BEGIN);
        return Err(notes.into_problems());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        let what = format!("not valid TOML: {}", error.message().replace('\n', ", "));
        notes.add(at, None, what, "");
    }
    if !notes.is_empty() {
        return Err(notes.into_problems());
    }
    let policy = tables::policy(table.get_ref(), &mut notes);
    match (policy, notes.is_empty()) {
        (Some(policy), true) => Ok(policy),
        _ => Err(notes.into_problems()),
    }
}

/// How every policy begins.
const BEGIN: &str = "a policy begins with version = 1 and default = \"deny\" (or \"allow\")";

fn not_utf8(bytes: &[u8], good: usize) -> Problem {
    // What is before the place is UTF-8.
    let before = std::str::from_utf8(&bytes[..good]).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    Problem {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
        key: None,
        what: "not UTF-8".to_owned(),
        hint: String::new(),
    }
}
