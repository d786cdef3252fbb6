//! `cmshim hist`: how the times of one phase are spread, as bars.

use std::path::Path;
use std::time::Duration;

use cmshim_core::config::reason;
use cmshim_core::report::duration::human;
use cmshim_core::stats::{Histogram, Phase};

use super::args::HistArgs;
use super::bars::{bars, limit, Bar};
use super::open::Found;
use super::{find, svg};
use crate::failure::{Failure, FOUND, USAGE};
use crate::output;

/// Columns of the terminal.
const WIDTH: usize = 80;

pub fn hist(args: &HistArgs) -> Result<u8, Failure> {
    let phase = phase(&args.phase)?;
    let found = find::one(&args.process)?;
    let times = found.stats.phase(phase);
    let bars = bars(&times);
    if bars.is_empty() {
        let none = format!("{}: no time of {} yet", found.path.display(), phase.name());
        return Err(Failure::new(FOUND, none));
    }
    let heading = heading(&found, phase, &times);
    match &args.svg {
        Some(path) => write(path, &svg::picture(&heading, &bars))?,
        None => output::print(&text(&heading, &bars))?,
    }
    Ok(0)
}

fn phase(name: &str) -> Result<Phase, Failure> {
    let plain = name.to_ascii_lowercase().replace('-', "_");
    Phase::by_name(&plain).ok_or_else(|| {
        let names: Vec<&str> = Phase::ALL.iter().map(|p| p.name()).collect();
        let message = format!(
            "there is no phase {name:?}; phases are {}",
            names.join(", ")
        );
        Failure::new(USAGE, message)
    })
}

/// What is shown, in three lines.
fn heading(found: &Found, phase: Phase, times: &Histogram) -> [String; 3] {
    let header = &found.stats.header;
    let told = |ns: Option<u64>| human(Duration::from_nanos(ns.unwrap_or(0)));
    let quantile = |q| told(times.quantile_ns(q));
    [
        format!("{} of {} {}", phase.name(), header.program, header.pid),
        phase.row().help.to_owned(),
        format!(
            "{} measured: mean {}, p50 {}, p90 {}, p99 {}, max {}",
            times.count(),
            told(times.mean_ns()),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            told(Some(times.max_ns)),
        ),
    ]
}

/// From what time on, how many, and a bar: the longest fills the line.
fn text(heading: &[String], bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(1);
    let digits = most.to_string().len();
    let room = WIDTH.saturating_sub(8 + 2 + digits + 2);
    let mut out = format!("{}\n\n", heading.join("\n"));
    for bar in bars {
        let from = limit(bar.low);
        let line = format!(
            "{from:>8}  {:>digits$}  {}",
            bar.count,
            drawn(bar.count, most, room)
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if let Some(last) = bars.last().filter(|last| last.beyond < u64::MAX) {
        out.push_str(&format!("{:>8}\n", limit(last.beyond)));
    }
    out
}

/// Eighths of a column; what is there is seen.
fn drawn(count: u64, most: u64, room: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (count as f64 / most as f64 * room as f64 * 8.0).round() as usize;
    let eighths = eighths.min(room * 8).max(usize::from(count > 0));
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

fn write(path: &Path, picture: &str) -> Result<(), Failure> {
    let fail = |e| Failure::new(FOUND, format!("{}: {}", path.display(), reason(&e)));
    std::fs::write(path, picture).map_err(fail)
}
