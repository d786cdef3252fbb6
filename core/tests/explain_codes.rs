//! The tables: numbers against names, completeness, and the form of every text.

use cmshim_core::codes::{async_event, errno, event, qp_state, reject};
use cmshim_core::explain;
use std::collections::HashSet;

#[test]
fn reject_reasons_have_the_numbers_of_the_kernel() {
    let expected = [
        (1, "NO_QP"),
        (2, "NO_EEC"),
        (3, "NO_RESOURCES"),
        (4, "TIMEOUT"),
        (5, "UNSUPPORTED"),
        (6, "INVALID_COMM_ID"),
        (7, "INVALID_COMM_INSTANCE"),
        (8, "INVALID_SERVICE_ID"),
        (9, "INVALID_TRANSPORT_TYPE"),
        (10, "STALE_CONN"),
        (11, "RDC_NOT_EXIST"),
        (12, "INVALID_GID"),
        (13, "INVALID_LID"),
        (14, "INVALID_SL"),
        (15, "INVALID_TRAFFIC_CLASS"),
        (16, "INVALID_HOP_LIMIT"),
        (17, "INVALID_PACKET_RATE"),
        (18, "INVALID_ALT_GID"),
        (19, "INVALID_ALT_LID"),
        (20, "INVALID_ALT_SL"),
        (21, "INVALID_ALT_TRAFFIC_CLASS"),
        (22, "INVALID_ALT_HOP_LIMIT"),
        (23, "INVALID_ALT_PACKET_RATE"),
        (24, "PORT_CM_REDIRECT"),
        (25, "PORT_REDIRECT"),
        (26, "INVALID_MTU"),
        (27, "INSUFFICIENT_RESP_RESOURCES"),
        (28, "CONSUMER_DEFINED"),
        (29, "INVALID_RNR_RETRY"),
        (30, "DUPLICATE_LOCAL_COMM_ID"),
        (31, "INVALID_CLASS_VERSION"),
        (32, "INVALID_FLOW_LABEL"),
        (33, "INVALID_ALT_FLOW_LABEL"),
        (35, "VENDOR_OPTION_NOT_SUPPORTED"),
    ];
    assert_eq!(reject::ALL.len(), expected.len());
    for (number, name) in expected {
        let r = reject::by_number(number).unwrap();
        assert_eq!(r.symbol, format!("IB_CM_REJ_{name}"));
        assert_eq!(reject::by_name(name).unwrap().number, number);
        assert_eq!(reject::by_name(r.symbol).unwrap().number, number);
    }
    for unassigned in [-1, 0, 34, 36, i32::MAX] {
        assert!(reject::by_number(unassigned).is_none());
    }
    assert_eq!(reject::by_name("stale-conn").unwrap().number, 10);
    assert!(reject::by_name("invalid_qpn").is_none());
}

#[test]
fn events_have_the_numbers_of_rdma_cma_h() {
    for (number, name) in [
        (0, "ADDR_RESOLVED"),
        (4, "CONNECT_REQUEST"),
        (6, "CONNECT_ERROR"),
        (7, "UNREACHABLE"),
        (8, "REJECTED"),
        (9, "ESTABLISHED"),
        (10, "DISCONNECTED"),
        (11, "DEVICE_REMOVAL"),
        (15, "TIMEWAIT_EXIT"),
        (16, "ADDRINFO_RESOLVED"),
        (17, "ADDRINFO_ERROR"),
        (18, "USER"),
        (19, "INTERNAL"),
    ] {
        let e = event::by_number(number).unwrap();
        assert_eq!(e.name, name);
        assert_eq!(e.symbol, format!("RDMA_CM_EVENT_{name}"));
    }
    assert_eq!(event::ALL.len(), 20);
    for (i, e) in event::ALL.iter().enumerate() {
        assert_eq!(e.number, i32::try_from(i).unwrap());
    }
    for spelling in ["rejected", "REJECTED", "rdma_cm_event_rejected"] {
        assert_eq!(event::by_name(spelling).unwrap().number, 8);
    }
    assert_eq!(event::by_name("addr-error").unwrap().number, 1);
    assert_eq!(
        event::by_name("RDMA-CM-EVENT-ADDR_ERROR").unwrap().number,
        1
    );
    assert!(event::by_number(-1).is_none() && event::by_number(20).is_none());
    assert!(event::by_name("").is_none());
}

#[test]
fn async_events_have_the_numbers_of_verbs_h() {
    for (number, name) in [
        (0, "CQ_ERR"),
        (1, "QP_FATAL"),
        (4, "COMM_EST"),
        (6, "PATH_MIG"),
        (7, "PATH_MIG_ERR"),
        (8, "DEVICE_FATAL"),
        (10, "PORT_ERR"),
        (16, "QP_LAST_WQE_REACHED"),
        (18, "GID_CHANGE"),
        (19, "WQ_FATAL"),
        (20, "DEVICE_SPEED_CHANGE"),
    ] {
        let a = async_event::by_number(number).unwrap();
        assert_eq!(a.symbol, format!("IBV_EVENT_{name}"));
        assert_eq!(async_event::by_name(name).unwrap().number, number);
    }
    assert_eq!(async_event::ALL.len(), 21);
    for (i, a) in async_event::ALL.iter().enumerate() {
        assert_eq!(a.number, i32::try_from(i).unwrap());
    }
}

#[test]
fn errnos_agree_with_this_system() {
    for n in (1..=133).filter(|n| ![41, 58].contains(n)) {
        let e = errno::by_number(n).unwrap();
        assert_eq!(e.number, n);
        let system = std::io::Error::from_raw_os_error(n).to_string();
        assert_eq!(system, format!("{} (os error {n})", e.text), "{}", e.name);
        assert_eq!(errno::by_name(e.name).unwrap().number, n);
    }
    assert_eq!(errno::ALL.len(), 131);
    for (number, name) in [
        (libc::EPERM, "EPERM"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::ENODEV, "ENODEV"),
        (libc::EINVAL, "EINVAL"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EADDRINUSE, "EADDRINUSE"),
        (libc::ENETUNREACH, "ENETUNREACH"),
        (libc::ECONNRESET, "ECONNRESET"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
        (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    ] {
        assert_eq!(errno::by_number(-number).unwrap().name, name);
    }
    assert_eq!(errno::by_name("EWOULDBLOCK").unwrap().number, libc::EAGAIN);
    assert_eq!(errno::by_name("enotsup").unwrap().number, libc::ENOTSUP);
    assert_eq!(errno::label(-110), "ETIMEDOUT 110");
    for unused in [0, 41, 58, 134, i32::MIN, i32::MAX] {
        assert!(errno::by_number(unused).is_none());
    }
}

#[test]
fn qp_states() {
    assert_eq!(qp_state::name(0), "RESET");
    assert_eq!(qp_state::name(2), "RTR");
    assert_eq!(qp_state::name(6), "ERR");
    assert_eq!(qp_state::name(7), "unknown");
    assert_eq!(qp_state::by_name("IBV_QPS_RTS"), Some(3));
    assert_eq!(qp_state::by_name("rts"), Some(3));
    assert_eq!(qp_state::by_name("up"), None);
}

/// A finding stands inside a line, a cause is a sentence.
fn check(name: &str, summary: &str, cause: &str, next: &str) {
    for text in [summary, cause, next] {
        assert!(!text.contains(['\n', '\r', '\t']), "{name}: {text}");
        assert!(!text.contains("  "), "{name}: two blanks in {text}");
        assert_eq!(text.trim(), text, "{name}");
    }
    assert!(!summary.is_empty(), "{name} has no summary");
    assert!(!summary.ends_with('.'), "{name}: {summary}");
    assert!(
        cause.is_empty() || cause.ends_with(['.', '?']),
        "{name}: {cause}"
    );
    assert!(!next.ends_with('.'), "{name}: {next}");
}

#[test]
fn texts_are_well_formed_and_each_has_its_own() {
    let mut seen = HashSet::new();
    for r in reject::ALL {
        check(r.symbol, r.summary, r.cause, r.next);
        assert!(!r.cause.is_empty() && !r.next.is_empty() && !r.words.is_empty());
        assert!(seen.insert(r.summary), "{}: said twice", r.symbol);
    }
    for a in async_event::ALL {
        check(a.symbol, a.meaning, a.cause, a.next);
        assert!(seen.insert(a.meaning), "{}: said twice", a.symbol);
    }
    for e in event::ALL {
        assert!(
            e.meaning.ends_with('.') && !e.meaning.contains('\n'),
            "{}",
            e.name
        );
        assert!(seen.insert(e.meaning), "{}: said twice", e.name);
    }
}

#[test]
fn the_list_has_everything_once() {
    let rows = explain::list();
    // Events, rejects, asynchronous events, completions; own codes, SIDR, EAI; errnos.
    assert_eq!(
        rows.len(),
        20 + 34 + 21 + 24 + 4 + 5 + 11 + errno::ALL.len()
    );
    let distinct: HashSet<_> = rows.iter().map(|r| (r.kind, &r.name)).collect();
    assert_eq!(distinct.len(), rows.len());
    for row in &rows {
        check(&row.name, &row.summary, "", "");
    }
}
