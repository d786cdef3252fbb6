//! The reason in the private data of a reject, and the audit line.

use cmshim_core::tenant::audit::{line, Decision, Entry, FIELDS};
use cmshim_core::tenant::reason::{decode, encode, Code, OwnedReason, Reason, MOST_BYTES};
use proptest::prelude::*;
use serde_json::Value;
use std::time::{Duration, SystemTime};

const OVER: Reason = Reason {
    code: Code::OverLimit,
    retry_after_ms: Some(500),
    used: 64,
    limit: 64,
    tenant: "olap",
};

fn code() -> impl Strategy<Value = Code> {
    prop::sample::select(Code::SENT.to_vec())
}

proptest! {
    #[test]
    fn comes_back_as_it_was(code in code(), retry in prop::option::of(0..u32::MAX), used: u32, limit: u32, tenant in "\\PC{0,16}") {
        let reason = Reason { code, retry_after_ms: retry, used, limit, tenant: &tenant };
        let mut bytes = encode(&reason);
        prop_assert!(bytes.len() <= MOST_BYTES);
        // The connection manager pads it.
        bytes.resize(MOST_BYTES, 0);
        let back = decode(&bytes).unwrap();
        prop_assert_eq!(back.to_string(), reason_words(&reason, &back));
        prop_assert_eq!((back.code, back.retry_after_ms, back.used, back.limit), (Ok(code), retry, used, limit));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), place in 0..30usize, byte: u8) {
        let _ = decode(&bytes).map(|reason| reason.to_string());
        let mut ours = encode(&OVER);
        ours.truncate(bytes.len());
        if let Some(b) = ours.get_mut(place) {
            *b = byte;
        }
        if let Some(reason) = decode(&ours) {
            prop_assert!(!reason.to_string().chars().any(char::is_control));
        }
    }
}

/// Only marks of direction and their like are changed in a name.
fn reason_words(reason: &Reason, back: &OwnedReason) -> String {
    let tenant = &back.tenant;
    Reason { tenant, ..*reason }.to_string()
}

#[test]
fn the_bytes_are_these() {
    let expected = b"CMSR\x01\x03\x00\x19\x00\x00\x01\xf4\x00\x00\x00\x40\x00\x00\x00\x40\x04olap";
    assert_eq!(encode(&OVER), expected);
    let without = Reason {
        code: Code::NoTenant,
        retry_after_ms: None,
        used: 0,
        limit: 0,
        tenant: "",
    };
    let expected = b"CMSR\x01\x01\x00\x15\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    assert_eq!(encode(&without), expected);
    let long = "\u{e4}".repeat(40);
    let bytes = encode(&Reason {
        tenant: &long,
        ..OVER
    });
    assert_eq!(decode(&bytes).unwrap().tenant, "\u{e4}".repeat(32));
}

#[test]
fn what_people_read() {
    let words = |code, used, limit, tenant| {
        let reason = Reason {
            code,
            retry_after_ms: None,
            used,
            limit,
            tenant,
        };
        reason.to_string()
    };
    for (words, expected) in [
        (
            words(Code::NoTenant, 0, 0, ""),
            "no tenant matches this connection",
        ),
        (
            words(Code::Denied, 0, 0, "olap"),
            "tenant 'olap' may not connect",
        ),
        (
            words(Code::OverLimit, 64, 64, "olap"),
            "tenant 'olap' has 64 of 64 connections",
        ),
        (
            words(Code::Rate, 0, 100, "olap"),
            "tenant 'olap' connects more often than 100 times a second",
        ),
        (
            words(Code::Rate, 0, 1, "olap"),
            "tenant 'olap' connects more often than once a second",
        ),
        (
            words(Code::Rate, 0, 0, "olap"),
            "tenant 'olap' connects too often",
        ),
        (
            words(Code::Unreadable, 0, 0, ""),
            "the policy cannot be read, and nobody may connect until it can",
        ),
        (
            words(Code::Uncounted, 0, 0, "olap"),
            "tenant 'olap' has a limit, and its connections cannot be counted",
        ),
        (
            words(Code::EgressDefault, 0, 0, "olap"),
            "no egress rule of tenant 'olap' matches, and egress_default refuses",
        ),
        (
            words(Code::EgressDefault, 0, 0, ""),
            "this process belongs to no tenant, and egress_default refuses",
        ),
        (
            words(Code::UnknownTenant, 0, 0, "olap"),
            "it has no tenant 'olap', which tenant.name names",
        ),
        (
            words(Code::Program, 0, 0, ""),
            "the program's own check refused",
        ),
        (
            words(Code::Program, 0, 0, "olap"),
            "the program's own check refused tenant 'olap'",
        ),
    ] {
        assert_eq!(words, expected);
    }
}

#[test]
fn a_newer_version_is_still_a_reason() {
    let mut bytes = encode(&OVER);
    bytes[4] = 2;
    let reason = decode(&bytes).unwrap();
    assert_eq!((reason.version, reason.code), (2, Ok(Code::OverLimit)));
    assert_eq!(
        reason.to_string(),
        "the tenant has as many connections as it may have"
    );
    bytes[5] = 99;
    let reason = decode(&bytes).unwrap();
    assert_eq!(reason.code_name(), "99");
    assert_eq!(
        reason.to_string(),
        "for reason 99, which only a newer version of cmshim knows"
    );
}

#[test]
fn what_is_no_reason() {
    let good = encode(&OVER);
    for (place, byte) in [(0, b'X'), (4, 0), (7, 7), (7, 200), (20, 5), (21, 0xff)] {
        let mut bad = good.clone();
        bad[place] = byte;
        assert_eq!(decode(&bad), None, "{place}");
    }
    assert_eq!(decode(&good[..good.len() - 1]), None);
    assert_eq!(decode(&[]), None);
    assert_eq!(decode(b"CMSR and so on"), None);
}

fn entry() -> Entry<'static> {
    Entry {
        time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_767_323_045_000_123),
        pid: 4711,
        program: "ser\"ver",
        egress: false,
        peer: Some("::ffff:10.1.2.3".parse().unwrap()),
        local: Some("10.0.0.1".parse().unwrap()),
        scope: 0,
        port: 7471,
        pkey: Some(0xffff),
        tenant: Some("ol\u{2028}ap"),
        decision: Decision::Refuse,
        reason: Some(Code::OverLimit),
        used: Some(64),
        limit: Some(64),
        retry_after_ms: Some(500),
        line: 12,
        policy: "/etc/cmshim/policy.toml",
        dropped: 3,
    }
}

#[test]
fn an_audit_line_is_one_object_on_one_line() {
    let expected = "{\"time\":\"2026-01-02T03:04:05.000123Z\",\"pid\":4711,\"program\":\"ser\\\"ver\",\
        \"direction\":\"in\",\"peer\":\"10.1.2.3\",\"local\":\"10.0.0.1\",\"port\":7471,\"pkey\":65535,\
        \"tenant\":\"ol\\u2028ap\",\"decision\":\"refuse\",\"reason\":\"over-limit\",\"used\":64,\"limit\":64,\
        \"retry_after_ms\":500,\"line\":12,\"policy\":\"/etc/cmshim/policy.toml\",\"dropped\":3}";
    assert_eq!(line(&entry()), expected);
    let value: Value = serde_json::from_str(&line(&entry())).unwrap();
    assert_eq!(value["program"], "ser\"ver");
    // The example has all that is documented, in that order.
    let mut rest = line(&entry());
    for (name, _) in FIELDS {
        let (_, after) = rest.split_once(&format!("\"{name}\":")).expect(name);
        rest = after.to_owned();
    }
    assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
}

#[test]
fn what_is_not_known_is_left_out_of_the_audit_line() {
    let bare = Entry {
        egress: true,
        peer: Some("fe80::1".parse().unwrap()),
        local: None,
        scope: 3,
        pkey: None,
        tenant: None,
        decision: Decision::WouldRefuse,
        reason: Some(Code::NoTenant),
        used: None,
        limit: None,
        retry_after_ms: None,
        line: 0,
        dropped: 0,
        ..entry()
    };
    let value: Value = serde_json::from_str(&line(&bare)).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    let expected = [
        "decision",
        "direction",
        "peer",
        "pid",
        "policy",
        "port",
        "program",
        "reason",
        "time",
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        (&value["peer"], &value["direction"]),
        (&"fe80::1%3".into(), &"out".into())
    );
    assert_eq!(value["decision"], "would-refuse");
}
