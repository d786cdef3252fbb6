//! The header Accept: which of the two formats a client wants.

use crate::stats::openmetrics::Form;

/// OpenMetrics for those that name it and like it as much as plain text. All others get the older format, which a
/// person with a browser can read, too.
pub fn form(accept: &str) -> Form {
    let (mut open_metrics, mut plain) = (0.0, 0.0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut quality, mut known) = (1.0f32, true);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => quality = value.trim().parse().unwrap_or(0.0),
                "version" => known = value.trim().trim_matches('"') == "1.0.0",
                _ => {}
            }
        }
        match kind.as_str() {
            "application/openmetrics-text" if known => open_metrics = quality.max(open_metrics),
            "text/plain" => plain = quality.max(plain),
            _ => {}
        }
    }
    match open_metrics > 0.0 && open_metrics >= plain {
        true => Form::OpenMetrics,
        false => Form::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Prometheus 2.42 asks, and 3.5.
    const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    const LATER: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
        application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
        text/plain;version=0.0.4;q=0.2,/;q=0.1";

    #[test]
    fn who_names_open_metrics_gets_it() {
        for accept in [
            PROMETHEUS,
            LATER,
            "application/openmetrics-text",
            "Application/OpenMetrics-Text; Version=\"1.0.0\"; q=0.1",
        ] {
            assert_eq!(form(accept), Form::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn all_others_get_plain_text() {
        for accept in [
            "",
            "*/*",
            "text/html,*/*;q=0.8",
            "text/plain",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.2,text/plain;q=0.9",
            ";;;=,,q=1",
        ] {
            assert_eq!(form(accept), Form::Plain, "{accept}");
        }
    }
}
