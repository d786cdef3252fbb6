//! The keys of one table, each with its type checked.

use super::notes::{Notes, HINTS};
use crate::config::is_a_value;
use crate::text::nearest;
use crate::text::toml::{shown, shown_key};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// One table of the file.
pub(super) struct Fields<'a, 'i> {
    table: &'a DeTable<'i>,
    /// What stands before its keys, seen from the root: `tenant.`
    place: &'static str,
    /// Where it begins.
    pub at: usize,
}

impl<'a, 'i> Fields<'a, 'i> {
    pub fn new(table: &'a DeTable<'i>, place: &'static str, at: usize) -> Fields<'a, 'i> {
        Fields { table, place, at }
    }

    /// Names the keys that are not known.
    pub fn check_names(&self, known: &[&str], notes: &mut Notes) {
        for name in self.table.keys() {
            if !known.contains(&name.get_ref().as_ref()) {
                self.unknown(name, known, notes);
            }
        }
    }

    fn unknown(&self, name: &Spanned<toml::de::DeString<'i>>, known: &[&str], notes: &mut Notes) {
        let hint = match notes.count() {
            0..HINTS => match nearest(name.get_ref(), known) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known here: {}", known.join(", ")),
            },
            _ => String::new(),
        };
        let key = format!("{}{}", self.place, shown_key(name.get_ref()));
        notes.add(name.span().start, Some(key), "no such key", hint);
    }

    /// The key as it reads from the root.
    pub fn key(&self, key: &str) -> Option<String> {
        Some(format!("{}{key}", self.place))
    }

    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.table.get(key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Where the value of a key stands; else where the table does.
    pub fn place_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.at, |value| value.span().start)
    }

    /// Names a key that has to be there.
    pub fn require(&self, key: &str, hint: &str, notes: &mut Notes) {
        if !self.has(key) {
            notes.add(self.at, self.key(key), "is missing", hint);
        }
    }

    /// Looks at a value, if there is one, by a function that says what is wrong with it. (Neither this nor
    /// [`Fields::each`] is generic: that would be the larger part of the reader's code.)
    pub fn value(
        &self,
        key: &str,
        allowed: &str,
        notes: &mut Notes,
        read: &mut dyn FnMut(&'a DeValue<'i>) -> Result<(), String>,
    ) {
        let Some(value) = self.get(key) else { return };
        if let Err(what) = read(value.get_ref()) {
            self.wrong(key, value.span().start, what, allowed, notes);
        }
    }

    fn wrong(&self, key: &str, at: usize, what: String, allowed: &str, notes: &mut Notes) {
        notes.add(at, self.key(key), what, format!("allowed: {allowed}"));
    }

    /// One of some words: its place among them.
    pub fn word(&self, key: &str, words: &[&str], notes: &mut Notes) -> Option<usize> {
        let allowed = format!("\"{}\"", words.join("\", \""));
        let mut found = None;
        self.value(key, &allowed, notes, &mut |value| {
            let text = text(value)?;
            found = words.iter().position(|word| *word == text);
            match found {
                Some(_) => Ok(()),
                None => Err(format!("{} is not one of the words", shown(text))),
            }
        });
        found
    }

    /// A whole number, both ends included.
    pub fn whole(&self, key: &str, from: u32, to: u32, notes: &mut Notes) -> Option<u32> {
        let allowed = format!("a whole number from {from} to {to}");
        let mut found = None;
        self.value(key, &allowed, notes, &mut |value| {
            found = Some(whole(value, from, to)?);
            Ok(())
        });
        found
    }

    /// Looks at each item of a list, with its place. An empty list is wrong. False if there is no list.
    pub fn each(
        &self,
        key: &str,
        allowed: &str,
        notes: &mut Notes,
        read: &mut dyn FnMut(&'a DeValue<'i>, usize) -> Result<(), String>,
    ) -> bool {
        let mut items = None;
        self.value(key, allowed, notes, &mut |value| match value {
            DeValue::Array(list) if list.is_empty() => {
                Err("this list is empty and matches nothing (without the key, all match)".into())
            }
            DeValue::Array(list) => {
                items = Some(list);
                Ok(())
            }
            other => Err(is_a_value(other)),
        });
        for item in items.into_iter().flat_map(|list| list.iter()) {
            let at = item.span().start;
            if let Err(what) = read(item.get_ref(), at) {
                self.wrong(key, at, what, allowed, notes);
            }
        }
        items.is_some()
    }
}

pub(super) fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, String> {
    match value {
        DeValue::String(text) => Ok(text),
        other => Err(is_a_value(other)),
    }
}

pub(super) fn whole(value: &DeValue<'_>, from: u32, to: u32) -> Result<u32, String> {
    let DeValue::Integer(digits) = value else {
        return Err(is_a_value(value));
    };
    let number = i128::from_str_radix(digits.as_str(), digits.radix());
    match number.map(|number| (number, u32::try_from(number))) {
        Ok((_, Ok(number))) if (from..=to).contains(&number) => Ok(number),
        Ok((number, _)) if number < 0 => Err(format!("{number} is negative")),
        Ok((number, _)) => Err(format!("{number} is out of range")),
        Err(_) => Err("the number is out of range".to_owned()),
    }
}
