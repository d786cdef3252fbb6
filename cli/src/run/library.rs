//! Which library is preloaded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cmshim_core::config::{reason, LIBRARY_VARIABLE};

use super::places::{beside, system, BUILT, SONAME};
use super::preload::is_separator;
use super::warn::described;
use super::{elf, regular};
use crate::failure::{Failure, NO_LIBRARY};

/// What only our library has.
const SYMBOL: &str = "cmshim_version";

/// The option, else the variable, else the library that belongs to this program, else the one that
/// the dynamic loader would find.
pub fn find(option: Option<&Path>) -> Result<OsString, Failure> {
    if let Some(path) = option {
        return named(path, "--library");
    }
    let variable = std::env::var_os(LIBRARY_VARIABLE).filter(|v| !v.is_empty());
    if let Some(path) = variable {
        return named(Path::new(&path), LIBRARY_VARIABLE);
    }
    by_soname("no library")
}

/// As /proc says, or the caller where that is not mounted (chroot).
fn this_program() -> PathBuf {
    let by_caller = || {
        let name = PathBuf::from(std::env::args_os().next()?);
        name.parent().filter(|dir| !dir.as_os_str().is_empty())?;
        std::path::absolute(name).ok()
    };
    let found = std::env::current_exe().ok().or_else(by_caller);
    found.unwrap_or_default()
}

fn named(path: &Path, from: &str) -> Result<OsString, Failure> {
    let is_name = path == Path::new(SONAME) || path == Path::new(BUILT);
    if is_name && !path.exists() {
        return by_soname(from);
    }
    usable(path, from)
}

/// The loader is not asked: when it finds nothing, it only warns, and starts the program bare.
fn by_soname(from: &str) -> Result<OsString, Failure> {
    let mut places = beside(&this_program()).into_iter();
    if let Some(path) = places.find(|p| p.is_file()) {
        return usable(&path, "the library found beside this program");
    }
    if let Some(path) = system().into_iter().find(|p| p.is_file()) {
        return usable(&path, "the installed library");
    }
    let message = format!(
        "{from}: {SONAME} is neither beside this program (as {BUILT}, or in ../lib) nor in the system's \
         library directories; name it with --library or {LIBRARY_VARIABLE}"
    );
    Err(Failure::new(NO_LIBRARY, message))
}

/// As it can stand in LD_PRELOAD: absolute, since the program's children may start elsewhere.
fn usable(path: &Path, from: &str) -> Result<OsString, Failure> {
    let fail = |why: String| {
        let message = format!("{from}: {}: {why}", path.display());
        Failure::new(NO_LIBRARY, message)
    };
    let absolute = std::path::absolute(path).map_err(|e| fail(reason(&e)))?;
    check(&absolute).map_err(fail)?;
    let absolute = absolute.into_os_string();
    if absolute.as_encoded_bytes().iter().any(|&b| is_separator(b)) {
        let why = "LD_PRELOAD cannot hold a path with a space or a colon in it; copy or link the library elsewhere";
        return Err(fail(why.to_owned()));
    }
    Ok(absolute)
}

/// Whether the loader can take it, and whether it is ours: a wrong one has no effect, or worse.
fn check(path: &Path) -> Result<(), String> {
    let open = || {
        regular::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => reason(&error),
        })
    };
    let Some(library) = elf::facts(open()?) else {
        return Err("is no shared library (not an ELF file, or a damaged one)".to_owned());
    };
    if !library.shared {
        return Err("is no shared library".to_owned());
    }
    let own = std::env::current_exe().ok().and_then(|p| elf::read(&p));
    if let Some(own) = own.filter(|own| own.target != library.target) {
        let (library, own) = (described(library.target), described(own.target));
        return Err(format!(
            "is built for {library}, and this program for {own}"
        ));
    }
    if !library.whole {
        return Err("is damaged: the file is shorter than it should be".to_owned());
    }
    if !elf::exports(open()?, SYMBOL) {
        return Err(format!(
            "is not cmshim's library (it has no symbol {SYMBOL})"
        ));
    }
    Ok(())
}
