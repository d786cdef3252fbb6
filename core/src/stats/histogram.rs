//! Histograms of times: 32 buckets for each doubling, so that a value is known within 3 %.

/// Buckets for each doubling, as a power of two.
const STEP_BITS: u32 = 5;
/// The smallest value that is told from zero, in ns: below it all fall into the first bucket.
pub const MIN_NS: u64 = 1 << FIRST;
/// The largest value that is told apart, in ns (about 275 s); above it all fall into the last bucket.
pub const MAX_NS: u64 = 1 << LAST;
const FIRST: u32 = 9;
const LAST: u32 = 38;
/// Below `MIN_NS`, 29 doublings of 32 buckets, `MAX_NS` and above.
pub const BUCKETS: usize = 1 + (((LAST - FIRST) as usize) << STEP_BITS) + 1;

/// Words of a histogram: sum, largest, buckets.
pub const PHASE_WORDS: usize = 2 + BUCKETS;

/// The bucket of a time in ns.
#[inline]
pub const fn bucket_of(ns: u64) -> usize {
    if ns < MIN_NS {
        return 0;
    }
    if ns >= MAX_NS {
        return BUCKETS - 1;
    }
    let doubling = ns.ilog2();
    let step = (ns >> (doubling - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    1 + (((doubling - FIRST) as usize) << STEP_BITS) + step as usize
}

/// The values of a bucket in ns: the first one, and the first one beyond. The last bucket has no end
/// (`u64::MAX`).
pub const fn bucket_bounds(bucket: usize) -> (u64, u64) {
    if bucket == 0 {
        return (0, MIN_NS);
    }
    if bucket >= BUCKETS - 1 {
        return (MAX_NS, u64::MAX);
    }
    let at = bucket as u64 - 1;
    let doubling = FIRST + (at >> STEP_BITS) as u32;
    let width = 1 << (doubling - STEP_BITS);
    let low = (1 << doubling) + (at & ((1 << STEP_BITS) - 1)) * width;
    (low, low + width)
}

/// Times of one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// One for each bucket, see [`bucket_bounds`].
    pub counts: Vec<u64>,
    /// Sum of all values in ns.
    pub sum_ns: u64,
    /// The largest value in ns, exact.
    pub max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: vec![0; BUCKETS],
            sum_ns: 0,
            max_ns: 0,
        }
    }
}

impl Histogram {
    /// From the words of a file.
    pub(super) fn from_words(words: &[u64]) -> Histogram {
        debug_assert_eq!(words.len(), PHASE_WORDS);
        Histogram {
            counts: words.iter().skip(2).copied().collect(),
            sum_ns: words.first().copied().unwrap_or(0),
            max_ns: words.get(1).copied().unwrap_or(0),
        }
    }

    /// Adds one value.
    pub fn record(&mut self, ns: u64) {
        let count = &mut self.counts[bucket_of(ns)];
        *count = count.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all values of another one.
    pub fn merge(&mut self, other: &Histogram) {
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*others);
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |a, c| a.saturating_add(*c))
    }

    /// The mean in ns; `None` if there is no value.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count())
    }

    /// The value in ns below or at which the part `q` (0 to 1) of all lies: the middle of its bucket, never
    /// more than the largest value. `None` if there is no value.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0u64;
        let bucket = self.counts.iter().position(|c| {
            seen = seen.saturating_add(*c);
            seen >= wanted
        })?;
        let (low, beyond) = bucket_bounds(bucket);
        let middle = if beyond == u64::MAX {
            self.max_ns.max(low)
        } else {
            low + (beyond - low) / 2
        };
        Some(middle.min(self.max_ns))
    }

    /// The buckets that are not empty: first value, first value beyond (both ns), count.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| {
                let (low, beyond) = bucket_bounds(bucket);
                (low, beyond, *count)
            })
    }

    /// How many values are below `ns`, as far as whole buckets tell: for cumulative buckets of a
    /// coarser scale whose limits are limits here too (powers of two from `MIN_NS`).
    pub fn below(&self, ns: u64) -> u64 {
        let end = match ns {
            0..MIN_NS => 0,
            _ => bucket_of(ns),
        };
        self.counts[..end]
            .iter()
            .fold(0, |a, c| a.saturating_add(*c))
    }
}
