//! Private data of a CM message, short and readable.

use crate::text::quoted;
use std::fmt::Write;

/// How private data is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Bytes in the message, padding included.
    pub total: usize,
    /// Bytes without the zeros at the end: what was sent, as far as can be told.
    pub used: usize,
    /// Bytes of `used` that are not shown.
    pub cut: usize,
    /// Set when the bytes read as text: with escapes, without quotes around.
    pub text: Option<String>,
    /// Set when they do not: hexadecimal in groups of four bytes.
    pub hex: Option<String>,
}

/// Prepares private data for the log: at most `max` bytes of it are shown.
///
/// The connection manager delivers the whole field of the message padded with zeros, so the zeros at
/// the end carry nothing.
pub fn private_data(data: &[u8], max: usize) -> Shown {
    let used = data.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    let body = &data[..used];
    let mut shown = &body[..used.min(max)];
    let text = readable(body).then(|| {
        // Cut at a character's boundary.
        let valid = match std::str::from_utf8(shown) {
            Ok(s) => s,
            Err(e) => std::str::from_utf8(&shown[..e.valid_up_to()]).unwrap_or_default(),
        };
        shown = &shown[..valid.len()];
        let quoted = quoted(valid);
        quoted[1..quoted.len() - 1].to_string()
    });
    let in_hex = (text.is_none()).then(|| hex(shown));
    Shown {
        total: data.len(),
        used,
        cut: used - shown.len(),
        text,
        hex: in_hex,
    }
}

/// "0a0b0c0d 0e0f": groups of four bytes.
fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 9 / 4);
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 && i % 4 == 0 {
            out.push(' ');
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Text in UTF-8, in which at most line ends and tabs are not printable.
fn readable(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(s) => !s
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')),
        Err(_) => false,
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.used == 0 {
            return write!(f, "{} bytes, all zero", self.total);
        }
        match (&self.text, &self.hex) {
            (Some(text), _) => write!(f, "\"{text}\"")?,
            (None, Some(hex)) => write!(f, "{hex}")?,
            (None, None) => {}
        }
        if self.cut > 0 {
            write!(f, " and {} more bytes", self.cut)?;
        }
        if self.total > self.used {
            write!(f, " ({} of {} bytes, the rest zero)", self.used, self.total)
        } else {
            write!(f, " ({} bytes)", self.used)
        }
    }
}
