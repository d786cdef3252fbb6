//! `cmshim run`: sets the environment, warns, and becomes the program.

pub mod dynamic;
pub mod elf;
pub mod library;
mod not_started;
pub mod places;
mod preload;
pub mod program;
pub mod regular;
mod sanitizers;
pub mod secure;
mod settings;
pub mod warn;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::args::RunArgs;
use crate::failure::{Failure, USAGE};
use crate::output;
use crate::report::{self, Started};

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
    let reporter = reporter(&args, &variables)?;
    let family = reporter.as_ref().map(|started| started.variable.clone());
    let error = Command::new(name)
        .args(arguments)
        .envs(variables)
        .envs(family)
        .envs(sanitizers::options(name))
        .env(preload::VARIABLE, preload)
        .exec();
    if let Some(reporter) = reporter {
        reporter.cancel();
    }
    Err(not_started::not_started(&name.to_string_lossy(), &error))
}

/// What will tell how it went, if that is wanted.
fn reporter(args: &RunArgs, variables: &[(String, OsString)]) -> Result<Option<Started>, Failure> {
    if !args.report && args.report_file.is_none() {
        return Ok(None);
    }
    let program = args.program.first().map(Path::new);
    let name = program.and_then(Path::file_name).unwrap_or(OsStr::new("?"));
    report::start(
        &name.to_string_lossy(),
        variables,
        args.report_file.as_deref(),
    )
}
