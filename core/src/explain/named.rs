//! Codes that have a name in our lines but no table: those of our own timers, the statuses of
//! datagram ids (SIDR), and the EAI codes of rdma_getaddrinfo.

use std::time::Duration;

use super::query::{CallQuery, EventQuery, Facts};
use super::watch::{self, Blocked};
use crate::codes::event::UNREACHABLE;
use crate::model::{Explanation, Role, Transport};

/// One of them.
#[derive(Debug, Clone)]
pub struct Named {
    /// "cmshim", "sidr" or "eai"
    pub kind: &'static str,
    pub name: String,
    /// Our own have none.
    pub number: Option<i32>,
    pub explanation: Explanation,
}

/// All of them, as this side of such a connection sees them.
pub fn named(transport: Transport, role: Role) -> Vec<Named> {
    let mut all = caused_by_program(transport);
    all.extend((1..=5).map(|status| sidr(status, transport, role)));
    all.extend((-11..=-1).rev().map(eai));
    all
}

/// The findings of the timers, with the numbers of a single case taken out of the words.
fn caused_by_program(transport: Transport) -> Vec<Named> {
    let blocked = Blocked {
        call: "rdma_destroy_id",
        events: &[],
        asynchronous: false,
        count: 1,
    };
    let general = [
        (
            watch::no_answer_yet(Duration::ZERO, transport),
            "a connect has no answer yet; told after reasons.early_warning_ms, while the kernel goes on trying",
        ),
        (
            watch::slow_connect(Duration::ZERO),
            "a connect succeeded, but took longer than reasons.slow_connect_ms",
        ),
        (
            watch::backlog_overflow(0),
            "the listen backlog was probably full: connect requests were dropped in silence, and their clients repeat them seconds later",
        ),
        (
            watch::unacked(&blocked, Duration::ZERO),
            "a destroy call waits for the program to acknowledge events; told after reasons.watchdog_ms",
        ),
    ];
    general
        .into_iter()
        .map(|(mut explanation, summary)| {
            explanation.summary = summary.to_owned();
            Named {
                kind: "cmshim",
                name: explanation.code.clone(),
                number: None,
                explanation,
            }
        })
        .collect()
}

/// Datagram ids get a SIDR status with UNREACHABLE.
fn sidr(status: i32, transport: Transport, role: Role) -> Named {
    let explanation = super::event(&EventQuery {
        event: UNREACHABLE,
        status,
        transport,
        role,
        ..EventQuery::default()
    });
    numbered("sidr", status, explanation)
}

fn eai(number: i32) -> Named {
    let explanation = super::call(&CallQuery {
        call: "rdma_getaddrinfo",
        errno: number,
        facts: &Facts::default(),
        role: Role::None,
        transport: Transport::Unknown,
    });
    numbered("eai", number, explanation)
}

/// The name is what stands behind the comma of the code: "UNREACHABLE 2, IB_SIDR_REJECT".
fn numbered(kind: &'static str, number: i32, explanation: Explanation) -> Named {
    let name = explanation.code.rsplit(", ").next();
    Named {
        kind,
        name: name.unwrap_or_default().to_owned(),
        number: Some(number),
        explanation,
    }
}
