//! A file for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cmshim_core::codes::event;
use cmshim_core::report::{duration::human, rfc3339};
use cmshim_core::stats::{
    Bypass, Counter, Entry, Header, Kind, Phase, Reason, Snapshot, BATCH_SIZES, EVENT_KINDS,
};

use super::open::Found;
use super::table::{section, Row};
use cmshim_core::text::escaped;

pub fn text(found: &Found) -> String {
    let stats = &found.stats;
    let mut out = title(found);
    section(&mut out, &["counters"], &counters(stats));
    section(
        &mut out,
        &["calls", "program", "librdmacm", "failed"],
        &calls(stats),
    );
    section(&mut out, &["past the shim"], &bypasses(stats));
    section(&mut out, &["events", "taken"], &events(stats));
    section(&mut out, &["events in a batch", "batches"], &batches(stats));
    section(
        &mut out,
        &["phases", "count", "p50", "p99", "max"],
        &phases(stats),
    );
    out.push_str(&failures(stats));
    out
}

/// "rping 4711, alive, since 2026-02-28T23:59:59.123Z (/run/cmshim/4711.cmstats)"
pub fn title(found: &Found) -> String {
    let header = &found.stats.header;
    let state = if found.alive { "alive" } else { "dead" };
    format!(
        "{} {}, {state}, user {}, library {}, since {}\n{}\n",
        header.program,
        header.pid,
        header.uid,
        header.library,
        wall(header, header.monotonic_ns),
        escaped(&found.path.display().to_string())
    )
}

/// A time of the file as people and programs read it.
pub fn wall(header: &Header, monotonic_ns: u64) -> String {
    let since = Duration::from_nanos(header.wall_ns(monotonic_ns));
    rfc3339(
        UNIX_EPOCH
            .checked_add(since)
            .unwrap_or(SystemTime::UNIX_EPOCH),
    )
}

/// The present, likewise.
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Present numbers are found by adding and taking away in any order: a copy in between may be below zero.
pub fn value(stats: &Snapshot, counter: Counter) -> u64 {
    let value = stats.counter(counter);
    match counter.row().kind {
        Kind::Gauge if value > i64::MAX as u64 => 0,
        _ => value,
    }
}

/// The name of a type of events; the last one takes all unknown ones.
pub fn event_name(number: usize) -> &'static str {
    event::ALL.get(number).map_or("unknown", |e| e.name)
}

fn counters(stats: &Snapshot) -> Vec<Row> {
    let rows = Counter::ALL.iter().map(|counter| {
        let row = counter.row();
        (row.name, value(stats, *counter), row.help)
    });
    explained(rows)
}

fn bypasses(stats: &Snapshot) -> Vec<Row> {
    let rows = Bypass::ALL.iter().map(|bypass| {
        let row = bypass.row();
        (row.name, stats.bypass(*bypass), row.help)
    });
    explained(rows)
}

fn explained(rows: impl Iterator<Item = (&'static str, u64, &'static str)>) -> Vec<Row> {
    rows.filter(|(_, value, _)| *value > 0)
        .map(|(name, value, text)| Row {
            cells: vec![name.into(), value.to_string()],
            text,
        })
        .collect()
}

fn calls(stats: &Snapshot) -> Vec<Row> {
    let all = Entry::ALL.iter().map(|entry| (entry, stats.entry(*entry)));
    all.filter(|(_, counts)| *counts != Default::default())
        .map(|(entry, counts)| {
            let numbers = [counts.calls, counts.inner, counts.failed];
            Row::new(
                [entry.name().into()]
                    .into_iter()
                    .chain(numbers.map(|n| n.to_string())),
            )
        })
        .collect()
}

fn events(stats: &Snapshot) -> Vec<Row> {
    let all = (0..=EVENT_KINDS).map(|number| (event_name(number), stats.event(number)));
    all.filter(|(_, count)| *count > 0)
        .map(|(name, count)| Row::new([name.into(), count.to_string()]))
        .collect()
}

fn batches(stats: &Snapshot) -> Vec<Row> {
    let all = (0..BATCH_SIZES).map(|size| (size, stats.batches(size)));
    all.filter(|(_, count)| *count > 0)
        .map(|(size, count)| {
            let more = if size == BATCH_SIZES - 1 {
                " or more"
            } else {
                ""
            };
            Row::new([format!("{size}{more}"), count.to_string()])
        })
        .collect()
}

fn phases(stats: &Snapshot) -> Vec<Row> {
    let all = Phase::ALL.iter().map(|phase| (phase, stats.phase(*phase)));
    all.filter_map(|(phase, times)| {
        let [p50, p99] = [times.quantile_ns(0.5)?, times.quantile_ns(0.99)?];
        let times = [p50, p99, times.max_ns].map(|ns| human(Duration::from_nanos(ns)));
        let count = stats.phase(*phase).count().to_string();
        let cells = [phase.name().into(), count].into_iter().chain(times);
        Some(Row {
            cells: cells.collect(),
            text: phase.row().help,
        })
    })
    .collect()
}

/// The most frequent first.
fn failures(stats: &Snapshot) -> String {
    if stats.reasons.is_empty() {
        return String::new();
    }
    let lines = stats.reasons.iter().map(|r| failure(r, &stats.header));
    let lines: String = lines.collect();
    format!("\nfailures\n{lines}")
}

fn failure(reason: &Reason, header: &Header) -> String {
    let count = match reason.over {
        0 => format!("{} x", reason.count),
        over => format!(
            "{} to {} x",
            reason.count.saturating_sub(over),
            reason.count
        ),
    };
    let mut line = format!("  {count} {}", reason.code);
    if let Some(who) = reason.who {
        line.push_str(&format!(", by {}", who.phrase()));
    }
    if let Some(stage) = reason.stage {
        line.push_str(&format!(", at stage {}", stage.name()));
    }
    if let Some(peer) = reason.peer.address() {
        line.push_str(&format!(", peer {}", peer.ip()));
    }
    format!("{line}; last {}\n", wall(header, reason.last_ns))
}
