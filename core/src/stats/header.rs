//! Whose file it is.

use super::layout::{self, BYTE_ORDER, HEADER_WORDS, MAGIC, SECTIONS, SECTION_TABLE, VERSION};
use crate::text::packed;

/// The process that wrote the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub pid: u32,
    /// Field 22 of /proc/PID/stat: clock ticks since boot.
    pub start_time: u64,
    pub uid: u32,
    pub boot_id: [u8; 16],
    /// When the file was made: ns since 1970.
    pub realtime_ns: u64,
    /// The same moment on the clock of all other times.
    pub monotonic_ns: u64,
    /// What all processes below one `cmshim run --report` share; 0 for others.
    pub family: u64,
    /// Version of the library.
    pub library: String,
    /// As in /proc/PID/comm.
    pub program: String,
}

impl Header {
    /// The words of the header of a fresh file.
    pub fn encode(&self) -> [u64; HEADER_WORDS] {
        let mut words = [0; HEADER_WORDS];
        words[0] = u64::from_ne_bytes(MAGIC);
        words[1] = u64::from(BYTE_ORDER) << 32 | u64::from(VERSION);
        words[2] = (layout::WORDS * 8) as u64;
        words[3] = u64::from(self.pid);
        words[4] = self.start_time;
        words[5] = u64::from(self.uid);
        let (first, second) = self.boot_id.split_at(8);
        for (word, half) in words[6..8].iter_mut().zip([first, second]) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(half);
            *word = u64::from_ne_bytes(bytes);
        }
        words[8] = self.realtime_ns;
        words[9] = self.monotonic_ns;
        words[11] = self.family;
        words[12..16].copy_from_slice(&packed::pack::<4>(&self.library));
        words[16..24].copy_from_slice(&packed::pack::<8>(&self.program));
        let table = words[SECTION_TABLE..].chunks_exact_mut(3);
        for (section, row) in SECTIONS.iter().zip(table) {
            row.copy_from_slice(&[
                (section.at * 8) as u64,
                section.count as u64,
                (section.words * 8) as u64,
            ]);
        }
        words
    }

    /// From words whose magic, version and size were checked.
    pub(super) fn decode(words: &[u64]) -> Header {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let mut boot_id = [0; 16];
        boot_id[..8].copy_from_slice(&word(6).to_ne_bytes());
        boot_id[8..].copy_from_slice(&word(7).to_ne_bytes());
        Header {
            pid: word(3) as u32,
            start_time: word(4),
            uid: word(5) as u32,
            boot_id,
            realtime_ns: word(8),
            monotonic_ns: word(9),
            family: word(11),
            library: packed::unpack(words.get(12..16).unwrap_or_default()),
            program: packed::unpack(words.get(16..24).unwrap_or_default()),
        }
    }

    /// A time of the file as ns since 1970.
    pub fn wall_ns(&self, monotonic_ns: u64) -> u64 {
        self.realtime_ns
            .saturating_add(monotonic_ns)
            .saturating_sub(self.monotonic_ns)
    }
}
