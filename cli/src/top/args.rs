//! The arguments of `top`.

use std::time::Duration;

use clap::Args;

use super::columns::Column;

/// Show all live processes in a table that is kept up to date
///
/// On a terminal: q ends, the arrows to the left and right (or < and >) choose the column that sorts, r turns the
/// order round, the arrows up and down choose a process, Enter shows all of it and Esc goes back, the space bar stops
/// and goes on. Elsewhere one table after the other is printed.
#[derive(Debug, Args)]
#[command(after_help = TOP_AFTER)]
pub struct TopArgs {
    /// Seconds between two looks, from 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub interval: Duration,
    /// The column that sorts: the largest first, of names and process ids the first
    #[arg(long, value_name = "COLUMN", value_enum, default_value_t = Column::Rate)]
    pub sort: Column,
    /// Print one table and end
    #[arg(long)]
    pub once: bool,
}

const TOP_AFTER: &str = "\
Columns:
  pid      the process id, as the process itself sees it
  program  its name
  open     connections that were made and are not over
  rate     connections that were established, per second since the last look (at first: since it began)
  made     connections that were established
  failed   connects that failed
  refused  connect requests that the program or its tenant check refused
  pool     part of the queue pairs that came from the pool
  batch    events that one system call brought, on average
  p50      median time from connect or accept to ESTABLISHED
  p99      the time that 99 of 100 of them did not exceed

Exit status:
  0    shown
  1    with --once: nothing was found; or output could not be written
  2    wrong arguments";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    match seconds.filter(|s| (0.1..=3600.0).contains(s)) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds)),
        None => Err("a number from 0.1 to 3600 is needed".into()),
    }
}
