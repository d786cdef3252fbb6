//! The files in which the processes of a host that use the same policy count together.
//!
//! Each user has a file of his own: only its processes map and write it, with single atomic operations. Where several
//! users count together, each reads the files of the others, and adds up. So nobody can change what another one counts.
//! Readers copy a file, or a part of it, and take the copy apart with [`Share::parse`] and [`RowCopy`]. Nothing in it is
//! trusted.
//!
//! # The file
//!
//! It lies below `tenant.dir` under [`file_name`], may be read by its user only (0600), or by the group of a directory
//! that this group may write in (0640), and is never cut. 64-bit words in the byte order of the machine:
//!
//! | words | what |
//! |---|---|
//! | 0 | the bytes `CMSHTENT` |
//! | 1 | low half: version of the layout ([`VERSION`]); high half: 0x01020304, which shows the byte order |
//! | 2 | length of the file in bytes |
//! | 3, 4 | number of rows, of slots |
//! | 5 | slots that were ever in use: later ones need not be looked at |
//! | 6 | not 0: the file is about to be removed, and no process may begin to count in it |
//! | 8–135 | the policy's path, UTF-8, padded with zero bytes |
//! | from [`SLOTS_AT`] | slots of [`SLOT_WORDS`] words, see [`slot`]: one for each process |
//! | from [`ROWS_AT`] | rows of [`ROW_WORDS`] words, see [`row`]: one for each tenant or egress rule, found by its key from place `key % ROWS` on. Its last part are halves of words: the live connections of each slot |
//!
//! # Life
//!
//! The process of slot `s` holds an open file description lock (`F_OFD_SETLK`, for writing) on byte `s` of the
//! file, from before it counts until it dies. A slot without such a lock belongs to none, and its counts mean
//! nothing. So a process that is killed gives back its share without anybody's help. Who may only read the file can
//! have no lock for writing, so nobody else can make a dead process look alive.

use super::fnv;
use crate::text::packed;
use std::fmt;

pub const MAGIC: [u8; 8] = *b"CMSHTENT";
pub const VERSION: u32 = 2;
/// High half of word 1.
pub const BYTE_ORDER: u32 = 0x0102_0304;

pub const HEADER_WORDS: usize = 256;
/// Words of the header.
pub mod header {
    pub const LENGTH: usize = 2;
    pub const ROWS: usize = 3;
    pub const SLOTS: usize = 4;
    pub const SLOTS_USED: usize = 5;
    /// Not 0: no process may begin to count here any more.
    pub const RETIRED: usize = 6;
    pub const PATH: usize = 8;
    pub const PATH_WORDS: usize = 128;
}

pub const ROWS: usize = 1_024;
pub const ROW_WORDS: usize = row::COUNTS + SLOTS / 2;
/// Words of a row.
pub mod row {
    /// [`Subject::key`](crate::tenant::Subject::key); 0 for a free row, claimed by compare-and-swap.
    pub const KEY: usize = 0;
    /// The tenant's name, UTF-8, padded with zero bytes.
    pub const NAME: usize = 1;
    pub const NAME_WORDS: usize = 8;
    /// Live connections that the host may have now; 0 for no limit.
    pub const LIMIT: usize = 9;
    /// See [`tokens`](crate::tenant::tokens): CLOCK_MONOTONIC, ns.
    pub const ARRIVAL: usize = 10;
    pub const ALLOWED: usize = 11;
    /// Refused by a rule, by a default, or by the program's own check.
    pub const DENIED: usize = 12;
    pub const OVER_LIMIT: usize = 13;
    pub const RATE: usize = 14;
    /// Let through because the policy only observes.
    pub const WOULD_REFUSE: usize = 15;
    /// Here begin the live connections, 32 bits for each slot.
    pub const COUNTS: usize = 16;
}

pub const SLOTS: usize = 512;
pub const SLOT_WORDS: usize = 16;
/// Words of a slot.
pub mod slot {
    pub const PID: usize = 0;
    /// Field 22 of /proc/PID/stat.
    pub const START_TIME: usize = 1;
    /// When the policy in effect was read: CLOCK_REALTIME, ns.
    pub const LOADED_AT: usize = 2;
    /// Of the policy in effect.
    pub const FINGERPRINT: usize = 3;
    /// One of the numbers below, perhaps with [`BROKEN`].
    pub const STATE: usize = 4;
    pub const RELOADS: usize = 5;
    /// As in /proc/PID/comm.
    pub const COMM: usize = 6;
    pub const COMM_WORDS: usize = 2;

    pub const ENFORCES: u64 = 1;
    pub const OBSERVES: u64 = 2;
    /// There is no policy, and nobody may connect.
    pub const CLOSED: u64 = 3;
    /// There is no policy, and everybody may connect.
    pub const OPEN: u64 = 4;
    /// Added when the file on disk is broken and an older policy stays in effect.
    pub const BROKEN: u64 = 256;
}

pub const SLOTS_AT: usize = HEADER_WORDS;
pub const ROWS_AT: usize = SLOTS_AT + SLOTS * SLOT_WORDS;
/// Words of the whole file.
pub const WORDS: usize = ROWS_AT + ROWS * ROW_WORDS;
/// Bytes of the whole file.
pub const BYTES: usize = WORDS * 8;

/// First word of a row.
pub const fn row_at(row: usize) -> usize {
    ROWS_AT + row * ROW_WORDS
}

/// First word of a slot.
pub const fn slot_at(slot: usize) -> usize {
    SLOTS_AT + slot * SLOT_WORDS
}

/// Where the count of a slot and row lies, in halves of words (32 bits).
pub const fn count_at(slot: usize, row: usize) -> usize {
    (row_at(row) + row::COUNTS) * 2 + slot
}

/// How names begin.
const BEGINNING: &str = "tenants-";

/// A file's name for a policy, given by its name in its real directory. Of several files of a policy, `which` tells them
/// apart: the first one of a user has his number.
pub fn file_name(policy: &[u8], which: u64) -> String {
    format!("{}{which:016x}", beginning(policy))
}

/// How the names of all files of a policy begin.
pub fn beginning(policy: &[u8]) -> String {
    format!("{BEGINNING}{:016x}-", fnv::hash(policy))
}

/// The beginning of such a file's name, which is the same for all files of its policy; `None` for other names.
pub fn beginning_of(name: &str) -> Option<&str> {
    let (policy, which) = name.strip_prefix(BEGINNING)?.split_once('-')?;
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let number = |digits: &str| digits.len() == 16 && digits.bytes().all(hex);
    (number(policy) && number(which)).then(|| &name[..name.len() - which.len()])
}

/// Where a key's row is looked for, one after the other, until there is one that is free.
pub fn places_of(key: u64) -> impl Iterator<Item = usize> {
    let first = (key % ROWS as u64) as usize;
    (0..ROWS).map(move |step| (first + step) % ROWS)
}

/// The header of a new file.
pub fn header_words(policy: &str) -> [u64; HEADER_WORDS] {
    let mut words = [0; HEADER_WORDS];
    words[0] = u64::from_ne_bytes(MAGIC);
    words[1] = u64::from(BYTE_ORDER) << 32 | u64::from(VERSION);
    words[header::LENGTH] = BYTES as u64;
    words[header::ROWS] = ROWS as u64;
    words[header::SLOTS] = SLOTS as u64;
    let path = packed::pack::<{ header::PATH_WORDS }>(policy);
    words[header::PATH..header::PATH + header::PATH_WORDS].copy_from_slice(&path);
    words
}

/// Why a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// It does not begin like such a file.
    Foreign,
    /// Of a machine with the other byte order.
    ByteOrder,
    /// The version of its layout.
    Version(u32),
    Length {
        says: u64,
        is: u64,
    },
    /// Its numbers of rows or slots are not those of this version.
    Numbers,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damaged::Foreign => f.write_str("this is not a file of cmshim for tenants"),
            Damaged::ByteOrder => f.write_str("written on a machine with another byte order"),
            Damaged::Version(v) => write!(
                f,
                "its layout has version {v}, and this program knows version {VERSION}"
            ),
            Damaged::Length { says, is } => {
                write!(f, "damaged: it says that it has {says} bytes, and has {is}")
            }
            Damaged::Numbers => {
                f.write_str("damaged: its numbers of rows and slots cannot be right")
            }
        }
    }
}

impl std::error::Error for Damaged {}

/// One tenant or egress rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Place in the file.
    pub number: usize,
    pub key: u64,
    pub name: String,
    /// `None` for no limit.
    pub limit: Option<u64>,
    pub arrival_ns: u64,
    pub allowed: u64,
    pub denied: u64,
    pub over_limit: u64,
    pub rate: u64,
    pub would_refuse: u64,
}

/// One process. Whether it lives tells the lock on byte `number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub number: usize,
    pub pid: u32,
    pub start_time: u64,
    pub loaded_ns: u64,
    pub fingerprint: u64,
    /// One of the numbers in [`slot`], without [`slot::BROKEN`].
    pub state: u64,
    pub broken: bool,
    pub reloads: u64,
    pub comm: String,
}

/// A copy of a file that nobody vouches for.
#[derive(Debug, Clone)]
pub struct Share {
    /// Of the policy.
    pub path: String,
    /// Those in use.
    pub rows: Vec<Row>,
    /// Those that were ever taken; the processes of some may be dead.
    pub slots: Vec<Slot>,
    words: Vec<u64>,
}

impl Share {
    /// Takes a copy of a file apart.
    pub fn parse(bytes: &[u8]) -> Result<Share, Damaged> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|c| c.try_into().map_or(0, u64::from_ne_bytes))
            .collect();
        check(bytes, &words)?;
        let part = |at: usize, length: usize| words.get(at..at + length).unwrap_or_default();
        let rows = (0..ROWS).map(|number| Row::read(number, part(row_at(number), ROW_WORDS)));
        let slots = (0..SLOTS).map(|number| Slot::read(number, part(slot_at(number), SLOT_WORDS)));
        Ok(Share {
            path: packed::unpack(part(header::PATH, header::PATH_WORDS)),
            rows: rows.flatten().collect(),
            slots: slots.flatten().collect(),
            words,
        })
    }

    /// Live connections of a slot in a row, by their numbers.
    pub fn live(&self, slot: usize, row: usize) -> u32 {
        if slot >= SLOTS || row >= ROWS {
            return 0;
        }
        half_of(&self.words, count_at(slot, row))
    }
}

/// A copy of one row, of a file that nobody vouches for.
pub struct RowCopy([u64; ROW_WORDS]);

impl RowCopy {
    /// From the bytes of the row.
    pub fn new(bytes: &[u8; ROW_WORDS * 8]) -> RowCopy {
        let mut words = [0; ROW_WORDS];
        for (word, piece) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = piece.try_into().map_or(0, u64::from_ne_bytes);
        }
        RowCopy(words)
    }

    /// 0 for a free row.
    pub fn key(&self) -> u64 {
        self.0[row::KEY]
    }

    pub fn arrival_ns(&self) -> u64 {
        self.0[row::ARRIVAL]
    }

    /// The slots that have live connections, and how many.
    pub fn live(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let count = |slot| (slot, half_of(&self.0, row::COUNTS * 2 + slot));
        (0..SLOTS).map(count).filter(|(_, count)| *count != 0)
    }
}

/// 32 bits of a list of words.
fn half_of(words: &[u64], half: usize) -> u32 {
    let bytes = words.get(half / 2).copied().unwrap_or(0).to_ne_bytes();
    let at = half % 2 * 4;
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn check(bytes: &[u8], words: &[u64]) -> Result<(), Damaged> {
    if !bytes.starts_with(&MAGIC) || words.len() < HEADER_WORDS {
        return Err(Damaged::Foreign);
    }
    let (order, version) = ((words[1] >> 32) as u32, words[1] as u32);
    if order != BYTE_ORDER {
        return Err(match version == BYTE_ORDER.swap_bytes() {
            true => Damaged::ByteOrder,
            false => Damaged::Foreign,
        });
    }
    if version != VERSION {
        return Err(Damaged::Version(version));
    }
    let (says, is) = (words[header::LENGTH], bytes.len() as u64);
    if says != is || is != BYTES as u64 {
        return Err(Damaged::Length { says, is });
    }
    match (words[header::ROWS], words[header::SLOTS]) == (ROWS as u64, SLOTS as u64) {
        true => Ok(()),
        false => Err(Damaged::Numbers),
    }
}

impl Row {
    fn read(number: usize, words: &[u64]) -> Option<Row> {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let name = words.get(row::NAME..row::NAME + row::NAME_WORDS);
        (word(row::KEY) != 0).then(|| Row {
            number,
            key: word(row::KEY),
            name: packed::unpack(name.unwrap_or_default()),
            limit: Some(word(row::LIMIT)).filter(|limit| *limit != 0),
            arrival_ns: word(row::ARRIVAL),
            allowed: word(row::ALLOWED),
            denied: word(row::DENIED),
            over_limit: word(row::OVER_LIMIT),
            rate: word(row::RATE),
            would_refuse: word(row::WOULD_REFUSE),
        })
    }
}

impl Slot {
    fn read(number: usize, words: &[u64]) -> Option<Slot> {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let comm = words.get(slot::COMM..slot::COMM + slot::COMM_WORDS);
        (word(slot::PID) != 0).then(|| Slot {
            number,
            pid: word(slot::PID) as u32,
            start_time: word(slot::START_TIME),
            loaded_ns: word(slot::LOADED_AT),
            fingerprint: word(slot::FINGERPRINT),
            state: word(slot::STATE) & !slot::BROKEN,
            broken: word(slot::STATE) & slot::BROKEN != 0,
            reloads: word(slot::RELOADS),
            comm: packed::unpack(comm.unwrap_or_default()),
        })
    }
}
