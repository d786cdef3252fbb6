//! Section 5: the configuration and the policy file.

use std::io::Result;
use std::path::Path;

use clap_mangen::roff::{bold, italic, roman, Roff};
use cmshim_core::config::DEFAULT_PATH;

use super::{policy, sections};

pub fn write_all(dir: &Path) -> Result<()> {
    let write = |name: &str, page: Roff| {
        let file = std::fs::File::create(dir.join(format!("{name}.5")))?;
        page.to_writer(&mut &file)
    };
    write("cmshim.toml", configuration())?;
    write("cmshim-policy", policy_file())
}

fn configuration() -> Roff {
    let mut page = head("cmshim.toml", "configuration of cmshim", DEFAULT_PATH);
    page.extend([
        sections::configuration(),
        sections::environment(),
        sections::files(),
        sections::references([("cmshim", 1), ("cmshim-config", 1), ("cmshim-policy", 5)]),
    ]);
    page
}

fn policy_file() -> Roff {
    let mut page = head(
        "cmshim-policy",
        "who may connect to programs under cmshim",
        "policy.toml",
    );
    let mut text = sections::section("DESCRIPTION");
    text.text([
        roman("The key "),
        bold("tenant.policy"),
        roman(" of the configuration names the file. "),
        bold("cmshim policy check"),
        roman(" reads it as the library does, and names each mistake."),
    ]);
    page.extend([text]);
    page.extend(policy::sections());
    page.extend([sections::references([
        ("cmshim-policy", 1),
        ("cmshim.toml", 5),
    ])]);
    page
}

fn head(name: &str, what: &str, file: &str) -> Roff {
    let mut page = sections::title(name, 5);
    let mut named = sections::section("NAME");
    named.text([roman(format!("{name} - {what}"))]);
    let mut synopsis = sections::section("SYNOPSIS");
    synopsis.text([italic(file)]);
    page.extend([named, synopsis]);
    page
}
