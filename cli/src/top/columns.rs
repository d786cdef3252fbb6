//! The columns: their titles, what stands in them, and the order they give.

use std::cmp::Ordering;
use std::time::Duration;

use clap::ValueEnum;
use cmshim_core::report::duration::human;

use super::sample::Line;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    Pid,
    Program,
    Open,
    Rate,
    Made,
    Failed,
    Refused,
    Pool,
    Batch,
    P50,
    P99,
}

impl Column {
    pub const ALL: [Column; 11] = [
        Column::Pid,
        Column::Program,
        Column::Open,
        Column::Rate,
        Column::Made,
        Column::Failed,
        Column::Refused,
        Column::Pool,
        Column::Batch,
        Column::P50,
        Column::P99,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Column::Pid => "PID",
            Column::Program => "PROGRAM",
            Column::Open => "OPEN",
            Column::Rate => "RATE",
            Column::Made => "MADE",
            Column::Failed => "FAILED",
            Column::Refused => "REFUSED",
            Column::Pool => "POOL",
            Column::Batch => "BATCH",
            Column::P50 => "P50",
            Column::P99 => "P99",
        }
    }

    /// Characters; together with a space between them they fit on 80.
    pub fn width(self) -> usize {
        match self {
            Column::Program => 12,
            Column::Pid | Column::Refused => 7,
            Column::Rate | Column::Made | Column::Failed | Column::P50 | Column::P99 => 6,
            Column::Open | Column::Batch => 5,
            Column::Pool => 4,
        }
    }

    /// What has no value is a "-".
    pub fn cell(self, line: &Line) -> String {
        let time = |ns: Option<u64>| ns.map(|ns| human(Duration::from_nanos(ns)));
        let cell = match self {
            Column::Pid => Some(line.pid.to_string()),
            Column::Program => Some(line.program.chars().take(self.width()).collect()),
            Column::Open => Some(short(line.open)),
            Column::Rate => Some(rate(line.rate)),
            Column::Made => Some(short(line.made)),
            Column::Failed => Some(short(line.failed)),
            Column::Refused => Some(short(line.refused)),
            Column::Pool => line.pool.map(|part| format!("{:.0}%", part * 100.0)),
            Column::Batch => line.batch.map(|events| format!("{events:.1}")),
            Column::P50 => time(line.p50_ns),
            Column::P99 => time(line.p99_ns),
        };
        cell.unwrap_or_else(|| "-".into())
    }

    /// Numbers: the largest first. Names and process ids: the first one first.
    pub fn order(self, a: &Line, b: &Line) -> Ordering {
        let order = match self {
            Column::Pid => Ordering::Equal,
            Column::Program => a.program.cmp(&b.program),
            Column::Open => b.open.cmp(&a.open),
            Column::Rate => b.rate.total_cmp(&a.rate),
            Column::Made => b.made.cmp(&a.made),
            Column::Failed => b.failed.cmp(&a.failed),
            Column::Refused => b.refused.cmp(&a.refused),
            Column::Pool => parts(b.pool, a.pool),
            Column::Batch => parts(b.batch, a.batch),
            Column::P50 => b.p50_ns.cmp(&a.p50_ns),
            Column::P99 => b.p99_ns.cmp(&a.p99_ns),
        };
        order.then_with(|| a.pid.cmp(&b.pid))
    }
}

fn parts(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0))
}

/// At most five characters.
fn short(n: u64) -> String {
    match n {
        0..=99_999 => n.to_string(),
        100_000..=9_999_999 => format!("{}k", n / 1000),
        10_000_000..=9_999_999_999 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

fn rate(per_second: f64) -> String {
    match per_second < 1000.0 {
        true => format!("{per_second:.1}"),
        false => short(per_second.round() as u64),
    }
}
