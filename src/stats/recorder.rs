//! The flight recorder's writing side: a ring of records, each taken by one atomic addition.
//!
//! A record that its writer never finished (killed, cancelled, left by longjmp) has no valid seal and
//! is left out by readers; the next round overwrites it. Nobody waits for anybody.

use super::own::Words;
use cmshim_core::stats::layout::{HEAD, RECORDER};
use cmshim_core::stats::Record;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Names a record that was written; 0 names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(u64);

impl Mark {
    pub const NONE: Mark = Mark(0);
}

/// Writes a record; its number is given here.
pub fn write(words: &Words, record: Record) -> Mark {
    let number = words[HEAD].fetch_add(1, Ordering::Relaxed) + 1;
    store(slot(words, number), Record { number, ..record }.encode());
    Mark(number)
}

/// The call of a record returned: how it ended, and how long it took (0: not measured).
#[inline]
pub fn end(words: &Words, mark: Mark, status: i32, took_ns: u64) {
    let slot = slot(words, mark.0);
    let mut copy = load(slot);
    if Record::end(&mut copy, mark.0, status, took_ns) {
        store(slot, copy);
    }
}

/// Changes a record, if it was not overwritten meanwhile.
pub fn change(words: &Words, mark: Mark, how: impl FnOnce(&mut Record)) {
    if mark == Mark::NONE {
        return;
    }
    let slot = slot(words, mark.0);
    if let Some(mut record) = Record::decode(&load(slot)).filter(|r| r.number == mark.0) {
        how(&mut record);
        store(slot, record.encode());
    }
}

#[inline]
fn load(slot: &[AtomicU64]) -> [u64; RECORDER.words] {
    std::array::from_fn(|at| slot[at].load(Ordering::Relaxed))
}

#[inline]
fn slot(words: &Words, number: u64) -> &[AtomicU64] {
    let at = RECORDER.item(number.wrapping_sub(1) as usize % RECORDER.count);
    &words[at..at + RECORDER.words]
}

/// First the seal is broken, then the words change, then they are sealed again.
#[inline]
fn store(slot: &[AtomicU64], words: [u64; RECORDER.words]) {
    slot[0].store(0, Ordering::Relaxed);
    fence(Ordering::Release);
    for (to, from) in slot.iter().zip(words).skip(1) {
        to.store(from, Ordering::Relaxed);
    }
    slot[0].store(words[0], Ordering::Release);
}
