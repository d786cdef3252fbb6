//! The program `cmshim`.
#![forbid(unsafe_code)]

mod args;
mod completions;
mod config;
mod doctor;
mod explain;
mod export;
mod failure;
mod man;
mod option_order;
mod output;
mod policy;
mod report;
mod run;
mod settings;
mod stats;
mod suggested;
mod top;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use args::{Cli, Command};
use failure::{Failure, USAGE};

fn main() -> ExitCode {
    if let Some(status) = report::helper() {
        return status;
    }
    let cli = match Cli::from_command_line() {
        Ok(cli) => cli,
        Err(error) => return wrong_arguments(&error),
    };
    let done = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Explain(args) => explain::explain(&args),
        Command::Config(args) => config::config(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Stat(args) => stats::stat(&args),
        Command::Events(args) => stats::events(&args),
        Command::Hist(args) => stats::hist(&args),
        Command::Top(args) => top::top(&args),
        Command::Export(args) => export::export(&args),
        Command::Policy(args) => policy::policy(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => failed(&failure),
    }
}

fn failed(failure: &Failure) -> ExitCode {
    output::complain(&failure.message);
    ExitCode::from(failure.status)
}

/// Prints help and version as asked for, and mistakes with the prefix that all our messages have.
fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match output::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failed(&failure),
        };
    }
    match (error.kind(), not_text()) {
        (ErrorKind::InvalidUtf8, Some(argument)) => output::complain(&format!(
            "{argument:?} is not UTF-8; only file names, and the program's own arguments, may hold other bytes"
        )),
        _ => {
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            output::complain_in_lines(text.trim_end());
        }
    }
    ExitCode::from(USAGE)
}

/// The first argument that is no text, which clap does not name.
fn not_text() -> Option<OsString> {
    std::env::args_os().skip(1).find(|a| a.to_str().is_none())
}
