//! What is told of a decision: to the peer in the reject's private data, to the log as a line, to the audit log.

use super::api::errno_of;
use super::decide::{Current, Decision, Refusal, Way};
use crate::boundary::shim::Shim;
use crate::reasons::emit::{self, Line};
use crate::reasons::subject::Subject;
use crate::stats;
use cmshim_core::model::{Explanation, Role, Severity, Stage, Who};
use cmshim_core::tenant::reason::{encode, Code, Reason};
use cmshim_core::tenant::Ask;
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
pub fn decision(shim: &'static Shim, current: &Current, way: Way, ask: &Ask, decision: &Decision) {
    shim.state()
        .tenants
        .audit
        .note(shim, current, way, ask, decision);
    let Some(refusal) = &decision.refused else {
        return;
    };
    stats::probes::refusal(0, refusal.code as u8);
    if emit::wanted(shim, Severity::Warn) {
        line(shim, way, ask, decision, refusal, &current.file);
    }
}

fn line(
    shim: &'static Shim,
    way: Way,
    ask: &Ask,
    decision: &Decision,
    refusal: &Refusal,
    file: &str,
) {
    let verb = match decision.observed {
        true => "would be refused",
        false => "refused",
    };
    let what = match way {
        _ if decision.observed => "not refused: the policy only observes",
        Way::In => "REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED",
        Way::Out if errno_of(refusal.code) == libc::ECONNREFUSED => "ECONNREFUSED",
        Way::Out => "EACCES",
    };
    // The reason belongs to the code: lines and counts of one peer are told apart by it.
    let code = format!("{what}; {}", refusal.code.name());
    let place = match decision.line {
        0 => file.to_owned(),
        line => format!("{file}:{line}"),
    };
    let summary = format!("tenant policy: {}", reason(refusal));
    let next = match refusal.code {
        Code::Unreadable => format!("cmshim policy check {file}"),
        _ => format!(
            "{place} decided. See cmshim policy test, and cmshim policy show {}",
            std::process::id()
        ),
    };
    let explanation =
        Explanation::new(Who::ThisProcess, Severity::Warn, verb, code, summary).with_next(next);
    let (src, dst) = ends(way, ask);
    let subject = Subject {
        src,
        dst,
        ..Subject::default()
    };
    emit::line(
        shim,
        explanation,
        Line {
            what: match way {
                Way::In => "connect request",
                Way::Out => "connect",
            },
            call: None,
            stage: match way {
                Way::In => Stage::Accept,
                Way::Out => Stage::Connect,
            },
            role: match way {
                Way::In => Role::Server,
                Way::Out => Role::Client,
            },
            subject: &subject,
            elapsed: None,
            private_data: None,
            details: Vec::new(),
        },
    );
}

/// Local and remote address. The port that is known is the service's.
pub fn ends(way: Way, ask: &Ask) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let (local, remote) = match way {
        Way::In => (ask.port, 0),
        Way::Out => (0, ask.port),
    };
    let with = |ip: Option<std::net::IpAddr>, port| ip.map(|ip| SocketAddr::new(ip, port));
    (with(ask.local, local), with(ask.peer, remote))
}
