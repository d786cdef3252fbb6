//! CM events: which module knows the words for which event.

use super::connected;
use super::query::EventQuery;
use super::{rejected, resolve, words};
use crate::codes::{errno, event as ev};
use crate::model::{Explanation, Numbers, Role, Severity, Who};

/// Explains a CM event.
pub fn event(q: &EventQuery) -> Explanation {
    let mut e = match q.event {
        ev::ADDR_ERROR => resolve::addr_error(q),
        ev::ROUTE_ERROR => resolve::route_error(q),
        ev::CONNECT_ERROR => connect_error(q),
        ev::UNREACHABLE => rejected::unreachable(q),
        ev::REJECTED => rejected::rejected(q),
        ev::DISCONNECTED => connected::disconnected(q),
        ev::DEVICE_REMOVAL => connected::device_removal(),
        ev::ADDR_CHANGE => connected::addr_change(),
        ev::TIMEWAIT_EXIT => connected::timewait_exit(),
        ev::MULTICAST_ERROR => connected::multicast_error(q),
        ev::ADDRINFO_ERROR => resolve::addrinfo_error(q),
        other => good_or_unknown(other),
    };
    if e.code.is_empty() {
        e.code = code(q.event, q.status);
    }
    e.numbers = Numbers {
        event: Some(q.event),
        status: (q.status != 0).then_some(q.status),
        errno: match q.nested {
            Some((_, number)) if q.status == -1 => Some(number),
            _ => (q.status < -1).then(|| q.status.saturating_neg()),
        },
        async_event: None,
    };
    e
}

/// "UNREACHABLE -110, ETIMEDOUT"; a status of 0 is not shown.
fn code(event: i32, status: i32) -> String {
    if ev::by_number(event).is_none() {
        return format!("event {event}, status {status}");
    }
    let name = ev::label(event);
    match status {
        0 => name,
        -1 => format!("{name} -1"),
        s if s < 0 => match errno::by_number(s) {
            Some(e) => format!("{name} {s}, {}", e.name),
            None => format!("{name} {s}"),
        },
        s => format!("{name} {s}"),
    }
}

/// "22, EINVAL"
fn errno_and_name(number: i32) -> String {
    match errno::by_number(number) {
        Some(e) => format!("{}, {}", e.number, e.name),
        None => number.to_string(),
    }
}

/// CONNECT_ERROR: librdmacm or the kernel could not finish a handshake that the peer agreed to.
fn connect_error(q: &EventQuery) -> Explanation {
    if q.status == -1 {
        return librdmacm_failed(q);
    }
    let side = if q.role == Role::Server {
        "accept"
    } else {
        "connect"
    };
    let mut e = Explanation::new(
        Who::ThisKernel,
        Severity::Error,
        "failed",
        "",
        format!(
            "the {side} could not be completed: {}",
            words::status_text(q.status)
        ),
    )
    .with_cause(
        "The handshake was under way when an error came up on this host or in the transport.",
    )
    .with_next("dmesg; rdma link show");
    if q.status == -113 || q.status == -101 {
        e.who = Who::Network;
        e.cause = "The peer's address cannot be reached from here.".into();
        e.next = "ip route get PEER; ip neigh; ping PEER".into();
    }
    e
}

/// Status -1 is not from the kernel: librdmacm failed to move the QP, or its ACCEPT failed.
fn librdmacm_failed(q: &EventQuery) -> Explanation {
    let next =
        "Run ibv_devinfo -v and rdma link show on both ends, and compare MTU and GIDs; dmesg";
    match q.nested {
        Some((call, number)) => Explanation::new(
            super::qp::modify_who(number),
            Severity::Error,
            "failed",
            format!("CONNECT_ERROR -1; inside {call} errno {}", errno_and_name(number)),
            format!(
                "the peer accepted, but here {call} failed inside librdmacm: {}",
                words::status_text(number)
            ),
        )
        .with_cause(if call == "ibv_modify_qp" {
            super::qp::modify_cause(number, None)
        } else {
            "Possible: the peer gave up in the meantime; or the device is gone."
        })
        .with_next(next),
        None => Explanation::new(
            Who::ThisKernel,
            Severity::Error,
            "failed",
            "",
            "the peer accepted, but librdmacm could not bring the queue pair up",
        )
        .with_cause("The status is librdmacm's own. Possible: moving the QP to RTR or RTS failed; or the peer gave up in the meantime.")
        .with_next(next),
    }
}

fn good_or_unknown(number: i32) -> Explanation {
    match ev::by_number(number) {
        Some(known) => Explanation::new(
            Who::ThisKernel,
            Severity::Debug,
            "reported",
            "",
            words::as_finding(known.meaning),
        ),
        None => Explanation::new(
            Who::ThisKernel,
            Severity::Warn,
            "reported",
            "",
            format!("event number {number} is not known to this version of cmshim"),
        )
        .with_cause("Possible: the kernel or rdma-core is newer than cmshim; or the event's memory was freed already.")
        .with_next("grep -A22 rdma_cm_event_type /usr/include/rdma/rdma_cma.h"),
    }
}
