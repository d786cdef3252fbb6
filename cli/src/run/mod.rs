//! `cmshim run`: sets the environment, warns, and becomes the program.

pub mod elf;
pub mod library;
mod not_started;
pub mod places;
mod preload;
pub mod program;
pub mod regular;
pub mod secure;
mod settings;
pub mod warn;

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::RunArgs;
use crate::failure::{Failure, USAGE};
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
    Err(not_started::not_started(&name.to_string_lossy(), &error))
}
