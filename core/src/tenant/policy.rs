//! A policy that was read.

use super::decide::Candidate;
use super::interfaces::Interfaces;
use super::net::SortKey;
use super::problem::Problem;
use super::rule::Rule;
use super::subject::Subject;
use super::tree::Tree;
use super::{fnv, read};

/// What happens to a connection that the policy refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    /// It is let through, logged and counted.
    Observe,
}

/// A policy file. It does not change: a new file is a new policy.
#[derive(Debug)]
pub struct Policy {
    pub(super) mode: Mode,
    pub(super) fingerprint: u64,
    pub(super) default_allow: bool,
    pub(super) egress_default: bool,
    pub(super) subjects: Vec<Subject>,
    /// In the order of the file.
    pub(super) tenants: Vec<Rule>,
    /// Places in `tenants`, by the prefixes of their peers.
    pub(super) peers: Tree<Candidate>,
    /// Places in `tenants` of those without peers, in the order of the file.
    pub(super) of_any_peer: Vec<u32>,
    /// Places in `tenants` by the keys of their names.
    pub(super) by_name: Vec<SortKey>,
    /// Of each tenant, in the order of the file.
    pub(super) egress: Vec<Vec<Rule>>,
    pub(super) interfaces: Interfaces,
}

impl Policy {
    /// Reads a policy file's bytes. The error is all that is wrong with them, by line.
    pub fn parse(bytes: &[u8]) -> Result<Policy, Vec<Problem>> {
        let mut policy = read::policy(bytes)?;
        policy.fingerprint = Policy::fingerprint_of(bytes);
        policy.interfaces.look_up();
        Ok(policy)
    }

    /// What [`Policy::fingerprint`] is for these bytes.
    pub fn fingerprint_of(bytes: &[u8]) -> u64 {
        fnv::hash(bytes)
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Of the bytes that it was read from.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// All tenants and egress rules.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// Whether a decision can depend on the peer's GID.
    pub fn needs_gid(&self) -> bool {
        let mut rules = self.tenants.iter().chain(self.egress.iter().flatten());
        rules.any(|rule| rule.gids.is_some())
    }

    /// Whether outgoing connections of any process can be refused, limited or marked.
    pub fn has_egress(&self) -> bool {
        !self.egress_default || self.egress.iter().any(|rules| !rules.is_empty())
    }

    /// Whether who matches no tenant may come in.
    pub fn default_allow(&self) -> bool {
        self.default_allow
    }

    /// Whether outgoing connections that match no rule are allowed.
    pub fn egress_default(&self) -> bool {
        self.egress_default
    }

    /// Interfaces that the policy names get their numbers when it is read; this looks at them anew. Cheap where
    /// none is named.
    pub fn look_up_interfaces(&self) {
        self.interfaces.look_up();
    }
}
