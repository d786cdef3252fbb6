//! A code in a few sentences, without any circumstances: for the C API and `cmshim explain`.

use super::event::event;
use super::query::EventQuery;
use crate::codes::{async_event, errno, event as ev, reject};
use crate::model::{Explanation, Role, Severity, Transport};

/// One row of the list of all codes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// "event", "reject" or "async"
    pub kind: &'static str,
    pub number: i32,
    /// The full symbol.
    pub name: &'static str,
    /// Half a sentence.
    pub summary: String,
}

/// Code, finding, verdict, cause and next step. The end is left open, for a command may stand there.
fn words_of(e: &Explanation) -> String {
    let bad = e.severity <= Severity::Warn;
    let mut out = if bad {
        format!("{}: {} ({}).", e.code, e.summary, e.verdict())
    } else {
        format!("{}: {}.", e.code, e.summary)
    };
    for sentence in [e.cause.clone(), Explanation::next_sentence(&e.next)] {
        if !sentence.is_empty() {
            out.push(' ');
            out.push_str(&sentence);
        }
    }
    out
}

/// An event with its status, as the client side sees it.
pub fn plain(event_number: i32, status: i32, transport: Transport) -> String {
    plain_event(event_number, status, transport, Role::Client)
}

/// The same for either side.
pub fn plain_event(event_number: i32, status: i32, transport: Transport, role: Role) -> String {
    words_of(&event(&EventQuery {
        event: event_number,
        status,
        transport,
        role,
        ..EventQuery::default()
    }))
}

/// A reject reason of InfiniBand and RoCE.
pub fn plain_reject(reason: i32) -> String {
    match reject::by_number(reason) {
        Some(_) => plain(ev::REJECTED, reason, Transport::Ib),
        None => format!(
            "{reason} is no reject reason of the InfiniBand specification (1 to 33 and 35 are)."
        ),
    }
}

/// An errno, with either sign.
pub fn plain_errno(number: i32) -> String {
    match errno::by_number(number) {
        Some(e) => format!("{} {}: {}.", e.name, e.number, e.text),
        None => format!("{number} is no errno of Linux."),
    }
}

/// An asynchronous event of a device.
pub fn plain_async(number: i32) -> String {
    match async_event::by_number(number) {
        Some(_) => words_of(&super::watch::async_event(number)),
        None => format!("{number} is no asynchronous event that is known here."),
    }
}

/// Everything that can be explained by number: events, reject reasons, asynchronous events.
pub fn list() -> Vec<Row> {
    let events = ev::ALL.iter().map(|e| Row {
        kind: "event",
        number: e.number,
        name: e.symbol,
        summary: super::words::as_finding(e.meaning),
    });
    let rejects = reject::ALL.iter().map(|r| Row {
        kind: "reject",
        number: r.number,
        name: r.symbol,
        summary: r.summary.to_string(),
    });
    let asyncs = async_event::ALL.iter().map(|a| Row {
        kind: "async",
        number: a.number,
        name: a.symbol,
        summary: a.meaning.to_string(),
    });
    events.chain(rejects).chain(asyncs).collect()
}
