//! A file as JSON. The keys are documented in `args`.

use cmshim_core::stats::{
    Bypass, Counter, Entry, Histogram, Phase, Reason, Snapshot, BATCH_SIZES, EVENT_KINDS,
};
use serde_json::{json, Map, Value};

use super::age::last_ns;
use super::open::Found;
use super::overview::{event_name, value, wall};

pub fn object(found: &Found) -> Value {
    let stats = &found.stats;
    let header = &stats.header;
    let counters = Counter::ALL.iter().map(|c| (c.name(), value(stats, *c)));
    let bypasses = Bypass::ALL.iter().map(|b| (b.name(), stats.bypass(*b)));
    let events = (0..=EVENT_KINDS).map(|n| (event_name(n), stats.event(n)));
    let batches =
        (0..BATCH_SIZES).map(|size| json!({"events": size, "count": stats.batches(size)}));
    json!({
        "file": found.path.to_string_lossy(),
        "program": header.program,
        "pid": header.pid,
        "alive": found.alive,
        "uid": header.uid,
        "library": header.library,
        "since": wall(header, header.monotonic_ns),
        "last": wall(header, last_ns(stats)),
        "counters": numbers(counters),
        "calls": calls(stats),
        "bypasses": numbers(bypasses),
        "events": numbers(events),
        "batches": batches.collect::<Vec<_>>(),
        "failures": stats.reasons.iter().map(|r| failure(r, stats)).collect::<Vec<_>>(),
        "phases": phases(stats),
        "records": {"begun": stats.begun, "kept": stats.records.len()},
    })
}

fn numbers(rows: impl Iterator<Item = (&'static str, u64)>) -> Map<String, Value> {
    rows.map(|(name, number)| (name.to_owned(), number.into()))
        .collect()
}

fn calls(stats: &Snapshot) -> Vec<Value> {
    let call = |entry: &Entry| {
        let counts = stats.entry(*entry);
        json!({
            "call": entry.name(),
            "program": counts.calls,
            "librdmacm": counts.inner,
            "failed": counts.failed,
        })
    };
    Entry::ALL.iter().map(call).collect()
}

fn failure(reason: &Reason, stats: &Snapshot) -> Value {
    json!({
        "count": reason.count,
        "over": reason.over,
        "code": reason.code,
        "peer": reason.peer.address().map(|peer| peer.ip()),
        "who": reason.who,
        "stage": reason.stage,
        "last": wall(&stats.header, reason.last_ns),
    })
}

fn phases(stats: &Snapshot) -> Map<String, Value> {
    let phase = |phase: &Phase| {
        let times = stats.phase(*phase);
        (times.count() > 0).then(|| (phase.name().to_owned(), summary(&times)))
    };
    Phase::ALL.iter().filter_map(phase).collect()
}

fn summary(times: &Histogram) -> Value {
    let quantile = |q| times.quantile_ns(q).map(seconds);
    json!({
        "count": times.count(),
        "sum_s": seconds(times.sum_ns),
        "p50_s": quantile(0.5),
        "p99_s": quantile(0.99),
        "max_s": seconds(times.max_ns),
    })
}

/// Seconds, as both JSON and OpenMetrics have times.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
