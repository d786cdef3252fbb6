//! One rule as it is asked: an allowing or denying table of the file with its conditions.

use super::decide::ConnectionRequest;
use super::interfaces::{Interfaces, Scope};
use super::net::{Address, Net};
use super::trace::Condition;
use super::tree::Tree;
use std::net::IpAddr;

/// What a list of prefixes of a rule holds.
pub(super) type Set = Tree<Scope>;

/// A table of the file. A condition that is absent holds for all.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its place in the list of subjects.
    pub subject: usize,
    pub allow: bool,
    pub line: usize,
    /// Of egress rules: where to. (The peers of tenants lie in one tree for all.)
    pub to: Option<Set>,
    pub local: Option<Set>,
    /// From and to.
    pub ports: Vec<(u16, u16)>,
    /// Without the membership bit.
    pub pkeys: Vec<u16>,
    pub gids: Option<Set>,
}

/// The bit of a P_Key that tells full from limited membership.
pub(super) const MEMBERSHIP: u16 = 0x8000;

impl Rule {
    /// The first condition, beside the peer of a tenant, that does not hold.
    pub fn fails(&self, ask: &ConnectionRequest, interfaces: &Interfaces) -> Option<Condition> {
        match holds(&self.to, ask.peer, ask.scope, interfaces) {
            true => self.fails_but_for_the_peer(ask, interfaces),
            false => Some(Condition::To),
        }
    }

    /// As `fails`, if the peer is any.
    pub fn fails_but_for_the_peer(
        &self,
        ask: &ConnectionRequest,
        interfaces: &Interfaces,
    ) -> Option<Condition> {
        let port = |&(from, to): &(u16, u16)| (from..=to).contains(&ask.port);
        let pkey = |pkey: u16| self.pkeys.contains(&(pkey & !MEMBERSHIP));
        let gid = |set: &Set| {
            ask.gid
                .is_some_and(|gid| in_set(set, Address::of_gid(gid), 0, interfaces))
        };
        if !holds(&self.local, ask.local, 0, interfaces) {
            Some(Condition::Local)
        } else if !self.ports.is_empty() && !self.ports.iter().any(port) {
            Some(Condition::Ports)
        } else if !self.pkeys.is_empty() && !ask.pkey.is_some_and(pkey) {
            Some(Condition::Pkeys)
        } else if !self.gids.as_ref().is_none_or(gid) {
            Some(Condition::Gids)
        } else {
            None
        }
    }

    /// Whether it takes everything that `other` would take, the peer of tenants set aside.
    pub fn covers(&self, other: &Rule) -> bool {
        let ports = |&(from, to): &(u16, u16)| {
            let mut own = self.ports.iter();
            own.any(|&(first, last)| first <= from && to <= last)
        };
        let all_ports =
            self.ports.is_empty() || !other.ports.is_empty() && other.ports.iter().all(ports);
        let pkey = |pkey: &u16| self.pkeys.contains(pkey);
        let all_pkeys =
            self.pkeys.is_empty() || !other.pkeys.is_empty() && other.pkeys.iter().all(pkey);
        all_ports
            && all_pkeys
            && covers_set(&self.to, &other.to)
            && covers_set(&self.local, &other.local)
            && covers_set(&self.gids, &other.gids)
    }
}

fn holds(set: &Option<Set>, address: Option<IpAddr>, scope: u32, interfaces: &Interfaces) -> bool {
    match (set, address) {
        (None, _) => true,
        (Some(set), Some(address)) => in_set(set, Address::of(address), scope, interfaces),
        (Some(_), None) => false,
    }
}

fn in_set(set: &Set, address: Address, scope: u32, interfaces: &Interfaces) -> bool {
    let mut scopes = set.holding(address).flat_map(|(_, scopes)| scopes);
    scopes.any(|wanted| interfaces.holds(*wanted, scope))
}

fn covers_set(one: &Option<Set>, other: &Option<Set>) -> bool {
    match (one, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(one), Some(other)) => other
            .all()
            .all(|(net, scopes)| scopes.iter().all(|scope| holds_net(one, net, *scope))),
    }
}

fn holds_net(set: &Set, net: &Net, scope: Scope) -> bool {
    let mut above = set.covering(net).flat_map(|(_, scopes)| scopes);
    above.any(|wanted| *wanted == Scope::Any || *wanted == scope)
}
