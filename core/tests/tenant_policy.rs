//! Policy files that are right, and what they decide.

use cmshim_core::tenant::{ConnectionRequest, Mode, Policy, Verdict};

const EXAMPLE: &str = r#"
version = 1
default = "deny"
egress_default = "deny"

[[tenant]]
name = "olap"
peers = ["10.1.0.0/16", "fd00:1::/64"]
ports = [7471, "8000-8099"]
max_connections = 64
rate = 100.0
dscp = 26

[[tenant.egress]]
to = ["10.9.0.0/16"]
ports = [7471]
max_connections = 8

[[tenant.egress]]
to = ["10.9.9.0/24"]
action = "allow"

[[tenant]]
name = "intruder"
peers = ["10.1.66.0/24"]
action = "deny"

[[tenant]]
name = "backup"
local = ["10.0.0.1"]
pkeys = [0x8001]
gids = ["10.2.0.0/16"]

[[tenant]]
name = "rest"
ports = [9000]
tos = 104
rate = 0.5
burst = 3
"#;

fn policy(text: &str) -> Policy {
    match Policy::parse(text.as_bytes()) {
        Ok(policy) => policy,
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"));
        }
    }
}

fn ask(peer: &str, port: u16) -> ConnectionRequest {
    ConnectionRequest {
        peer: Some(peer.parse().unwrap()),
        port,
        ..ConnectionRequest::default()
    }
}

/// "allow olap", "deny" for a default.
fn words(policy: &Policy, verdict: Verdict) -> String {
    let word = if verdict.allow { "allow" } else { "deny" };
    match verdict.subject {
        Some(place) => {
            let subject = &policy.subjects()[place];
            assert_eq!(subject.line, verdict.line);
            format!("{word} {}", subject.name)
        }
        None => {
            assert_eq!(verdict.line, 0);
            word.to_owned()
        }
    }
}

#[test]
fn the_most_specific_prefix_wins_and_other_conditions_hold() {
    let policy = policy(EXAMPLE);
    let says = |ask: &ConnectionRequest| words(&policy, policy.incoming(ask));
    assert_eq!(says(&ask("10.1.2.3", 7471)), "allow olap");
    assert_eq!(says(&ask("::ffff:10.1.2.3", 8050)), "allow olap");
    assert_eq!(says(&ask("fd00:1::5", 7471)), "allow olap");
    assert_eq!(says(&ask("10.1.66.3", 7471)), "deny intruder");
    assert_eq!(says(&ask("10.1.2.3", 7000)), "deny");
    assert_eq!(says(&ask("10.1.2.3", 9000)), "allow rest");
    assert_eq!(says(&ask("192.168.0.1", 9000)), "allow rest");
    let known = ConnectionRequest {
        local: Some("10.0.0.1".parse().unwrap()),
        pkey: Some(0x0001),
        gid: Some(
            "::ffff:10.2.3.4"
                .parse::<std::net::Ipv6Addr>()
                .unwrap()
                .octets(),
        ),
        ..ask("192.168.0.1", 9000)
    };
    assert_eq!(says(&known), "allow backup");
    for unknown in [
        ConnectionRequest {
            pkey: None,
            ..known.clone()
        },
        ConnectionRequest {
            gid: None,
            ..known.clone()
        },
        ConnectionRequest {
            local: None,
            ..known.clone()
        },
        ConnectionRequest {
            pkey: Some(0x8002),
            ..known.clone()
        },
    ] {
        assert_eq!(says(&unknown), "allow rest", "{unknown:?}");
    }
    let nobody = ConnectionRequest {
        port: 9000,
        ..ConnectionRequest::default()
    };
    assert_eq!(says(&nobody), "allow rest");
}

#[test]
fn what_a_policy_says_about_itself() {
    let policy = policy(EXAMPLE);
    assert_eq!(policy.mode(), Mode::Enforce);
    assert!(policy.needs_gid() && policy.has_egress());
    assert!(!policy.default_allow() && !policy.egress_default());
    let names: Vec<(&str, bool)> = policy
        .subjects()
        .iter()
        .map(|s| (s.name.as_str(), s.egress))
        .collect();
    assert_eq!(
        names,
        [
            ("olap", false),
            ("olap", true),
            ("olap", true),
            ("intruder", false),
            ("backup", false),
            ("rest", false)
        ]
    );
    let olap = &policy.subjects()[0];
    assert_eq!(olap.line, 6);
    assert_eq!((olap.max_connections, olap.tos), (Some(64), Some(104)));
    assert_eq!(olap.rate.map(|r| (r.per_s, r.burst)), Some((100.0, 100)));
    let rest = &policy.subjects()[5];
    assert_eq!(rest.rate.map(|r| (r.per_s, r.burst)), Some((0.5, 3)));
    assert_ne!(policy.subjects()[1].key, policy.subjects()[2].key);
}

#[test]
fn egress_rules_of_the_own_tenant_in_their_order() {
    let policy = policy(EXAMPLE);
    let says = |own, ask: &ConnectionRequest| {
        let verdict = policy.outgoing(own, ask);
        (verdict.allow, verdict.subject)
    };
    assert_eq!(says(Some("olap"), &ask("10.9.1.1", 7471)), (true, Some(1)));
    assert_eq!(says(Some("olap"), &ask("10.9.9.1", 7471)), (true, Some(1)));
    assert_eq!(says(Some("olap"), &ask("10.9.9.1", 1)), (true, Some(2)));
    assert_eq!(says(Some("olap"), &ask("10.9.1.1", 1)), (false, None));
    assert_eq!(says(Some("rest"), &ask("10.9.1.1", 7471)), (false, None));
    assert_eq!(says(None, &ask("10.9.1.1", 7471)), (false, None));
}

/// A destination of AF_IB has no IP address: it may be the one that a rule denies.
#[test]
fn a_destination_without_an_ip_address_may_be_one_that_is_denied() {
    let text = |rules: &str| {
        format!(
            r#"
        version = 1
        default = "deny"
        egress_default = "allow"
        [[tenant]]
        name = "t"
        peers = ["10.0.0.0/8"]
        {rules}
    "#
        )
    };
    let unknown = ConnectionRequest::default();
    let says =
        |rules: &str, ask: &ConnectionRequest| policy(&text(rules)).outgoing(Some("t"), ask).allow;
    let denies = "[[tenant.egress]]\nto = [\"10.9.0.0/16\"]\naction = \"deny\"\nports = [7]\n";
    let allows = "[[tenant.egress]]\naction = \"allow\"\n";
    assert!(says(denies, &ask("10.8.0.1", 7)));
    assert!(!says(denies, &ask("10.9.0.1", 7)));
    assert!(!says(denies, &unknown));
    assert!(!says(&format!("{denies}{allows}"), &unknown));
    assert!(says("", &unknown));
}

#[test]
fn link_local_peers_behind_an_interface() {
    let text = r#"
        version = 1
        default = "deny"
        mode = "observe"
        [[tenant]]
        name = "by number"
        peers = ["fe80::/10%3"]
        [[tenant]]
        name = "by name"
        peers = ["fe80::1%lo"]
        [[tenant]]
        name = "any"
        peers = ["fe80::/64"]
        ports = [1]
    "#;
    let policy = policy(text);
    assert_eq!(policy.mode(), Mode::Observe);
    let says = |scope, port| {
        let ask = ConnectionRequest {
            scope,
            ..ask("fe80::1", port)
        };
        words(&policy, policy.incoming(&ask))
    };
    assert_eq!(says(3, 2), "allow by number");
    assert_eq!(says(3, 1), "allow any");
    assert_eq!(says(4, 2), "deny");
    assert_eq!(says(0, 2), "deny");
    // Number 1 is lo in every network namespace, if it has IPv6.
    if cmshim_core::tenant::interface_index("lo") == Some(1) {
        assert_eq!(says(1, 1), "allow by name");
    }
}

#[test]
fn the_fingerprint_is_that_of_the_bytes() {
    let one = policy(EXAMPLE);
    let other = policy(&format!("{EXAMPLE}\n"));
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert_eq!(
        one.fingerprint(),
        Policy::fingerprint_of(EXAMPLE.as_bytes())
    );
}

#[test]
fn rates_as_they_may_be_written() {
    for (text, expected) in [
        ("0.000001", (0.000001, 1)),
        ("0.5", (0.5, 1)),
        ("1", (1.0, 1)),
        ("+2.25", (2.25, 3)),
        ("1_000.5", (1000.5, 1001)),
        ("1_000_000_000", (1e9, 1_000_000_000)),
    ] {
        let text =
            format!("version = 1\ndefault = \"deny\"\n[[tenant]]\nname = \"a\"\nrate = {text}\n");
        let rate = policy(&text).subjects()[0].rate.unwrap();
        assert_eq!((rate.per_s, rate.burst), expected, "{text}");
    }
}

/// An AF_IB request (RDMA_PS_IB) has neither address nor port.
#[test]
fn a_peer_without_an_address_may_be_the_one_that_is_denied() {
    let text = "version = 1\ndefault = \"allow\"\n\
        [[tenant]]\nname = \"out\"\npeers = [\"10.1.66.0/24\"]\naction = \"deny\"\n";
    let with_gid = format!("{text}[[tenant]]\nname = \"known\"\ngids = [\"fe80::1\"]\n");
    let unknown = ConnectionRequest::default();
    let verdict = policy(text).incoming(&unknown);
    assert_eq!((verdict.allow, verdict.subject), (false, Some(0)));
    assert!(!policy(&with_gid).incoming(&unknown).allow);
    let ports = text.replace("action", "ports = [7471]\naction");
    assert!(!policy(&ports).incoming(&unknown).allow);
    let mut known = unknown;
    known.gid = Some("fe80::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    assert!(policy(&with_gid).incoming(&known).allow);
    assert!(policy(text).incoming(&ask("10.1.65.1", 1)).allow);
    let other =
        "version = 1\ndefault = \"allow\"\n[[tenant]]\nname = \"a\"\npeers = [\"10.1.0.0/16\"]\n";
    assert!(policy(other).incoming(&ConnectionRequest::default()).allow);
}

#[test]
fn a_peer_behind_an_unknown_interface_may_be_the_one_that_is_denied() {
    let text = "version = 1\ndefault = \"allow\"\n\
        [[tenant]]\nname = \"out\"\npeers = [\"fe80::/10%7\"]\naction = \"deny\"\n";
    let behind = |scope| {
        let ask = ConnectionRequest {
            scope,
            ..ask("fe80::1", 1)
        };
        policy(text).incoming(&ask).allow
    };
    assert!(!behind(7) && behind(8));
    assert!(!behind(0), "it may be 7");
    let allows = text
        .replace("deny", "allow")
        .replace("default = \"allow\"", "default = \"deny\"");
    let ask = ConnectionRequest {
        scope: 0,
        ..ask("fe80::1", 1)
    };
    assert!(!policy(&allows).incoming(&ask).allow);
}
