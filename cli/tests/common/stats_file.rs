//! Made-up statistics files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cmshim_core::model::{Stage, Who};
use cmshim_core::stats::layout::{
    BATCHES, BYPASSES, COUNTERS, ENTRIES, EVENTS, HEAD, PHASES, REASON_TABLE, RECORDER, WORDS,
};
use cmshim_core::stats::{
    bucket_of, Bypass, Counter, Entry, Header, Peer, Phase, Reason, Record, What,
};
use rustix::fs::{flock, FlockOperation};

/// 2026-01-02T03:04:05Z, on the clock of all other times 1000 s.
pub const MADE_REALTIME_NS: u64 = 1_767_323_045_000_000_000;
pub const MADE_NS: u64 = 1_000_000_000_000;

pub struct StatsFile {
    pub header: Header,
    words: Vec<u64>,
    reasons: usize,
}

impl StatsFile {
    /// Of a process of this user, in another boot.
    pub fn new(pid: u32, program: &str) -> StatsFile {
        StatsFile {
            header: Header {
                pid,
                start_time: 1,
                uid: rustix::process::geteuid().as_raw(),
                boot_id: [7; 16],
                realtime_ns: MADE_REALTIME_NS,
                monotonic_ns: MADE_NS,
                family: 0,
                library: "0.1.0".into(),
                program: program.into(),
            },
            words: vec![0; WORDS],
            reasons: 0,
        }
    }

    /// As if it were made just now.
    pub fn fresh(mut self) -> StatsFile {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        self.header.realtime_ns = now.as_nanos() as u64;
        self
    }

    pub fn counter(mut self, counter: Counter, value: u64) -> StatsFile {
        self.words[COUNTERS.item(counter as usize)] = value;
        self
    }

    pub fn entry(mut self, entry: Entry, counts: [u64; 3]) -> StatsFile {
        let at = ENTRIES.item(entry as usize);
        self.words[at..at + 3].copy_from_slice(&counts);
        self
    }

    pub fn bypass(mut self, bypass: Bypass, value: u64) -> StatsFile {
        self.words[BYPASSES.item(bypass as usize)] = value;
        self
    }

    pub fn event(mut self, number: usize, value: u64) -> StatsFile {
        self.words[EVENTS.item(number)] = value;
        self
    }

    pub fn batch(mut self, size: usize, value: u64) -> StatsFile {
        self.words[BATCHES.item(size)] = value;
        self
    }

    pub fn times(mut self, phase: Phase, times_ns: &[u64]) -> StatsFile {
        let at = PHASES.item(phase as usize);
        for ns in times_ns {
            self.words[at] += ns;
            self.words[at + 1] = self.words[at + 1].max(*ns);
            self.words[at + 2 + bucket_of(*ns)] += 1;
        }
        self
    }

    pub fn reason(mut self, count: u64, over: u64, code: &str, peer: &str) -> StatsFile {
        let reason = Reason {
            count,
            over,
            last_ns: MADE_NS + 2_000_000_000,
            code: code.into(),
            peer: Peer::of(format!("{peer}:0").parse().unwrap()),
            who: Some(Who::PeerKernel),
            stage: Some(Stage::Connect),
        };
        let at = REASON_TABLE.item(self.reasons);
        self.words[at..at + REASON_TABLE.words].copy_from_slice(&reason.encode());
        self.reasons += 1;
        self
    }

    /// The next record, so many microseconds after the file was made.
    pub fn record(mut self, us: u64, id: u64, what: What, status: i32, peer: &str) -> StatsFile {
        let number = self.words[HEAD] + 1;
        let record = Record {
            number,
            at_ns: MADE_NS + us * 1000,
            id,
            what,
            status,
            peer: peer.parse().map(Peer::of).unwrap_or_default(),
            qp_num: 0,
            extra: 0,
        };
        let at = RECORDER.item((number as usize - 1) % RECORDER.count);
        self.words[at..at + RECORDER.words].copy_from_slice(&record.encode());
        self.words[HEAD] = number;
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut words = self.words.clone();
        let header = self.header.encode();
        for (at, word) in header.iter().enumerate().filter(|(at, _)| *at != HEAD) {
            words[at] = *word;
        }
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    /// Of a dead process.
    pub fn write(&self, path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.bytes()).unwrap();
        path.to_owned()
    }

    /// Of a process that lives for as long as the value is there: whoever holds the lock.
    pub fn write_alive(&self, path: &Path) -> File {
        let file = File::open(self.write(path)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        file
    }
}
