//! `cmshim completions`.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::output;

pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cmshim", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
