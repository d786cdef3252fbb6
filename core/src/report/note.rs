//! A line of the shim about itself: a problem of the configuration, a feature that is off.

use super::time;
use crate::text::{escape_json, escaped};
use serde::Serialize;
use std::time::SystemTime;

/// One physical line, without its line end.
pub fn note_text(program: &str, pid: u32, message: &str) -> String {
    let mut line = String::new();
    line.push_str(&escaped(&format!("cmshim[{program} {pid}]: {message}")));
    line
}

#[derive(Serialize)]
struct Note<'a> {
    time: String,
    program: &'a str,
    pid: u32,
    /// "ERROR", "WARN", "INFO", "DEBUG"
    level: &'a str,
    message: &'a str,
}

/// One JSON object, without its line end. It has `message` where an incident has `what` and `who`.
pub fn note_json(now: SystemTime, program: &str, pid: u32, level: &str, message: &str) -> String {
    let note = Note {
        time: time::rfc3339(now),
        program,
        pid,
        level,
        message,
    };
    serde_json::to_string(&note)
        .map(|object| escape_json(&object))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_line_whatever_it_says() {
        assert!(!note_text("a\nb", 1, "x\ny").contains('\n'));
        let json = note_json(SystemTime::UNIX_EPOCH, "a", 1, "WARN", "x\n\"y\"");
        assert!(
            json.starts_with(r#"{"time":"1970-01-01T00:00:00.000Z","program":"a","pid":1"#),
            "{json}"
        );
        assert!(!json.contains('\n'));
    }
}
