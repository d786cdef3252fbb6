//! The report as text, for 80 columns.

use anstyle::{AnsiColor, Style};
use cmshim_core::text::printable;

use super::check::{Check, Verdict};

const WIDTH: usize = 80;
/// Where values begin: the verdict's and the title's columns stand before them.
const INDENT: usize = 25;

pub struct Look {
    pub colour: bool,
    /// Also why those matter that are ok.
    pub verbose: bool,
}

pub fn text(checks: &[Check], look: &Look) -> String {
    let mut out = String::new();
    for check in checks {
        entry(check, look, &mut out);
    }
    out.push('\n');
    out.push_str(&summary(checks));
    out.push('\n');
    out
}

fn entry(check: &Check, look: &Look, out: &mut String) {
    let word = painted(check.verdict, look.colour);
    let first = format!("{word}  {:17}  ", check.title);
    paragraph(&printable(&check.value), &first, INDENT, out);
    for detail in &check.details {
        paragraph(&printable(detail), &" ".repeat(INDENT), INDENT + 2, out);
    }
    let trouble = check.verdict >= Verdict::Warn;
    if trouble || look.verbose {
        paragraph(check.why, "      why:  ", 12, out);
    }
    for command in &check.mend {
        // In one piece, however long it is, so that it can be copied.
        out.push_str(&format!("      mend: {}\n", printable(command)));
    }
}

/// The verdict in four columns. Escape codes would count as columns in a format.
fn painted(verdict: Verdict, colour: bool) -> String {
    let padding = " ".repeat(4 - verdict.word().len());
    let style = match verdict {
        _ if !colour => Style::new(),
        Verdict::NotApplicable => Style::new().dimmed(),
        Verdict::Ok => AnsiColor::Green.on_default(),
        Verdict::Warn => AnsiColor::Yellow.on_default().bold(),
        Verdict::Fail => AnsiColor::Red.on_default().bold(),
    };
    format!("{style}{}{style:#}{padding}", verdict.word())
}

/// `first` stands before the first line and may hold escape codes; the others are indented.
fn paragraph(text: &str, first: &str, indent: usize, out: &mut String) {
    let lead = " ".repeat(visible(first));
    let rest = " ".repeat(indent);
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&lead)
        .subsequent_indent(&rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let filled = textwrap::fill(text, options);
    out.push_str(first);
    out.push_str(filled.strip_prefix(&lead).unwrap_or_default());
    out.push('\n');
}

/// Columns without escape codes, each of which ends with an m.
fn visible(text: &str) -> usize {
    let mut in_code = false;
    text.chars()
        .filter(|&c| {
            let shown = !in_code && c != '\x1b';
            in_code = (in_code || c == '\x1b') && c != 'm';
            shown
        })
        .count()
}

pub fn summary(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|c| c.verdict == verdict).count();
    let several = |n, what| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!(
        "{} ok, {}, {}, {} not applicable",
        count(Verdict::Ok),
        several(count(Verdict::Warn), "warning"),
        several(count(Verdict::Fail), "failure"),
        count(Verdict::NotApplicable)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look {
        colour: false,
        verbose: false,
    };
    const WHY: &str =
        "Because it is so, and has been so for a very long time, whatever else may be said \
                       by anybody about it.";

    fn report(verdict: Verdict) -> Vec<Check> {
        let check = Check::new("x", "some title", WHY);
        let value =
            "a value with many words in it, so that it does not fit on one line of the screen";
        let mut check = check.is(verdict, value);
        check.details.push("a detail\x1b[2J\u{202e}".to_owned());
        if verdict >= Verdict::Warn {
            check.mend(format!("a command that is {}", "long ".repeat(20)));
        }
        vec![check]
    }

    #[test]
    fn lines_fit_and_commands_stay_whole() {
        let text = text(&report(Verdict::Warn), &PLAIN);
        for line in text.lines().filter(|line| !line.contains("mend:")) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(
            text.starts_with("warn  some title         a value with"),
            "{text}"
        );
        assert!(text.contains("\n      why:  Because it is so"), "{text}");
        assert!(text.contains(&"long ".repeat(20)), "{text}");
        assert!(text.ends_with("\n0 ok, 1 warning, 0 failures, 0 not applicable\n"));
    }

    #[test]
    fn what_is_ok_needs_no_reason() {
        assert!(!text(&report(Verdict::Ok), &PLAIN).contains("why:"));
        let verbose = Look {
            verbose: true,
            ..PLAIN
        };
        assert!(text(&report(Verdict::Ok), &verbose).contains("why:"));
    }

    #[test]
    fn colour_changes_no_column_and_names_cannot_bring_it() {
        let plain = text(&report(Verdict::Fail), &PLAIN);
        assert!(!plain.contains('\x1b'));
        let colour = Look {
            colour: true,
            ..PLAIN
        };
        let coloured = text(&report(Verdict::Fail), &colour);
        assert!(
            coloured.contains("\x1b[1m\x1b[31mFAIL\x1b[0m"),
            "{coloured:?}"
        );
        let codes = ["\x1b[1m", "\x1b[31m", "\x1b[0m"];
        let without = codes.iter().fold(coloured, |t, code| t.replace(code, ""));
        assert_eq!(without, plain);
    }
}
