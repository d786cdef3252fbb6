//! Reading a copy of a file that nobody vouches for.

use super::header::Header;
use super::histogram::Histogram;
use super::layout::{self, Section};
use super::reason::Reason;
use super::record::Record;
use super::tables::{Bypass, Counter, Entry, Phase, RECORDS};
use std::fmt;

/// Larger files are refused before they are read.
pub const MAX_BYTES: u64 = 4 << 20;

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damaged {
    /// It does not begin like a statistics file.
    Foreign,
    /// Of a machine with the other byte order.
    ByteOrder,
    /// Of another version of cmshim: the version of its layout.
    Version(u32),
    /// It is shorter (or longer) than it says.
    Length { says: u64, is: u64 },
    /// A section lies outside the file, or its items have another size.
    Section(usize),
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damaged::Foreign => write!(f, "this is not a statistics file of cmshim"),
            Damaged::ByteOrder => write!(f, "written on a machine with another byte order"),
            Damaged::Version(v) => write!(
                f,
                "its layout has version {v}, and this program reads version {}: use the cmshim of the library's version",
                layout::VERSION
            ),
            Damaged::Length { says, is } => {
                write!(f, "damaged: it says that it has {says} bytes, and has {is}")
            }
            Damaged::Section(number) => write!(f, "damaged: section {number} cannot be right"),
        }
    }
}

impl std::error::Error for Damaged {}

/// Counts of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryCounts {
    /// Calls by the program.
    pub calls: u64,
    /// Calls that librdmacm made itself, inside one of the program's.
    pub inner: u64,
    /// Those of both that failed.
    pub failed: u64,
}

/// Everything that a file says.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub header: Header,
    counters: Vec<u64>,
    entries: Vec<u64>,
    bypasses: Vec<u64>,
    events: Vec<u64>,
    batches: Vec<u64>,
    phases: Vec<Histogram>,
    /// Oldest first.
    pub records: Vec<Record>,
    /// Records that were ever begun; the file keeps the last of them.
    pub begun: u64,
    /// Most frequent first.
    pub reasons: Vec<Reason>,
}

impl Snapshot {
    /// Takes a copy of a file apart.
    pub fn parse(bytes: &[u8]) -> Result<Snapshot, Damaged> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|c| c.try_into().map_or(0, u64::from_ne_bytes))
            .collect();
        check_start(bytes, &words)?;
        let says = words[2];
        if says != bytes.len() as u64 {
            let is = bytes.len() as u64;
            return Err(Damaged::Length { says, is });
        }
        let section = |number| items(&words, number);
        let begun = words[layout::HEAD];
        Ok(Snapshot {
            header: Header::decode(&words),
            counters: section(0)?.to_vec(),
            entries: section(1)?.to_vec(),
            bypasses: section(2)?.to_vec(),
            events: section(3)?.to_vec(),
            batches: section(4)?.to_vec(),
            phases: section(5)?
                .chunks_exact(layout::PHASES.words)
                .map(Histogram::from_words)
                .collect(),
            records: records(section(6)?, begun),
            begun,
            reasons: reasons(section(7)?),
        })
    }

    /// A counter's value.
    pub fn counter(&self, counter: Counter) -> u64 {
        value(&self.counters, counter as usize)
    }

    /// Counts of an entry.
    pub fn entry(&self, entry: Entry) -> EntryCounts {
        let at = entry as usize * layout::ENTRY_WORDS;
        EntryCounts {
            calls: value(&self.entries, at),
            inner: value(&self.entries, at + 1),
            failed: value(&self.entries, at + 2),
        }
    }

    /// How often something went past for this reason.
    pub fn bypass(&self, bypass: Bypass) -> u64 {
        value(&self.bypasses, bypass as usize)
    }

    /// Events of a type that were handed over. Unknown types share `EVENT_KINDS`.
    pub fn event(&self, number: usize) -> u64 {
        value(&self.events, number)
    }

    /// Batches of so many events; `BATCH_SIZES - 1` are all larger ones.
    pub fn batches(&self, size: usize) -> u64 {
        value(&self.batches, size)
    }

    /// The times of a phase.
    pub fn phase(&self, phase: Phase) -> Histogram {
        let found = self.phases.get(phase as usize);
        found.cloned().unwrap_or_default()
    }
}

fn value(values: &[u64], at: usize) -> u64 {
    values.get(at).copied().unwrap_or(0)
}

fn check_start(bytes: &[u8], words: &[u64]) -> Result<(), Damaged> {
    if !bytes.starts_with(&layout::MAGIC) || words.len() < layout::HEADER_WORDS {
        return Err(Damaged::Foreign);
    }
    let (order, version) = ((words[1] >> 32) as u32, words[1] as u32);
    match (order, version) {
        (layout::BYTE_ORDER, layout::VERSION) => Ok(()),
        (layout::BYTE_ORDER, other) => Err(Damaged::Version(other)),
        _ if version == layout::BYTE_ORDER.swap_bytes() => Err(Damaged::ByteOrder),
        _ => Err(Damaged::Foreign),
    }
}

/// The words of a section, as many items of it as this build knows.
fn items(words: &[u64], number: usize) -> Result<&[u64], Damaged> {
    let known: Section = layout::SECTIONS[number];
    let wrong = Damaged::Section(number);
    let row = layout::SECTION_TABLE + 3 * number;
    let [at, count, size] = words[row..row + 3] else {
        return Err(wrong);
    };
    if at % 8 != 0 || size != (known.words * 8) as u64 || at < (layout::HEADER_WORDS * 8) as u64 {
        return Err(wrong);
    }
    let end = count.checked_mul(size).and_then(|l| l.checked_add(at));
    if end.is_none_or(|end| end > (words.len() * 8) as u64) {
        return Err(wrong);
    }
    let at = (at / 8) as usize;
    let length = (count as usize).min(known.count) * known.words;
    words.get(at..at + length).ok_or(wrong)
}

/// The whole records, oldest first. One that is older than the last `RECORDS` was never overwritten,
/// because its successor was being written: it goes too.
fn records(words: &[u64], begun: u64) -> Vec<Record> {
    let whole = words.chunks_exact(layout::RECORDER.words);
    let mut records: Vec<Record> = whole.filter_map(Record::decode).collect();
    records.retain(|r| r.number <= begun && r.number + RECORDS as u64 > begun);
    records.sort_by_key(|r| r.number);
    records
}

fn reasons(words: &[u64]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    let all = words.chunks_exact(layout::REASON_TABLE.words);
    for reason in all.filter_map(Reason::decode) {
        // Two threads that met a new kind at once have each made an item of it.
        match reasons.iter_mut().find(|r| r.same_kind(&reason)) {
            Some(known) => known.join(&reason),
            None => reasons.push(reason),
        }
    }
    reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.code.cmp(&b.code)));
    reasons
}
