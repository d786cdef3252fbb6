//! `cmshim events`: the flight recorder as a timeline for each connection.

use std::net::SocketAddr;
use std::time::Duration;

use cmshim_core::report::duration::human;
use cmshim_core::stats::{Header, Record};

use super::args::EventsArgs;
use super::find;
use super::open::Found;
use super::overview::title;
use super::timeline::{lives, Life};
use super::words::words;
use crate::failure::{Failure, FOUND};
use crate::output;

pub fn events(args: &EventsArgs) -> Result<u8, Failure> {
    let found = find::one(&args.process)?;
    output::print(&text(&found))?;
    Ok(if found.stats.records.is_empty() {
        FOUND
    } else {
        0
    })
}

fn text(found: &Found) -> String {
    let stats = &found.stats;
    let kept = stats.records.len() as u64;
    let mut out = title(found);
    let lost = stats.begun.saturating_sub(kept);
    out.push_str(&match lost {
        0 => format!("{kept} records\n"),
        _ => format!("{kept} records; {lost} more were overwritten, or never finished\n"),
    });
    for life in lives(&stats.records) {
        out.push_str(&heading(&life));
        out.push_str(&steps(&life, found));
    }
    out
}

/// "id 0x55d0c0 with 10.77.0.1:7174, queue pair 19, from the listener 0x55d000"
fn heading(life: &Life) -> String {
    let mut line = match life.id {
        0 => "no id".to_owned(),
        id => format!("id {id:#x}"),
    };
    if let Some(peer) = life.peer() {
        line.push_str(&format!(", peer {peer}"));
    }
    if let Some(qp_num) = life.qp_num() {
        line.push_str(&format!(", queue pair {qp_num}"));
    }
    if let Some(listener) = life.listener() {
        line.push_str(&format!(", from listener {listener:#x}"));
    }
    format!("\n{line}\n")
}

fn steps(life: &Life, found: &Found) -> String {
    let role = life.role();
    let known = life.peer();
    let mut before = None;
    let lines = life.records.iter().map(|record| {
        let told = words(record, role, found.alive);
        let step = before.map(|before| record.at_ns.saturating_sub(before));
        before = Some(record.at_ns);
        line(record, step, told, known, &found.stats.header)
    });
    lines.collect()
}

fn line(
    record: &Record,
    step: Option<u64>,
    told: String,
    known: Option<SocketAddr>,
    header: &Header,
) -> String {
    let step = step.map(|ns| format!("+{}", human(Duration::from_nanos(ns))));
    let step = step.unwrap_or_default();
    let other = record
        .peer
        .address()
        .filter(|peer| known.is_some_and(|known| known != *peer) && !peer.ip().is_unspecified());
    let other = other
        .map(|peer| format!(", peer {peer}"))
        .unwrap_or_default();
    format!(
        "  {}  {step:>8}  {told}{other}\n",
        time_of_day(header.wall_ns(record.at_ns))
    )
}

/// "03:04:05.000123", in UTC.
fn time_of_day(ns: u64) -> String {
    let (s, us) = (ns / 1_000_000_000, ns / 1000 % 1_000_000);
    format!(
        "{:02}:{:02}:{:02}.{us:06}",
        s / 3600 % 24,
        s / 60 % 60,
        s % 60
    )
}
