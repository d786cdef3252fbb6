//! Limits and marks, which tenants and egress rules have alike.

use super::fields::Fields;
use super::notes::Notes;
use crate::config::is_a_value;
use crate::tenant::Rate;
use toml::de::DeValue;

pub(super) const KEYS: [&str; 5] = ["max_connections", "rate", "burst", "tos", "dscp"];

#[derive(Debug, Default)]
pub(super) struct Limits {
    pub max_connections: Option<u32>,
    pub rate: Option<Rate>,
    pub tos: Option<u8>,
}

/// The counts are 32 bits; a sum of them over processes must not be more.
const MOST: u32 = i32::MAX as u32;
const MILLION: u64 = 1_000_000;
/// One connect in each nanosecond. (The least is one in 11 days.)
const MOST_RATE: u64 = 1_000_000_000;

pub(super) fn read(fields: &Fields, notes: &mut Notes) -> Limits {
    Limits {
        max_connections: fields.whole("max_connections", 1, MOST, notes),
        rate: rate(fields, notes),
        tos: tos(fields, notes),
    }
}

/// Who may not connect has nothing to limit or to mark.
pub(super) fn without_effect(fields: &Fields, notes: &mut Notes) {
    for key in KEYS {
        // A burst that lacks its rate is told of anyway.
        if fields.has(key) && (key != "burst" || fields.has("rate")) {
            let what = "has no effect with action = \"deny\"";
            notes.add(fields.place_of(key), fields.key(key), what, "");
        }
    }
}

fn rate(fields: &Fields, notes: &mut Notes) -> Option<Rate> {
    let allowed = "connects per second, a number from 0.000001 to 1000000000";
    let mut per_s = None;
    fields.value("rate", allowed, notes, &mut |value| {
        per_s = Some(number(value)?);
        Ok(())
    });
    let burst = fields.whole("burst", 1, MOST, notes);
    if fields.has("burst") && !fields.has("rate") {
        let at = fields.place_of("burst");
        notes.add(at, fields.key("burst"), "has no effect without rate", "");
    }
    let per_s = per_s?;
    Some(Rate {
        per_s,
        burst: burst.unwrap_or((per_s.ceil() as u32).max(1)),
    })
}

/// In millionths, which are whole numbers: std's way to read any float has tables of 10 kB.
fn number(value: &DeValue) -> Result<f64, String> {
    let text = match value {
        DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str(),
        DeValue::Float(digits) => digits.as_str(),
        other => return Err(is_a_value(other)),
    };
    if text.starts_with('-') {
        return Err(format!("{text} is negative"));
    }
    match millionths(text.trim_start_matches('+')) {
        Some(0) => Err("0 lets nobody in (use action = \"deny\" for that)".to_owned()),
        Some(n) if n <= MOST_RATE * MILLION => Ok(n as f64 / MILLION as f64),
        Some(_) => Err(format!("{text} is out of range")),
        None => Err(format!(
            "{text} is no number with at most six digits behind the point"
        )),
    }
}

/// Digits, perhaps a point and up to six digits more.
fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    // What is too large for 64 bits is out of range too.
    let whole = whole.parse().unwrap_or(u64::MAX);
    let part = format!("{part:0<6}").parse().unwrap_or(0);
    Some(whole.saturating_mul(MILLION).saturating_add(part))
}

/// A DSCP is the upper six bits of the type of service (RFC 2474).
fn tos(fields: &Fields, notes: &mut Notes) -> Option<u8> {
    let tos = fields.whole("tos", 0, 255, notes);
    let dscp = fields.whole("dscp", 0, 63, notes);
    if fields.has("tos") && fields.has("dscp") {
        let at = fields.place_of("dscp");
        let hint = "leave one of them out: a DSCP is the upper six bits of the type of service";
        notes.add(at, fields.key("dscp"), "tos is given too", hint);
    }
    tos.or(dscp.map(|dscp| dscp << 2)).map(|tos| tos as u8)
}
