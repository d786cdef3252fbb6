//! What the pool did, counted.

use crate::boundary::shim::Shim;
use crate::stats::{self, Bypass, Counter};
use cmshim_core::pool::Miss;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of buckets: the last one begins at 2^38 ns, about 4.6 minutes.
const BUCKETS: usize = 40;

/// Durations, counted by powers of two of a nanosecond: bucket N holds those below 2^N.
pub struct Times([AtomicU64; BUCKETS]);

impl Default for Times {
    fn default() -> Times {
        Times(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Times {
    pub fn add(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = (64 - nanos.leading_zeros() as usize).min(BUCKETS - 1);
        self.0[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Upper end of the bucket that holds the given share, in nanoseconds; `None` if nothing was counted.
    pub fn below(&self, percent: u64) -> Option<u64> {
        let counts: Vec<u64> = self.0.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut sum = 0;
        counts.iter().enumerate().find_map(|(bucket, count)| {
            sum += count;
            (sum >= wanted).then_some(1 << bucket)
        })
    }
}

#[derive(Default)]
pub struct Counts {
    hits: AtomicU64,
    misses: [AtomicU64; Miss::ALL.len()],
    /// Made by the keeper.
    made: AtomicU64,
    /// That the keeper tried and could not make.
    pub not_made: AtomicU64,
    /// Destroyed because what they stood on went away, or memory ran out.
    pub evicted: AtomicU64,
    /// Given back because nobody needed them.
    pub given_back: AtomicU64,
    /// The program's calls that worked after the pool had made room.
    pub rescued: AtomicU64,
    /// Asynchronous events of ready ones, acknowledged and dropped.
    pub events_dropped: AtomicU64,
    hit_times: Times,
    pub miss_times: Times,
    /// The program's own destructions.
    pub destroy_times: Times,
}

impl Counts {
    /// A creation that was not served.
    pub fn miss(&self, why: Miss) {
        one(&self.misses[why as usize]);
        stats::pool_miss(match why {
            Miss::First | Miss::Empty => None,
            Miss::Device => Some(Bypass::PoolDevice),
            Miss::Type | Miss::Unknown | Miss::Changed | Miss::Extended => {
                Some(Bypass::PoolAttributes)
            }
        });
    }

    /// One that lay ready was given to the program.
    pub fn hit(&self, qp_num: u32, took: Duration) {
        one(&self.hits);
        self.hit_times.add(took);
        stats::pool_hit(qp_num);
        stats::take(Counter::PoolIdle, 1);
    }

    /// One lies ready.
    pub fn made(&self) {
        one(&self.made);
        stats::add(Counter::PoolFilled, 1);
        stats::add(Counter::PoolIdle, 1);
    }

    /// One that lay ready was destroyed, and counted in `which`.
    pub fn destroyed(&self, which: &AtomicU64) {
        one(which);
        stats::add(Counter::PoolEvicted, 1);
        stats::take(Counter::PoolIdle, 1);
    }

    /// One was handed out, and librdmacm did not ask for it in the end.
    pub fn dropped(&self) {
        one(&self.evicted);
        stats::add(Counter::PoolEvicted, 1);
    }

    /// One line at info level, if there was anything.
    pub fn tell(&self) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let misses: Vec<String> = Miss::ALL
            .into_iter()
            .map(|why| (why.word(), get(&self.misses[why as usize])))
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!("{word} {count}"))
            .collect();
        if get(&self.hits) == 0 && misses.is_empty() {
            return;
        }
        let times = |times: &Times| {
            let below = |percent| {
                let nanos = times.below(percent)?;
                Some(format!("{}", nanos.div_ceil(1000)))
            };
            match (below(50), below(99)) {
                (Some(half), Some(most)) => format!("p50 < {half} us, p99 < {most} us"),
                _ => "none".to_owned(),
            }
        };
        log::info!(
            "pool: hits {}; misses: {}; made {}, not made {}, evicted {}, given back {}, rescued {}, events dropped {}; \
             creations served: {}; creations not served: {}; destructions: {}",
            get(&self.hits),
            misses.join(", "),
            get(&self.made),
            get(&self.not_made),
            get(&self.evicted),
            get(&self.given_back),
            get(&self.rescued),
            get(&self.events_dropped),
            times(&self.hit_times),
            times(&self.miss_times),
            times(&self.destroy_times),
        );
    }
}

/// A destruction of the program's own begins.
pub fn destroys(shim: &'static Shim) -> Option<(&'static Counts, Instant)> {
    super::enabled(shim).then(|| (&shim.state().pool.counts, Instant::now()))
}

/// It is over. (Outside of the guard: nothing but counters is touched.)
pub fn destroyed(timed: Option<(&'static Counts, Instant)>) {
    if let Some((counts, since)) = timed {
        counts.destroy_times.add(since.elapsed());
    }
}

/// One more.
pub fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_nearly_all_of_the_durations_are_told() {
        let times = Times::default();
        assert_eq!(times.below(50), None);
        for _ in 0..98 {
            times.add(Duration::from_nanos(900));
        }
        times.add(Duration::from_micros(900));
        times.add(Duration::from_secs(100_000));
        assert_eq!(times.below(50), Some(1024));
        assert_eq!(times.below(99), Some(1 << 20));
        assert_eq!(times.below(100), Some(1 << (BUCKETS - 1)));
    }
}
