//! What the pool did, counted.

use crate::stats::{self, Bypass, Counter, Phase};
use cmshim_core::pool::Miss;
use std::sync::atomic::{AtomicU64, Ordering};

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
    given_back: AtomicU64,
    /// The program's calls that worked after the pool had made room.
    pub rescued: AtomicU64,
    /// Asynchronous events of ready ones, acknowledged and dropped.
    pub events_dropped: AtomicU64,
    /// Destroyed by the program and kept, and given out again.
    pub parked: AtomicU64,
    pub used_again: AtomicU64,
}

impl Counts {
    /// A creation that was not served.
    pub fn miss(&self, why: Miss) {
        increment(&self.misses[why as usize]);
        stats::add(Counter::PoolEmpty, u64::from(why == Miss::Empty));
        stats::pool_miss(match why {
            Miss::First | Miss::Empty => None,
            Miss::Device => Some(Bypass::PoolDevice),
            Miss::Type => Some(Bypass::PoolType),
            Miss::Unknown => Some(Bypass::PoolUnknown),
            Miss::Changed => Some(Bypass::PoolChanged),
            Miss::Extended => Some(Bypass::PoolAttributes),
            Miss::Threads => Some(Bypass::PoolThreads),
        });
    }

    /// One that lay ready was given to the program.
    pub fn hit(&self, qp_num: u32) {
        increment(&self.hits);
        stats::pool_hit(qp_num);
        stats::take(Counter::PoolIdle, 1);
    }

    /// One lies ready.
    pub fn made(&self) {
        increment(&self.made);
        stats::add(Counter::PoolFilled, 1);
        stats::add(Counter::PoolIdle, 1);
    }

    /// One that lay ready was destroyed, and counted in `which`.
    pub fn destroyed(&self, which: &AtomicU64) {
        increment(which);
        stats::add(Counter::PoolEvicted, 1);
        stats::take(Counter::PoolIdle, 1);
    }

    /// One that lay ready was given back.
    pub fn returned(&self) {
        self.destroyed(&self.given_back);
        stats::add(Counter::PoolGivenBack, 1);
    }

    /// One was handed out, and librdmacm did not ask for it in the end.
    pub fn dropped(&self) {
        increment(&self.evicted);
        stats::add(Counter::PoolEvicted, 1);
    }

    /// One line at info level, if there was anything.
    pub fn log_totals(&self) {
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
        let times = |phase| match (stats::below(phase, 50), stats::below(phase, 99)) {
            (Some(half), Some(most)) => {
                let us = |ns: u64| ns.div_ceil(1000);
                format!("p50 < {} us, p99 < {} us", us(half), us(most))
            }
            _ => "none".to_owned(),
        };
        log::info!(
            "pool: hits {}; misses: {}; made {}, not made {}, evicted {}, given back {}, rescued {}, events dropped {}, \
             parked {}, used again {}; \
             creations served: {}; creations not served: {}; destructions: {}",
            get(&self.hits),
            misses.join(", "),
            get(&self.made),
            get(&self.not_made),
            get(&self.evicted),
            get(&self.given_back),
            get(&self.rescued),
            get(&self.events_dropped),
            get(&self.parked),
            get(&self.used_again),
            times(Phase::CreateQpHit),
            times(Phase::CreateQpMiss),
            times(Phase::DestroyQpMiss),
        );
    }
}

/// One more.
pub fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
