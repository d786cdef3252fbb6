//! Decisions.

use super::interfaces::Scope;
use super::net::{Address, Net};
use super::policy::Policy;
use super::rule::Rule;
use super::subject::key_of;
use super::trace::Condition;
use std::net::IpAddr;

/// What is known about a connection that somebody asks for. What is not known is `None` (0 for the scope).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionRequest {
    pub peer: Option<IpAddr>,
    /// Number of the interface behind which a link-local peer is.
    pub scope: u32,
    /// This host's address.
    pub local: Option<IpAddr>,
    /// Of the service: the own port of a request that came in, the destination's port when outgoing.
    pub port: u16,
    pub pkey: Option<u16>,
    /// The peer's.
    pub gid: Option<[u8; 16]>,
}

/// What the policy says, limits set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Place in [`Policy::subjects`]; `None` if no tenant (or no egress rule) matches.
    pub subject: Option<usize>,
    pub allow: bool,
    /// Of the deciding table in the file, from 1; 0 for a default.
    pub line: usize,
}

/// What stands at a prefix: a tenant, and the interface that its peers have to be behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub rule: u32,
    pub scope: Scope,
}

impl Verdict {
    fn by(rule: &Rule) -> Verdict {
        Verdict {
            subject: Some(rule.subject),
            allow: rule.allow,
            line: rule.line,
        }
    }

    fn default(allow: bool) -> Verdict {
        Verdict {
            subject: None,
            allow,
            line: 0,
        }
    }
}

impl Policy {
    /// Whether a request from outside may come in.
    pub fn incoming(&self, ask: &ConnectionRequest) -> Verdict {
        let found = self.candidates(ask, |rule, _, failed| failed.is_none().then_some(rule));
        let unknown = found.is_none() && ask.peer.is_none();
        let denied = unknown.then(|| self.denies_somebody(ask)).flatten();
        found
            .or(denied)
            .map_or(Verdict::default(self.default_allow), Verdict::by)
    }

    /// A peer without an IP address (RDMA_PS_IB) may be one that a rule denies by address. The first rule that would, if the
    /// peer were the one.
    fn denies_somebody(&self, ask: &ConnectionRequest) -> Option<&Rule> {
        let candidates = self.peers.all().flat_map(|(_, here)| here);
        let rules = candidates.map(|candidate| &self.tenants[candidate.rule as usize]);
        let denying = rules.filter(|rule| {
            // Neither has it a port.
            let port = rule.ports.first().map_or(0, |(first, _)| *first);
            let asked = ConnectionRequest { port, ..*ask };
            !rule.allow && rule.fails(&asked, &self.interfaces).is_none()
        });
        denying.min_by_key(|rule| rule.line)
    }

    /// Whether a process of tenant `own` may connect to somebody.
    pub fn outgoing(&self, own: Option<&str>, ask: &ConnectionRequest) -> Verdict {
        let rules = self.egress_of(own);
        let mut all = rules.iter();
        let found = all.find(|rule| rule.fails(ask, &self.interfaces).is_none());
        let unknown = ask.peer.is_none();
        // As with requests from outside: the destination (AF_IB) may be one that a rule denies by its IP address.
        let denied = unknown.then(|| self.first_denying(rules, ask)).flatten();
        let earlier = |denied: &&Rule| found.is_none_or(|found| denied.line < found.line);
        denied
            .filter(earlier)
            .or(found)
            .map_or(Verdict::default(self.egress_default), Verdict::by)
    }

    fn first_denying<'s>(&self, rules: &'s [Rule], ask: &ConnectionRequest) -> Option<&'s Rule> {
        rules.iter().find(|rule| {
            let port = rule.ports.first().map_or(0, |(first, _)| *first);
            let asked = ConnectionRequest { port, ..*ask };
            !rule.allow
                && rule
                    .fails_but_for_the_peer(&asked, &self.interfaces)
                    .is_none()
        })
    }

    /// The tenants in question in their order, each with its prefix and the condition that does not hold; until
    /// `look` gives something.
    pub(super) fn candidates<'s, R>(
        &'s self,
        ask: &ConnectionRequest,
        mut look: impl FnMut(&'s Rule, Option<(&'s Net, Scope)>, Option<Condition>) -> Option<R>,
    ) -> Option<R> {
        if let Some(peer) = ask.peer {
            for (net, here) in self.peers.holding(Address::of(peer)) {
                for candidate in here {
                    let rule = &self.tenants[candidate.rule as usize];
                    // Which interface it is behind is not known where several have the same link-local address.
                    let behind = self.interfaces.holds(candidate.scope, ask.scope)
                        || !rule.allow && ask.scope == 0;
                    let failed = match behind {
                        true => rule.fails(ask, &self.interfaces),
                        false => Some(Condition::Scope),
                    };
                    let found = look(rule, Some((net, candidate.scope)), failed);
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        self.of_any_peer.iter().find_map(|&number| {
            let rule = &self.tenants[number as usize];
            look(rule, None, rule.fails(ask, &self.interfaces))
        })
    }

    /// Is there a tenant with this name?
    pub fn has_tenant(&self, name: &str) -> bool {
        self.tenant(name).is_some()
    }

    pub(super) fn egress_of(&self, own: Option<&str>) -> &[Rule] {
        let tenant = own.and_then(|name| self.tenant(name));
        let rules = tenant.and_then(|number| self.egress.get(number));
        rules.map_or(&[], Vec::as_slice)
    }

    /// The place of a tenant with this name.
    fn tenant(&self, name: &str) -> Option<usize> {
        let wanted = key_of(name, None).into();
        let place = self.by_name.partition_point(|(_, key, _)| *key < wanted);
        let (_, key, number) = self.by_name.get(place)?;
        (*key == wanted).then_some(*number as usize)
    }
}
