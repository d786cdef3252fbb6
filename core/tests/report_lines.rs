//! Golden lines, and what must hold for every line.

use cmshim_core::explain::{self, CallQuery, EventQuery, Facts, Progress};
use cmshim_core::model::{Explanation, Role, Severity, Stage, Transport, Who};
use cmshim_core::report::{self, Device, Repeats, Report};
use proptest::prelude::*;
use std::time::{Duration, SystemTime};

/// The example of the documentation.
fn refused() -> Report {
    let mut r = Report::new(
        "connect",
        Stage::Connect,
        explain::event(&EventQuery {
            event: 8,
            status: 8,
            transport: Transport::Roce,
            role: Role::Client,
            ..EventQuery::default()
        }),
    );
    r.time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    r.program = "rping".into();
    r.pid = 4711;
    r.role = Role::Client;
    r.src = Some("10.77.0.2:0".parse().unwrap());
    r.dst = Some("10.77.0.1:7174".parse().unwrap());
    r.port_space = Some("TCP");
    r.device = Some(Device {
        name: "rxe0".into(),
        port: Some(1),
        gid: Some("::ffff:10.77.0.2".into()),
        roce: Some("RoCE v2".into()),
        transport: Transport::Roce,
    });
    r.elapsed = Some(Duration::from_micros(1_200));
    r
}

#[test]
fn a_refused_connect_in_text() {
    assert_eq!(
        report::text(&refused()),
        "cmshim[rping 4711]: connect 10.77.0.2 -> 10.77.0.1:7174 refused by the peer's kernel \
         after 1.2 ms: nobody listens there (REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID; \
         rxe0 port 1, TCP, RoCE v2, GID ::ffff:10.77.0.2). Is the server up, and bound to this \
         address and port (and to the same port space)? On the peer: rdma resource show cm_id \
         (ss -l does not list RDMA listeners)"
    );
}

#[test]
fn a_refused_connect_in_json() {
    let line: serde_json::Value = serde_json::from_str(&report::json(&refused())).unwrap();
    let expected = serde_json::json!({
        "time": "2023-11-14T22:13:20.123Z",
        "program": "rping",
        "pid": 4711,
        "severity": "error",
        "what": "connect",
        "stage": "connect",
        "role": "client",
        "who": "peer-kernel",
        "verb": "refused",
        "code": "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID",
        "event": 8,
        "status": 8,
        "summary": "nobody listens there",
        "cause": "Is the server up, and bound to this address and port (and to the same port space)?",
        "next": "On the peer: rdma resource show cm_id (ss -l does not list RDMA listeners)",
        "src": {"addr": "10.77.0.2:0", "host": "10.77.0.2", "port": 0},
        "dst": {"addr": "10.77.0.1:7174", "host": "10.77.0.1", "port": 7174},
        "port_space": "TCP",
        "device": {"name": "rxe0", "port": 1, "gid": "::ffff:10.77.0.2", "roce": "RoCE v2", "transport": "roce"},
        "elapsed_ms": 1.2,
    });
    assert_eq!(line, expected);
}

#[test]
fn silence_names_the_peer_in_the_command() {
    let mut r = refused();
    r.elapsed = Some(Duration::from_secs(102));
    r.explanation = explain::event(&EventQuery {
        event: 7,
        status: -110,
        transport: Transport::Roce,
        role: Role::Client,
        ..EventQuery::default()
    });
    let line = report::text(&r);
    assert!(line.contains("timed out in the network after 102 s: no answer to any connect request (UNREACHABLE -110, ETIMEDOUT; "), "{line}");
    assert!(line.contains(" Run: ping 10.77.0.1; ip neigh."), "{line}");
    assert!(!line.contains("PEER"));
    assert!(report::json(&r).contains("ping 10.77.0.1;"));
}

#[test]
fn a_server_line_points_the_other_way() {
    let facts = Facts {
        age: Some(Duration::from_secs(6)),
        progress: Progress::Request,
        ..Facts::default()
    };
    let mut r = refused();
    r.what = "accept".into();
    r.role = Role::Server;
    r.src = Some("10.77.0.1:7174".parse().unwrap());
    r.dst = Some("10.77.0.2:40000".parse().unwrap());
    r.explanation = explain::call(&CallQuery {
        call: "rdma_accept",
        errno: libc::EINVAL,
        facts: &facts,
        role: Role::Server,
        transport: Transport::Roce,
    });
    let line = report::text(&r);
    assert!(
        line.contains(
            "accept 10.77.0.1:7174 <- 10.77.0.2:40000 given up by the peer's program after 1.2 ms: \
             our accept came too late, the client had already gone (the request had waited 6 s) \
             (rdma_accept errno 22, EINVAL; "
        ),
        "{line}"
    );
}

#[test]
fn a_summary_of_repeats() {
    let mut r = refused();
    r.repeats = Some(Repeats {
        count: 4_120,
        over: Duration::from_secs(10),
    });
    let line = report::text(&r);
    assert!(line.ends_with(") … 4,120 more times in 10 s"), "{line}");
    let v: serde_json::Value = serde_json::from_str(&report::json(&r)).unwrap();
    assert_eq!(
        v["repeats"],
        serde_json::json!({"count": 4120, "over_ms": 10000.0})
    );
}

#[test]
fn the_scope_of_ipv6_survives() {
    let mut r = refused();
    r.dst = Some("[fe80::1%987653]:7174".parse().unwrap());
    r.src = Some("[fe80::2%987653]:0".parse().unwrap());
    let line = report::text(&r);
    assert!(
        line.contains(" fe80::2%987653 -> [fe80::1%987653]:7174 "),
        "{line}"
    );
    let v: serde_json::Value = serde_json::from_str(&report::json(&r)).unwrap();
    assert_eq!(v["dst"]["host"], "fe80::1%987653");
    assert_eq!(v["dst"]["scope"], 987_653);
    assert_eq!(v["dst"]["port"], 7174);
}

#[test]
fn private_data_in_both_forms() {
    let mut r = refused();
    let mut field = b"bad magic".to_vec();
    field.resize(148, 0);
    r.private_data = Some(field);
    let line = report::text(&r);
    assert!(
        line.contains("; private data \"bad magic\" (9 of 148 bytes, the rest zero))"),
        "{line}"
    );
    let v: serde_json::Value = serde_json::from_str(&report::json(&r)).unwrap();
    assert_eq!(
        v["private_data"],
        serde_json::json!({"len": 148, "used": 9, "text": "bad magic", "cut": 0})
    );
    r.private_data = Some(vec![0; 148]);
    assert!(!report::text(&r).contains("private data"));
}

#[test]
fn private_data_is_shown_as_what_it_is() {
    let show = |data: &[u8], max| report::private_data(data, max).to_string();
    assert_eq!(show(b"", 64), "0 bytes, all zero");
    assert_eq!(show(&[0; 56], 64), "56 bytes, all zero");
    assert_eq!(
        show(b"say \"no\"\n\0\0", 64),
        "\"say \\\"no\\\"\\n\" (9 of 11 bytes, the rest zero)"
    );
    assert_eq!(show(&[1, 2, 3, 4, 0xff], 64), "01020304 ff (5 bytes)");
    assert_eq!(
        show(&[1, 2, 3, 4, 5, 6], 4),
        "01020304 and 2 more bytes (6 bytes)"
    );
    assert_eq!(show(b"abcdef", 4), "\"abcd\" and 2 more bytes (6 bytes)");
    // Two bytes per letter: the cut does not go through one.
    assert_eq!(
        show("äöü".as_bytes(), 3),
        "\"ä\" and 4 more bytes (6 bytes)"
    );
    let hex = report::private_data(&[0, 0, 7], 64);
    assert_eq!((hex.used, hex.hex.as_deref()), (3, Some("000007")));
}

#[test]
fn durations() {
    let human = report::duration::human;
    for (ns, expected) in [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (850_000, "850 µs"),
        (999_499, "999 µs"),
        (999_500, "1 ms"),
        (1_234_000, "1.2 ms"),
        (9_949_000, "9.9 ms"),
        (9_950_000, "10 ms"),
        (44_800_000_000, "45 s"),
        (4_500_000_000, "4.5 s"),
        (102_000_000_000, "102 s"),
        (599_400_000_000, "599 s"),
        (600_000_000_000, "10 min"),
        (9_000_000_000_000, "2.5 h"),
        (864_000_000_000_000, "10 days"),
    ] {
        assert_eq!(human(Duration::from_nanos(ns)), expected);
    }
}

#[test]
fn times() {
    let at = |s| report::rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(s));
    // Checked with `date -u -d @N --rfc-3339=seconds`.
    assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(at(951_782_399), "2000-02-28T23:59:59.000Z");
    assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000Z");
    assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59.000Z");
    assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59.000Z");
    assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.000Z");
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
    assert_eq!(report::rfc3339(before), "1970-01-01T00:00:00.000Z");
}

#[test]
fn a_program_name_cannot_break_the_line() {
    let mut r = refused();
    r.program = "evil\n\u{1b}[2J\u{202e}\u{85}".into();
    r.details = vec!["x".repeat(10_000)];
    let line = report::text(&r);
    assert!(
        line.starts_with("cmshim[evil\\n\\u{1b}[2J\\u{202e}\\u{85} 4711]: "),
        "{line}"
    );
    assert!(line.len() <= report::MAX_LINE && line.ends_with('…'));
    let object = report::json(&r);
    assert!(!object.contains(['\u{202e}', '\u{85}']));
    let v: serde_json::Value = serde_json::from_str(&object).unwrap();
    assert_eq!(v["program"], r.program);
}

proptest! {
    #[test]
    fn every_line_is_one_bounded_physical_line(
        program in any::<String>(),
        what in any::<String>(),
        summary in ".{0,5000}",
        details in prop::collection::vec(any::<String>(), 0..4),
        data in prop::collection::vec(any::<u8>(), 0..200),
        max in 0usize..200,
    ) {
        let e = Explanation::new(Who::Network, Severity::Warn, "failed", "CODE", summary);
        let mut r = Report::new(what, Stage::Connect, e);
        r.program = program.clone();
        r.details = details;
        r.private_data = Some(data.clone());
        r.private_data_max = max;
        let line = report::text(&r);
        prop_assert!(line.len() <= report::MAX_LINE);
        prop_assert!(!line.chars().any(char::is_control));
        let object = report::json(&r);
        prop_assert!(!object.chars().any(char::is_control));
        let v: serde_json::Value = serde_json::from_str(&object).unwrap();
        prop_assert_eq!(v["program"].as_str(), Some(program.as_str()));
        let shown = report::private_data(&data, max);
        prop_assert_eq!(shown.total, data.len());
        prop_assert!(shown.used - shown.cut <= max);
    }
}
