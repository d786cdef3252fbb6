//! `cmshim run`: sets the environment, warns, and becomes the program.

mod elf;
mod library;
mod preload;
mod program;
mod secure;
mod settings;
mod warn;

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::RunArgs;
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, USAGE};
use crate::output;

/// Returns only when the program could not be started.
pub fn run(args: RunArgs) -> Result<u8, Failure> {
    let variables = settings::variables(&args)?;
    let library = library::find(args.library.as_deref())?;
    let preload = preload::with_first(&library, std::env::var_os(preload::VARIABLE));
    let Some((name, arguments)) = args.program.split_first() else {
        return Err(Failure::new(USAGE, "no program given"));
    };
    if !args.quiet {
        if let Some(warning) = warn::no_effect(name, &library) {
            output::complain(&warning);
        }
    }
    let error = Command::new(name)
        .args(arguments)
        .envs(variables)
        .env(preload::VARIABLE, preload)
        .exec();
    Err(not_started(&name.to_string_lossy(), &error))
}

fn not_started(name: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound if program::find(name.as_ref()).is_some() => Failure::new(
            NOT_FOUND,
            format!("{name}: its interpreter (the #! line or the dynamic loader) does not exist"),
        ),
        ErrorKind::NotFound => Failure::new(NOT_FOUND, format!("{name}: no such program")),
        _ => Failure::new(
            NOT_EXECUTABLE,
            format!("{name}: cannot be executed: {error}"),
        ),
    }
}
