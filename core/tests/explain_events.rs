//! CM events: who, how loud, and which words, by role and transport.

use cmshim_core::codes::{event as ev, reject};
use cmshim_core::explain::{self, EventQuery};
use cmshim_core::model::{Explanation, Role, Severity, Stage, Transport, Who};
use std::time::Duration;

fn query(event: i32, status: i32, transport: Transport, role: Role) -> EventQuery {
    EventQuery {
        event,
        status,
        transport,
        role,
        ..EventQuery::default()
    }
}

fn client(event: i32, status: i32, transport: Transport) -> Explanation {
    explain::event(&query(event, status, transport, Role::Client))
}

fn server(event: i32, status: i32) -> Explanation {
    explain::event(&query(event, status, Transport::Roce, Role::Server))
}

#[test]
fn every_reject_reason_is_named_on_both_sides() {
    for r in reject::ALL {
        let e = client(ev::REJECTED, r.number, Transport::Roce);
        assert_eq!(e.code, format!("REJECTED {}, {}", r.number, r.symbol));
        assert_eq!((e.verb, e.severity), ("refused", Severity::Error));
        assert_eq!(e.numbers.status, Some(r.number));
        assert_eq!(e.numbers.errno, None);
        let s = server(ev::REJECTED, r.number);
        assert_eq!(s.code, e.code);
        assert_eq!(s.severity, Severity::Warn);
    }
}

#[test]
fn who_rejects() {
    let nobody = client(ev::REJECTED, 8, Transport::Ib);
    assert_eq!(nobody.who, Who::PeerKernel);
    assert_eq!(nobody.summary, "nobody listens there");
    assert_eq!(
        client(ev::REJECTED, 10, Transport::Roce).who,
        Who::PeerKernel
    );
    assert_eq!(
        client(ev::REJECTED, 28, Transport::Roce).who,
        Who::PeerProgram
    );
    let turned_back = server(ev::REJECTED, 28);
    assert!(turned_back.summary.contains("client turned back"));
}

#[test]
fn unknown_reasons_are_said_to_be_unknown() {
    for (status, transport) in [
        (34, Transport::Roce),
        (99, Transport::Ib),
        (8, Transport::Iwarp),
    ] {
        let e = client(ev::REJECTED, status, transport);
        assert!(e.summary.contains("unknown"), "{}", e.summary);
        assert_eq!(e.code, format!("REJECTED {status}, unknown reason"));
    }
}

#[test]
fn iwarp_statuses_are_errnos() {
    let e = client(ev::REJECTED, -111, Transport::Iwarp);
    assert_eq!(e.code, "REJECTED -111, ECONNREFUSED");
    assert!(e.summary.contains("nobody listens"));
    assert_eq!(e.numbers.errno, Some(111));
    let e = client(ev::REJECTED, -104, Transport::Iwarp);
    assert_eq!(e.who, Who::PeerProgram);
    let e = client(ev::UNREACHABLE, -110, Transport::Iwarp);
    assert!(!e.cause.contains("4791") && !e.cause.contains("backlog"));
}

#[test]
fn silence() {
    let e = client(ev::UNREACHABLE, -110, Transport::Roce);
    assert_eq!((e.who, e.severity), (Who::Network, Severity::Error));
    assert_eq!(e.code, "UNREACHABLE -110, ETIMEDOUT");
    assert_eq!(e.summary, "no answer to any connect request");
    assert!(e.cause.contains("backlog"));
    let e = server(ev::UNREACHABLE, -110);
    assert_eq!(e.severity, Severity::Warn);
    assert!(e.summary.contains("did not confirm"));
    let up = EventQuery {
        since_established: Some(Duration::from_secs(60)),
        ..query(ev::UNREACHABLE, -110, Transport::Roce, Role::Client)
    };
    assert!(explain::event(&up).summary.contains("neighbour entry"));
}

#[test]
fn datagram_ids_get_a_sidr_status() {
    let e = client(ev::UNREACHABLE, 1, Transport::Roce);
    assert_eq!(e.code, "UNREACHABLE 1, IB_SIDR_UNSUPPORTED");
    assert_eq!(e.who, Who::PeerKernel);
    let e = client(ev::UNREACHABLE, 2, Transport::Roce);
    assert_eq!(e.who, Who::PeerProgram);
}

#[test]
fn addresses_and_routes() {
    let arp = client(ev::ADDR_ERROR, -110, Transport::Unknown);
    assert_eq!(arp.who, Who::Network);
    assert!(arp.summary.contains("no neighbour answered"));
    let plain_nic = client(ev::ADDR_ERROR, -19, Transport::Unknown);
    assert_eq!(plain_nic.who, Who::ThisKernel);
    assert!(plain_nic.summary.contains("no RDMA device serves"));
    let uverbs = client(ev::ADDR_ERROR, -1, Transport::Unknown);
    assert!(uverbs.cause.contains("uverbs"));
    let sm = client(ev::ROUTE_ERROR, -110, Transport::Ib);
    assert!(sm.summary.contains("subnet manager"));
    let path = client(ev::ROUTE_ERROR, -22, Transport::Ib);
    assert!(path.summary.contains("no path"));
}

#[test]
fn the_lost_errno_of_librdmacm_is_told_when_it_was_kept() {
    let mut q = query(ev::CONNECT_ERROR, -1, Transport::Roce, Role::Client);
    let e = explain::event(&q);
    assert_eq!(e.code, "CONNECT_ERROR -1");
    assert_eq!(e.numbers.errno, None);
    q.nested = Some(("ibv_modify_qp", 22));
    let e = explain::event(&q);
    assert_eq!(
        e.code,
        "CONNECT_ERROR -1; inside ibv_modify_qp errno 22, EINVAL"
    );
    assert_eq!(e.numbers.errno, Some(22));
    assert!(e.summary.contains("ibv_modify_qp"));
    assert_eq!(e.severity, Severity::Error);
}

#[test]
fn the_end_of_a_connection() {
    let ended = |role, since_ms: Option<u64>, ours, status| {
        explain::event(&EventQuery {
            since_established: since_ms.map(Duration::from_millis),
            we_disconnected: ours,
            ..query(ev::DISCONNECTED, status, Transport::Roce, role)
        })
    };
    let said = |e: Explanation| (e.severity, e.who);
    let clean = ended(Role::Client, Some(60_000), false, 0);
    assert!(clean.summary.contains("or its program died"));
    assert_eq!(said(clean), (Severity::Info, Who::PeerProgram));
    let ours = ended(Role::Client, Some(3), true, 0);
    assert_eq!(said(ours), (Severity::Debug, Who::ThisProcess));
    let short = ended(Role::Client, Some(3), false, 0);
    assert_eq!(said(short), (Severity::Info, Who::PeerProgram));
    let unused = explain::event(&EventQuery {
        since_established: Some(Duration::from_millis(3)),
        no_data: true,
        ..query(ev::DISCONNECTED, 0, Transport::Roce, Role::Client)
    });
    assert_eq!(said(unused), (Severity::Warn, Who::PeerProgram));
    let short = ended(Role::Server, Some(3), false, 0);
    assert_eq!(said(short), (Severity::Info, Who::PeerProgram));
    let border = ended(Role::Client, Some(1_000), false, 0);
    assert_eq!(border.severity, Severity::Info);
    let dead = ended(Role::Client, Some(60_000), true, -110);
    assert_eq!(said(dead), (Severity::Info, Who::Network));
    let reset = ended(Role::Client, Some(60_000), false, -104);
    assert_eq!(reset.severity, Severity::Warn);
}

#[test]
fn loudness_of_all_events() {
    use Severity::{Debug, Error, Warn};
    for (event, status, expected) in [
        (ev::ADDR_RESOLVED, 0, Debug),
        (ev::ADDR_ERROR, -110, Error),
        (ev::ROUTE_RESOLVED, 0, Debug),
        (ev::ROUTE_ERROR, -110, Error),
        (ev::CONNECT_REQUEST, 0, Debug),
        (ev::CONNECT_RESPONSE, 0, Debug),
        (ev::CONNECT_ERROR, -22, Error),
        (ev::ESTABLISHED, 0, Debug),
        (ev::DEVICE_REMOVAL, 0, Error),
        (ev::MULTICAST_JOIN, 0, Debug),
        (ev::MULTICAST_ERROR, -22, Error),
        (ev::ADDR_CHANGE, 0, Warn),
        (ev::TIMEWAIT_EXIT, 0, Debug),
        (ev::ADDRINFO_RESOLVED, 0, Debug),
        (ev::ADDRINFO_ERROR, -2, Error),
        (ev::USER, 0, Debug),
        (ev::INTERNAL, 0, Debug),
        (20, 0, Warn),
        (-5, 0, Warn),
    ] {
        let e = client(event, status, Transport::Roce);
        assert_eq!(e.severity, expected, "event {event}");
        assert_eq!(e.numbers.event, Some(event));
    }
    let unknown = client(77, 3, Transport::Roce);
    assert_eq!(unknown.code, "event 77, status 3");
    assert!(unknown.summary.contains("77"));
}

#[test]
fn any_number_gives_well_formed_words() {
    let transports = [
        Transport::Ib,
        Transport::Roce,
        Transport::Iwarp,
        Transport::Unknown,
    ];
    for event in -2..25 {
        for status in (-140..140).chain([i32::MIN, i32::MAX]) {
            for transport in transports {
                for role in [Role::Client, Role::Server, Role::None] {
                    let e = explain::event(&query(event, status, transport, role));
                    assert!(!e.summary.is_empty() && !e.code.is_empty());
                    assert!(!e.summary.ends_with('.'), "{}", e.summary);
                    assert!(
                        e.cause.is_empty() || e.cause.ends_with(['.', '?']),
                        "{}",
                        e.cause
                    );
                    let all = format!("{}{}{}{}", e.code, e.summary, e.cause, e.next);
                    assert!(!all.contains('\n'), "{all}");
                }
            }
        }
    }
}

#[test]
fn stages() {
    assert_eq!(
        explain::stage_of_event(ev::ADDR_ERROR, Role::Client),
        Stage::Address
    );
    assert_eq!(
        explain::stage_of_event(ev::REJECTED, Role::Client),
        Stage::Connect
    );
    assert_eq!(
        explain::stage_of_event(ev::REJECTED, Role::Server),
        Stage::Accept
    );
    assert_eq!(
        explain::stage_of_event(ev::DEVICE_REMOVAL, Role::Server),
        Stage::Device
    );
    assert_eq!(explain::stage_of_call("ibv_reg_mr"), Stage::Memory);
    assert_eq!(explain::what_of_call("ibv_reg_mr"), "register memory");
    assert_eq!(
        explain::what_of_event(ev::UNREACHABLE, Role::Client),
        "connect"
    );
}

#[test]
fn plain_sentences() {
    assert_eq!(
        explain::plain_reject(8),
        "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: nobody listens there (refused by the peer's \
         kernel). Is the server up, and bound to this address and port (and to the same port \
         space)? On the peer: rdma resource show cm_id (ss -l does not list RDMA listeners)"
    );
    let text = explain::plain(ev::ADDR_ERROR, -110, Transport::Unknown);
    assert!(text.contains(" (failed in the network). "), "{text}");
    assert!(text.contains(" Run: ip route get PEER; "), "{text}");
    assert!(explain::plain_reject(34).contains("no reject reason"));
    assert!(explain::plain(7, -110, Transport::Roce).starts_with("UNREACHABLE -110, ETIMEDOUT: "));
    assert_eq!(
        explain::plain(9, 0, Transport::Ib),
        "ESTABLISHED: the connection is up."
    );
    assert_eq!(
        explain::plain_errno(-110),
        "ETIMEDOUT 110: Connection timed out."
    );
    assert!(explain::plain_errno(4711).contains("no errno"));
    assert!(explain::plain_async(1).starts_with("IBV_EVENT_QP_FATAL 1: "));
    assert!(explain::plain_async(21).contains("no asynchronous event"));
}

#[test]
fn a_reject_with_private_data_is_the_program_s_own() {
    let reject = |private_data| {
        explain::event(&EventQuery {
            event: 8,
            status: 28,
            transport: Transport::Roce,
            role: Role::Client,
            private_data,
            ..EventQuery::default()
        })
    };
    assert!(reject(true).summary.contains("called rdma_reject"));
    assert!(reject(false).summary.contains("no consent from the peer"));
}
