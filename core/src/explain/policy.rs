//! REJECTED with a reason of ours in the private data: the policy of a peer under cmshim refused, or its program's own
//! check.

use crate::model::{Explanation, Severity, Who};
use crate::report::duration;
use crate::tenant::reason::{Code, OwnedReason};
use std::time::Duration;

pub(super) fn refused(reason: &OwnedReason, code: String) -> Explanation {
    Explanation::new(
        who(reason),
        Severity::Error,
        "refused",
        code,
        reason.to_string(),
    )
    .with_cause(cause(reason))
    .with_next(next(reason))
}

/// A program's own check needs no policy, and has the last word where there is one.
fn who(reason: &OwnedReason) -> Who {
    match reason.code {
        Ok(Code::Program) => Who::PeerProgram,
        _ => Who::PeerPolicy,
    }
}

fn cause(reason: &OwnedReason) -> &'static str {
    match reason.code {
        Ok(Code::NoTenant) => "The peer's policy names nobody with this address, port and partition, and refuses all others.",
        Ok(Code::Denied) => "A rule of the peer's policy refuses it.",
        Ok(Code::OverLimit) => "All connections that the tenant may have on that host, from all of its clients, are in use.",
        Ok(Code::Rate) => "All of the tenant's clients together count.",
        Ok(Code::Unreadable) => "The policy file there is missing or broken.",
        Ok(Code::Program) => "Only that program knows more.",
        Ok(Code::Uncounted) => "The policy there is good, but the place where limits are counted cannot be used.",
        Ok(Code::EgressDefault | Code::UnknownTenant) | Err(_) => "The cmshim there is newer than this one.",
    }
}

fn next(reason: &OwnedReason) -> String {
    const TEST: &str = "On the peer: cmshim policy test POLICY --peer HERE --port PORT";
    const SHOW: &str = "On the peer: cmshim policy show PROCESS";
    let after = reason
        .retry_after_ms
        .map(|ms| duration::human(Duration::from_millis(ms.into())));
    let wait = |otherwise: &str| match &after {
        Some(time) => format!("Try again after {time}; if that happens often, {otherwise}. {SHOW}"),
        None => format!("Try again later; if that happens often, {otherwise}. {SHOW}"),
    };
    match reason.code {
        Ok(Code::NoTenant | Code::Denied) => {
            format!("ConnectionRequest the operator of PEER to let this host in. {TEST}")
        }
        Ok(Code::OverLimit) => {
            wait("close connections, or ask the operator of PEER for more (max_connections)")
        }
        Ok(Code::Rate) => {
            wait("connect less often, or ask the operator of PEER for more (rate, burst)")
        }
        Ok(Code::Unreadable) => {
            "ConnectionRequest the operator of PEER. On the peer: cmshim policy check POLICY".to_owned()
        }
        Ok(Code::Program) => "Read the peer's log at this moment".to_owned(),
        Ok(Code::Uncounted) => {
            "ConnectionRequest the operator of PEER: the program's log there says what is wrong with the place to count in (tenant.dir)".to_owned()
        }
        Ok(Code::EgressDefault | Code::UnknownTenant) | Err(_) => format!("ConnectionRequest the operator of PEER. {SHOW}"),
    }
}
