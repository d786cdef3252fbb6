//! What looks like the network's or the peer's fault, and is this host's.

use cmshim_core::codes::event as ev;
use cmshim_core::explain::{self, CallQuery, Descriptors, EventQuery, Facts, Port};
use cmshim_core::model::{Explanation, Role, Severity, Stage, Transport, Who};
use std::time::Duration;

fn port(state: &str) -> Option<Port> {
    Some(Port {
        name: "rxe0/1".into(),
        state: Some(state.into()),
        netdev: Some("v0".into()),
    })
}

fn silence(elapsed_ms: u64, state: &str) -> EventQuery {
    EventQuery {
        event: ev::UNREACHABLE,
        status: -110,
        transport: Transport::Roce,
        role: Role::Client,
        elapsed: Some(Duration::from_millis(elapsed_ms)),
        port: port(state),
        ..EventQuery::default()
    }
}

fn call(name: &str, errno: i32, facts: &Facts) -> Explanation {
    explain::call(&CallQuery {
        call: name,
        errno,
        facts,
        role: Role::Client,
        transport: Transport::Roce,
    })
}

#[test]
fn silence_that_came_at_once_is_not_the_network_s() {
    let e = explain::event(&silence(8, "DOWN"));
    assert_eq!((e.who, e.verb), (Who::ThisKernel, "failed"));
    assert_eq!(
        e.summary,
        "could not send the connect request: port rxe0/1 (netdev v0) is DOWN"
    );
    assert!(e.next.starts_with("ip link show v0;"), "{}", e.next);
    assert_eq!(e.code, "UNREACHABLE -110, ETIMEDOUT");
    assert_eq!(explain::event(&silence(9_000, "DOWN")).who, Who::ThisKernel);
    assert_eq!(explain::event(&silence(8, "ACTIVE")).who, Who::ThisKernel);
}

#[test]
fn silence_that_was_waited_for_is_the_network_s() {
    for (ms, state) in [(9_000, "ACTIVE"), (102_000, "DOWN"), (102_000, "ACTIVE")] {
        let e = explain::event(&silence(ms, state));
        assert_eq!((e.who, e.verb), (Who::Network, "timed out"), "{ms} {state}");
    }
    let iwarp = EventQuery {
        transport: Transport::Iwarp,
        ..silence(8, "DOWN")
    };
    assert_eq!(explain::event(&iwarp).who, Who::Network);
    let unknown = EventQuery {
        elapsed: None,
        ..silence(0, "DOWN")
    };
    assert_eq!(explain::event(&unknown).who, Who::Network);
}

#[test]
fn a_server_s_accept_that_was_not_sent() {
    let e = explain::event(&EventQuery {
        role: Role::Server,
        ..silence(20, "DOWN")
    });
    assert_eq!((e.who, e.severity), (Who::ThisKernel, Severity::Warn));
    assert!(e.summary.contains("send the accept"));
}

#[test]
fn a_neighbour_that_changed_belongs_to_the_connection() {
    let up = |state| EventQuery {
        since_established: Some(Duration::from_secs(5)),
        ..silence(5_000, state)
    };
    let place = explain::place(&up("ACTIVE"));
    assert_eq!(place, (Stage::Established, "connection"));
    let e = explain::event(&up("ACTIVE"));
    assert_eq!((e.who, e.severity), (Who::Network, Severity::Warn));
    assert!(e.summary.contains("changed or failed"), "{}", e.summary);
    let e = explain::event(&up("DOWN"));
    assert_eq!((e.who, e.severity), (Who::ThisKernel, Severity::Warn));
    assert!(e.summary.ends_with("port rxe0/1 (netdev v0) is DOWN"));
    assert_eq!(
        explain::place(&silence(5, "ACTIVE")),
        (Stage::Connect, "connect")
    );
}

#[test]
fn silence_of_the_own_host_is_not_a_ping_s_business() {
    let e = explain::event(&EventQuery {
        same_host: true,
        ..silence(102_000, "ACTIVE")
    });
    assert!(
        !e.next.contains("ping") && !e.cause.contains("host is down"),
        "{e:?}"
    );
    let waited = Duration::from_secs(5);
    let active = port("ACTIVE");
    let e = explain::no_answer_yet_by(waited, Transport::Roce, active.as_ref(), true);
    assert!(!e.next.contains("ping") && !e.cause.contains("Ruled out"));
    assert!(e.cause.contains("this host") && e.next.contains("rdma link"));
    let other = explain::no_answer_yet_by(waited, Transport::Roce, active.as_ref(), false);
    assert_eq!(other, explain::no_answer_yet(waited, Transport::Roce));
    let down = explain::no_answer_yet_by(waited, Transport::Roce, port("DOWN").as_ref(), true);
    assert_eq!((down.who, down.severity), (Who::ThisKernel, Severity::Warn));
    assert!(down.cause.contains("DOWN") && down.next.starts_with("ip link show v0"));
}

#[test]
fn a_port_in_words() {
    assert_eq!(port("DOWN").unwrap().phrase(), "port is DOWN, netdev v0");
    let ib = Port {
        name: "mlx5_0/1".into(),
        state: Some("ACTIVE_DEFER".into()),
        netdev: None,
    };
    assert_eq!(ib.phrase(), "port is ACTIVE_DEFER");
    assert!(!ib.unusable() && port("INIT").unwrap().unusable());
    let gone = Port { state: None, ..ib };
    assert!(gone.unusable());
    assert_eq!(gone.phrase(), "mlx5_0/1 is gone");
}

#[test]
fn a_loopback_address_has_no_route() {
    let facts = Facts {
        loopback: true,
        ..Facts::default()
    };
    let e = call("rdma_resolve_route", libc::ENODEV, &facts);
    assert_eq!(e.who, Who::ThisProcess);
    assert!(e.summary.contains("loopback") && e.next.contains("rdma link"));
    let e = call("rdma_resolve_route", libc::ENODEV, &Facts::default());
    assert!(e.summary.contains("no network device"));
    let e = explain::event(&EventQuery {
        event: ev::ROUTE_ERROR,
        status: -19,
        transport: Transport::Roce,
        role: Role::Client,
        loopback: true,
        ..EventQuery::default()
    });
    assert!(e.summary.contains("loopback"), "{}", e.summary);
}

#[test]
fn descriptors_at_their_limit_are_named_whatever_the_number() {
    let with = |open, limit| Facts {
        descriptors: Some(Descriptors { open, limit }),
        ..Facts::default()
    };
    for (name, errno) in [
        ("rdma_create_event_channel", libc::ENODEV),
        ("rdma_create_id", libc::ENODEV),
        ("rdma_getaddrinfo", libc::ENODEV),
        ("ibv_open_device", libc::ENOENT),
        ("ibv_open_device", 0),
        ("ibv_create_comp_channel", libc::EMFILE),
    ] {
        let e = call(name, errno, &with(4, 7));
        assert!(
            e.summary.contains("file descriptors: 4 open, limit 7"),
            "{name}: {}",
            e.summary
        );
        assert_eq!(e.who, Who::ThisProcess);
    }
    for name in ["rdma_create_event_channel", "rdma_getaddrinfo"] {
        let far = call(name, libc::ENODEV, &with(4, 1024));
        assert!(far.summary.contains("no RDMA device"), "{}", far.summary);
    }
    let other = call("rdma_create_id", libc::EINVAL, &with(7, 7));
    assert!(other.cause.contains("port space"));
    let event = |open| {
        explain::event(&EventQuery {
            event: ev::ADDR_ERROR,
            status: -1,
            descriptors: Some(Descriptors { open, limit: 8 }),
            ..EventQuery::default()
        })
    };
    assert!(event(8).summary.contains("8 open, limit 8"));
    assert_eq!(event(8).code, "ADDR_ERROR -1");
    assert!(event(1).cause.contains("uverbs"));
}

#[test]
fn memory_of_which_nothing_is_known_is_first_a_matter_of_memlock() {
    let e = call("ibv_reg_mr", libc::ENOMEM, &Facts::default());
    assert!(
        e.summary.contains("limit of locked memory"),
        "{}",
        e.summary
    );
    assert!(e.next.starts_with("ulimit -l"), "{}", e.next);
    assert!(!e.cause.contains("not limited here"));
}

#[test]
fn a_looked_up_name_stands_in_the_command() {
    let named = |name: &str| {
        let facts = Facts {
            node: Some(name.into()),
            ..Facts::default()
        };
        call("rdma_getaddrinfo", -2, &facts).next
    };
    assert!(named("db-1.lan").starts_with("getent hosts db-1.lan;"));
    assert!(named("a;reboot").starts_with("getent hosts NAME;"));
    assert!(named("-x").starts_with("getent hosts NAME;"));
}

#[test]
fn a_search_for_devices_that_finds_none_is_no_error() {
    let empty = call("ibv_get_device_list", 0, &Facts::default());
    assert_eq!(empty.severity, Severity::Info);
    assert_eq!(empty.code, "ibv_get_device_list, empty list");
    assert!(empty.summary.contains("no RDMA device"));
    let none = call("ibv_get_device_list", libc::ENOSYS, &Facts::default());
    assert_eq!(none.severity, Severity::Info);
    assert_eq!(none.code, "ibv_get_device_list errno 38, ENOSYS");
    let short = Facts {
        descriptors: Some(Descriptors { open: 7, limit: 7 }),
        ..Facts::default()
    };
    let short = call("ibv_get_device_list", 0, &short);
    assert!(short.summary.contains("descriptors"));
}

#[test]
fn a_listener_is_not_called_a_connection() {
    let removal = |listener| {
        explain::place(&EventQuery {
            event: ev::DEVICE_REMOVAL,
            role: Role::Server,
            listener,
            ..EventQuery::default()
        })
    };
    assert_eq!(removal(true), (Stage::Device, "listener"));
    assert_eq!(removal(false), (Stage::Device, "connection"));
}

#[test]
fn nobody_listens_on_a_client() {
    let e = explain::event(&EventQuery {
        event: ev::REJECTED,
        status: 8,
        transport: Transport::Roce,
        role: Role::Server,
        ..EventQuery::default()
    });
    assert_eq!(e.who, Who::PeerKernel);
    assert!(!e.summary.contains("nobody listens"), "{}", e.summary);
}
