//! Link-local addresses in lines and commands. The loopback interface is number 1 on every Linux.

use cmshim_core::explain::{self, EventQuery};
use cmshim_core::model::{Role, Stage, Transport};
use cmshim_core::report::{self, Report};

fn line(dst: &str, status: i32) -> Report {
    let explanation = explain::event(&EventQuery {
        event: 7,
        status,
        transport: Transport::Roce,
        role: Role::Client,
        ..EventQuery::default()
    });
    let mut r = Report::new("connect", Stage::Connect, explanation);
    r.role = Role::Client;
    r.dst = dst.parse().ok();
    r
}

#[test]
fn an_interface_is_shown_by_name() {
    let text = report::text(&line("[fe80::77%1]:7471", -113));
    assert!(text.contains("to [fe80::77%lo]:7471 "), "{text}");
    assert!(
        text.contains("ip route get fe80::77 dev lo; ip neigh; ping fe80::77%lo"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&report::json(&line("[fe80::77%1]:7471", -113))).unwrap();
    assert_eq!(
        json["dst"],
        serde_json::json!({"addr": "[fe80::77%lo]:7471", "host": "fe80::77%lo", "port": 7471, "scope": 1})
    );
}

#[test]
fn an_unknown_interface_keeps_its_number() {
    let text = report::text(&line("[fe80::77%987654]:7471", -113));
    assert!(text.contains("[fe80::77%987654]:7471"), "{text}");
}

#[test]
fn other_addresses_are_as_before() {
    let text = report::text(&line("[2001:db8::1]:1", -113));
    assert!(text.contains("to [2001:db8::1]:1 "), "{text}");
    assert!(text.contains("ip route get 2001:db8::1; ip neigh; ping 2001:db8::1"));
}
