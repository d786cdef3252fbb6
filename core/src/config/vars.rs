//! Values from `CMSHIM_*` variables, and from `key=value` on a command line.

use std::ffi::{OsStr, OsString};

use super::lookup::{row_of, row_of_variable};
use super::problem::Problem;
use super::source::{CONFIG_VARIABLE, FAMILY_VARIABLE, LIBRARY_VARIABLE};
use super::table::{Kind, KEYS, PREFIX};
use super::value::Value;
use crate::text::nearest;
use crate::text::toml::{shown, shown_key};

/// Variables with our prefix that are no keys: the file, the library that `cmshim run` takes, its report, and
/// the library that the tests take.
const RESERVED: &[&str] = &[
    CONFIG_VARIABLE,
    LIBRARY_VARIABLE,
    FAMILY_VARIABLE,
    "CMSHIM_LIB",
];

/// A value that a variable gives to a row of the table.
pub(super) struct VarValue {
    pub row: usize,
    pub value: Value,
    pub name: String,
}

/// Reads the variables with our prefix. The first of two with one name counts, as for getenv.
pub(super) fn read(vars: &[(OsString, OsString)]) -> (Vec<VarValue>, Vec<Problem>) {
    let mut values = Vec::new();
    let mut problems = Vec::new();
    let mut seen: Vec<&OsStr> = Vec::new();
    for (name, text) in vars {
        if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        if seen.contains(&name.as_os_str()) {
            problems.push(problem(
                name,
                "is set twice; the first one counts",
                String::new(),
            ));
            continue;
        }
        seen.push(name);
        match one(name, text) {
            Ok(value) => values.extend(value),
            Err(problem) => problems.push(*problem),
        }
    }
    (values, problems)
}

fn one(name: &OsStr, text: &OsStr) -> Result<Option<VarValue>, Box<Problem>> {
    if RESERVED.iter().any(|r| name == *r) {
        return Ok(None);
    }
    let known = name.to_str().and_then(|n| Some((n, row_of_variable(n)?)));
    let Some((name, row)) = known else {
        return Err(Box::new(problem(
            name,
            "no such setting",
            near_variable(name),
        )));
    };
    let value = match text.to_str() {
        Some(text) => parse(&KEYS[row].kind, text),
        None => Err(format!("{} is not UTF-8", shown(&text.to_string_lossy()))),
    };
    match value {
        Ok(value) => Ok(Some(VarValue {
            row,
            value,
            name: name.to_owned(),
        })),
        Err(what) => {
            let allowed = format!("allowed: {}", KEYS[row].kind.allowed());
            let mut problem = problem(OsStr::new(name), &what, allowed);
            problem.row = Some(row);
            Err(Box::new(problem))
        }
    }
}

fn problem(name: &OsStr, what: &str, allowed: String) -> Problem {
    Problem {
        variable: Some(shown_key(&name.to_string_lossy())),
        what: what.to_owned(),
        allowed,
        ..Problem::default()
    }
}

fn near_variable(name: &OsStr) -> String {
    let all: Vec<String> = KEYS.iter().map(|k| k.variable()).collect();
    let mut candidates: Vec<&str> = all.iter().map(String::as_str).collect();
    candidates.extend([CONFIG_VARIABLE, LIBRARY_VARIABLE]);
    // Compared without the prefix, which is the same for all and would make all look alike.
    let short: Vec<&str> = candidates.iter().map(|c| &c[PREFIX.len()..]).collect();
    let lossy = name.to_string_lossy();
    let wanted = lossy.get(PREFIX.len()..).unwrap_or_default();
    match nearest(wanted, &short) {
        Some(near) => format!("did you mean {PREFIX}{near}?"),
        None => format!("known: {}", candidates.join(", ")),
    }
}

/// A value written as plain text: no quotes, a list separated by commas.
fn parse(kind: &Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Bool => parse_bool(text),
        Kind::Int { .. } => parse_int(kind, text),
        Kind::Choice(_) => kind.check_text(text.trim()),
        Kind::Path
        | Kind::Directory
        | Kind::File
        | Kind::Tenant
        | Kind::CgroupPattern
        | Kind::Cpus => kind.check_text(text),
        Kind::Names => {
            let items = text.split(',').map(str::trim).filter(|s| !s.is_empty());
            kind.check_list(items.map(str::to_owned).collect())
        }
    }
}

/// Variables and command lines have no types, so the usual spellings are taken.
fn parse_bool(text: &str) -> Result<Value, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
        "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
        _ => Err(format!("{} is neither", shown(text))),
    }
}

fn parse_int(kind: &Kind, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{} is not a whole number", shown(text)));
    }
    match trimmed.parse::<i128>() {
        Ok(number) => kind.check_int(number),
        Err(_) => Err(format!("{} is out of range", shown(text))),
    }
}

/// Checks `key` and `text` as given on a command line, by the rules of the variables.
///
/// Returns the variable that sets the key, and the value as that variable takes it.
pub fn parse_setting(key: &str, text: &str) -> Result<(String, Value), Box<Problem>> {
    let fail = |what: String, allowed: String| {
        Box::new(Problem {
            key: Some(shown_key_path(key)),
            what,
            allowed,
            ..Problem::default()
        })
    };
    let Some(row) = row_of(key) else {
        let names: Vec<&str> = KEYS.iter().map(|k| k.name).collect();
        let hint = nearest(key, &names).map_or_else(
            || format!("known: {}", names.join(", ")),
            |n| format!("did you mean {n}?"),
        );
        return Err(fail("no such key".to_owned(), hint));
    };
    let key = &KEYS[row];
    match parse(&key.kind, text) {
        Ok(value) => Ok((key.variable(), value)),
        Err(what) => Err(fail(what, format!("allowed: {}", key.kind.allowed()))),
    }
}

fn shown_key_path(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    super::lookup::dotted(&parts)
}
