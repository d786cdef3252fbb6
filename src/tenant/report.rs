//! What is told of a decision: to the peer in the reject's private data, to the log as a line, to the audit log.

use super::admit_on_delivery::errno_of;
use super::check::No;
use super::decide::{Current, Decision, Direction, Refusal};
use crate::diagnosis::emit::{self, Line};
use crate::diagnosis::subject::Subject;
use crate::process::shim::Shim;
use crate::stats;
use cmshim_core::model::{Explanation, Role, Severity, Stage, Who};
use cmshim_core::tenant::reason::{encode, Code, Reason};
use cmshim_core::tenant::ConnectionRequest;
use std::net::SocketAddr;

/// The private data of the reject.
pub fn private_data(decision: &Decision) -> Vec<u8> {
    decision
        .refused
        .as_ref()
        .map_or_else(Vec::new, |refusal| encode(&reason(refusal)))
}

/// The private data where only the code is known.
pub fn bare(code: Code) -> Vec<u8> {
    encode(&Reason {
        code,
        retry_after_ms: None,
        used: 0,
        limit: 0,
        tenant: "",
    })
}

fn reason(refusal: &Refusal) -> Reason<'_> {
    Reason {
        code: refusal.code,
        retry_after_ms: refusal.retry_after_ms,
        used: refusal.used,
        limit: refusal.limit,
        tenant: &refusal.tenant,
    }
}

/// Tells of a decision: a refusal in a line, and everything that is wanted there in the audit log.
pub fn decision(
    shim: &'static Shim,
    current: &Current,
    direction: Direction,
    ask: &ConnectionRequest,
    decision: &Decision,
) {
    let file = &current.file;
    let words = |refusal: &Refusal| by_policy(decision, refusal, file);
    report(shim, file, direction, ask, decision, words);
}

/// As `decision`, where the program's own check decided.
pub fn by_program(
    shim: &'static Shim,
    file: &str,
    ask: &ConnectionRequest,
    decision: &Decision,
    no: Option<No>,
) {
    let words = |refusal: &Refusal| by_check(shim, refusal, no);
    report(shim, file, Direction::In, ask, decision, words);
}

/// What a line says of a refusal's reason.
pub(super) struct Words {
    /// It belongs to the code: lines and counts of one peer are told apart by it.
    pub name: String,
    pub summary: String,
    pub next: String,
}

fn report(
    shim: &'static Shim,
    file: &str,
    direction: Direction,
    ask: &ConnectionRequest,
    decision: &Decision,
    words: impl FnOnce(&Refusal) -> Words,
) {
    let audit = &super::state().audit;
    audit.note(shim, file, direction, ask, decision);
    let Some(refusal) = &decision.refused else {
        return;
    };
    if direction == Direction::In && decision.refuses() {
        stats::probes::refusal(0, refusal.code as u8);
    }
    if emit::wanted(shim, Severity::Warn) {
        line(shim, direction, ask, decision, refusal, words(refusal));
    }
}

pub(super) fn by_policy(decision: &Decision, refusal: &Refusal, file: &str) -> Words {
    let place = match decision.line {
        0 => file.to_owned(),
        line => format!("{file}:{line}"),
    };
    Words {
        name: refusal.code.name().to_owned(),
        summary: format!("tenant policy: {}", reason(refusal)),
        next: match refusal.code {
            Code::Unreadable if file.is_empty() => {
                "Mend tenant.policy in the configuration, and start the program anew".to_owned()
            }
            Code::Unreadable => format!("cmshim policy check {file}"),
            Code::UnknownTenant => {
                format!("Mend tenant.name in the configuration, or the policy. See cmshim policy check {file}")
            }
            Code::Uncounted => {
                "The place to count in is wrong, not the policy: see tenant.dir, and LIMITS in cmshim-policy(5)".to_owned()
            }
            _ => format!(
                "{place} decided. See cmshim policy test, and cmshim policy show {}",
                std::process::id()
            ),
        },
    }
}

fn by_check(shim: &Shim, refusal: &Refusal, no: Option<No>) -> Words {
    let (how, summary, next) = match no {
        Some(No::Left) => (
            ", left",
            "the program's own check did not return".to_owned(),
            "It was left by longjmp or an exception",
        ),
        Some(No::Late) => (
            ", late",
            format!(
                "the program's own check has not returned after {} ms (tenant.check_ms)",
                shim.config.tenant.check.as_millis()
            ),
            "It has to be faster, or tenant.check_ms larger",
        ),
        _ => (
            "",
            reason(refusal).to_string(),
            "This program's own log says why",
        ),
    };
    Words {
        name: format!("{}{how}", refusal.code.name()),
        summary,
        next: next.to_owned(),
    }
}

fn line(
    shim: &'static Shim,
    direction: Direction,
    ask: &ConnectionRequest,
    decision: &Decision,
    refusal: &Refusal,
    words: Words,
) {
    let verb = match decision.observed {
        true => "would be refused",
        false => "refused",
    };
    let what = match direction {
        _ if decision.observed => "not refused: the policy only observes",
        Direction::In => "REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED",
        Direction::Out if errno_of(refusal.code) == libc::ECONNREFUSED => "ECONNREFUSED",
        Direction::Out => "EACCES",
    };
    let code = format!("{what}; {}", words.name);
    let (who, severity) = (Who::ThisProcess, Severity::Warn);
    let explanation =
        Explanation::new(who, severity, verb, code, words.summary).with_next(words.next);
    let (src, dst) = ends(direction, ask);
    let subject = Subject {
        src,
        dst,
        ..Subject::default()
    };
    emit::line(
        shim,
        explanation,
        Line {
            what: match direction {
                Direction::In => "connect request",
                Direction::Out => "connect",
            },
            call: None,
            stage: match direction {
                Direction::In => Stage::Accept,
                Direction::Out => Stage::Connect,
            },
            role: match direction {
                Direction::In => Role::Server,
                Direction::Out => Role::Client,
            },
            subject: &subject,
            elapsed: None,
            private_data: None,
            details: Vec::new(),
        },
    );
}

/// Local and remote address. The port that is known is the service's.
pub fn ends(
    direction: Direction,
    ask: &ConnectionRequest,
) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let (local, remote) = match direction {
        Direction::In => (ask.port, 0),
        Direction::Out => (0, ask.port),
    };
    let with = |ip: Option<std::net::IpAddr>, port| ip.map(|ip| SocketAddr::new(ip, port));
    (with(ask.local, local), with(ask.peer, remote))
}
