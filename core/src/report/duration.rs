//! Durations as people read them.

use std::time::Duration;

/// "850 µs", "1.2 ms", "4.5 s", "102 s": two or three digits that matter.
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
    scaled(ns, 1_000_000_000, "s")
}

/// One digit after the point below ten, none above.
fn scaled(ns: u128, size: u128, unit: &str) -> String {
    let tenths = (ns * 10 + size / 2) / size;
    if tenths >= 100 || tenths % 10 == 0 {
        format!("{} {unit}", (ns + size / 2) / size)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// Milliseconds with three digits after the point, for JSON.
pub(super) fn millis(d: Duration) -> f64 {
    (d.as_secs_f64() * 1e6).round() / 1e3
}
