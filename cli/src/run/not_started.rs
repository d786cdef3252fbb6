//! Why a program could not be executed, in words.

use std::io::{Error, ErrorKind};
use std::path::Path;

use cmshim_core::config::reason;

use super::{program, regular};
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};

pub fn not_started(name: &str, error: &Error) -> Failure {
    let found = program::find(name.as_ref());
    match (error.kind(), found) {
        _ if name.is_empty() => Failure::new(
            NOT_FOUND,
            "the name of the program is empty; write a name or a path",
        ),
        (ErrorKind::NotFound, Some(path)) => Failure::new(NOT_FOUND, without_loader(name, &path)),
        (ErrorKind::NotFound, None) => Failure::new(
            NOT_FOUND,
            format!("{name}: no such program{}", where_sought(name)),
        ),
        (_, path) => {
            let path = path.unwrap_or_else(|| name.into());
            Failure::new(NOT_EXECUTABLE, format!("{name}: {}", refused(&path, error)))
        }
    }
}

fn where_sought(name: &str) -> &'static str {
    if name.contains('/') {
        ""
    } else {
        " in PATH"
    }
}

/// The file is there, but what must run it is not.
fn without_loader(name: &str, path: &Path) -> String {
    match program::named_interpreter(path) {
        Some(line) if line.ends_with('\r') => format!(
            "{name}: its #! line ends with a carriage return (it has the line ends of another system); \
             sed -i 's/\\r$//' removes them"
        ),
        Some(line) => {
            format!("{name}: its interpreter {line} (the #! line) does not exist")
        }
        None => format!("{name}: its interpreter (the dynamic loader) does not exist"),
    }
}

fn refused(path: &Path, error: &Error) -> String {
    let kind = std::fs::metadata(path).map(|m| m.file_type());
    match kind.ok().and_then(regular::other) {
        Some(what) => format!("is {what}, not a program"),
        None => format!("cannot be executed: {}", reason(error)),
    }
}
