//! The arguments of `export`.

use clap::Args;

/// Serve the statistics of all processes of this host to Prometheus
///
/// Answers GET /metrics with what `cmshim stat --all --prometheus` prints, in the format that the client asks for:
/// OpenMetrics, or the older text format of Prometheus. The files are read when somebody asks, at most once in a second.
/// It runs until it gets SIGTERM or SIGINT. Whoever can reach the address can read the metrics: give another one than
/// of this host only where that is meant.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_AFTER)]
pub struct ExportArgs {
    /// The address and port; port 0 takes a free one, which is printed
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9464")]
    pub listen: String,
    /// Show so many processes at most: live ones first, then those that died last
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub processes: u32,
}

const EXPORT_AFTER: &str = "\
Paths:
  /metrics  the metrics
  /healthz  \"ok\"

Metrics beside those of the processes:
  cmshim_export_build_info                the version of cmshim
  cmshim_export_processes                 the processes that are shown
  cmshim_export_processes_left_out        those that --processes left out
  cmshim_export_files_refused             files that were damaged, or of another version or owner
  cmshim_export_files_unreadable          files that only other users may read (see stats.readers)

Exit status:
  0    ended by SIGTERM or SIGINT
  1    the address is in use, or cannot be had
  2    wrong arguments";
