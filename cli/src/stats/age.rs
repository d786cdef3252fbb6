//! When a process last recorded something.

use cmshim_core::stats::{Header, Snapshot, What};
use rustix::time::{clock_gettime, ClockId};
use std::time::Duration;

/// The present, on the clocks of the files.
pub struct Now {
    pub boot_id: Option<[u8; 16]>,
    pub realtime_ns: u64,
    pub monotonic_ns: u64,
}

impl Now {
    pub fn here() -> Now {
        Now {
            boot_id: boot_id(),
            realtime_ns: read(ClockId::Realtime),
            monotonic_ns: read(ClockId::Monotonic),
        }
    }

    /// How long ago a time of a file was. The wall clock may be set, so it is asked only for files that come from
    /// another boot or machine.
    pub fn since(&self, header: &Header, monotonic_ns: u64) -> Duration {
        let ns = if self.boot_id == Some(header.boot_id) {
            self.monotonic_ns.saturating_sub(monotonic_ns)
        } else {
            self.realtime_ns
                .saturating_sub(header.wall_ns(monotonic_ns))
        };
        Duration::from_nanos(ns)
    }
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (s, ns) = (time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u64);
    s.saturating_mul(1_000_000_000).saturating_add(ns)
}

fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16)
        .ok()
        .map(u128::to_be_bytes)
}

/// The latest time in a file, on its own clock.
pub fn last_ns(stats: &Snapshot) -> u64 {
    let records = stats.records.iter().map(|r| match r.what {
        What::Call(_) => r.at_ns.saturating_add(r.extra),
        _ => r.at_ns,
    });
    let reasons = stats.reasons.iter().map(|r| r.last_ns);
    let latest = records.chain(reasons).max().unwrap_or(0);
    latest.max(stats.header.monotonic_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        pid: 1,
        start_time: 0,
        uid: 0,
        boot_id: [1; 16],
        realtime_ns: 1_000_000,
        monotonic_ns: 10,
        family: 0,
        library: String::new(),
        program: String::new(),
    };

    #[test]
    fn the_wall_clock_counts_only_for_other_boots() {
        let now = |boot_id| Now {
            boot_id,
            realtime_ns: 1_005_000,
            monotonic_ns: 60,
        };
        let since = |boot_id| now(boot_id).since(&HEADER, 20).as_nanos();
        assert_eq!(since(Some([1; 16])), 40);
        assert_eq!(since(Some([2; 16])), 4_990);
        assert_eq!(since(None), 4_990);
        let ahead = now(Some([1; 16])).since(&HEADER, 99);
        assert_eq!(ahead, Duration::ZERO);
    }

    #[test]
    fn this_machine_has_a_boot_id_and_clocks() {
        let now = Now::here();
        assert!(now.boot_id.is_some_and(|id| id != [0; 16]));
        assert!(now.realtime_ns > now.monotonic_ns && now.monotonic_ns > 0);
    }
}
