//! Any policy file gets an answer, and a decision is the same as a look at each rule in turn.

use cmshim_core::tenant::{Condition, ConnectionRequest, Policy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Pieces of policies, right and wrong, so that files are near to being right.
const PIECES: &[&str] = &[
    "version = 1\n",
    "default = \"deny\"\n",
    "[[tenant]]\n",
    "[[tenant.egress]]\n",
    "[tenant]\n",
    "name = \"a\"\n",
    "name = \"b\"\n",
    "name = \"\u{202e}\"\n",
    "peers = [\"10.0.0.0/8\"]\n",
    "peers = [\"fe80::/10%eth0\", \"::/0\"]\n",
    "peers = [\"fe80::%3/10\", \"1.2.3.4/\"]\n",
    "to = [\"10.0.0.1\"]\n",
    "ports = [1, \"5-9\"]\n",
    "ports = [0x10, \"9-5\", \"-\"]\n",
    "pkeys = [0x8001]\n",
    "gids = [\"fe80::/10\"]\n",
    "local = [\"::\"]\n",
    "rate = 1e300\n",
    "rate = 5\n",
    "burst = 7\n",
    "max_connections = 18446744073709551616\n",
    "tos = 1\n",
    "dscp = 1\n",
    "action = \"deny\"\n",
    "tenant.egress = [{}]\n",
    "egress = [{ to = [] }]\n",
    "x.y.\"z\" = 2020-01-01\n",
    "\"",
    "[",
    "]",
    "{",
    "'''",
    "\u{feff}",
    "\0",
    "#",
    "=",
];

proptest! {
    #[test]
    fn pieces_of_policies_do_no_harm(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        answered(&format!("version = 1\ndefault = \"deny\"\n{}", pieces.concat()));
        answered(&pieces.concat());
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Policy::parse(&bytes);
        answered(&String::from_utf8_lossy(&bytes));
    }
}

/// A policy, or problems whose places are in the file.
fn answered(text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in Policy::parse(text.as_bytes()).err().iter().flatten() {
        let line = lines[problem.line - 1];
        assert!(problem.column >= 1 && problem.column <= line.chars().count() + 1);
        assert!(
            !problem.to_string().chars().any(char::is_control),
            "{problem}"
        );
    }
}

/// One tenant as it is written, and as it is looked at in turn.
#[derive(Debug, Clone)]
struct Simple {
    peers: Vec<(IpAddr, u8)>,
    port: Option<u16>,
    allow: bool,
}

/// Addresses from few bits, so that prefixes meet.
fn address() -> impl Strategy<Value = IpAddr> {
    let few = || 0..4u8;
    let v4 = (few(), few()).prop_map(|(a, b)| Ipv4Addr::new(10, a << 6, 0, b << 6).into());
    let v6 = (few(), few()).prop_map(|(a, b)| {
        Ipv6Addr::new(0xfd00, u16::from(a) << 14, 0, 0, 0, 0, 0, u16::from(b)).into()
    });
    prop_oneof![v4, v6]
}

fn network(address: IpAddr, length: u8) -> (IpAddr, u8) {
    let cut = |bits: u128, all: u8, length: u8| match length {
        0 => 0,
        n => bits >> (all - n) << (all - n),
    };
    match address {
        IpAddr::V4(v4) => {
            let length = length.min(32);
            let bits = cut(u32::from(v4).into(), 32, length) as u32;
            (Ipv4Addr::from(bits).into(), length)
        }
        IpAddr::V6(v6) => (Ipv6Addr::from(cut(v6.into(), 128, length)).into(), length),
    }
}

fn tenant() -> impl Strategy<Value = Simple> {
    let lengths = prop::sample::select(vec![0u8, 8, 9, 10, 16, 18, 25, 26, 32, 64, 127, 128]);
    let prefix = (address(), lengths).prop_map(|(address, length)| network(address, length));
    let peers = prop::collection::vec(prefix, 0..4);
    (peers, prop::option::of(1..4u16), any::<bool>()).prop_map(|(mut peers, port, allow)| {
        peers.sort();
        peers.dedup();
        Simple { peers, port, allow }
    })
}

fn written(all: &[Simple]) -> String {
    let mut text = String::from("version = 1\ndefault = \"deny\"\n");
    for (number, tenant) in all.iter().enumerate() {
        text += &format!("[[tenant]]\nname = \"{number}\"\n");
        let peers: Vec<String> = tenant
            .peers
            .iter()
            .map(|(a, l)| format!("\"{a}/{l}\""))
            .collect();
        if !peers.is_empty() {
            text += &format!("peers = [{}]\n", peers.join(", "));
        }
        if let Some(port) = tenant.port {
            text += &format!("ports = [{port}]\n");
        }
        if !tenant.allow {
            text += "action = \"deny\"\n";
        }
    }
    text
}

/// The rule in words: most specific prefix, then order, and the port has to be right.
fn expected(all: &[Simple], peer: IpAddr, port: u16) -> Option<usize> {
    let mut best: Option<(i32, usize)> = None;
    for (number, tenant) in all.iter().enumerate() {
        let holds = |(net, length): &&(IpAddr, u8)| {
            net.is_ipv4() == peer.is_ipv4() && network(peer, *length) == (*net, *length)
        };
        let length = match tenant.peers.is_empty() {
            true => Some(-1),
            false => tenant
                .peers
                .iter()
                .filter(holds)
                .map(|(_, l)| i32::from(*l))
                .max(),
        };
        let Some(length) = length.filter(|_| tenant.port.is_none_or(|p| p == port)) else {
            continue;
        };
        if best.is_none_or(|(known, _)| length > known) {
            best = Some((length, number));
        }
    }
    best.map(|(_, number)| number)
}

proptest! {
    #[test]
    fn decides_as_a_scan_does(all in prop::collection::vec(tenant(), 1..8), asks in prop::collection::vec((address(), 1..5u16), 20)) {
        // Those that can never match are errors: only files without them are asked.
        let Ok(policy) = Policy::parse(written(&all).as_bytes()) else { return Ok(()) };
        for (peer, port) in asks {
            let ask = ConnectionRequest { peer: Some(peer), port, ..ConnectionRequest::default() };
            let verdict = policy.incoming(&ask);
            let wanted = expected(&all, peer, port);
            prop_assert_eq!(verdict.subject, wanted, "{} {}\n{}", peer, port, written(&all));
            prop_assert_eq!(verdict.allow, wanted.is_some_and(|n| all[n].allow));
            // The trace ends with the rule that decides, and only with it.
            let trace = policy.trace_incoming(&ask);
            let decides: Vec<usize> = trace.iter().filter(|s| s.fails.is_none()).map(|s| s.subject).collect();
            prop_assert_eq!(decides, wanted.into_iter().collect::<Vec<_>>());
            prop_assert!(trace.iter().rev().skip(1).all(|s| s.fails == Some(Condition::Ports)));
        }
    }
}

#[test]
fn an_error_is_what_can_never_match() {
    // What decides_as_a_scan_does leaves out is not most of it.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let good = (0..100).filter(|_| {
        let all = prop::collection::vec(tenant(), 1..8)
            .new_tree(&mut runner)
            .unwrap();
        Policy::parse(written(&all.current()).as_bytes()).is_ok()
    });
    let good = good.count();
    assert!(good > 20, "{good} of 100");
}
