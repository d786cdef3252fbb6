//! The conditions of a rule: addresses, ports, keys.

use super::fields::{text, whole, Fields};
use super::notes::Notes;
use super::MAX_PREFIXES;
use crate::tenant::interfaces::{Interfaces, Scope};
use crate::tenant::net::Net;
use crate::tenant::rule::{Set, MEMBERSHIP};
use crate::tenant::tree::Tree;
use crate::text::toml::shown;
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

/// Prefixes of a list, each with its place in the file.
pub(super) type Peers = Vec<((Net, Scope), usize)>;

impl Prefixes {
    /// Addresses of peers, perhaps behind an interface.
    pub fn of_peers(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Peers> {
        let mut list = Vec::new();
        let there = fields.each(key, WITH_SCOPE, notes, &mut |value, at| {
            let written = Net::parse(text(value)?)?;
            let scope = match written.scope {
                Some(text) => self.interfaces.scope(text)?,
                None => Scope::Any,
            };
            list.push(((written.net, scope), at));
            Ok(())
        });
        self.count(list.len(), fields, key, notes);
        there.then_some(list)
    }

    /// Where an egress rule leads to.
    pub fn to(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        let list = self.of_peers(fields, key, notes)?;
        let list: Vec<(Net, Scope)> = list.into_iter().map(|(item, _)| item).collect();
        Some(Tree::new(&list))
    }

    /// This host's addresses, which need no interface.
    pub fn of_this_host(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        self.without_scope(fields, key, notes, |text| {
            let written = Net::parse(text)?;
            match written.scope {
                Some(scope) => Err(format!("%{} can stand in peers only", shown(scope))),
                None => Ok(written.net),
            }
        })
    }

    pub fn of_gids(&mut self, fields: &Fields, key: &str, notes: &mut Notes) -> Option<Set> {
        self.without_scope(fields, key, notes, Net::parse_gid)
    }

    fn without_scope(
        &mut self,
        fields: &Fields,
        key: &str,
        notes: &mut Notes,
        read: fn(&str) -> Result<Net, String>,
    ) -> Option<Set> {
        let mut list = Vec::new();
        let there = fields.each(key, PREFIXES, notes, &mut |value, _| {
            list.push((read(text(value)?)?, Scope::Any));
            Ok(())
        });
        self.count(list.len(), fields, key, notes);
        there.then(|| Tree::new(&list))
    }

    fn count(&mut self, more: usize, fields: &Fields, key: &str, notes: &mut Notes) {
        let before = self.count;
        self.count += more;
        if before <= MAX_PREFIXES && self.count > MAX_PREFIXES {
            let what = format!("the file has more than {MAX_PREFIXES} prefixes");
            notes.add(fields.place_of(key), fields.key(key), what, "");
        }
    }
}

/// Ranges, from and to.
pub(super) fn ports(fields: &Fields, notes: &mut Notes) -> Vec<(u16, u16)> {
    let mut list = Vec::new();
    fields.each("ports", PORTS, notes, &mut |value, _| {
        list.push(match value {
            DeValue::String(text) => range(text)?,
            value => {
                let port = whole(value, 1, u16::MAX.into())? as u16;
                (port, port)
            }
        });
        Ok(())
    });
    list
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
    let mut list = Vec::new();
    fields.each("pkeys", PKEYS, notes, &mut |value, _| {
        match whole(value, 0, u16::MAX.into())? as u16 & !MEMBERSHIP {
            0 => return Err("0x0000 and 0x8000 are no valid partition keys".to_owned()),
            pkey => list.push(pkey),
        }
        Ok(())
    });
    list
}
