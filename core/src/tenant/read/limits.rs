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
/// One connect in 11 days, and one in each nanosecond.
const RATES: (f64, f64) = (1e-6, 1e9);

pub(super) fn read(fields: &Fields, notes: &mut Notes) -> Limits {
    Limits {
        max_connections: fields.whole("max_connections", 1, MOST, notes),
        rate: rate(fields, notes),
        tos: tos(fields, notes),
    }
}

fn rate(fields: &Fields, notes: &mut Notes) -> Option<Rate> {
    let allowed = "connects per second, a number from 0.000001 to 1000000000";
    let per_s = fields.value("rate", allowed, notes, number);
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

fn number(value: &DeValue) -> Result<f64, String> {
    let text = match value {
        DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str(),
        DeValue::Float(digits) => digits.as_str(),
        other => return Err(is_a_value(other)),
    };
    match text.parse::<f64>() {
        Ok(0.0) => Err("0 lets nobody in (use action = \"deny\" for that)".to_owned()),
        Ok(n) if n < 0.0 => Err(format!("{text} is negative")),
        Ok(n) if (RATES.0..=RATES.1).contains(&n) => Ok(n),
        _ => Err(format!("{text} is out of range")),
    }
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
