//! The conditions of a rule: addresses, ports, keys.

use super::fields::{text, whole, Fields, Placed};
use super::notes::Notes;
use super::MAX_PREFIXES;
use crate::config::shown;
use crate::tenant::interfaces::{Interfaces, Scope};
use crate::tenant::net::Net;
use crate::tenant::rule::{Set, MEMBERSHIP};
use crate::tenant::tree::Tree;
use toml::de::DeValue;

const PREFIXES: &str = "a list of addresses and prefixes: \"10.1.0.0/16\", \"fd00:1::/64\"";
const WITH_SCOPE: &str =
    "a list of addresses and prefixes: \"10.1.0.0/16\", \"fd00:1::/64\", \"fe80::/10%eth0\"";
const PORTS: &str = "a list of ports and ranges: 7471, \"8000-8099\"";
const PKEYS: &str = "a list of partition keys from 0x0001 to 0xffff";

/// Reads prefixes, and counts those of the whole file.
#[derive(Default)]
pub(super) struct Prefixes {
    pub interfaces: Interfaces,
    count: usize,
}

impl Prefixes {
    /// Addresses of peers, perhaps behind an interface.
    pub fn of_peers(
        &mut self,
        fields: &Fields,
        key: &str,
        notes: &mut Notes,
    ) -> Option<Vec<Placed<(Net, Scope)>>> {
        let list = fields.list(key, WITH_SCOPE, notes, |value| {
            let written = Net::parse(text(value)?)?;
            let scope = written.scope.map(|text| self.interfaces.scope(text));
            Ok((written.net, scope.unwrap_or(Ok(Scope::Any))?))
        });
        self.counted(fields, key, list, notes)
    }

    /// Where an egress rule leads to.
    pub fn to(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        let list = self.of_peers(fields, key, notes)?;
        Some(set(list.into_iter().map(|(item, _)| item)))
    }

    /// This host's addresses, which need no interface.
    pub fn of_this_host(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        let list = fields.list(key, PREFIXES, notes, |value| {
            let written = Net::parse(text(value)?)?;
            match written.scope {
                Some(scope) => Err(format!("%{} can stand in peers only", shown(scope))),
                None => Ok(written.net),
            }
        });
        let list = self.counted(fields, key, list, notes)?;
        Some(set(list.into_iter().map(|(net, _)| (net, Scope::Any))))
    }

    pub fn of_gids(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        let list = fields.list(key, PREFIXES, notes, |value| Net::parse_gid(text(value)?));
        let list = self.counted(fields, key, list, notes)?;
        Some(set(list.into_iter().map(|(net, _)| (net, Scope::Any))))
    }

    fn counted<T>(
        &mut self,
        fields: &Fields,
        key: &str,
        list: Option<Vec<T>>,
        notes: &mut Notes,
    ) -> Option<Vec<T>> {
        let before = self.count;
        self.count += list.as_ref().map_or(0, Vec::len);
        if before <= MAX_PREFIXES && self.count > MAX_PREFIXES {
            let what = format!("the file has more than {MAX_PREFIXES} prefixes");
            notes.add(fields.place_of(key), fields.key(key), what, "");
        }
        list
    }
}

fn set(items: impl Iterator<Item = (Net, Scope)>) -> Set {
    Tree::new(items.collect())
}

/// Ranges, from and to.
pub(super) fn ports(fields: &Fields, notes: &mut Notes) -> Vec<(u16, u16)> {
    let list = fields.list("ports", PORTS, notes, |value| match value {
        DeValue::String(text) => range(text),
        value => {
            let port = whole(value, 1, u16::MAX.into())? as u16;
            Ok((port, port))
        }
    });
    values(list)
}

fn range(text: &str) -> Result<(u16, u16), String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (port(from)?, port(to)?);
    match from <= to {
        true => Ok((from, to)),
        false => Err(format!("the range {from}-{to} runs backwards")),
    }
}

fn port(text: &str) -> Result<u16, String> {
    let digits = text.trim();
    match digits.parse() {
        Ok(0) => Err("0 is no port".to_owned()),
        Ok(port) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(port),
        _ => Err(format!("{} is no port from 1 to 65535", shown(text))),
    }
}

/// Without the membership bit.
pub(super) fn pkeys(fields: &Fields, notes: &mut Notes) -> Vec<u16> {
    let list = fields.list("pkeys", PKEYS, notes, |value| {
        match whole(value, 0, u16::MAX.into())? as u16 & !MEMBERSHIP {
            0 => Err("0x0000 and 0x8000 are no valid partition keys".to_owned()),
            pkey => Ok(pkey),
        }
    });
    values(list)
}

fn values<T>(list: Option<Vec<Placed<T>>>) -> Vec<T> {
    let list = list.unwrap_or_default();
    list.into_iter().map(|(value, _)| value).collect()
}
