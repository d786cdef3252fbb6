//! Where everything lies, in 64-bit words. The writer and the tests use these numbers; the reader
//! takes the offsets from the file and checks them.

pub use super::histogram::PHASE_WORDS;
use super::tables::{Bypass, Counter, Entry, Phase, BATCH_SIZES, EVENT_KINDS, REASONS, RECORDS};
use super::{reason, record};

pub const VERSION: u32 = 1;
pub const MAGIC: [u8; 8] = *b"CMSHSTAT";
/// High half of word 1.
pub const BYTE_ORDER: u32 = 0x0102_0304;
pub const HEADER_WORDS: usize = 64;
/// Records begun, in the header.
pub const HEAD: usize = 10;
/// What tells the process: magic, id, start time, boot id.
pub const SAME_PROCESS: [usize; 5] = [0, 3, 4, 6, 7];
/// First word of the table of sections.
pub const SECTION_TABLE: usize = 24;
pub const ENTRY_WORDS: usize = 3;

/// One section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// First word.
    pub at: usize,
    /// Items.
    pub count: usize,
    /// Words of an item.
    pub words: usize,
}

impl Section {
    const fn after(before: Section, count: usize, words: usize) -> Section {
        Section {
            at: before.at + before.count * before.words,
            count,
            words,
        }
    }

    /// First word of an item.
    pub const fn item(&self, number: usize) -> usize {
        self.at + number * self.words
    }
}

const HEADER: Section = Section {
    at: 0,
    count: 1,
    words: HEADER_WORDS,
};
pub const COUNTERS: Section = Section::after(HEADER, Counter::ALL.len(), 1);
pub const ENTRIES: Section = Section::after(COUNTERS, Entry::ALL.len(), ENTRY_WORDS);
pub const BYPASSES: Section = Section::after(ENTRIES, Bypass::ALL.len(), 1);
pub const EVENTS: Section = Section::after(BYPASSES, EVENT_KINDS + 1, 1);
pub const BATCHES: Section = Section::after(EVENTS, BATCH_SIZES, 1);
pub const PHASES: Section = Section::after(BATCHES, Phase::ALL.len(), PHASE_WORDS);
/// Records are as large as a cache line and lie on one.
pub const RECORDER: Section = Section {
    at: PHASES.item(PHASES.count).next_multiple_of(8),
    count: RECORDS,
    words: record::WORDS,
};
pub const REASON_TABLE: Section = Section::after(RECORDER, REASONS, reason::WORDS);

/// All of them, in the order of the header's table.
pub const SECTIONS: [Section; 8] = [
    COUNTERS,
    ENTRIES,
    BYPASSES,
    EVENTS,
    BATCHES,
    PHASES,
    RECORDER,
    REASON_TABLE,
];

/// Words of the whole file: a whole number of pages of 4 KiB.
pub const WORDS: usize = REASON_TABLE
    .item(REASON_TABLE.count)
    .next_multiple_of(4096 / 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_do_not_overlap_and_the_file_stays_small() {
        let mut end = HEADER_WORDS;
        for section in SECTIONS {
            assert!(section.at >= end);
            end = section.item(section.count);
        }
        assert!(end <= WORDS);
        const { assert!(WORDS * 8 <= 192 * 1024) };
        const { assert!(SECTION_TABLE + 3 * SECTIONS.len() <= HEADER_WORDS) };
        assert_eq!(RECORDER.at % 8, 0);
    }
}
