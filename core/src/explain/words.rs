//! Small helpers for sentences.

use crate::codes::errno;
use std::time::Duration;

/// "ETIMEDOUT (Connection timed out)" for a negative or positive errno.
pub fn status_text(status: i32) -> String {
    match errno::by_number(status) {
        Some(e) => format!("{} ({})", e.text, e.name),
        None => format!("status {status}, which is no errno of Linux"),
    }
}

/// A sentence as the second half of a line: no capital, no full stop.
pub fn as_finding(sentence: &str) -> String {
    let body = sentence.strip_suffix('.').unwrap_or(sentence);
    let mut chars = body.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Bytes as people say them: "64 KiB", "8 MiB", "1.5 GiB".
pub fn bytes(n: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    for (unit, size) in UNITS {
        if n >= size {
            let tenths = u128::from(n) * 10 / u128::from(size);
            return match tenths % 10 {
                0 => format!("{} {unit}", tenths / 10),
                d => format!("{}.{d} {unit}", tenths / 10),
            };
        }
    }
    format!("{n} bytes")
}

/// Durations as people say them: "850 µs", "1.2 ms", "4.5 s", "102 s".
pub fn duration(d: Duration) -> String {
    crate::report::duration::human(d)
}
