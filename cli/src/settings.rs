//! The configuration of those who read the library's files: as the library would find it in this environment.

use cmshim_core::config::{gather, load, Config};

use crate::output;

/// For a program with these names; what is wrong in the keys of `section` is told, as the library does, and the
/// default holds.
pub fn with_warnings(program: Vec<String>, section: &str) -> Config {
    let loaded = load(&gather(std::env::vars_os().collect(), program, false));
    for problem in loaded.problems.iter().filter(|p| p.concerns(section)) {
        output::complain(&problem.to_string());
    }
    loaded.config
}

/// The same without a word, for looks that are repeated.
pub fn silent(program: Vec<String>) -> Config {
    load(&gather(std::env::vars_os().collect(), program, false)).config
}
