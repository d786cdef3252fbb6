//! What stands in a policy file, for the page of `cmshim policy`.

use clap_mangen::roff::{bold, roman, Roff};
use cmshim_core::tenant::FIELDS;

use super::sections::section;

/// The example that `make install` does not install: it is in the page.
const EXAMPLE: &str = include_str!("../../../tools/policy/example.toml");

pub fn file() -> Roff {
    let mut roff = section("POLICY FILE");
    roff.text([roman(
        "The file is TOML. It is read again when it changes, also where it is a link that is exchanged (Kubernetes); \
         a new file that is broken leaves the old policy in effect. An unknown key is an error, and so is a \
         tenant or egress rule that could never match. At most 20000 tenants and egress rules may stand in it, 1000 of them with limits, all lists together \
         100000 prefixes, and the file 16 MiB.",
    )]);
    roff.control("PP", []);
    roff.text([roman(
        "A peer that is refused gets an ordinary reject. If it runs under cmshim too, it says why: \"refused by policy \
         of the peer: tenant 'olap' has 64 of 64 connections\".",
    )]);
    for field in FIELDS {
        let name = match field.table {
            "" => field.name.to_owned(),
            table => format!("[[{table}]] {}", field.name),
        };
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(
            format!("{} Allowed: {}.", field.help, field.allowed)
                .trim_start()
                .to_owned(),
        )]);
    }
    roff
}

pub fn example() -> Roff {
    let mut roff = section("EXAMPLE");
    roff.control("PP", []);
    roff.control("nf", []);
    for line in EXAMPLE.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
