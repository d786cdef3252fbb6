//! Sections that the command line's declaration does not give by itself.

use clap::Command;
use clap_mangen::roff::{bold, italic, roman, Roff};
use cmshim_core::config::{
    Key, CONFIG_VARIABLE, DEFAULT_PATH, FAMILY_VARIABLE, KEYS, LIBRARY_VARIABLE,
};

pub(super) fn section(title: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    roff
}

pub fn configuration() -> Roff {
    let mut roff = section("CONFIGURATION");
    roff.text([roman(
        "Built-in defaults hold first. The TOML file is stronger than they are, the file's section of the \
         program, for example [program.rping], is stronger than the rest of the file, and variables are \
         stronger than the file. A wrong value is named and does not count; the program always starts. \
         In secure-execution mode (see ld.so(8)) variables are ignored.",
    )]);
    for key in KEYS {
        describe(&mut roff, key);
    }
    roff
}

fn describe(roff: &mut Roff, key: &Key) {
    roff.control("TP", []);
    roff.text([bold(key.name), roman(", "), bold(key.variable())]);
    let allowed = key.kind.allowed();
    let own = if key.per_program {
        ""
    } else {
        " Not in a program's section."
    };
    roff.text([roman(format!(
        "{}. {} Allowed: {allowed}. Default: {}.{own}",
        key.help,
        key.more,
        key.default_value()
    ))]);
}

pub fn environment() -> Roff {
    let mut roff = section("ENVIRONMENT");
    let rows = [
        (
            CONFIG_VARIABLE,
            "The configuration file, instead of the default one.",
        ),
        (
            LIBRARY_VARIABLE,
            "The library that run preloads, when --library does not name one.",
        ),
        (
            FAMILY_VARIABLE,
            "A number that run --report gives to the program and its children, to know their statistics again.",
        ),
        (
            "CMSHIM_...",
            "Each key of the configuration, by the names above. Lists are separated by commas.",
        ),
        (
            "LD_PRELOAD",
            "What run finds in it is kept, after the library.",
        ),
        (
            "LD_LIBRARY_PATH",
            "Where run looks for a library that is not installed beside it, before the system's directories.",
        ),
    ];
    for (name, text) in rows {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(text)]);
    }
    roff
}

pub fn files() -> Roff {
    let mut roff = section("FILES");
    roff.control("TP", []);
    roff.text([italic(DEFAULT_PATH)]);
    roff.text([roman(
        "The configuration. It need not exist; cmshim config --default prints one to begin with.",
    )]);
    roff
}

/// The head of a page that no command declares.
pub(super) fn title(name: &str, number: u8) -> Roff {
    let mut roff = Roff::new();
    roff.control("TH", [name, &number.to_string(), "", "cmshim", "cmshim"]);
    roff
}

/// The pages above the one with this name, and the files that it works with.
pub fn see_also(name: &str) -> Roff {
    let above = name.match_indices('-').map(|(at, _)| (&name[..at], 1));
    let files: &[_] = match name {
        "cmshim" => &[("cmshim.toml", 5), ("cmshim-policy", 5)],
        "cmshim-config" => &[("cmshim.toml", 5)],
        _ if name.starts_with("cmshim-policy") => &[("cmshim-policy", 5)],
        _ => &[],
    };
    references(above.chain(files.iter().copied()))
}

/// SEE ALSO, with these pages.
pub(super) fn references<'a>(pages: impl IntoIterator<Item = (&'a str, u8)>) -> Roff {
    let mut roff = section("SEE ALSO");
    let mut words = Vec::new();
    for (page, number) in pages {
        let comma = if words.is_empty() { "" } else { ", " };
        words.extend([roman(comma), bold(page), roman(format!("({number})"))]);
    }
    roff.text(words);
    roff
}

/// The paragraphs behind the help text, each a section of its own: "Examples:", "Exit status:".
pub fn after_help(command: &Command) -> Vec<Roff> {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    text.split("\n\n")
        .filter_map(|paragraph| paragraph.split_once(":\n"))
        .map(|(title, lines)| paragraph(title, lines))
        .collect()
}

fn paragraph(title: &str, lines: &str) -> Roff {
    let mut roff = section(&title.to_uppercase());
    for line in lines.lines() {
        match line.trim().split_once("  ") {
            Some((status, text)) => {
                roff.control("TP", []);
                roff.text([bold(status)]);
                roff.text([roman(text.trim())]);
            }
            None => {
                roff.control("PP", []);
                roff.text([roman(line.trim())]);
            }
        }
    }
    roff
}
