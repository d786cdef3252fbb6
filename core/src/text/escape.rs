//! Text from outside must not break the line or fool a terminal.

use std::fmt::Write;

/// Whether a character may change how a line is shown.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{2028}' | '\u{2029}'            // line and paragraph separators
            | '\u{61c}'                        // direction marks
            | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffe}' | '\u{ffff}') // no characters: not allowed in XML
}

/// `text` with every dangerous character escaped.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_dangerous(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// `text` with `?` for every dangerous character.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if is_dangerous(c) { '?' } else { c })
        .collect()
}

/// Writes `text` in quotes; quotes and backslashes in it are escaped too.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\0' => out.push_str("\\0"),
            c if is_dangerous(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// JSON leaves line separators, direction marks and DEL as they are; some readers split lines there.
/// In an object they can only stand inside strings, where `\u` means the same.
pub(crate) fn json(object: &str) -> String {
    let mut out = String::with_capacity(object.len());
    for c in object.chars() {
        if is_dangerous(c) {
            // All dangerous characters have at most 16 bits. Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_a_line_round_is_escaped_or_replaced() {
        assert_eq!(escaped("a\nb\u{202e}ä"), "a\\nb\\u{202e}ä");
        assert_eq!(printable("a\nb\u{202e}ä"), "a?b?ä");
    }
}
