//! What cmshim itself needs: its library and its configuration.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use cmshim_core::config::{Loaded, DEFAULT_PATH};

use super::check::{Check, Verdict};
use crate::run::{elf, regular};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where the library keeps its version (src/hooks/api.rs).
const SECTION: &str = ".cmshim.version";

/// `found` is the library that `cmshim run` would preload, or why there is none.
pub fn library(found: Result<&OsStr, &str>) -> Check {
    let check = Check::new(
        "cmshim-library",
        "cmshim's library",
        "cmshim run preloads it. Library and program share the keys of the configuration, so they should be \
         of one version.",
    );
    let path = match found {
        Ok(path) => Path::new(path),
        Err(why) => {
            return check
                .is(Verdict::Fail, why)
                .by("make install  # in cmshim's source tree")
        }
    };
    let shown = path.display();
    match version(path) {
        Some(version) if version == VERSION => check.is(Verdict::Ok, format!("{shown}, {version}")),
        other => {
            let other = other.unwrap_or_else(|| "of an unknown version".to_owned());
            let value = format!("{shown} is {other}, this program {VERSION}");
            let both = "make install  # library and program, from one source tree";
            check.is(Verdict::Warn, value).by(both)
        }
    }
}

fn version(path: &Path) -> Option<String> {
    elf::section(regular::open(path).ok()?, SECTION)
}

/// `file` is the one that was read, if there is one.
pub fn configuration(loaded: &Loaded, file: Option<&str>) -> Check {
    let mut check = Check::new(
        "configuration",
        "configuration",
        "A wrong value does not count, and each program starts with a line about it. Where the tenant policy \
         cannot be read, tenant.on_error decides: by default all connects are refused.",
    );
    let file = file.map_or(format!("no {DEFAULT_PATH}: defaults"), str::to_owned);
    for problem in &loaded.problems {
        check.found(Verdict::Warn, problem.to_string());
    }
    let policy = crate::config::policy_problems(loaded);
    for problem in &policy {
        check.found(Verdict::Warn, problem.as_str());
    }
    let count = loaded.problems.len() + policy.len();
    if count > 0 {
        check.mend("cmshim config");
        let s = if count == 1 { "" } else { "s" };
        return check.is(Verdict::Warn, format!("{file}: {count} problem{s}"));
    }
    if !loaded.active() {
        let value = format!("{file}: cmshim is switched off (disable)");
        return check.is(Verdict::Warn, value).by("cmshim config");
    }
    check.is(Verdict::Ok, file)
}

/// The path of the library for other checks.
pub fn path(found: &Result<OsString, String>) -> Option<&Path> {
    found.as_ref().ok().map(Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmshim_core::config::{load, Input};

    #[test]
    fn no_library_is_a_failure() {
        assert_eq!(library(Err("no library")).verdict, Verdict::Fail);
    }

    #[test]
    fn a_library_without_version_is_a_warning() {
        let own = std::env::current_exe().unwrap();
        let check = library(Ok(own.as_os_str()));
        assert_eq!(check.verdict, Verdict::Warn);
        assert!(check.value.contains("of an unknown version"), "{check:?}");
    }

    #[test]
    fn problems_of_the_configuration_are_told() {
        let with = |text: &str| {
            let file = ("/x.toml".to_owned(), Ok(text.to_owned()));
            let input = Input {
                file: Some(file),
                ..Input::default()
            };
            configuration(&load(&input), Some("/x.toml"))
        };
        assert_eq!(with("").verdict, Verdict::Ok);
        let wrong = with("[listen]\nmin_backlog = \"many\"\n");
        assert_eq!(wrong.verdict, Verdict::Warn);
        assert_eq!(wrong.value, "/x.toml: 1 problem");
        assert!(wrong.details[0].contains("min_backlog"), "{wrong:?}");
        assert_eq!(with("disable = true\n").verdict, Verdict::Warn);
        let lost = with("tenant.policy = \"/nowhere/policy.toml\"\n");
        assert_eq!(lost.verdict, Verdict::Warn);
        assert!(
            lost.details
                .iter()
                .any(|d| d.contains("all connects are refused")),
            "{lost:?}"
        );
        let none = configuration(&load(&Input::default()), None);
        assert_eq!(none.value, "no /etc/cmshim.toml: defaults");
    }
}
