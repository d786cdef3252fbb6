//! A refusal by the policy of a peer that runs under cmshim, in words.

use cmshim_core::codes::event as ev;
use cmshim_core::explain::{self, EventQuery};
use cmshim_core::model::{Explanation, Role, Severity, Stage, Transport, Who};
use cmshim_core::report::{self, Report};
use cmshim_core::tenant::reason::{decode, encode, Code, Reason};

const OVER: Reason = Reason {
    code: Code::OverLimit,
    retry_after_ms: Some(500),
    used: 64,
    limit: 64,
    tenant: "olap",
};

/// As the connection manager delivers it.
fn padded(reason: &Reason) -> Vec<u8> {
    let mut data = encode(reason);
    data.resize(148, 0);
    data
}

fn explained(data: &[u8], status: i32, transport: Transport, role: Role) -> Explanation {
    explain::event(&EventQuery {
        event: ev::REJECTED,
        status,
        transport,
        role,
        private_data: true,
        policy: decode(data),
        ..EventQuery::default()
    })
}

fn incident(reason: &Reason) -> Report {
    let data = padded(reason);
    let explanation = explained(&data, 28, Transport::Roce, Role::Client);
    let mut r = Report::new("connect", Stage::Connect, explanation);
    r.program = "app".into();
    r.pid = 4711;
    r.role = Role::Client;
    r.src = Some("10.77.0.2:49109".parse().unwrap());
    r.dst = Some("10.77.0.1:7174".parse().unwrap());
    r.private_data = Some(data);
    r
}

#[test]
fn the_line_says_who_and_why() {
    assert_eq!(
        report::text(&incident(&OVER)),
        "cmshim[app 4711]: connect 10.77.0.2:49109 -> 10.77.0.1:7174 refused by policy of the peer: \
         tenant 'olap' has 64 of 64 connections (REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED). All connections \
         that the tenant may have on that host, from all of its clients, are in use. Try again after 500 ms; if that \
         happens often, close connections, or ask the operator of 10.77.0.1 for more (max_connections). On the \
         peer: cmshim policy show PROCESS"
    );
    let denied = Reason {
        code: Code::NoTenant,
        retry_after_ms: None,
        tenant: "",
        ..OVER
    };
    let line = report::text(&incident(&denied));
    assert!(
        line.contains(
            "refused by policy of the peer: no tenant matches this connection (REJECTED 28"
        ),
        "{line}"
    );
    assert!(
        line.ends_with("cmshim policy test POLICY --peer 10.77.0.2 --port 7174"),
        "{line}"
    );
}

#[test]
fn the_object_has_the_fields() {
    let object = |reason| -> serde_json::Value {
        serde_json::from_str(&report::json(&incident(reason))).unwrap()
    };
    let over = object(&OVER);
    assert_eq!(over["who"], "peer-policy");
    assert_eq!(
        over["policy"],
        serde_json::json!({
            "code": "over-limit", "tenant": "olap", "used": 64, "limit": 64, "retry_after_ms": 500,
        })
    );
    assert_eq!(over["private_data"]["used"], 25);
    let rate = Reason {
        code: Code::Rate,
        used: 0,
        limit: 0,
        ..OVER
    };
    assert_eq!(
        object(&rate)["policy"],
        serde_json::json!({"code": "rate", "tenant": "olap", "retry_after_ms": 500})
    );
}

#[test]
fn each_reason_says_what_to_do() {
    for code in Code::SENT {
        for retry_after_ms in [None, Some(20)] {
            let data = padded(&Reason {
                code,
                retry_after_ms,
                ..OVER
            });
            let e = explained(&data, 28, Transport::Ib, Role::Client);
            let (who, verdict) = match code {
                Code::Program => (Who::PeerProgram, "refused by the peer's program"),
                _ => (Who::PeerPolicy, "refused by policy of the peer"),
            };
            assert_eq!((e.who, e.severity), (who, Severity::Error));
            assert_eq!(e.verdict(), verdict);
            assert!(!e.cause.is_empty() && !e.next.is_empty());
            let limited = matches!(code, Code::OverLimit | Code::Rate);
            let waits = limited && retry_after_ms.is_some();
            assert_eq!(e.next.contains("after 20 ms"), waits, "{}", e.next);
        }
    }
    let mut newer = padded(&OVER);
    (newer[4], newer[5]) = (2, 99);
    let e = explained(&newer, 28, Transport::Ib, Role::Client);
    assert!(e.summary.contains("99"), "{}", e.summary);
    assert!(e.cause.contains("newer"));
}

#[test]
fn where_limits_cannot_be_counted_the_policy_is_not_blamed() {
    let data = padded(&Reason {
        code: Code::Uncounted,
        ..OVER
    });
    assert_eq!(data[4..6], [1, 7]);
    let e = explained(&data, 28, Transport::Roce, Role::Client);
    assert_eq!(
        e.summary,
        "tenant 'olap' has a limit, and its connections cannot be counted"
    );
    assert!(e.cause.contains("The policy there is good"), "{}", e.cause);
    assert!(
        e.next.contains("tenant.dir") && !e.next.contains("policy check"),
        "{}",
        e.next
    );
}

/// It needs no policy there, so none is blamed.
#[test]
fn a_programs_own_check_is_not_called_a_policy() {
    let reason = Reason {
        code: Code::Program,
        retry_after_ms: None,
        used: 0,
        limit: 0,
        tenant: "",
    };
    let line = report::text(&incident(&reason));
    assert!(
        line.contains(
            "refused by the peer's program: the program's own check refused (REJECTED 28"
        ),
        "{line}"
    );
    assert!(!line.contains("policy"), "{line}");
    let object: serde_json::Value =
        serde_json::from_str(&report::json(&incident(&reason))).unwrap();
    assert_eq!(object["who"], "peer-program");
    assert_eq!(object["policy"], serde_json::json!({"code": "program"}));
}

#[test]
fn on_iwarp_a_reject_is_an_errno() {
    let data = encode(&OVER);
    let e = explained(&data, -111, Transport::Iwarp, Role::Client);
    assert_eq!(e.who, Who::PeerPolicy);
    assert_eq!(e.code, "REJECTED -111, ECONNREFUSED");
}

#[test]
fn other_private_data_stays_as_it_is() {
    let data = padded(&OVER);
    // Reasons that no program can give, and the server's side.
    for (status, role) in [(8, Role::Client), (10, Role::Client), (28, Role::Server)] {
        let e = explained(&data, status, Transport::Roce, role);
        assert_ne!(e.who, Who::PeerPolicy, "{status}");
    }
    for data in [b"busy-try-later".as_slice(), &data[..20], &[0; 148]] {
        let e = explained(data, 28, Transport::Roce, Role::Client);
        assert_eq!(e.who, Who::PeerProgram);
        let mut r = incident(&OVER);
        r.explanation = e;
        r.private_data = Some(data.to_vec());
        assert!(!report::json(&r).contains("\"policy\""));
    }
}
