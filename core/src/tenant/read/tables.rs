//! The tables of a policy file.

use super::conditions::{pkeys, ports, Prefixes};
use super::fields::{text, Fields};
use super::limits::{self, Limits};
use super::notes::Notes;
use super::overlap::Overlaps;
use super::{BEGIN, MAX_LIMITED, MAX_TABLES};
use crate::config::is_a_value;
use crate::tenant::decide::Candidate;
use crate::tenant::net::Net;
use crate::tenant::net::SortKey;
use crate::tenant::rule::Rule;
use crate::tenant::subject::{key_of, Subject, NAME_BYTES};
use crate::tenant::tree::{sort, Tree};
use crate::tenant::{Mode, Policy};
use crate::text::is_dangerous;
use crate::text::toml::shown;
use toml::de::{DeTable, DeValue};

const TOP: &[&str] = &["version", "default", "mode", "egress_default", "tenant"];
const TENANT: &[&str] = &[
    "name", "action", "peers", "local", "ports", "pkeys", "gids", "egress",
];
const EGRESS: &[&str] = &["to", "ports", "action"];
const ACTIONS: &[&str] = &["allow", "deny"];

/// The whole file; `None` where it makes no sense to read on.
pub(super) fn policy(table: &DeTable, notes: &mut Notes) -> Option<Policy> {
    let fields = Fields::new(table, "", 0);
    if other_version(&fields, notes) {
        return None;
    }
    fields.check_names(TOP, notes);
    fields.require("default", BEGIN, notes);
    let default = fields.word("default", ACTIONS, notes);
    let mode = fields.word("mode", &["enforce", "observe"], notes);
    let egress_default = fields.word("egress_default", ACTIONS, notes);
    let mut all = Tables::default();
    for (table, at) in tables(&fields, "tenant", "[[tenant]]", notes) {
        let known = [TENANT, &limits::KEYS].concat();
        let fields = Fields::new(table, "tenant.", at);
        fields.check_names(&known, notes);
        all.tenant(&fields, notes);
    }
    Some(all.into_policy(
        Policy {
            mode: match mode {
                Some(1) => Mode::Observe,
                _ => Mode::Enforce,
            },
            fingerprint: 0,
            default_allow: default == Some(0),
            egress_default: egress_default != Some(1),
            subjects: Vec::new(),
            tenants: Vec::new(),
            peers: Tree::new(&[]),
            of_any_peer: Vec::new(),
            by_name: Vec::new(),
            egress: Vec::new(),
            interfaces: Default::default(),
        },
        notes,
    ))
}

/// Is it a file of another version, of which nothing else can be said? A version that is missing or no number is only a
/// mistake.
fn other_version(fields: &Fields, notes: &mut Notes) -> bool {
    fields.require("version", BEGIN, notes);
    let mut other = false;
    fields.value("version", "1", notes, &mut |value| {
        match super::fields::whole(value, 0, u32::MAX)? {
            1 => Ok(()),
            number => {
                other = true;
                Err(format!(
                    "version {number} is not known, this program reads version 1; the rest of the file was not checked"
                ))
            }
        }
    });
    other
}

/// The tables of a list of tables, each with its place.
fn tables<'a, 'i>(
    fields: &Fields<'a, 'i>,
    key: &str,
    header: &str,
    notes: &mut Notes,
) -> Vec<(&'a DeTable<'i>, usize)> {
    let allowed = format!("{header} with two brackets, once for each");
    let mut items = None;
    fields.value(key, &allowed, notes, &mut |value| match value {
        DeValue::Array(list) => {
            items = Some(list);
            Ok(())
        }
        other => Err(is_a_value(other)),
    });
    let mut good = Vec::new();
    for item in items.into_iter().flat_map(|items| items.iter()) {
        let at = item.span().start;
        match item.get_ref() {
            DeValue::Table(table) => good.push((table, at)),
            other => {
                let hint = format!("allowed: {allowed}");
                notes.add(at, fields.key(key), is_a_value(other), hint);
            }
        }
    }
    good
}

/// What was read so far.
#[derive(Default)]
struct Tables {
    subjects: Vec<Subject>,
    tenants: Vec<Rule>,
    /// Where the table of each tenant begins, and where its name stands.
    places: Vec<(usize, usize)>,
    /// Each with its place in the file.
    peers: Vec<(Net, (Candidate, usize))>,
    of_any_peer: Vec<u32>,
    /// Of each tenant.
    egress: Vec<Vec<Rule>>,
    prefixes: Prefixes,
    limited: usize,
}

impl Tables {
    fn tenant(&mut self, fields: &Fields, notes: &mut Notes) {
        let line = notes.line(fields.at);
        let name = name(fields, notes).unwrap_or_default();
        let subject = self.subject(fields, &name, None, notes);
        let number = self.tenants.len() as u32;
        match self.prefixes.of_peers(fields, "peers", notes) {
            None => self.of_any_peer.push(number),
            Some(peers) => self
                .peers
                .extend(peers.into_iter().map(|((net, scope), at)| {
                    let candidate = Candidate {
                        rule: number,
                        scope,
                    };
                    (net, (candidate, at))
                })),
        }
        let rule = Rule {
            to: None,
            local: self.prefixes.of_this_host(fields, "local", notes),
            pkeys: pkeys(fields, notes),
            gids: self.prefixes.of_gids(fields, "gids", notes),
            ..rule(fields, subject, self.subjects[subject].allow, line, notes)
        };
        self.tenants.push(rule);
        self.places.push((fields.at, fields.place_of("name")));
        self.egress(fields, &name, notes);
    }

    fn egress(&mut self, tenant: &Fields, name: &str, notes: &mut Notes) {
        let mut rules = Vec::new();
        let mut places = Vec::new();
        for (table, at) in tables(tenant, "egress", "[[tenant.egress]]", notes) {
            let known = [EGRESS, &limits::KEYS].concat();
            let fields = Fields::new(table, "tenant.egress.", at);
            fields.check_names(&known, notes);
            let subject = self.subject(&fields, name, Some(rules.len()), notes);
            rules.push(Rule {
                to: self.prefixes.to(&fields, "to", notes),
                ..rule(
                    &fields,
                    subject,
                    self.subjects[subject].allow,
                    notes.line(at),
                    notes,
                )
            });
            places.push(at);
        }
        let numbers: Vec<u32> = (0..rules.len() as u32).collect();
        Overlaps::new(&rules, &self.subjects).of_tables(&numbers, &places, "tenant.egress", notes);
        self.egress.push(rules);
    }

    /// A new subject; its place.
    fn subject(
        &mut self,
        fields: &Fields,
        name: &str,
        egress: Option<usize>,
        notes: &mut Notes,
    ) -> usize {
        let allow = fields.word("action", ACTIONS, notes) != Some(1);
        if !allow {
            limits::without_effect(fields, notes);
        }
        let Limits {
            max_connections,
            rate,
            tos,
        } = limits::read(fields, notes);
        let subject = Subject {
            name: name.to_owned(),
            egress: egress.is_some(),
            key: key_of(name, egress),
            allow,
            max_connections,
            rate,
            tos,
            line: notes.line(fields.at),
        };
        self.limited += usize::from(subject.limited());
        if subject.limited() && self.limited == MAX_LIMITED + 1 {
            let what =
                format!("the file has more than {MAX_LIMITED} tables with max_connections or rate");
            notes.add(fields.at, None, what, "");
        }
        self.subjects.push(subject);
        if self.subjects.len() == MAX_TABLES + 1 {
            let what = format!("the file has more than {MAX_TABLES} tenants and egress rules");
            notes.add(fields.at, None, what, "");
        }
        self.subjects.len() - 1
    }

    /// Tenants by the keys of their names; names that are there twice are told.
    fn by_name(&self, notes: &mut Notes) -> Vec<SortKey> {
        let key = |rule: &Rule| self.subjects[rule.subject].key.into();
        let rules = self.tenants.iter().zip(0..);
        let mut all: Vec<SortKey> = rules.map(|(rule, n)| (false, key(rule), n)).collect();
        sort(&mut all);
        for pair in all.windows(2).filter(|pair| pair[0].1 == pair[1].1) {
            let [first, second] = [pair[0].2, pair[1].2].map(|n| n as usize);
            let (line, subject) = (self.tenants[first].line, self.tenants[second].subject);
            let name = &self.subjects[subject].name;
            // Those without a name were told already.
            if !name.is_empty() {
                let what = format!("{} is the name of the tenant in line {line}", shown(name));
                notes.add(
                    self.places[second].1,
                    Some("tenant.name".into()),
                    what,
                    NAMES,
                );
            }
        }
        all
    }

    fn into_policy(self, policy: Policy, notes: &mut Notes) -> Policy {
        let by_name = self.by_name(notes);
        let mut overlaps = Overlaps::new(&self.tenants, &self.subjects);
        let tables: Vec<usize> = self.places.iter().map(|(table, _)| *table).collect();
        overlaps.of_tables(&self.of_any_peer, &tables, "tenant", notes);
        let peers = Tree::new(&self.peers);
        overlaps.of_peers(&peers, notes);
        Policy {
            subjects: self.subjects,
            tenants: self.tenants,
            peers: peers.map(|(candidate, _)| candidate),
            of_any_peer: self.of_any_peer,
            by_name,
            egress: self.egress,
            interfaces: self.prefixes.interfaces,
            ..policy
        }
    }
}

/// What a name has to be.
const NAMES: &str = "allowed: a text of 1 to 64 bytes that no other tenant has";

fn name(fields: &Fields, notes: &mut Notes) -> Option<String> {
    fields.require("name", "each tenant needs one of its own", notes);
    let mut good = None;
    let allowed = NAMES.trim_start_matches("allowed: ");
    fields.value("name", allowed, notes, &mut |value| {
        let name = text(value)?;
        if name.is_empty() || name.len() > NAME_BYTES {
            return Err(format!("this name has {} bytes", name.len()));
        }
        if name.chars().any(is_dangerous) {
            return Err(format!("{} has a control character", shown(name)));
        }
        good = Some(name.to_owned());
        Ok(())
    });
    good
}

/// What tenants and egress rules have alike.
fn rule(fields: &Fields, subject: usize, allow: bool, line: usize, notes: &mut Notes) -> Rule {
    Rule {
        subject,
        allow,
        line,
        to: None,
        local: None,
        ports: ports(fields, notes),
        pkeys: Vec::new(),
        gids: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::FIELDS;

    #[test]
    fn every_key_is_documented() {
        for (table, own, both, not) in [
            ("", TOP, &[][..], "tenant"),
            ("tenant", TENANT, &limits::KEYS[..], "egress"),
            ("tenant.egress", EGRESS, &limits::KEYS, ""),
        ] {
            let mut known = [own, both].concat();
            known.retain(|key| *key != not);
            let documented = FIELDS.iter().filter(|field| field.table == table);
            let mut documented: Vec<&str> = documented.map(|field| field.name).collect();
            known.sort_unstable();
            documented.sort_unstable();
            assert_eq!(documented, known);
        }
    }
}
