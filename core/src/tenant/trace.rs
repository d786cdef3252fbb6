//! How a decision came about, for people.

use super::decide::ConnectionRequest;
use super::interfaces::Scope;
use super::policy::Policy;
use std::fmt;

/// A condition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The interface behind `%` of a link-local prefix.
    Scope,
    To,
    Local,
    Ports,
    Pkeys,
    Gids,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Scope => "the interface behind %",
            Condition::To => "to",
            Condition::Local => "local",
            Condition::Ports => "ports",
            Condition::Pkeys => "pkeys",
            Condition::Gids => "gids",
        })
    }
}

/// One rule that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Place in [`Policy::subjects`].
    pub subject: usize,
    pub allow: bool,
    pub line: usize,
    /// The prefix that holds the peer; `None` for a rule without one.
    pub net: Option<String>,
    /// The first condition that does not hold; `None` for the rule that decides.
    pub fails: Option<Condition>,
}

impl Policy {
    /// The rules that [`Policy::incoming`] asks, in their order. The last one decides, if it does not fail.
    pub fn trace_incoming(&self, ask: &ConnectionRequest) -> Vec<Step> {
        let mut steps = Vec::new();
        self.candidates(ask, |rule, at, fails| {
            steps.push(Step {
                subject: rule.subject,
                allow: rule.allow,
                line: rule.line,
                net: at.map(|(net, scope)| match scope {
                    Scope::Any => net.to_string(),
                    scope => format!("{net}%{}", self.interfaces.words(scope)),
                }),
                fails,
            });
            fails.is_none().then_some(())
        });
        steps
    }

    /// The same for [`Policy::outgoing`].
    pub fn trace_outgoing(&self, own: Option<&str>, ask: &ConnectionRequest) -> Vec<Step> {
        let mut steps = Vec::new();
        for rule in self.egress_of(own) {
            let fails = rule.fails(ask, &self.interfaces);
            steps.push(Step {
                subject: rule.subject,
                allow: rule.allow,
                line: rule.line,
                net: None,
                fails,
            });
            if fails.is_none() {
                break;
            }
        }
        steps
    }
}
