//! `cmshim explain`.

mod common;

use common::ask;
use serde_json::Value;

/// The first lines of each answer; there must be no complaint.
fn heads(args: &[&str]) -> Vec<String> {
    let mut all = vec!["explain"];
    all.extend(args);
    let (status, out, err) = ask(&all);
    assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
    let answers = out.split("\n\n");
    answers
        .map(|a| a.lines().next().unwrap_or_default().to_owned())
        .collect()
}

fn refused(args: &[&str]) -> String {
    let mut all = vec!["explain"];
    all.extend(args);
    let (status, out, err) = ask(&all);
    assert_eq!((status, out.as_str()), (2, ""), "{args:?}");
    assert!(err.starts_with("cmshim: "), "{err}");
    err
}

#[test]
fn a_number_is_a_reason_a_completion_an_event_and_an_errno() {
    assert_eq!(
        heads(&["28"]),
        ["REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED", "errno 28 ENOSPC"]
    );
    assert_eq!(
        heads(&["12"]),
        [
            "REJECTED 12, IB_CM_REJ_INVALID_GID",
            "completion 12, IBV_WC_RETRY_EXC_ERR",
            "RDMA_CM_EVENT_MULTICAST_JOIN 12",
            "errno 12 ENOMEM"
        ]
    );
    assert_eq!(
        heads(&["0"]),
        [
            "completion 0, IBV_WC_SUCCESS",
            "RDMA_CM_EVENT_ADDR_RESOLVED 0"
        ]
    );
    // 34 is no reason, 110 neither.
    assert_eq!(heads(&["34"]), ["errno 34 ERANGE"]);
    assert_eq!(heads(&["110"]), ["errno 110 ETIMEDOUT"]);
}

#[test]
fn a_negative_number_is_an_errno() {
    assert_eq!(heads(&["-110"]), ["errno 110 ETIMEDOUT"]);
    assert_eq!(heads(&["--", "-28"]), ["errno 28 ENOSPC"]);
}

#[test]
fn names_are_taken_in_many_spellings() {
    assert_eq!(heads(&["ECONNREFUSED"]), ["errno 111 ECONNREFUSED"]);
    for name in ["IB_CM_REJ_STALE_CONN", "stale-conn", "Stale_Conn"] {
        assert_eq!(heads(&[name]), ["REJECTED 10, IB_CM_REJ_STALE_CONN"]);
    }
    assert_eq!(heads(&["qp-fatal"]), ["IBV_EVENT_QP_FATAL 1"]);
    assert_eq!(heads(&["unreachable"]), ["RDMA_CM_EVENT_UNREACHABLE 7"]);
    for name in ["IBV_WC_WR_FLUSH_ERR", "wr-flush-err"] {
        assert_eq!(heads(&[name]), ["completion 5, IBV_WC_WR_FLUSH_ERR"]);
    }
}

#[test]
fn the_codes_of_our_own_lines_are_known() {
    assert_eq!(heads(&["NO_ANSWER_YET"]), ["NO_ANSWER_YET"]);
    assert_eq!(heads(&["slow-connect"]), ["SLOW_CONNECT"]);
    assert_eq!(
        heads(&["IB_SIDR_REJECT"]),
        ["UNREACHABLE 2, IB_SIDR_REJECT"]
    );
    assert_eq!(
        heads(&["--event", "unreachable", "IB_SIDR_NO_QP"]),
        ["UNREACHABLE 3, IB_SIDR_NO_QP"]
    );
    let eai = ["rdma_getaddrinfo -3, EAI_AGAIN"];
    assert_eq!(heads(&["EAI_AGAIN"]), eai);
    assert_eq!(heads(&["--call", "rdma_getaddrinfo", "EAI_AGAIN"]), eai);
}

#[test]
fn an_errno_points_to_where_it_may_come_from() {
    let (_, out, _) = ask(&["explain", "--", "-110"]);
    for part in [
        "    cmshim explain --event unreachable -- -110\n",
        "    cmshim explain --call FUNCTION ETIMEDOUT\n",
    ] {
        assert!(out.contains(part), "{out}");
    }
    // With the transport told, the likeliest event comes first.
    assert_eq!(
        heads(&["--transport", "iwarp", "--", "-111"]),
        ["REJECTED -111, ECONNREFUSED", "errno 111 ECONNREFUSED"]
    );
}

#[test]
fn an_event_with_its_status() {
    let (_, out, _) = ask(&["explain", "--event", "unreachable", "--", "-110"]);
    assert!(out.starts_with("UNREACHABLE -110, ETIMEDOUT\n"), "{out}");
    for part in ["\n  Who:   the network\n", "\n  Cause: ", "\n  Next:  "] {
        assert!(out.contains(part), "{out}");
    }
    assert_eq!(
        heads(&["--event", "REJECTED", "8", "--transport", "roce"]),
        ["REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID"]
    );
    assert_eq!(
        heads(&["--event", "8", "stale-conn"]),
        ["REJECTED 10, IB_CM_REJ_STALE_CONN"]
    );
    assert_eq!(
        heads(&["--event", "unreachable", "ETIMEDOUT"]),
        ["UNREACHABLE -110, ETIMEDOUT"]
    );
}

#[test]
fn the_transport_decides_how_a_status_is_read() {
    let (_, ib, _) = ask(&["explain", "--event", "rejected", "8", "--transport", "ib"]);
    let (_, iwarp, _) = ask(&[
        "explain",
        "--event",
        "rejected",
        "8",
        "--transport",
        "iwarp",
    ]);
    assert!(ib.contains("nobody listens there"), "{ib}");
    assert!(iwarp.contains("iWARP gives a negative errno"), "{iwarp}");
}

#[test]
fn the_side_decides_what_a_reject_means() {
    let (_, client, _) = ask(&["explain", "10"]);
    let (_, server, _) = ask(&["explain", "10", "--role", "server"]);
    assert!(server.contains("the client believes"), "{server}");
    assert!(!client.contains("the client believes"), "{client}");
}

#[test]
fn asynchronous_events_and_calls() {
    assert_eq!(heads(&["--async", "QP_FATAL"]), ["IBV_EVENT_QP_FATAL 1"]);
    assert_eq!(heads(&["--async", "1"]), ["IBV_EVENT_QP_FATAL 1"]);
    let call = ["--call", "rdma_bind_addr", "EADDRINUSE"];
    assert_eq!(heads(&call), ["rdma_bind_addr errno 98, EADDRINUSE"]);
    assert_eq!(heads(&["--call", "rdma_bind_addr", "-98"]), heads(&call));
    let shouted = ["--call", "RDMA_BIND_ADDR()", "EADDRINUSE"];
    assert_eq!(heads(&shouted), heads(&call));
}

#[test]
fn json_is_a_list_of_answers() {
    let (status, out, _) = ask(&["explain", "28", "--json"]);
    assert_eq!(status, 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[0]["kind"], "event");
    assert_eq!(json[0]["who"], "peer-program");
    assert_eq!(json[0]["numbers"]["status"], 28);
    assert_eq!(json[1]["kind"], "errno");
    assert_eq!(json[1]["code"], "ENOSPC");
    assert_eq!(json[1]["numbers"]["errno"], 28);
}

#[test]
fn every_listed_name_can_be_explained() {
    let (status, out, _) = ask(&["explain", "--list", "--json"]);
    assert_eq!(status, 0);
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert!(rows.len() > 60, "{}", rows.len());
    for row in &rows {
        heads(&[row["name"].as_str().unwrap()]);
    }
    let (_, text, _) = ask(&["explain", "--list"]);
    assert_eq!(text.lines().count(), rows.len());
    assert!(
        text.contains("reject  28 IB_CM_REJ_CONSUMER_DEFINED "),
        "{text}"
    );
}

#[test]
fn what_is_not_known_is_said() {
    for code in ["-5000", "5000", "foo", ""] {
        assert!(
            refused(&[code]).contains("is not known: write a number"),
            "{code}"
        );
    }
    for code in ["99999999999", "-99999999999999999999"] {
        assert!(refused(&["--", code]).contains("out of range"), "{code}");
    }
    let call = refused(&["--call", "foo", "EADDRINUSE"]);
    assert!(
        call.contains("\"foo\" is not one of rdma_create_event_channel, "),
        "{call}"
    );
    assert!(refused(&["--event", "foo"]).contains("8 REJECTED, "));
    assert!(refused(&["--event", "99"]).contains("8 REJECTED, "));
    assert!(refused(&["--async", "foo"]).contains("1 IBV_EVENT_QP_FATAL, "));
    assert!(refused(&["--event", "rejected", "foo"]).contains("\"foo\" is no status"));
    assert!(refused(&["8", "--transport", "tcp"]).contains("roce"));
    assert!(refused(&[]).contains("not provided"));
}
