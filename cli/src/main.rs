//! The program `cmshim`.
#![forbid(unsafe_code)]

mod args;
mod completions;
mod config;
mod explain;
mod failure;
mod man;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::USAGE;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_arguments(&error),
    };
    let done = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Explain(args) => explain::explain(&args),
        Command::Config(args) => config::config(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            output::complain(&failure.message);
            ExitCode::from(failure.status)
        }
    }
}

/// Prints help and version as asked for, and mistakes with the prefix that all our messages have.
fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match output::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => ExitCode::from(failure.status),
        };
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    output::complain(text.trim_end());
    ExitCode::from(USAGE)
}
