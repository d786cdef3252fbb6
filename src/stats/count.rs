//! The counting itself: what every part of the library calls.

use super::process_local::{self, Words};
use super::{probes, reasons, Bypass, Counter, Phase};
use crate::sys::clock;
use cmshim_core::stats::layout::{BATCHES, BYPASSES, COUNTERS, PHASES};
use cmshim_core::stats::{bucket_bounds, bucket_of, BATCH_SIZES, BUCKETS};
use std::sync::atomic::Ordering;

/// Is anything counted in this process now?
#[inline]
pub fn on() -> bool {
    process_local::words().is_some()
}

/// Adds to a counter.
#[inline]
pub fn add(counter: Counter, n: u64) {
    if let Some(words) = process_local::words() {
        bump(words, COUNTERS.item(counter as usize), n);
    }
}

/// Takes from a gauge.
#[inline]
pub fn take(gauge: Counter, n: u64) {
    add(gauge, n.wrapping_neg());
}

/// A gauge's value, where it is known as a whole.
#[inline]
pub fn set(gauge: Counter, value: u64) {
    if let Some(words) = process_local::words() {
        words[COUNTERS.item(gauge as usize)].store(value, Ordering::Relaxed);
    }
}

/// Something went past the shim.
#[inline]
pub fn bypassed(why: Bypass) {
    if let Some(words) = process_local::words() {
        bump(words, BYPASSES.item(why as usize), 1);
    }
}

/// One system call brought so many events, perhaps none.
#[inline]
pub fn batch(events: usize) {
    if let Some(words) = process_local::words() {
        if events > 0 {
            bump(words, COUNTERS.item(Counter::Batches as usize), 1);
            let counted = COUNTERS.item(Counter::EventsBatched as usize);
            bump(words, counted, events as u64);
        }
        bump(words, BATCHES.item(events.min(BATCH_SIZES - 1)), 1);
    }
}

/// The pool served a queue pair.
#[inline]
pub fn pool_hit(qp_num: u32) {
    probes::pool_hit(qp_num);
    add(Counter::PoolHits, 1);
}

/// The pool could not serve a queue pair: it went past it for a reason, or the pool was empty.
#[inline]
pub fn pool_miss(why: Option<Bypass>) {
    probes::pool_miss(why.map_or(-1, |why| why as i32));
    match why {
        Some(why) => bypassed(why),
        None => add(Counter::PoolMisses, 1),
    }
}

/// What the given share of a phase's times is below, in ns; `None` if there is none.
pub fn below(phase: Phase, percent: u64) -> Option<u64> {
    let words = process_local::words()?;
    let at = PHASES.item(phase as usize) + 2;
    let buckets = || (0..BUCKETS).map(|b| words[at + b].load(Ordering::Relaxed));
    let wanted = (buckets().sum::<u64>() * percent).div_ceil(100).max(1);
    let mut sum = 0;
    let reached = |count| {
        sum += count;
        sum >= wanted
    };
    buckets().position(reached).map(|b| bucket_bounds(b).1)
}

/// A finding, counted by code and peer.
pub fn reason(reason: &reasons::Kind) {
    if let Some(words) = process_local::words() {
        bump(words, COUNTERS.item(Counter::Lines as usize), 1);
        reasons::count(words, reason, clock::now_ns());
    }
}

#[inline]
pub(super) fn bump(words: &Words, at: usize, n: u64) {
    words[at].fetch_add(n, Ordering::Relaxed);
}

/// A histogram's words: sum, largest, buckets.
#[inline]
pub(super) fn measure(words: &Words, phase: Phase, ns: u64) {
    let at = PHASES.item(phase as usize);
    words[at].fetch_add(ns, Ordering::Relaxed);
    // Seldom, and an atomic maximum is a loop.
    if words[at + 1].load(Ordering::Relaxed) < ns {
        words[at + 1].fetch_max(ns, Ordering::Relaxed);
    }
    bump(words, at + 2 + bucket_of(ns), 1);
}
