//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::EXIT_STATUS;

/// Run RDMA programs so that each connection that fails says who, why and what to do
#[derive(Debug, Parser)]
#[command(name = "cmshim", version, after_help = EXIT_STATUS, disable_help_subcommand = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Start a program with the library preloaded
///
/// The library comes first in LD_PRELOAD; what is already there is kept. The program takes the place
/// of cmshim: process id, terminal, signals and exit status are its own.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct RunArgs {
    /// Write the lines to this file instead of standard error (%p becomes the process id)
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<OsString>,
    /// The least important line that is written: off, error, warn, info or debug
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// text or json
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Read this configuration file instead of /etc/cmshim.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a key of the configuration, as listed by `cmshim config`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Preload this library (else CMSHIM_LIBRARY, else the one installed with this program)
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Do not warn about a program in which a preloaded library has no effect
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "PROGRAM [ARGUMENT]...")]
    pub program: Vec<OsString>,
}

/// Show the values in effect, where each comes from, and what is wrong
///
/// Looks at the same file and variables as the library does. Values go to standard output, problems
/// to standard error.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct ConfigArgs {
    /// As they are for this program
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
    /// Read this file instead of the one that the library reads
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// As one JSON object, problems included
    #[arg(long)]
    pub json: bool,
    /// Print a commented file with every key and its default instead
    #[arg(long, conflicts_with_all = ["program", "config", "json"])]
    pub default: bool,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

/// Print the manual page, or write all pages into a directory
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write cmshim.1 and a page for each command here
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
