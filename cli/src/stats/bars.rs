//! A histogram of times, drawn coarse enough to be seen whole.

use cmshim_core::stats::{bucket_bounds, Histogram, BUCKETS};

/// More bars than this do not fit on a screen.
pub const MOST: usize = 24;

/// One bar: all values from `low` to below `beyond`, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    pub low: u64,
    pub beyond: u64,
    pub count: u64,
}

/// From the smallest to the largest value, empty ones between them too: as fine as the file has them, or as can be
/// shown. All are equally wide on a scale of logarithms; only the ends (less than half a µs, and minutes) are not.
pub fn bars(times: &Histogram) -> Vec<Bar> {
    let filled = |count: &u64| *count > 0;
    let (Some(first), Some(last)) = (
        times.counts.iter().position(filled),
        times.counts.iter().rposition(filled),
    ) else {
        return Vec::new();
    };
    let joined = std::iter::successors(Some(1), |n| Some(2 * n))
        .find(|size| number(last, *size) - number(first, *size) < MOST)
        .unwrap_or(BUCKETS);
    let mut bars: Vec<Bar> = Vec::new();
    let mut at = None;
    for bucket in begin(first, joined)..=end(last, joined) {
        let (low, beyond) = bucket_bounds(bucket);
        let count = times.counts.get(bucket).copied().unwrap_or(0);
        match bars
            .last_mut()
            .filter(|_| at == Some(number(bucket, joined)))
        {
            Some(bar) => {
                bar.beyond = beyond;
                bar.count = bar.count.saturating_add(count);
            }
            None => bars.push(Bar { low, beyond, count }),
        }
        at = Some(number(bucket, joined));
    }
    bars
}

/// The bar of a bucket. The first and the last bucket are bars of their own.
fn number(bucket: usize, joined: usize) -> usize {
    match bucket {
        0 => 0,
        LAST => (LAST - 2) / joined + 2,
        bucket => (bucket - 1) / joined + 1,
    }
}

const LAST: usize = BUCKETS - 1;

/// First bucket of the bar that this one is in.
fn begin(bucket: usize, joined: usize) -> usize {
    match bucket {
        0 | LAST => bucket,
        bucket => (bucket - 1) / joined * joined + 1,
    }
}

fn end(bucket: usize, joined: usize) -> usize {
    match bucket {
        0 | LAST => bucket,
        bucket => (begin(bucket, joined) + joined - 1).min(LAST - 1),
    }
}

/// A limit with three digits, since neighbours are 3 % apart: "1.02 ms".
pub fn limit(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| ns >= *size) else {
        return format!("{ns} ns");
    };
    let value = ns as f64 / size as f64;
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmshim_core::stats::{MAX_NS, MIN_NS};

    fn of(times: &[u64]) -> Vec<Bar> {
        let mut histogram = Histogram::default();
        times.iter().for_each(|ns| histogram.record(*ns));
        bars(&histogram)
    }

    /// Whatever the values are: nothing is lost, there are no gaps, and all fit.
    #[test]
    fn bars_cover_all_values() {
        let top = MAX_NS;
        for times in [
            &[1][..],
            &[top],
            &[1, top],
            &[1, MIN_NS, 77_777, 1 << 30, top - 1, top],
            &[1_000_000, 1_010_000, 1_500_000],
            &[MIN_NS],
        ] {
            let bars = of(times);
            assert!(bars.len() <= MOST, "{times:?} {bars:?}");
            let total: u64 = bars.iter().map(|bar| bar.count).sum();
            assert_eq!(total, times.len() as u64, "{times:?}");
            for pair in bars.windows(2) {
                assert_eq!(pair[0].beyond, pair[1].low, "{times:?}");
            }
            let within = |ns: &u64| bars[0].low <= *ns && *ns < bars[bars.len() - 1].beyond;
            assert!(times.iter().all(within), "{times:?} {bars:?}");
            assert!(bars[0].count > 0 && bars[bars.len() - 1].count > 0);
        }
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn few_values_are_shown_as_fine_as_they_are_known() {
        let bars = of(&[1 << 20, (1 << 20) + (1 << 15)]);
        assert_eq!(bars.len(), 2);
        assert_eq!(
            (bars[0].low, bars[0].beyond),
            (1 << 20, (1 << 20) + (1 << 15))
        );
    }

    #[test]
    fn limits_have_three_digits() {
        let told = [
            512,
            1_024,
            10_240,
            102_400,
            999_999,
            1_048_576,
            274_877_906_944,
        ]
        .map(limit);
        let expected = [
            "512 ns", "1.02 µs", "10.2 µs", "102 µs", "1000 µs", "1.05 ms", "275 s",
        ];
        assert_eq!(told, expected);
    }
}
