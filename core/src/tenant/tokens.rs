//! Connects per second: a token bucket in one word, for all threads and processes that share the word.
//!
//! The word is the theoretical arrival time of the next connect (GCRA): a connect is let through if that
//! lies at most `burst - 1` periods ahead of the clock, and moves it one period on. There is no lock, no
//! refill and nothing to clean up when a process dies.
//!
//! Those who may not write the same word have one each, and read the others': see [`take_among`].
//!
//! All of them have to use the same clock. CLOCK_MONOTONIC is one for the whole host, except in a time namespace of
//! its own.

use super::Rate;
use std::convert::Infallible;
use std::sync::atomic::{fence, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// A thread may be stopped for this long between its look at the clock and the bucket. What is further ahead than the
/// fullest use of the bucket and this is no time of this clock, and counts as a bucket that was just emptied.
const STRAY_NS: u64 = 60_000_000_000;

/// So often somebody else may be faster, before it is as if there were no token.
const ROUNDS: usize = 8;

/// Takes one token at `now_ns`. The error is the time after which one will be there, in ns.
///
/// Never more than `burst + t * per_s` are let through in a time `t`.
pub fn take(tat: &AtomicU64, now_ns: u64, rate: &Rate) -> Result<(), u64> {
    let nobody = || Ok::<u64, Infallible>(0);
    match take_among(tat, nobody, now_ns, rate) {
        Ok(taken) => taken,
        Err(never) => match never {},
    }
}

/// The same, of a bucket that others take from too, of whom each writes a word of his own: `others` reads theirs, and
/// gives the latest. An error of `others` is the outer one, and a token may be lost by it.
///
/// Who takes writes a time that is one period after all words that he knows, and then reads the others again. Of two
/// who do so at once, one at least sees the time of the other; if that is not a period before his, he takes a later
/// one. So each token has a time of its own, a period from all others, and there are never more than with one word. Where
/// many meet at the end of a burst, a time may be lost, which costs one period once.
pub fn take_among<E>(
    tat: &AtomicU64,
    mut others: impl FnMut() -> Result<u64, E>,
    now_ns: u64,
    rate: &Rate,
) -> Result<Result<(), u64>, E> {
    let (period, tolerance) = (rate.period_ns(), rate.tolerance_ns());
    let arrival = |word: u64| match word > sum(now_ns, &[tolerance, period, STRAY_NS]) {
        true => sum(now_ns, &[tolerance]),
        false => word.max(now_ns),
    };
    let mut ahead = arrival(others()?);
    for _ in 0..ROUNDS {
        let next = match move_on(tat, period, |own| {
            let from = arrival(own).max(ahead);
            let early = (from - now_ns).saturating_sub(tolerance);
            if early > 0 {
                Err(early)
            } else {
                Ok(from)
            }
        }) {
            Ok(next) => next,
            Err(early) => return Ok(Err(early)),
        };
        // Written before the others are read, as they do too.
        fence(SeqCst);
        ahead = arrival(others()?);
        if ahead.saturating_add(period) <= next {
            return Ok(Ok(()));
        }
    }
    Ok(Err(period.max(1)))
}

/// Moves the word to one period after what `from` makes of it.
fn move_on(
    tat: &AtomicU64,
    period: u64,
    from: impl Fn(u64) -> Result<u64, u64>,
) -> Result<u64, u64> {
    let mut seen = tat.load(Relaxed);
    loop {
        let next = from(seen)?.saturating_add(period);
        match tat.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
            Ok(_) => return Ok(next),
            Err(other) => seen = other,
        }
    }
}

fn sum(now_ns: u64, more: &[u64]) -> u64 {
    more.iter().fold(now_ns, |sum, n| sum.saturating_add(*n))
}
