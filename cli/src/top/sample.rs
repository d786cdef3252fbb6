//! One look at all files: a line for each live process.

use std::collections::HashMap;
use std::time::Duration;

use cmshim_core::stats::{Counter, Phase};

use crate::stats::age::Now;
use crate::stats::find::{scan_of, Scan};
use crate::stats::open::Found;
use crate::stats::overview::{text, value};

/// What the table shows of a process.
#[derive(Debug, Clone)]
pub struct Line {
    /// The file, by which the process is known again.
    pub inode: (u64, u64),
    pub pid: u32,
    pub program: String,
    pub open: u64,
    pub made: u64,
    pub rate: f64,
    pub failed: u64,
    pub refused: u64,
    pub pool: Option<f64>,
    pub batch: Option<f64>,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    /// All of it, as `cmshim stat` has it.
    pub all: String,
}

/// One look.
#[derive(Debug, Default)]
pub struct Look {
    pub lines: Vec<Line>,
    /// Files that were refused, and why.
    pub refused: Vec<String>,
    /// Files that only other users may read.
    pub not_ours: usize,
}

/// Looks again and again; a rate is what came since the look before.
#[derive(Default)]
pub struct Watch {
    /// Connections made and when that was seen, on the monotonic clock.
    before: HashMap<(u64, u64), (u64, u64)>,
}

impl Watch {
    pub fn look(&mut self) -> Look {
        let Scan {
            found,
            refused,
            not_ours,
            ..
        } = scan_of(Vec::new(), |found| {
            found.pop_if(|f| !f.alive);
        });
        let now = Now::here();
        let lines: Vec<Line> = found.iter().map(|f| self.line(f, &now)).collect();
        let seen = lines.iter().map(|l| (l.inode, (l.made, now.monotonic_ns)));
        self.before = seen.collect();
        Look {
            lines,
            refused,
            not_ours,
        }
    }

    fn line(&self, found: &Found, now: &Now) -> Line {
        let stats = &found.stats;
        let count = |counter| value(stats, counter);
        let made = count(Counter::ConnectionsMade);
        let mut times = stats.phase(Phase::Connect);
        times.merge(&stats.phase(Phase::AcceptToEstablished));
        let (hits, misses) = (count(Counter::PoolHits), count(Counter::PoolMisses));
        Line {
            inode: found.inode,
            pid: stats.header.pid,
            program: stats.header.program.clone(),
            open: count(Counter::ConnectionsOpen),
            made,
            rate: self.rate(found, made, now),
            failed: count(Counter::ConnectionsFailed),
            refused: count(Counter::RequestsRefused).saturating_add(count(Counter::TenantsRefused)),
            pool: part(hits, hits.saturating_add(misses)),
            batch: part(count(Counter::EventsBatched), count(Counter::Batches)),
            p50_ns: times.quantile_ns(0.5),
            p99_ns: times.quantile_ns(0.99),
            all: text(found),
        }
    }

    fn rate(&self, found: &Found, made: u64, now: &Now) -> f64 {
        let header = &found.stats.header;
        let (before, since) = match self.before.get(&found.inode) {
            Some((before, at)) => (
                *before,
                Duration::from_nanos(now.monotonic_ns.saturating_sub(*at)),
            ),
            None => (0, now.since(header, header.monotonic_ns)),
        };
        // Two looks in one moment tell nothing.
        let seconds = since.as_secs_f64().max(1e-3);
        made.saturating_sub(before) as f64 / seconds
    }
}

fn part(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}

/// A line for tests; all of it is three lines of text.
#[cfg(test)]
pub fn made_up(pid: u32, made: u64) -> Line {
    Line {
        inode: (1, u64::from(pid)),
        pid,
        program: format!("program-{pid}"),
        open: 0,
        made,
        rate: 0.0,
        failed: 0,
        refused: 0,
        pool: None,
        batch: Some(1.5),
        p50_ns: Some(1_000_000),
        p99_ns: None,
        all: format!("all of {pid}\nsecond\nthird\n"),
    }
}
