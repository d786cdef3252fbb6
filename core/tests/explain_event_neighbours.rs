//! One event with one status, several causes: the line of a cause must have words of its own, as with calls
//! (`explain_neighbours.rs`). `docs/reasons.md` is the same table in words.

use cmshim_core::codes::event as ev;
use cmshim_core::explain::{self, Addresses, Descriptors, EventQuery, Port};
use cmshim_core::model::{Role, Transport};
use cmshim_core::tenant::reason::{decode, encode, Code, Reason};
use std::collections::HashMap;
use std::time::Duration;

/// The event with what was found out, and words that its line must have.
type Cause = (EventQuery, &'static str);

/// RoCE, on the client.
fn roce(event: i32, status: i32) -> EventQuery {
    EventQuery {
        event,
        status,
        transport: Transport::Roce,
        role: Role::Client,
        ..EventQuery::default()
    }
}

fn over(transport: Transport, event: i32, status: i32) -> EventQuery {
    EventQuery {
        transport,
        ..roce(event, status)
    }
}

fn on_server(q: EventQuery) -> EventQuery {
    EventQuery {
        role: Role::Server,
        ..q
    }
}

fn after(elapsed: Duration, q: EventQuery) -> EventQuery {
    EventQuery {
        elapsed: Some(elapsed),
        ..q
    }
}

fn port(state: &str, q: EventQuery) -> EventQuery {
    EventQuery {
        port: Some(Port {
            name: "rxe0/1".to_owned(),
            state: Some(state.to_owned()),
            netdev: Some("v0".to_owned()),
        }),
        ..q
    }
}

fn inside(call: &'static str, errno: i32, q: EventQuery) -> EventQuery {
    EventQuery {
        nested: Some((call, errno)),
        ..q
    }
}

fn lived(time: Duration, q: EventQuery) -> EventQuery {
    EventQuery {
        since_established: Some(time),
        ..q
    }
}

fn toward(destination: &str, q: EventQuery) -> EventQuery {
    EventQuery {
        addresses: Addresses {
            destination: Some(destination.parse().unwrap()),
            ..Addresses::default()
        },
        ..q
    }
}

fn because(code: Code, q: EventQuery) -> EventQuery {
    let reason = Reason {
        code,
        retry_after_ms: None,
        used: 64,
        limit: 64,
        tenant: "olap",
    };
    EventQuery {
        private_data: true,
        policy: decode(&encode(&reason)),
        ..q
    }
}

fn with_data(q: EventQuery) -> EventQuery {
    EventQuery {
        private_data: true,
        ..q
    }
}

fn resolving() -> Vec<Cause> {
    let full = EventQuery {
        descriptors: Some(Descriptors { open: 8, limit: 8 }),
        ..roce(ev::ADDR_ERROR, -1)
    };
    let loopback = EventQuery {
        loopback: true,
        ..roce(ev::ROUTE_ERROR, -19)
    };
    vec![
        (full, "out of file descriptors"),
        (roce(ev::ADDR_ERROR, -1), "librdmacm cannot use it"),
        (
            toward("[::ffff:10.0.0.1]:1", roce(ev::ADDR_ERROR, -101)),
            "IPv4 address in IPv6 form",
        ),
        (
            toward("10.0.0.1:1", roce(ev::ADDR_ERROR, -101)),
            "no route to that address",
        ),
        (loopback, "by a loopback address"),
        (roce(ev::ROUTE_ERROR, -19), "no network device was found"),
        (
            over(Transport::Ib, ev::ROUTE_ERROR, -110),
            "the subnet manager did not answer",
        ),
        (roce(ev::ROUTE_ERROR, -110), "the route was not resolved"),
        (
            over(Transport::Ib, ev::ROUTE_ERROR, -22),
            "the subnet manager gave no path",
        ),
        (roce(ev::ROUTE_ERROR, -22), "no network device was found"),
    ]
}

fn connecting() -> Vec<Cause> {
    let failed = || roce(ev::CONNECT_ERROR, -1);
    let joined = || roce(ev::MULTICAST_ERROR, -1);
    vec![
        (
            inside("ibv_modify_qp", 22, failed()),
            "ibv_modify_qp failed",
        ),
        (inside("rdma_accept", 22, failed()), "rdma_accept failed"),
        (failed(), "could not bring the queue pair up"),
        (
            inside("ibv_attach_mcast", 12, joined()),
            "ibv_attach_mcast failed",
        ),
        (joined(), "could not be attached"),
    ]
}

fn silence() -> Vec<Cause> {
    let silent = || roce(ev::UNREACHABLE, -110);
    let soon = Duration::from_millis(5);
    let late = Duration::from_secs(100);
    vec![
        (
            after(soon, port("ACTIVE", silent())),
            "the send failed at once",
        ),
        (
            after(soon, port("DOWN", silent())),
            "could not send the connect request: port",
        ),
        (
            after(soon, port("DOWN", on_server(silent()))),
            "could not send the accept: port",
        ),
        (
            after(late, port("DOWN", silent())),
            "no answer to any connect request",
        ),
        (
            after(late, port("ACTIVE", silent())),
            "no answer to any connect request",
        ),
        (on_server(silent()), "the client did not confirm our accept"),
        (
            lived(late, port("ACTIVE", silent())),
            "the neighbour entry of the peer changed or failed",
        ),
        (
            lived(late, port("DOWN", silent())),
            "the neighbour entry of the peer is gone",
        ),
    ]
}

fn refusals() -> Vec<Cause> {
    let refused = || roce(ev::REJECTED, 28);
    let reset = || over(Transport::Iwarp, ev::REJECTED, -104);
    vec![
        (
            because(Code::Denied, refused()),
            "tenant 'olap' may not connect",
        ),
        (because(Code::OverLimit, refused()), "64 of 64"),
        (
            because(Code::Program, refused()),
            "the program's own check refused",
        ),
        (with_data(refused()), "gave its reason in the private data"),
        (refused(), "no consent from the peer"),
        // What a client sends is no refusal by a policy.
        (
            because(Code::Denied, on_server(refused())),
            "the client turned back after our accept",
        ),
        (
            on_server(roce(ev::REJECTED, 8)),
            "a reason that Linux gives only to connect requests",
        ),
        (roce(ev::REJECTED, 8), "nobody listens there"),
        (
            on_server(roce(ev::REJECTED, 10)),
            "the client believes that the queue pair we accepted with",
        ),
        (
            roce(ev::REJECTED, 10),
            "our queue pair is already connected",
        ),
        (
            because(Code::Denied, reset()),
            "tenant 'olap' may not connect",
        ),
        (reset(), "or ended before it answered"),
        (
            over(Transport::Iwarp, ev::REJECTED, -111),
            "nobody listens there, or the peer's program refused",
        ),
    ]
}

fn ends() -> Vec<Cause> {
    let ended = || roce(ev::DISCONNECTED, 0);
    let (short, long) = (Duration::from_millis(5), Duration::from_secs(60));
    let asked = |q| EventQuery {
        we_disconnected: true,
        ..q
    };
    let no_data = |q| EventQuery { no_data: true, ..q };
    vec![
        (asked(lived(short, ended())), "as this program asked"),
        (no_data(lived(short, ended())), "dropped it before any data"),
        (lived(short, ended()), "the peer disconnected soon"),
        (
            no_data(lived(long, ended())),
            "the peer disconnected, or its program died",
        ),
        (
            on_server(lived(short, ended())),
            "the client disconnected at once",
        ),
        (
            roce(ev::DISCONNECTED, -110),
            "did not answer our disconnect",
        ),
        (roce(ev::DISCONNECTED, -104), "was reset by the peer"),
        (asked(roce(ev::DISCONNECTED, -104)), "as this program asked"),
    ]
}

#[test]
fn each_cause_has_its_words_and_no_neighbour_has_them() {
    let mut by_code: HashMap<(i32, i32), Vec<(String, &str)>> = HashMap::new();
    let all = [resolving(), connecting(), silence(), refusals(), ends()].concat();
    for (query, words) in all {
        let (event, status) = (query.event, query.status);
        let summary = explain::event(&query).summary;
        assert!(
            summary.contains(words),
            "{event} {status}: {words:?} in {summary:?}"
        );
        by_code
            .entry((event, status))
            .or_default()
            .push((summary, words));
    }
    for ((event, status), causes) in by_code {
        for (_, words) in &causes {
            for (summary, own) in &causes {
                assert!(
                    own == words || !summary.contains(words),
                    "{event} {status}: {words:?} also in {summary:?}"
                );
            }
        }
    }
}
