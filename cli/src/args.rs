//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use cmshim_core::codes::{async_event, event};
use cmshim_core::config::{Kind, KEYS};
use cmshim_core::explain::calls;

use crate::export::args::ExportArgs;
use crate::failure::{CONFIG_STATUS, DOCTOR_STATUS, EXIT_STATUS, RUN_STATUS};
use crate::option_order::{self, Given};
use crate::policy::args::PolicyArgs;
use crate::stats::args::{EventsArgs, HistArgs, StatArgs};
use crate::suggested::Suggested;
use crate::top::args::TopArgs;

/// Run RDMA programs so that each connection that fails says who, why and what to do
#[derive(Debug, Parser)]
#[command(name = "cmshim", version, after_help = EXIT_STATUS)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    pub fn from_command_line() -> Result<Cli, clap::Error> {
        let matches = Cli::command().try_get_matches()?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if let (Command::Run(run), Some((_, matches))) = (&mut cli.command, matches.subcommand()) {
            run.given = option_order::in_order(matches);
        }
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    Explain(ExplainArgs),
    Config(ConfigArgs),
    Doctor(DoctorArgs),
    Stat(StatArgs),
    Events(EventsArgs),
    Hist(HistArgs),
    Top(TopArgs),
    Export(ExportArgs),
    Policy(PolicyArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Start a program with the library preloaded
///
/// The library comes first in LD_PRELOAD, or right behind sanitizers that are first there; what is already
/// there is kept. The program takes the place of cmshim: process id, terminal, signals and exit status are its own. Options that set the same key
/// of the configuration count in the order in which they are given: the last one holds.
///
/// The report comes from a process that is no child of the program and waits for its end, however it ends; a shell's
/// prompt may come before it. It covers the program and its children, until the program ends; what still runs in the
/// background then is named, and `cmshim stat --all` shows it.
#[derive(Debug, Args)]
#[command(after_help = RUN_STATUS, args_override_self = true)]
#[command(override_usage = "cmshim run [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct RunArgs {
    /// Write the lines to this file instead of standard error (%p becomes the process id)
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<OsString>,
    /// The least important line that is written
    #[arg(long, value_name = "LEVEL", value_parser = words_of("log.level"), ignore_case = true)]
    pub log_level: Option<String>,
    /// How a line is written
    #[arg(long, value_name = "FORMAT", value_parser = words_of("log.format"), ignore_case = true)]
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
    /// When the program has ended, print what it did with RDMA, on one screen, to standard error
    #[arg(long)]
    pub report: bool,
    /// The same into this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub report_file: Option<PathBuf>,
    /// Do not warn about a program in which a preloaded library has no effect
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// The options above that set a key, in their order
    #[arg(skip)]
    pub given: Vec<Given>,
}

/// Say in plain words what a number or name of a failure means
///
/// A positive number is the reason of a reject on InfiniBand and RoCE, the status of a work
/// completion (ibv_poll_cq), an event of the connection manager, or an errno; a negative one is an errno. Names are those of reject
/// reasons, events, asynchronous events, completion statuses, errnos and of the codes in cmshim's own
/// lines, in any case: IB_CM_REJ_STALE_CONN, unreachable, qp-fatal, wr-flush-err, ECONNREFUSED.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// The number or name; with --event its status, with --call its errno
    #[arg(allow_negative_numbers = true, required_unless_present_any = ["event", "asynchronous", "list"])]
    pub code: Option<String>,
    /// An event of the connection manager, by name or number
    #[arg(long, value_name = "EVENT", conflicts_with_all = ["asynchronous", "call"])]
    #[arg(value_parser = Suggested::new(event::ALL.iter().map(|e| e.name)), hide_possible_values = true)]
    pub event: Option<String>,
    /// An asynchronous event of a device, by name or number
    #[arg(long = "async", value_name = "EVENT", conflicts_with_all = ["call", "code"])]
    #[arg(value_parser = Suggested::new(async_names()), hide_possible_values = true)]
    pub asynchronous: Option<String>,
    /// The function that failed with this errno, for example rdma_bind_addr
    #[arg(long, value_name = "FUNCTION", requires = "code")]
    #[arg(value_parser = Suggested::new(calls()), hide_possible_values = true)]
    pub call: Option<String>,
    /// What carries the connection; it decides how a status is read
    #[arg(long, value_enum)]
    pub transport: Option<TransportName>,
    /// Which side saw it
    #[arg(long, value_enum, default_value_t = RoleName::Client)]
    pub role: RoleName,
    /// Everything that can be explained, one on a line
    #[arg(long, conflicts_with_all = ["code", "event", "asynchronous", "call"])]
    pub list: bool,
    /// As a JSON list
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    Ib,
    Roce,
    Iwarp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleName {
    Client,
    Server,
}

const EXAMPLES: &str = "\
Examples:
  cmshim explain 28
  cmshim explain ECONNREFUSED
  cmshim explain retry-exc-err
  cmshim explain --event unreachable -- -110
  cmshim explain --event rejected 8 --transport roce
  cmshim explain --async qp-fatal
  cmshim explain --call rdma_bind_addr EADDRINUSE

Exit status:
  0    success
  1    output could not be written
  2    wrong arguments, or a code that is not known";

fn async_names() -> impl Iterator<Item = &'static str> {
    let bare = |symbol: &'static str| symbol.strip_prefix("IBV_EVENT_").unwrap_or(symbol);
    async_event::ALL.iter().map(move |e| bare(e.symbol))
}

/// The words that a key takes, from the table of keys.
fn words_of(name: &str) -> PossibleValuesParser {
    let words = KEYS.iter().find_map(|key| match key.kind {
        Kind::Choice(words) if key.name == name => Some(words),
        _ => None,
    });
    PossibleValuesParser::new(words.unwrap_or_default())
}

/// Show the values in effect, where each comes from, and what is wrong
///
/// Looks at the same file and variables as the library does. Values go to standard output, problems
/// to standard error.
#[derive(Debug, Args)]
#[command(after_help = CONFIG_STATUS)]
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

/// Check this host for what hinders RDMA connections
///
/// Looks at modules, devices, GIDs, MTU, limits, ARP, libraries and more, and at what cmshim itself
/// needs. Each check says what it found; what is not right also says why it matters and which command
/// mends it. Nothing is changed. Hardware is not needed: without a device, that is what is said.
/// Some of it can be seen only by root (debugfs).
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_STATUS)]
pub struct DoctorArgs {
    /// Also check whether a preloaded library works in this program
    #[arg(long, value_name = "PROGRAM", value_hint = clap::ValueHint::CommandName)]
    pub program: Option<OsString>,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
    /// Say why a check matters also where all is well
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

/// Print the manual page, or write all pages into a directory
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write all pages here: cmshim.1, one for each command, cmshim.toml.5, cmshim-policy.5 and the C API (.3); the directory is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
