//! RFC 3339 in UTC, without a time library.

use std::time::{SystemTime, UNIX_EPOCH};

/// "2026-02-28T23:59:59.123Z". A time before 1970 or after 9999 is clamped to that range.
pub fn rfc3339(t: SystemTime) -> String {
    let (seconds, ns) = clamped(t);
    format!("{}.{:03}Z", to_seconds(seconds), ns / 1_000_000)
}

/// The same with microseconds.
pub fn rfc3339_micros(t: SystemTime) -> String {
    let (seconds, ns) = clamped(t);
    format!("{}.{:06}Z", to_seconds(seconds), ns / 1_000)
}

fn clamped(t: SystemTime) -> (u64, u32) {
    const LAST: u64 = 253_402_300_799; // 9999-12-31T23:59:59Z
    let since = t.duration_since(UNIX_EPOCH).unwrap_or_default();
    match since.as_secs() {
        seconds if seconds > LAST => (LAST, 999_999_999),
        seconds => (seconds, since.subsec_nanos()),
    }
}

fn to_seconds(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let s = seconds % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        s / 3600,
        s / 60 % 60,
        s % 60
    )
}

/// Days since 1970-01-01 to year, month, day, in the Gregorian calendar.
///
/// Counted in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468; // from 0000-03-01
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    (year, month, day)
}
