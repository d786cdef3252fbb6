//! Rules that can never decide, because an earlier one takes everything.

use super::notes::Notes;
use crate::tenant::decide::Candidate;
use crate::tenant::interfaces::Scope;
use crate::tenant::net::Net;
use crate::tenant::rule::Rule;
use crate::tenant::tree::Tree;
use crate::tenant::Subject;

/// So many pairs of rules are compared; a file with more of them at one prefix is odd, but not wrong.
const PAIRS: usize = 5_000_000;

pub(super) struct Overlaps<'p> {
    pub rules: &'p [Rule],
    pub subjects: &'p [Subject],
    pub pairs: usize,
}

impl<'p> Overlaps<'p> {
    pub fn new(rules: &'p [Rule], subjects: &'p [Subject]) -> Overlaps<'p> {
        Overlaps {
            rules,
            subjects,
            pairs: 0,
        }
    }

    /// Tenants with a prefix in common. `places` says where each prefix of each rule stands.
    pub fn of_peers(&mut self, peers: &Tree<(Candidate, usize)>, notes: &mut Notes) {
        for (net, here) in peers.all() {
            for (number, (later, at)) in here.iter().enumerate() {
                let earlier = here[..number].iter().map(|(candidate, _)| candidate);
                let taken = |c: &&Candidate| c.scope == Scope::Any || c.scope == later.scope;
                let found = self.covering(earlier.filter(taken).map(|c| c.rule), later.rule);
                if let Some(first) = found {
                    let what = self.words(net, first, later.rule);
                    notes.add(*at, Some("tenant.peers".into()), what, HINT);
                }
            }
        }
    }

    /// Tenants without peers, or egress rules of one tenant. `places` are those of their tables.
    pub fn of_tables(&mut self, numbers: &[u32], places: &[usize], key: &str, notes: &mut Notes) {
        for (number, later) in numbers.iter().enumerate() {
            if let Some(first) = self.covering(numbers[..number].iter().copied(), *later) {
                let line = self.rules[first as usize].line;
                let what =
                    format!("can never match: the one in line {line} takes all that it would");
                notes.add(places[*later as usize], Some(key.into()), what, HINT);
            }
        }
    }

    fn covering(&mut self, earlier: impl Iterator<Item = u32>, later: u32) -> Option<u32> {
        for first in earlier {
            self.pairs += 1;
            if self.pairs > PAIRS {
                return None;
            }
            if self.rules[first as usize].covers(&self.rules[later as usize]) {
                return Some(first);
            }
        }
        None
    }

    fn words(&self, net: &Net, first: u32, later: u32) -> String {
        let rule = &self.rules[first as usize];
        if first == later {
            return format!("{net} is written twice");
        }
        let name = crate::text::toml::shown(&self.subjects[rule.subject].name);
        let line = rule.line;
        format!("{net} can never match: tenant {name} in line {line} takes all of it")
    }
}

const HINT: &str =
    "a later rule needs a condition that the earlier one lacks, or has to come first";
