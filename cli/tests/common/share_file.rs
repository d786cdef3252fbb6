//! Made-up files in which processes count together.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cmshim_core::tenant::share::{self, header, header_words, row, slot};
use cmshim_core::tenant::{key_of, Policy};
use nix::fcntl::{fcntl, FcntlArg};
use nix::libc;

/// 2026-01-02T03:04:05Z
const LOADED_NS: u64 = 1_767_323_045_000_000_000;

pub struct ShareFile {
    words: Vec<u64>,
    name: String,
}

/// What a row counts beside live connections.
#[derive(Default)]
pub struct Counts {
    pub limit: u64,
    pub allowed: u64,
    pub denied: u64,
    pub over: u64,
    pub fast: u64,
    pub observed: u64,
}

impl ShareFile {
    pub fn new(policy: &Path) -> ShareFile {
        let policy = policy.to_str().unwrap();
        let mut words = vec![0; share::WORDS];
        words[..share::HEADER_WORDS].copy_from_slice(&header_words(policy));
        ShareFile {
            words,
            name: share::file_name(policy.as_bytes(), 0),
        }
    }

    /// A process that has read this text.
    pub fn slot(
        mut self,
        number: usize,
        pid: u64,
        comm: &[u8; 8],
        state: u64,
        text: &str,
    ) -> ShareFile {
        let at = share::slot_at(number);
        self.words[at + slot::PID] = pid;
        self.words[at + slot::STATE] = state;
        self.words[at + slot::FINGERPRINT] = Policy::fingerprint_of(text.as_bytes());
        self.words[at + slot::LOADED_AT] = LOADED_NS;
        self.words[at + slot::RELOADS] = number as u64;
        self.words[at + slot::COMM] = u64::from_ne_bytes(*comm);
        self.words[header::SLOTS_USED] = self.words[header::SLOTS_USED].max(number as u64 + 1);
        self
    }

    /// A tenant or egress rule, with live connections by slot.
    pub fn row(
        mut self,
        name: &str,
        egress: Option<usize>,
        counts: Counts,
        live: &[(usize, u32)],
    ) -> ShareFile {
        let key = key_of(name, egress);
        let place = (key % share::ROWS as u64) as usize;
        let at = share::row_at(place);
        assert_eq!(self.words[at], 0, "choose another name: no search here");
        self.words[at + row::KEY] = key;
        let mut padded = [0; 64];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        for (word, piece) in padded.chunks_exact(8).enumerate() {
            self.words[at + row::NAME + word] = u64::from_ne_bytes(piece.try_into().unwrap());
        }
        for (word, value) in [
            (row::LIMIT, counts.limit),
            (row::ALLOWED, counts.allowed),
            (row::DENIED, counts.denied),
            (row::OVER_LIMIT, counts.over),
            (row::RATE, counts.fast),
            (row::WOULD_REFUSE, counts.observed),
        ] {
            self.words[at + word] = value;
        }
        for (slot, count) in live {
            let half = share::count_at(*slot, place);
            let mut bytes = self.words[half / 2].to_ne_bytes();
            bytes[half % 2 * 4..][..4].copy_from_slice(&count.to_ne_bytes());
            self.words[half / 2] = u64::from_ne_bytes(bytes);
        }
        self
    }

    /// Another file of the same policy.
    pub fn which(mut self, which: u64) -> ShareFile {
        self.name = format!("{}{which:016x}", share::beginning_of(&self.name).unwrap());
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    /// Below this directory; the processes of these slots live for as long as the value is there.
    pub fn write(&self, dir: &Path, live: &[usize]) -> (PathBuf, Vec<File>) {
        let path = dir.join(&self.name);
        fs::write(&path, self.bytes()).unwrap();
        let held = live.iter().map(|slot| lock(&path, *slot)).collect();
        (path, held)
    }
}

/// As the library holds it: an open file description of its own, byte `slot`.
fn lock(path: &Path, slot: usize) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: slot as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).unwrap();
    file
}
