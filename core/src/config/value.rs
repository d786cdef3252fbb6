//! A value of a key, and the check of a value against the key's kind.

use std::fmt;

use serde::Serialize;

use super::table::{Key, Kind, Preset, PREFIX};
use crate::text::toml::{quoted, shown};

/// A checked value. It prints as TOML and serialises as plain JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Int(u64),
    Text(String),
    List(Vec<String>),
}

impl From<Preset> for Value {
    fn from(preset: Preset) -> Value {
        match preset {
            Preset::Bool(b) => Value::Bool(b),
            Preset::Int(n) => Value::Int(n),
            Preset::Text(s) => Value::Text(s.to_owned()),
            Preset::List(l) => Value::List(l.iter().map(|&s| s.to_owned()).collect()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Text(s) => f.write_str(&quoted(s)),
            Value::List(l) => {
                let items: Vec<String> = l.iter().map(|s| quoted(s)).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

impl Key {
    /// The built-in default.
    pub fn default_value(&self) -> Value {
        self.default.into()
    }

    /// The section that the key stands in; empty for none.
    pub fn section(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or("", |(section, _)| section)
    }

    /// The name inside its section.
    pub fn leaf(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or(self.name, |(_, leaf)| leaf)
    }

    /// The variable that sets it: `listen.min_backlog` is `CMSHIM_LISTEN_MIN_BACKLOG`.
    pub fn variable(&self) -> String {
        let upper = self.name.replace('.', "_").to_ascii_uppercase();
        format!("{}{upper}", PREFIX)
    }
}

impl Kind {
    /// What may be written, in words, for a message or the documentation.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Bool => "true or false".to_owned(),
            Kind::Choice(words) => words
                .iter()
                .map(|w| quoted(w))
                .collect::<Vec<_>>()
                .join(", "),
            Kind::Int { min, max, unit } => {
                let space = if unit.is_empty() { "" } else { " " };
                format!("a whole number from {min} to {max}{space}{unit}")
            }
            Kind::Path => "a file name, %p in it is the process id, or \"\" for none".to_owned(),
            Kind::Directory => "the name of a directory, from / on, or \"\" for none".to_owned(),
            Kind::File => "the name of a file, from / on, or \"\" for none".to_owned(),
            Kind::Tenant => "the name of a tenant, at most 64 bytes, or \"\" for none".to_owned(),
            Kind::CgroupPattern => {
                "a pattern with {tenant} in it once, or \"\" for none".to_owned()
            }
            Kind::Names => "a list of program names, each without a directory".to_owned(),
            Kind::Cpus => {
                "CPU numbers and ranges such as \"5,6\" or \"0-3\", \"device\", or \"\" for any"
                    .to_owned()
            }
        }
    }

    /// Checks a whole number, given as `i128` so that anything a file holds fits.
    pub(super) fn check_int(&self, number: i128) -> Result<Value, String> {
        let Kind::Int { min, max, .. } = *self else {
            return Err(format!("{number} is a number"));
        };
        match u64::try_from(number) {
            Ok(n) if (min..=max).contains(&n) => Ok(Value::Int(n)),
            _ if number < 0 => Err(format!("{number} is negative")),
            _ => Err(format!("{number} is out of range")),
        }
    }

    /// Checks a string.
    pub(super) fn check_text(&self, text: &str) -> Result<Value, String> {
        match *self {
            Kind::Choice(words) => match words.iter().find(|w| w.eq_ignore_ascii_case(text)) {
                Some(word) => Ok(Value::Text((*word).to_owned())),
                None => Err(format!("{} is not one of the words", shown(text))),
            },
            Kind::Path => check_path(text),
            Kind::Directory => check_directory(text),
            Kind::File => check_directory(text),
            Kind::Tenant => check_tenant(text),
            Kind::CgroupPattern if text.is_empty() => Ok(Value::Text(String::new())),
            Kind::CgroupPattern => {
                let fine = crate::tenant::check_pattern(text);
                fine.map_err(|what| format!("{}: {what}", shown(text)))?;
                Ok(Value::Text(text.to_owned()))
            }
            Kind::Cpus => super::cpus::Cpus::parse(text).map(|_| Value::Text(text.to_owned())),
            _ => Err(format!("{} is a string", shown(text))),
        }
    }

    /// Checks a list of strings.
    pub(super) fn check_list(&self, items: Vec<String>) -> Result<Value, String> {
        let Kind::Names = *self else {
            return Err("this is a list".to_owned());
        };
        for item in &items {
            if item.is_empty() {
                return Err("a program name is empty".to_owned());
            }
            if item.contains('/') {
                return Err(format!("{} has a directory in it", shown(item)));
            }
        }
        Ok(Value::List(items))
    }
}

/// Refuses names that would make a file which nobody meant.
fn check_path(text: &str) -> Result<Value, String> {
    if text.contains('\0') {
        return Err("a file name cannot hold a zero byte".to_owned());
    }
    if text.len() > 4095 {
        return Err("the file name is too long".to_owned());
    }
    if text == "~" || text.starts_with("~/") {
        let what = "~ is not expanded here, write the directory's name";
        return Err(format!("{}: {what}", shown(text)));
    }
    if let Some(letter) = unknown_percent(text) {
        let what = format!("%{letter} means nothing, only %p does");
        return Err(format!("{}: {what}", shown(text)));
    }
    Ok(Value::Text(text.to_owned()))
}

/// A directory is the same for the program and for those who read there.
fn check_directory(text: &str) -> Result<Value, String> {
    if !text.is_empty() && !text.starts_with('/') {
        return Err(format!("{} does not begin with /", shown(text)));
    }
    check_path(text)
}

/// As in a policy file.
fn check_tenant(text: &str) -> Result<Value, String> {
    match text.len() {
        0..=crate::tenant::NAME_BYTES if !text.contains(char::is_control) => {
            Ok(Value::Text(text.to_owned()))
        }
        _ => Err(format!("{} can be no tenant's name", shown(text))),
    }
}

/// The letter behind a percent sign, when it is not the one that is replaced.
fn unknown_percent(text: &str) -> Option<char> {
    text.split('%')
        .skip(1)
        .filter_map(|rest| rest.chars().next())
        .find(|c| c.is_ascii_alphabetic() && *c != 'p')
}
