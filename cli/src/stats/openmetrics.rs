//! The OpenMetrics text format, version 1.0 (<https://github.com/prometheus/OpenMetrics>), as far as it is needed.

use std::fmt::{Display, Write};

/// A label and its value, which is escaped when it is written.
pub type Label = (&'static str, String);

/// The text under construction. Writing to a String cannot fail.
#[derive(Default)]
pub struct Text(String);

impl Text {
    /// Begins a metric family; its samples follow. With a unit the name has to end in it.
    pub fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}.", escaped(help));
    }

    /// One sample. The labels come from several places, in this order.
    pub fn sample(&mut self, name: &str, labels: &[&[Label]], value: impl Display) {
        self.0.push_str(name);
        let labels: Vec<String> = labels
            .concat()
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(self.0, "{{{}}} {value}", labels.join(","));
    }

    /// The text with its end mark.
    pub fn end(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut text = Text::default();
        text.family("a_seconds", "gauge", "seconds", "It \"is\"");
        let first = [("p", "q\"\\\n{}".to_owned())];
        text.sample("a_seconds", &[&first, &[("b", "c".into())]], 1.5);
        assert_eq!(
            text.end(),
            "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds It \\\"is\\\".\n\
             a_seconds{p=\"q\\\"\\\\\\n{}\",b=\"c\"} 1.5\n# EOF\n"
        );
    }
}
