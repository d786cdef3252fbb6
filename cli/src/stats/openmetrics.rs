//! The two text formats that Prometheus reads, as far as they are needed: OpenMetrics, version 1.0
//! (<https://github.com/prometheus/OpenMetrics>), and its own older one, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>). Samples are the same in both.

use std::fmt::{Display, Write};

/// A label and its value, which is escaped when it is written.
pub type Label = (&'static str, String);

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    OpenMetrics,
    Plain,
}

impl Form {
    /// The value of Content-Type.
    pub fn content_type(self) -> &'static str {
        match self {
            Form::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Form::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The text under construction. Writing to a String cannot fail.
pub struct Text {
    form: Form,
    out: String,
}

impl Text {
    pub fn new(form: Form) -> Text {
        Text {
            form,
            out: String::new(),
        }
    }

    /// Begins a metric family; its samples follow. With a unit the name has to end in it.
    pub fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let out = &mut self.out;
        if self.form == Form::OpenMetrics {
            let _ = writeln!(out, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(out, "# UNIT {name} {unit}");
            }
            let _ = writeln!(out, "# HELP {name} {}.", escaped(help));
            return;
        }
        // Here a family is called as its samples are, and there is no type for mere information.
        let (ending, kind) = match kind {
            "counter" => ("_total", "counter"),
            "info" => ("_info", "gauge"),
            other => ("", other),
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(out, "# HELP {name}{ending} {help}.");
        let _ = writeln!(out, "# TYPE {name}{ending} {kind}");
    }

    /// One sample. The labels come from several places, in this order.
    pub fn sample(&mut self, name: &str, labels: &[&[Label]], value: impl Display) {
        self.out.push_str(name);
        let labels: Vec<String> = labels
            .concat()
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        if !labels.is_empty() {
            let _ = write!(self.out, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.out, " {value}");
    }

    /// The text; OpenMetrics has an end mark.
    pub fn end(mut self) -> String {
        if self.form == Form::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
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

    fn made(form: Form) -> String {
        let mut text = Text::new(form);
        text.family("a_seconds", "gauge", "seconds", "It \"is\"");
        let first = [("p", "q\"\\\n{}".to_owned())];
        text.sample("a_seconds", &[&first, &[("b", "c".into())]], 1.5);
        text.family("b", "counter", "", "How many");
        text.sample("b_total", &[], 2);
        text.family("c", "info", "", "Who");
        text.end()
    }

    #[test]
    fn values_of_labels_are_escaped() {
        assert_eq!(
            made(Form::OpenMetrics),
            "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds It \\\"is\\\".\n\
             a_seconds{p=\"q\\\"\\\\\\n{}\",b=\"c\"} 1.5\n\
             # TYPE b counter\n# HELP b How many.\nb_total 2\n\
             # TYPE c info\n# HELP c Who.\n# EOF\n"
        );
    }

    #[test]
    fn the_older_format_names_families_as_their_samples() {
        assert_eq!(
            made(Form::Plain),
            "# HELP a_seconds It \"is\".\n# TYPE a_seconds gauge\n\
             a_seconds{p=\"q\\\"\\\\\\n{}\",b=\"c\"} 1.5\n\
             # HELP b_total How many.\n# TYPE b_total counter\nb_total 2\n\
             # HELP c_info Who.\n# TYPE c_info gauge\n"
        );
    }
}
