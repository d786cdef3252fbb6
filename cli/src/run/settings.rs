//! The variables that the options of `run` stand for.

use std::ffi::OsString;

use cmshim_core::config::{parse_setting, read_file, CONFIG_VARIABLE};

use crate::args::RunArgs;
use crate::failure::{Failure, USAGE};

/// Names and values, checked against the table of keys. A later one of the same name counts.
pub fn variables(args: &RunArgs) -> Result<Vec<(String, OsString)>, Failure> {
    let mut variables = Vec::new();
    if let Some(file) = &args.config {
        variables.push((CONFIG_VARIABLE.to_owned(), config_file(file)?));
    }
    if let Some(file) = &args.log_file {
        let text = file
            .to_str()
            .ok_or_else(|| wrong("--log-file: the file name is not UTF-8"))?;
        variables.push(checked("--log-file", "log.file", text)?);
    }
    let words = [
        ("--log-level", "log.level", &args.log_level),
        ("--log-format", "log.format", &args.log_format),
    ];
    for (option, key, text) in words {
        if let Some(text) = text {
            variables.push(checked(option, key, text)?);
        }
    }
    for pair in &args.set {
        let Some((key, text)) = pair.split_once('=') else {
            let what = format!("--set {pair}: write KEY=VALUE, for example log.level=debug");
            return Err(wrong(&what));
        };
        variables.push(checked("--set", key.trim(), text)?);
    }
    Ok(variables)
}

fn checked(option: &str, key: &str, text: &str) -> Result<(String, OsString), Failure> {
    match parse_setting(key, text) {
        Ok((variable, _)) => Ok((variable, text.into())),
        Err(problem) => Err(wrong(&format!("{option}: {problem}"))),
    }
}

/// Absolute, since the program and its children may start elsewhere. Whoever names a file
/// wants it read, so a file that cannot be is an error here, and not only a line of the library.
fn config_file(file: &std::path::Path) -> Result<OsString, Failure> {
    let fail = |why: String| wrong(&format!("--config {}: {why}", file.display()));
    read_file(file).map_err(fail)?;
    let absolute = std::path::absolute(file).map_err(|e| fail(e.to_string()))?;
    Ok(absolute.into())
}

fn wrong(message: &str) -> Failure {
    Failure::new(USAGE, message)
}
