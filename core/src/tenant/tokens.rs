//! Connects per second: a token bucket in one word, for all threads and processes that share the word.
//!
//! The word is the theoretical arrival time of the next connect (GCRA): a connect is let through if that
//! lies at most `burst - 1` periods ahead of the clock, and moves it one period on. There is no lock, no
//! refill and nothing to clean up when a process dies.
//!
//! All who share the word have to use the same clock. CLOCK_MONOTONIC is one for the whole host, except in
//! a time namespace of its own.

use super::Rate;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A thread may be stopped for this long between its look at the clock and the bucket. What is further ahead than the
/// fullest use of the bucket and this is no time of this clock, and counts as a bucket that was just emptied.
const STRAY_NS: u64 = 60_000_000_000;

/// Takes one token at `now_ns`. The error is the time after which one will be there, in ns.
///
/// Never more than `burst + t * per_s` are let through in a time `t`.
pub fn take(tat: &AtomicU64, now_ns: u64, rate: &Rate) -> Result<(), u64> {
    let (period, tolerance) = (rate.period_ns(), rate.tolerance_ns());
    let mut seen = tat.load(Relaxed);
    loop {
        let stray = seen > sum(now_ns, &[tolerance, period, STRAY_NS]);
        let arrival = match stray {
            true => sum(now_ns, &[tolerance]),
            false => seen.max(now_ns),
        };
        let early = (arrival - now_ns).saturating_sub(tolerance);
        if early > 0 {
            return Err(early);
        }
        let next = arrival.saturating_add(period);
        match tat.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
            Ok(_) => return Ok(()),
            Err(other) => seen = other,
        }
    }
}

fn sum(now_ns: u64, more: &[u64]) -> u64 {
    more.iter().fold(now_ns, |sum, n| sum.saturating_add(*n))
}
