//! The variables that the options of `run` stand for.

use std::ffi::{OsStr, OsString};

use cmshim_core::config::{parse_setting, read_file, reason, Value, CONFIG_VARIABLE};

use crate::args::RunArgs;
use crate::failure::{Failure, USAGE};
use crate::option_order::Given;

/// Names and values, checked against the table of keys. A later one of the same name counts.
pub fn variables(args: &RunArgs) -> Result<Vec<(String, OsString)>, Failure> {
    let mut variables = Vec::new();
    if let Some(file) = &args.config {
        variables.push((CONFIG_VARIABLE.to_owned(), config_file(file)?));
    }
    for given in &args.given {
        variables.push(match given {
            Given::Special { option, key, text } => checked(option, key, &utf8(option, text)?)?,
            Given::Set(pair) => set(&utf8("--set", pair)?)?,
        });
    }
    Ok(variables)
}

fn set(pair: &str) -> Result<(String, OsString), Failure> {
    let Some((key, text)) = pair.split_once('=') else {
        let what = format!("--set {pair}: write KEY=VALUE, for example log.level=debug");
        return Err(wrong(&what));
    };
    checked("--set", key.trim(), text)
}

fn utf8(option: &str, text: &OsStr) -> Result<String, Failure> {
    let text = text.to_str().map(str::to_owned);
    text.ok_or_else(|| wrong(&format!("{option}: the value is not UTF-8")))
}

fn checked(option: &str, key: &str, text: &str) -> Result<(String, OsString), Failure> {
    match parse_setting(key, text) {
        // A word as the table has it, whatever its case was.
        Ok((variable, Value::Text(word))) => Ok((variable, word.into())),
        Ok((variable, _)) => Ok((variable, text.into())),
        Err(problem) => Err(wrong(&format!("{option}: {problem}"))),
    }
}

/// Absolute, since the program and its children may start elsewhere. Whoever names a file
/// wants it read, so a file that cannot be is an error here, and not only a line of the library.
fn config_file(file: &std::path::Path) -> Result<OsString, Failure> {
    let fail = |why: String| wrong(&format!("--config {}: {why}", file.display()));
    read_file(file).map_err(fail)?;
    let absolute = std::path::absolute(file).map_err(|e| fail(reason(&e)))?;
    Ok(absolute.into())
}

fn wrong(message: &str) -> Failure {
    Failure::new(USAGE, message)
}
