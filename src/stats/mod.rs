//! Statistics: what every part of the library counts and times, in one file for each process.
//!
//! All of it is safe at any place: a counter is one relaxed atomic addition; nothing here takes a lock,
//! allocates or makes a system call, so signal handlers, cancellation and longjmp may come anywhere and
//! nothing needs `boundary::guard`. Before the first RDMA call, in a forked child before its own first one,
//! and where statistics are off, everything is a look at a pointer.

mod calls;
mod clock;
mod events;
mod file;
mod own;
mod peer;
mod place;
mod reasons;
mod recorder;
mod start;
mod starts;

pub use calls::{first_id, id_of, learned, Began};
pub use clock::now_ns;
pub use cmshim_core::stats::{Bypass, Counter, Entry, Phase};
pub use events::{acked, handed_over};
pub use reasons::Kind as Reason;
pub use recorder::Mark;
pub use start::begin;

use cmshim_core::stats::layout::{BATCHES, BYPASSES, COUNTERS, PHASES};
use cmshim_core::stats::{bucket_of, BATCH_SIZES};
use own::Words;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Is anything counted in this process now?
#[inline]
pub fn on() -> bool {
    own::words().is_some()
}

/// Adds to a counter.
#[inline]
pub fn add(counter: Counter, n: u64) {
    if let Some(words) = own::words() {
        bump(words, COUNTERS.item(counter as usize), n);
    }
}

/// Takes from a gauge.
#[inline]
pub fn take(gauge: Counter, n: u64) {
    add(gauge, n.wrapping_neg());
}

/// Something went past the shim.
#[inline]
pub fn bypassed(why: Bypass) {
    if let Some(words) = own::words() {
        bump(words, BYPASSES.item(why as usize), 1);
    }
}

/// One system call brought so many events.
#[inline]
#[allow(dead_code)] // the tap's
pub fn batch(events: usize) {
    if let Some(words) = own::words() {
        bump(words, COUNTERS.item(Counter::Batches as usize), 1);
        let counted = COUNTERS.item(Counter::EventsBatched as usize);
        bump(words, counted, events as u64);
        bump(words, BATCHES.item(events.min(BATCH_SIZES - 1)), 1);
    }
}

/// A phase took this long.
#[inline]
#[allow(dead_code)] // the tap's and the pool's
pub fn time(phase: Phase, took: Duration) {
    time_ns(phase, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
}

/// A phase took this long, in ns.
#[inline]
#[allow(dead_code)] // the tap's and the pool's
pub fn time_ns(phase: Phase, ns: u64) {
    if let Some(words) = own::words() {
        measure(words, phase, ns);
    }
}

/// A finding, counted by code and peer.
pub fn reason(reason: &Reason) {
    if let Some(words) = own::words() {
        bump(words, COUNTERS.item(Counter::Lines as usize), 1);
        reasons::count(words, reason, now_ns());
    }
}

#[inline]
fn bump(words: &Words, at: usize, n: u64) {
    words[at].fetch_add(n, Ordering::Relaxed);
}

/// A histogram's words: sum, largest, buckets.
#[inline]
fn measure(words: &Words, phase: Phase, ns: u64) {
    let at = PHASES.item(phase as usize);
    words[at].fetch_add(ns, Ordering::Relaxed);
    words[at + 1].fetch_max(ns, Ordering::Relaxed);
    bump(words, at + 2 + bucket_of(ns), 1);
}
