//! `cmshim man`: the manual pages, from the command line's own declaration and the table of keys.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::roff::{bold, italic, roman, Roff};
use clap_mangen::Man;
use cmshim_core::config::{Key, CONFIG_VARIABLE, DEFAULT_PATH, KEYS, LIBRARY_VARIABLE};

use crate::args::{Cli, ManArgs};
use crate::failure::{Failure, EXIT_STATUS, FOUND};
use crate::output;

pub fn man(args: &ManArgs) -> Result<u8, Failure> {
    match &args.dir {
        Some(dir) => write_all(dir)?,
        None => {
            let page = main_page().map_err(|e| Failure::new(FOUND, e))?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(0)
}

fn write_all(dir: &Path) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(command(), dir)?;
        // The generated page knows nothing of the configuration.
        std::fs::write(dir.join("cmshim.1"), main_page()?)
    };
    write().map_err(|e| Failure::new(FOUND, format!("{}: {e}", dir.display())))
}

/// The command without the table of exit statuses, which is a section of the main page.
fn command() -> clap::Command {
    let plain = |command: clap::Command| match command.get_after_help() {
        Some(help) if help.to_string() == EXIT_STATUS => command.after_help(None::<&str>),
        _ => command,
    };
    plain(Cli::command()).mut_subcommands(plain)
}

fn main_page() -> std::io::Result<Vec<u8>> {
    let man = Man::new(command()).manual("cmshim");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    for section in [configuration(), environment(), files(), exit_status()] {
        section.to_writer(&mut page)?;
    }
    Ok(page)
}

fn section(title: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    roff
}

fn configuration() -> Roff {
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

fn environment() -> Roff {
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
            "CMSHIM_...",
            "Each key of the configuration, by the names above. Lists are separated by commas.",
        ),
        (
            "LD_PRELOAD",
            "What run finds in it is kept, after the library.",
        ),
    ];
    for (name, text) in rows {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(text)]);
    }
    roff
}

fn files() -> Roff {
    let mut roff = section("FILES");
    roff.control("TP", []);
    roff.text([italic(DEFAULT_PATH)]);
    roff.text([roman(
        "The configuration. It need not exist; cmshim config --default prints one to begin with.",
    )]);
    roff
}

fn exit_status() -> Roff {
    let mut roff = section("EXIT STATUS");
    for line in EXIT_STATUS.lines().skip(1) {
        match line.trim().split_once("  ") {
            Some((status, text)) => {
                roff.control("TP", []);
                roff.text([bold(status)]);
                roff.text([roman(text.trim())]);
            }
            None => {
                roff.control("PP", []);
                roff.text([roman(line)]);
            }
        }
    }
    roff
}
