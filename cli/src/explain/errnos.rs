//! Where an errno comes from decides what it means: which events bring it, and what to ask instead.

use cmshim_core::codes::errno::Errno;
use cmshim_core::codes::event::{
    self, ADDR_ERROR, CONNECT_ERROR, MULTICAST_ERROR, REJECTED, ROUTE_ERROR, UNREACHABLE,
};

/// Errnos that are the status of these events, the commonest first (cma.c, ucma.c; the statuses of
/// REJECTED are those of iWARP).
const STATUS_OF: &[(i32, &[i32])] = &[
    (11, &[ADDR_ERROR]),
    (12, &[ROUTE_ERROR, MULTICAST_ERROR]),
    (19, &[ADDR_ERROR, ROUTE_ERROR]),
    (22, &[CONNECT_ERROR, ROUTE_ERROR, MULTICAST_ERROR]),
    (101, &[ADDR_ERROR, UNREACHABLE]),
    (104, &[REJECTED]),
    (110, &[UNREACHABLE, ADDR_ERROR, ROUTE_ERROR]),
    (111, &[REJECTED]),
    (113, &[ADDR_ERROR, UNREACHABLE]),
];

/// The events that may have this errno as their status.
pub fn events(number: i32) -> &'static [i32] {
    STATUS_OF
        .iter()
        .find(|(errno, _)| *errno == number)
        .map_or(&[], |(_, events)| events)
}

/// What to ask when it is known where the errno came from.
pub fn questions(errno: &Errno) -> Vec<String> {
    let of_event = |&number: &i32| {
        let name = event::label(number).to_ascii_lowercase();
        let iwarp = match number {
            REJECTED => " --transport iwarp",
            _ => "",
        };
        format!("cmshim explain --event {name}{iwarp} -- -{}", errno.number)
    };
    let mut all: Vec<String> = events(errno.number).iter().map(of_event).collect();
    all.push(format!("cmshim explain --call FUNCTION {}", errno.name));
    all
}
