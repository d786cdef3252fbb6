//! `cmshim top`: all live processes in a table that is drawn again and again.

pub mod args;
mod columns;
#[cfg(test)]
mod picture;
mod plain;
mod sample;
mod screen;
mod view;

use std::io::{stdin, stdout, IsTerminal};

use args::TopArgs;

use crate::failure::Failure;
use crate::stats::find::check_configuration;

pub fn top(args: &TopArgs) -> Result<u8, Failure> {
    check_configuration();
    if args.once || !stdout().is_terminal() || !stdin().is_terminal() || dumb() {
        plain::run(args)
    } else {
        screen::run(args)
    }
}

/// A terminal without cursor, such as a shell within an editor has.
fn dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}
