//! The flight recorder's writing side: a ring of records, each taken by one atomic addition.
//!
//! A record that its writer never finished (killed, cancelled, left by longjmp) has no valid seal and
//! is left out by readers; the next round overwrites it. Nobody waits for anybody.

use super::process_local::Words;
use crate::process::thread::Mark;
use cmshim_core::stats::layout::{HEAD, RECORDER};
use cmshim_core::stats::Record;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Writes a record; its number is given here.
pub fn write(words: &Words, record: Record) -> Mark {
    let number = words[HEAD].fetch_add(1, Ordering::Relaxed) + 1;
    store(slot(words, number), Record { number, ..record }.encode());
    Mark(number)
}

/// The call of a record returned: how it ended, and how long it took (0: not measured).
pub fn end(words: &Words, mark: Mark, status: i32, took_ns: u64) {
    let slot = slot(words, mark.0);
    if let Some(ended) = Record::end(load(slot), mark.0, status, took_ns) {
        store(slot, ended);
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

type Slot = [AtomicU64; RECORDER.words];

/// Here as in `store`: without a loop, which a library built for size would keep.
#[inline(always)]
fn load(slot: &Slot) -> [u64; RECORDER.words] {
    let [a, b, c, d, e, f, g, h] = slot;
    let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
    [
        get(a),
        get(b),
        get(c),
        get(d),
        get(e),
        get(f),
        get(g),
        get(h),
    ]
}

#[inline(always)]
fn slot(words: &Words, number: u64) -> &Slot {
    let at = RECORDER.item(number.wrapping_sub(1) as usize % RECORDER.count);
    let (slots, _) = words[at..].as_chunks();
    &slots[0]
}

/// First the seal is broken, then the words change, then they are sealed again.
#[inline(always)]
fn store(slot: &Slot, words: [u64; RECORDER.words]) {
    let [a, b, c, d, e, f, g, h] = slot;
    let put = |word: &AtomicU64, to| word.store(to, Ordering::Relaxed);
    put(a, 0);
    fence(Ordering::Release);
    put(b, words[1]);
    put(c, words[2]);
    put(d, words[3]);
    put(e, words[4]);
    put(f, words[5]);
    put(g, words[6]);
    put(h, words[7]);
    a.store(words[0], Ordering::Release);
}
