//! The arguments of the commands that read statistics files.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use cmshim_core::stats::Phase;

use crate::suggested::Suggested;

/// Show the statistics of a process, or of all
///
/// Each process that made an RDMA call under the library has a file in the directory stats.dir. It can be read
/// while the process runs, and after its death. Counters that are 0 are left out, except in JSON and OpenMetrics.
#[derive(Debug, Args)]
#[command(after_help = STAT_AFTER)]
#[command(override_usage = "cmshim stat [OPTIONS] PID|FILE\n       cmshim stat [OPTIONS] --all")]
pub struct StatArgs {
    /// A process id, or a statistics file (with a / in front of a name of digits: ./4711)
    #[arg(value_name = "PID|FILE", value_hint = ValueHint::AnyPath)]
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub process: Option<OsString>,
    /// All files of this host; those of processes that died more than an hour ago are removed
    #[arg(long)]
    pub all: bool,
    /// As one JSON object; with --all a list of them
    #[arg(long)]
    pub json: bool,
    /// As OpenMetrics text, which Prometheus reads
    #[arg(long, conflicts_with = "json")]
    pub prometheus: bool,
}

const STAT_AFTER: &str = "\
The JSON object:
  file      the file that was read
  program   the name of the program
  pid       its process id, as the process itself sees it
  alive     whether the process lives
  uid       its effective user id
  library   the version of the library
  since     when it began to count
  last      when it last recorded anything
  counters  name to number; connections_open, events_unacked and pool_idle are present numbers, the others only grow
  calls     a list of objects: call, program (calls by the program), librdmacm (calls by librdmacm itself), failed
  bypasses  reason to number: what went past the shim unchanged
  events    type to number: events that the program took
  batches   a list of objects: events (in one system call; the last size stands for all larger ones), count
  failures  a list of objects: count, over (what count may be too high by), code, peer, who, stage, last
  phases    name to object: count, sum_s, p50_s, p99_s, max_s, all in seconds; without phases that never happened
  records   an object: begun (records of the flight recorder that were ever begun), kept

Exit status:
  0    shown
  1    nothing was found, a file was refused, or output could not be written
  2    wrong arguments";

/// Show the last calls and events of a process, connection by connection
///
/// Reads the flight recorder: the last 1024 calls and events, also of a process that was killed. Each id has a
/// part of its own, with the time since the step before; statuses are explained. Times are in UTC. A function that
/// is called for each event or by the data path is there only if it failed.
#[derive(Debug, Args)]
#[command(after_help = EVENTS_AFTER)]
pub struct EventsArgs {
    /// A process id, or a statistics file (with a / in front of a name of digits: ./4711)
    #[arg(value_name = "PID|FILE", value_hint = ValueHint::AnyPath)]
    pub process: OsString,
}

const EVENTS_AFTER: &str = "\
Exit status:
  0    shown
  1    nothing was recorded or found, the file was refused, or output could not be written
  2    wrong arguments";

/// Show how the times of one phase are spread
///
/// One bar for each range of times, from the time beside it up to the next one, with the number of times in it. The
/// ranges grow with the times, and are as fine as can be shown: 3 % at best.
#[derive(Debug, Args)]
#[command(after_help = HIST_AFTER)]
pub struct HistArgs {
    /// A process id, or a statistics file (with a / in front of a name of digits: ./4711)
    #[arg(value_name = "PID|FILE", value_hint = ValueHint::AnyPath)]
    pub process: OsString,
    /// A phase, as named by `cmshim stat`: resolve_addr, connect, ...
    #[arg(value_parser = Suggested::new(Phase::ALL.iter().map(|p| p.name())), hide_possible_values = true)]
    pub phase: String,
    /// Write a picture to this file instead
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
}

const HIST_AFTER: &str = "\
Exit status:
  0    shown
  1    there is no such time or process, the file was refused, or output could not be written
  2    wrong arguments";
