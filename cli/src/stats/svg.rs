//! A histogram as a picture.

use std::fmt::Write;

use super::bars::{limit, Bar};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 100.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 90.0;
const ROW: f64 = 20.0;

/// Colours that can be read on light and dark ground stand on a ground of their own.
const STYLE: &str = "\
text{font:13px sans-serif;fill:#222}.title{font-size:17px;font-weight:bold}.limit{text-anchor:end}\
rect.bar{fill:#2a6fb0}rect.ground{fill:#fff}line{stroke:#999}";

/// The heading's lines over horizontal bars; from what time on each one counts stands beside its upper edge.
pub fn picture(heading: &[String; 3], bars: &[Bar]) -> String {
    let height = TOP + ROW * bars.len() as f64 + 30.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        escaped(&heading[0])
    );
    for ((line, class), y) in heading.iter().zip(["title", "", ""]).zip([28, 50, 70]) {
        text(&mut out, class, 20.0, f64::from(y), line);
    }
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(1).max(1);
    for (place, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * place as f64;
        let width = (WIDTH - LEFT - RIGHT) * bar.count as f64 / most as f64;
        text(&mut out, "limit", LEFT - 8.0, y + 4.0, &limit(bar.low));
        if bar.count > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "<rect class=\"bar\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                y + 1.0,
                width.max(1.0),
                ROW - 2.0
            );
            text(
                &mut out,
                "",
                LEFT + width + 6.0,
                y + 14.0,
                &bar.count.to_string(),
            );
        }
    }
    let bottom = TOP + ROW * bars.len() as f64;
    if let Some(last) = bars.last().filter(|last| last.beyond < u64::MAX) {
        text(
            &mut out,
            "limit",
            LEFT - 8.0,
            bottom + 4.0,
            &limit(last.beyond),
        );
    }
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" y1=\"{TOP}\" x2=\"{LEFT}\" y2=\"{bottom}\"/>\n</svg>"
    );
    out
}

fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>"
    );
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
