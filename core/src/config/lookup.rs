//! Finding a row of the table by a key, a section or a variable.

use super::table::KEYS;
use crate::text::toml::shown_key;

/// The section that holds the programs' own sections.
pub(super) const PROGRAM: &str = "program";

pub(super) fn row_of(name: &str) -> Option<usize> {
    KEYS.iter().position(|key| key.name == name)
}

pub(super) fn row_of_variable(name: &str) -> Option<usize> {
    KEYS.iter().position(|key| key.variable() == name)
}

/// Whether keys stand beneath this name.
pub(super) fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| {
        key.name
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// All section names, each once, in the order of the table.
pub(super) fn sections() -> Vec<&'static str> {
    let mut all = Vec::new();
    for key in KEYS {
        let section = key.section();
        if !section.is_empty() && !all.contains(&section) {
            all.push(section);
        }
    }
    all
}

/// A dotted name for a message.
pub(super) fn dotted(parts: &[&str]) -> String {
    let shown: Vec<String> = parts.iter().map(|p| shown_key(p)).collect();
    shown.join(".")
}

/// Whether a name from the configuration means the program with these names.
///
/// The kernel cuts /proc/PID/comm to 15 bytes, so a longer name is compared by its start too.
pub(super) fn same_program(wanted: &str, name: &str) -> bool {
    const COMM_BYTES: usize = 15;
    wanted == name
        || (name.len() == COMM_BYTES && wanted.len() > COMM_BYTES && wanted.starts_with(name))
}

/// The section of a program, as its header writes it.
pub(super) fn program_section(program: &str) -> String {
    dotted(&[PROGRAM, program])
}
