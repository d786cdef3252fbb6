//! Durations as people read them.

use std::time::Duration;

/// "850 µs", "1.2 ms", "4.5 s", "102 s", "35 min", "2.5 h": two or three digits that matter.
pub fn human(d: Duration) -> String {
    let ns = d.as_nanos();
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (unit, size) in [("µs", 1_000u128), ("ms", 1_000_000)] {
        // The next unit begins where rounding would give 1000 of this one.
        if ns + size / 2 < size * 1000 {
            return scaled(ns, size, unit);
        }
    }
    const S: u128 = 1_000_000_000;
    match ns / S {
        0..=599 => scaled(ns, S, "s"),
        600..=7_199 => scaled(ns, 60 * S, "min"),
        7_200..=172_799 => scaled(ns, 3_600 * S, "h"),
        _ => scaled(ns, 86_400 * S, "days"),
    }
}

/// One digit after the point below ten, none above.
fn scaled(ns: u128, size: u128, unit: &str) -> String {
    let tenths = (ns * 10 + size / 2) / size;
    if tenths >= 100 || tenths.is_multiple_of(10) {
        format!("{} {unit}", (ns + size / 2) / size)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// Milliseconds with three digits after the point, for JSON.
pub(super) fn millis(d: Duration) -> f64 {
    (d.as_secs_f64() * 1e6).round() / 1e3
}
