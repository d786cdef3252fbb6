//! The histogram's arithmetic, over values of all sizes.

use cmshim_core::stats::{bucket_bounds, bucket_of, Histogram, BUCKETS, MAX_NS, MIN_NS};
use proptest::prelude::*;

/// Values spread over all magnitudes, and not only large ones.
fn any_ns() -> impl Strategy<Value = u64> {
    (0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift)
}

/// From the smallest to the largest value of the promise: 1 us to 200 s.
fn promised_ns() -> impl Strategy<Value = u64> {
    (10u32..38, any::<u64>()).prop_map(|(bits, value)| {
        let low = 1u64 << bits;
        (low + (value & (low - 1))).clamp(1_000, 200_000_000_000)
    })
}

#[test]
fn buckets_join_without_gap_from_zero_to_the_end() {
    let mut end = 0;
    for bucket in 0..BUCKETS {
        let (low, beyond) = bucket_bounds(bucket);
        assert_eq!(low, end);
        assert!(beyond > low);
        assert_eq!(bucket_of(low), bucket);
        assert_eq!(bucket_of(beyond - 1), bucket);
        end = beyond;
    }
    assert_eq!(end, u64::MAX);
    const { assert!(MIN_NS <= 1_000 && MAX_NS >= 200_000_000_000) };
}

#[test]
fn an_empty_one_has_no_values() {
    let empty = Histogram::default();
    assert_eq!(empty.count(), 0);
    assert_eq!(empty.quantile_ns(0.5), None);
    assert_eq!(empty.mean_ns(), None);
    assert_eq!(empty.filled().count(), 0);
}

#[test]
fn known_quantiles() {
    let mut h = Histogram::default();
    (1..=1000).for_each(|ms| h.record(ms * 1_000_000));
    let near = |q, ms: f64| {
        let found = h.quantile_ns(q).unwrap() as f64 / 1e6;
        assert!((found / ms - 1.0).abs() <= 0.03, "{q}: {found} for {ms}");
    };
    near(0.0, 1.0);
    near(0.5, 500.0);
    near(0.99, 990.0);
    near(1.0, 1000.0);
    assert_eq!(h.mean_ns(), Some(500_500_000));
    assert_eq!(h.max_ns, 1_000_000_000);
    assert_eq!(h.below(1 << 30), 1000);
    assert_eq!(h.below(0), 0);
    assert_eq!(h.below(1 << 29), 536, "536.87 ms");
}

#[test]
fn values_beyond_the_end_are_kept() {
    let mut h = Histogram::default();
    h.record(1_000_000_000_000);
    assert_eq!(h.quantile_ns(0.5), Some(1_000_000_000_000));
    h.record(u64::MAX);
    h.record(u64::MAX);
    assert_eq!(h.sum_ns, u64::MAX, "no overflow");
}

proptest! {
    #[test]
    fn every_value_lies_in_its_bucket(ns in any_ns()) {
        let (low, beyond) = bucket_bounds(bucket_of(ns));
        prop_assert!(low <= ns && (ns < beyond || beyond == u64::MAX));
    }

    #[test]
    fn one_value_is_known_within_three_percent(ns in promised_ns()) {
        let mut h = Histogram::default();
        h.record(ns);
        h.record(u64::MAX >> 1); // so that the largest value does not tell
        let found = h.quantile_ns(0.5).unwrap() as f64;
        prop_assert!((found / ns as f64 - 1.0).abs() <= 0.03, "{found} for {ns}");
    }

    #[test]
    fn quantiles_agree_with_the_sorted_values(mut values in prop::collection::vec(promised_ns(), 1..200), q in 0.0f64..=1.0) {
        let mut h = Histogram::default();
        values.iter().for_each(|v| h.record(*v));
        values.sort_unstable();
        let at = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
        let (found, exact) = (h.quantile_ns(q).unwrap() as f64, values[at] as f64);
        prop_assert!((found / exact - 1.0).abs() <= 0.03, "{found} for {exact}");
    }

    #[test]
    fn merging_is_recording_both(a in prop::collection::vec(any_ns(), 0..50), b in prop::collection::vec(any_ns(), 0..50)) {
        let fill = |values: &[u64]| {
            let mut h = Histogram::default();
            values.iter().for_each(|v| h.record(*v));
            h
        };
        let mut merged = fill(&a);
        merged.merge(&fill(&b));
        let both: Vec<u64> = a.iter().chain(&b).copied().collect();
        prop_assert_eq!(merged, fill(&both));
    }
}
