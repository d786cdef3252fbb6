//! One record in words.

use std::time::Duration;

use cmshim_core::codes::{errno, event};
use cmshim_core::explain;
use cmshim_core::explain::EventQuery;
use cmshim_core::model::Role;
use cmshim_core::report::duration::human;
use cmshim_core::stats::{Entry, Record, What, RUNNING};

/// What happened, and how it ended.
pub fn words(record: &Record, role: Role, alive: bool) -> String {
    match record.what {
        What::Call(entry) => call(entry, record, alive),
        What::Event(number) => self::event(i32::from(number), record.status, role),
        What::Unknown(kind, code) => format!("kind {kind}, code {code}, of a later version"),
    }
}

fn call(entry: Entry, record: &Record, alive: bool) -> String {
    let ended = match (record.status, alive) {
        (0, _) => String::new(),
        (RUNNING, true) => ": under way".into(),
        (RUNNING, false) => ": had not returned".into(),
        (number, _) => match errno::by_number(number) {
            Some(e) => format!(": {} ({} {})", e.text, e.name, e.number),
            None => format!(": status {number}"),
        },
    };
    let took = match (record.extra, record.status) {
        (0, _) | (_, RUNNING) => String::new(),
        (ns, _) => format!(", after {}", human(Duration::from_nanos(ns))),
    };
    format!("{}{ended}{took}", entry.name())
}

/// The name alone where nothing is wrong.
fn event(number: i32, status: i32, role: Role) -> String {
    if status == 0 && !TROUBLE.contains(&number) {
        return event::label(number);
    }
    let told = explain::event(&EventQuery {
        event: number,
        status,
        role,
        ..EventQuery::default()
    });
    format!("{}: {} ({})", told.code, told.summary, told.verdict())
}

/// Bad news also with status 0.
const TROUBLE: [i32; 8] = [
    event::ADDR_ERROR,
    event::ROUTE_ERROR,
    event::CONNECT_ERROR,
    event::UNREACHABLE,
    event::REJECTED,
    event::DEVICE_REMOVAL,
    event::MULTICAST_ERROR,
    event::ADDR_CHANGE,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: What, status: i32, extra: u64) -> Record {
        Record {
            number: 1,
            at_ns: 0,
            id: 1,
            what,
            status,
            peer: Default::default(),
            qp_num: 0,
            extra,
        }
    }

    #[test]
    fn calls_say_how_they_ended() {
        let call = What::Call(Entry::rdma_destroy_id);
        let told = |status, extra, alive| words(&record(call, status, extra), Role::Client, alive);
        assert_eq!(told(0, 0, true), "rdma_destroy_id");
        assert_eq!(told(0, 12_000, true), "rdma_destroy_id, after 12 µs");
        assert_eq!(told(RUNNING, 0, true), "rdma_destroy_id: under way");
        assert_eq!(told(RUNNING, 0, false), "rdma_destroy_id: had not returned");
        assert_eq!(
            told(111, 0, true),
            "rdma_destroy_id: Connection refused (ECONNREFUSED 111)"
        );
        assert_eq!(
            told(i32::MAX, 0, true),
            "rdma_destroy_id: status 2147483647"
        );
    }

    #[test]
    fn events_are_explained_where_something_is_wrong() {
        let told =
            |number, status| words(&record(What::Event(number), status, 0), Role::Client, true);
        assert_eq!(told(9, 0), "ESTABLISHED");
        assert_eq!(told(42, 0), "event 42");
        let refused = told(8, 8);
        assert!(
            refused.starts_with("REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: "),
            "{refused}"
        );
        assert!(refused.ends_with(" by the peer's kernel)"), "{refused}");
        assert!(
            told(1, -110).starts_with("ADDR_ERROR -110"),
            "{}",
            told(1, -110)
        );
        let later = words(&record(What::Unknown(9, 1), 0, 0), Role::None, true);
        assert_eq!(later, "kind 9, code 1, of a later version");
    }
}
