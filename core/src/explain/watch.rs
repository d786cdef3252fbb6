//! What no code tells: silence, slowness, un-acked events, and the device's own events.

use super::{rejected, words, Port};
use crate::codes::{async_event as tables, event as ev};
use crate::model::{Explanation, Numbers, Severity, Transport, Who};
use std::time::Duration;

/// A call that waits until the program has acked its events.
#[derive(Debug, Clone, Copy)]
pub struct Blocked<'a> {
    /// "rdma_destroy_id"
    pub call: &'a str,
    /// Numbers of the events that are not acked, when known.
    pub events: &'a [i32],
    /// Are they asynchronous events of a queue pair, and not CM events?
    pub asynchronous: bool,
    /// How many are not acked.
    pub count: usize,
}

/// Codes of what is noticed while, or although, nothing has failed.
pub const WARNINGS: [&str; 4] = [NO_ANSWER_YET, SLOW_CONNECT, BACKLOG_FULL, UNACKED_EVENTS];
const NO_ANSWER_YET: &str = "NO_ANSWER_YET";
const SLOW_CONNECT: &str = "SLOW_CONNECT";
const BACKLOG_FULL: &str = "BACKLOG_FULL";
const UNACKED_EVENTS: &str = "UNACKED_EVENTS";

/// How long the IB CM repeats a connect request: measured, the same on RoCE.
const REQUEST_LIFE: Duration = Duration::from_secs(102);

/// How long it waits for an answer before it repeats one: 4.096 µs << 20, by
/// CMA_CM_RESPONSE_TIMEOUT in cma.c.
const REPEAT_AFTER: Duration = Duration::from_micros(4_294_967);

/// A connect that has no answer after `waited`: early warning, long before UNREACHABLE.
pub fn no_answer_yet(waited: Duration, transport: Transport) -> Explanation {
    Explanation::new(
        Who::Network,
        Severity::Warn,
        "still waiting",
        NO_ANSWER_YET,
        match REQUEST_LIFE.checked_sub(waited) {
            Some(left) if transport != Transport::Iwarp && left.as_secs() > 0 => format!(
                "no answer yet; the kernel goes on trying for about {} more",
                words::duration(left)
            ),
            _ => "no answer yet".to_string(),
        },
    )
    .with_cause(format!(
        "The address was resolved before. If packets arrive there, somebody listens: else the peer's kernel refuses at once. {}",
rejected::no_answer_cause(transport)
    ))
    .with_next(rejected::no_answer_next(transport))
}

/// The same with what this host sees of the way: its own port, and whether the peer is this host.
pub fn no_answer_yet_by(
    waited: Duration,
    transport: Transport,
    port: Option<&Port>,
    same_host: bool,
) -> Explanation {
    let e = no_answer_yet(waited, transport);
    match port {
        Some(port) if port.unusable() => Explanation {
            who: Who::ThisKernel,
            ..e
        }
        .with_cause(format!(
            "Here {}: nothing leaves this host.",
            port.sentence()
        ))
        .with_next(port.next()),
        _ if same_host && transport != Transport::Iwarp => e
            .with_cause(rejected::OWN_HOST_CAUSE)
            .with_next(rejected::OWN_HOST_NEXT),
        _ => e,
    }
}

/// A connect that succeeded, but took `took`.
pub fn slow_connect(took: Duration) -> Explanation {
    Explanation::new(
        Who::Network,
        Severity::Warn,
        "delayed",
        SLOW_CONNECT,
        match took.as_micros() / REPEAT_AFTER.as_micros() {
            0 => "connected, but slowly".to_string(),
            1 => "connected, but slowly: long enough for 1 repeated connect request".to_string(),
            n => format!("connected, but slowly: long enough for {n} repeated connect requests"),
        },
    )
    .with_cause("Possible: the server was slow to accept; or connect requests were dropped and repeated (every few seconds). A full listen backlog drops in silence, and so does a lossy network.")
    .with_next("On the server: sysctl net.rdma_ucm.max_backlog, and cmshim's listen.min_backlog; grep . /sys/class/infiniband/*/ports/*/cm_tx_retries/req")
}

/// A listener whose backlog looks too small for what comes.
pub fn backlog_overflow(backlog: u32) -> Explanation {
    Explanation::new(
        Who::ThisKernel,
        Severity::Warn,
        "delayed",
        BACKLOG_FULL,
        format!("the listen backlog of {backlog} was probably full: connect requests were dropped in silence, and their clients repeat them seconds later"),
    )
    .with_cause("As many requests as it holds were read in a row, and more were waiting.")
    .with_next("Raise listen.min_backlog, and sysctl net.rdma_ucm.max_backlog with it; take requests faster")
}

/// A destroy call that hangs because events were not acked.
pub fn unacked(b: &Blocked, waited: Duration) -> Explanation {
    let name = |n: &i32| match (b.asynchronous, tables::by_number(*n)) {
        (true, Some(a)) => a.symbol.to_owned(),
        (true, None) => format!("asynchronous event {n}"),
        (false, _) => ev::label(*n),
    };
    let names: Vec<String> = b.events.iter().map(name).collect();
    let (take, ack, object) = match b.asynchronous {
        true => ("ibv_get_async_event", "ibv_ack_async_event", "queue pair"),
        false => ("rdma_get_cm_event", "rdma_ack_cm_event", "id"),
    };
    let which = match names.as_slice() {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    };
    let plural = if b.count == 1 { "event" } else { "events" };
    Explanation::new(
        Who::ThisProcess,
        Severity::Warn,
        "blocked",
        UNACKED_EVENTS,
        format!(
            "{} has waited {} for the program to ack {} {plural}{which}",
            b.call,
            words::duration(waited),
            b.count
        ),
    )
    .with_cause(format!("It returns only after {ack} was called for every event of this {object} that {take} gave out."))
    .with_next(format!("Ack each event before the {object} is destroyed, also on the error path; never destroy it inside the handling of its own un-acked event"))
}

/// An event that ibv_get_async_event gave.
pub fn async_event(number: i32) -> Explanation {
    let numbers = Numbers {
        async_event: Some(number),
        ..Numbers::default()
    };
    match tables::by_number(number) {
        Some(a) => Explanation::new(
            a.who,
            a.severity,
            "reported",
            format!("{} {}", a.symbol, a.number),
            a.meaning,
        )
        .with_cause(a.cause)
        .with_next(a.next),
        None => Explanation::new(
            Who::ThisKernel,
            Severity::Warn,
            "reported",
            format!("asynchronous event {number}"),
            "an asynchronous event that this version of cmshim does not know",
        )
        .with_next("grep -A25 ibv_event_type /usr/include/infiniband/verbs.h"),
    }
    .with_numbers(numbers)
}
