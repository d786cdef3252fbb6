//! A code in a few sentences, without any circumstances: for the C API and `cmshim explain`.

use super::event::event;
use super::named::named;
use super::query::EventQuery;
use crate::codes::{async_event, errno, event as ev, reject, wc_status};
use crate::model::{Explanation, Role, Severity, Transport};

/// One row of the list of all codes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// "event", "reject", "async", "wc" (work completion), "errno", or a kind of [`named`].
    pub kind: &'static str,
    /// `None` for the codes of cmshim's own timers.
    pub number: Option<i32>,
    /// The full symbol.
    pub name: String,
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

/// The status of a work completion; `None` for a number that verbs.h does not have.
pub fn completion(number: i32) -> Option<Explanation> {
    let status = wc_status::by_number(number)?;
    let code = format!("completion {number}, {}", status.symbol);
    let e = Explanation::new(status.who, status.severity, "failed", code, status.meaning);
    Some(e.with_cause(status.cause).with_next(status.next))
}

/// Everything that can be explained by name: events, reject reasons, asynchronous events,
/// completion statuses, codes without a table, errnos.
pub fn list() -> Vec<Row> {
    let events = ev::ALL.iter().map(|e| {
        let summary = super::words::as_finding(e.meaning);
        row("event", e.number, e.symbol, &summary)
    });
    let rejects = reject::ALL
        .iter()
        .map(|r| row("reject", r.number, r.symbol, r.summary));
    let asyncs = async_event::ALL
        .iter()
        .map(|a| row("async", a.number, a.symbol, a.meaning));
    let completions = wc_status::ALL
        .iter()
        .map(|s| row("wc", s.number, s.symbol, s.meaning));
    let others = named(Transport::Unknown, Role::Client)
        .into_iter()
        .map(|n| Row {
            kind: n.kind,
            number: n.number,
            name: n.name,
            summary: n.explanation.summary,
        });
    let errnos = errno::ALL
        .iter()
        .map(|e| row("errno", e.number, e.name, e.text));
    events
        .chain(rejects)
        .chain(asyncs)
        .chain(completions)
        .chain(others)
        .chain(errnos)
        .collect()
}

fn row(kind: &'static str, number: i32, name: &str, summary: &str) -> Row {
    Row {
        kind,
        number: Some(number),
        name: name.to_owned(),
        summary: summary.to_owned(),
    }
}
