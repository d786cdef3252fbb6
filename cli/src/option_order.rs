//! The options of `run` that set a key of the configuration, in the order of the command line.

use std::ffi::OsString;

use clap::ArgMatches;

/// The option in clap's words, on the command line, and the key it stands for.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("log_file", "--log-file", "log.file"),
    ("log_level", "--log-level", "log.level"),
    ("log_format", "--log-format", "log.format"),
];

#[derive(Debug, Clone)]
pub enum Given {
    /// An option that stands for one key.
    Special {
        option: &'static str,
        key: &'static str,
        text: OsString,
    },
    /// `--set`, not yet taken apart.
    Set(OsString),
}

pub fn in_order(matches: &ArgMatches) -> Vec<Given> {
    let mut all: Vec<(usize, Given)> = values(matches, "set")
        .map(|(at, text)| (at, Given::Set(text)))
        .collect();
    for &(id, option, key) in SPECIAL {
        let given =
            values(matches, id).map(|(at, text)| (at, Given::Special { option, key, text }));
        all.extend(given);
    }
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, given)| given).collect()
}

/// Each value with its place on the command line.
fn values<'m>(matches: &'m ArgMatches, id: &str) -> impl Iterator<Item = (usize, OsString)> + 'm {
    let places = matches.indices_of(id).into_iter().flatten();
    let texts = matches.get_raw(id).into_iter().flatten();
    places.zip(texts.map(|text| text.to_os_string()))
}
