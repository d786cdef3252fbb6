//! `cmshim man`: the manual pages, from the command line's own declaration, the tables of keys and the C header.

mod api;
mod formats;
mod policy;
mod sections;
mod synopsis;

use std::io::{ErrorKind, Result};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use cmshim_core::config::reason;

use crate::args::{Cli, ManArgs};
use crate::failure::{Failure, FOUND};
use crate::output;

pub fn man(args: &ManArgs) -> std::result::Result<u8, Failure> {
    match &args.dir {
        Some(dir) => write_all(dir)?,
        None => {
            let page = main_page().map_err(|e| Failure::new(FOUND, reason(&e)))?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(0)
}

fn write_all(dir: &Path) -> std::result::Result<(), Failure> {
    let write = || -> Result<()> {
        match std::fs::create_dir_all(dir) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(ErrorKind::NotADirectory.into()),
            made => made,
        }?;
        std::fs::write(dir.join("cmshim.1"), main_page()?)?;
        formats::write_all(dir)?;
        api::write_all(dir)?;
        write_parts(dir, &command(), "cmshim")
    };
    let fail = |e| Failure::new(FOUND, format!("{}: {}", dir.display(), reason(&e)));
    write().map_err(fail)
}

/// A page for each command below this one.
fn write_parts(dir: &Path, command: &Command, above: &str) -> Result<()> {
    for part in command.get_subcommands() {
        let name = format!("{above}-{}", part.get_name());
        std::fs::write(dir.join(format!("{name}.1")), page_of(part, &name)?)?;
        write_parts(dir, part, &name)?;
    }
    Ok(())
}

/// The command as it is declared, without `help`, which needs no page.
fn command() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

fn main_page() -> Result<Vec<u8>> {
    let command = command();
    let mut page = head(&command, "cmshim")?;
    Man::new(command.clone()).render_subcommands_section(&mut page)?;
    let mut own = vec![sections::environment(), sections::files()];
    own.extend(sections::after_help(&command));
    own.push(sections::see_also("cmshim"));
    for section in own {
        section.to_writer(&mut page)?;
    }
    Ok(page)
}

/// The page of a command of cmshim.
fn page_of(command: &Command, name: &str) -> Result<Vec<u8>> {
    let mut page = head(command, name)?;
    if command.has_subcommands() {
        let named = command.clone().name(name.to_owned());
        Man::new(named).render_subcommands_section(&mut page)?;
    }
    for section in sections::after_help(command) {
        section.to_writer(&mut page)?;
    }
    sections::see_also(name).to_writer(&mut page)?;
    Ok(page)
}

/// Title to options.
fn head(command: &Command, name: &str) -> Result<Vec<u8>> {
    let named = command.clone().name(name.to_owned());
    let man = Man::new(named).title(name).manual("cmshim");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis::section(command, name).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    Ok(page)
}
