//! `cmshim config`.

use std::ffi::OsString;
use std::path::Path;

use cmshim_core::config::{
    default_file, gather, is_lost_policy, load, Input, Loaded, OnError, CONFIG_VARIABLE,
};
use serde_json::json;

use crate::args::ConfigArgs;
use crate::failure::{Failure, FOUND};
use crate::output;

pub fn config(args: &ConfigArgs) -> Result<u8, Failure> {
    if args.default {
        output::print(&default_file())?;
        return Ok(0);
    }
    let loaded = load(&input(args));
    let policy = policy_problems(&loaded);
    if args.json {
        output::print(&as_json(&loaded))?;
    } else {
        output::print(&as_text(&loaded))?;
        for problem in &loaded.problems {
            output::complain(&problem.to_string());
        }
        for problem in &policy {
            output::complain(problem);
        }
    }
    let good = loaded.problems.is_empty() && policy.is_empty();
    Ok(if good { 0 } else { FOUND })
}

/// What is wrong with the tenant policy, read as the library would, and what programs do then.
pub fn policy_problems(loaded: &Loaded) -> Vec<String> {
    let Some(path) = &loaded.config.tenant.policy else {
        return Vec::new();
    };
    let then = match loaded.config.tenant.on_error {
        OnError::Deny => "all connects are refused (tenant.on_error)",
        OnError::Allow => "nothing is refused (tenant.on_error)",
    };
    if is_lost_policy(path) {
        return vec![format!(
            "tenant.policy: the configuration is wrong where it may name a policy; {then}"
        )];
    }
    let mut problems = crate::policy::read(Path::new(path))
        .err()
        .unwrap_or_default();
    if !problems.is_empty() {
        problems.push(format!("tenant.policy {path} cannot be used; {then}"));
    }
    problems
}

fn input(args: &ConfigArgs) -> Input {
    let mut vars: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    if let Some(file) = &args.config {
        vars.retain(|(name, _)| name != CONFIG_VARIABLE);
        vars.push((CONFIG_VARIABLE.into(), file.clone().into()));
    }
    // As the library would: the file name of the executable, without directory.
    let name = args.program.as_deref().map(|program| {
        let file = Path::new(program).file_name();
        file.map_or(program.into(), |f| f.to_string_lossy().into_owned())
    });
    gather(vars, name.into_iter().collect(), false)
}

/// One line for each key; the lines are TOML.
fn as_text(loaded: &Loaded) -> String {
    let lines: Vec<(String, String)> = loaded
        .settings
        .iter()
        .map(|s| (format!("{} = {}", s.key, s.value), s.origin.to_string()))
        .collect();
    let width = lines.iter().map(|(l, _)| l.chars().count()).max();
    let width = width.unwrap_or(0).min(40);
    let mut out = String::new();
    if !loaded.active() {
        let key = if loaded.skipped() { "skip" } else { "disable" };
        out.push_str(&format!("# The library does nothing here: see {key}.\n"));
    }
    for (line, origin) in lines {
        out.push_str(&format!("{line:width$}  # {origin}\n"));
    }
    out
}

fn as_json(loaded: &Loaded) -> String {
    let value = json!({
        "active": loaded.active(),
        "settings": loaded.settings,
        "problems": loaded.problems,
        "policy_problems": policy_problems(loaded),
    });
    format!("{value:#}\n")
}
