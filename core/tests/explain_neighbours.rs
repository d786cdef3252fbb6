//! One errno of one call, several causes: the line of a cause must have words of its own, and where nothing was checked it
//! must say what is possible. `docs/reasons.md` is the same table in words.

use cmshim_core::explain::{self, Addresses, CallQuery, Facts, Here, Limit, Progress};
use cmshim_core::model::{Explanation, Role, Transport};
use libc::{
    EACCES, EADDRINUSE, EADDRNOTAVAIL, EHOSTUNREACH, EINVAL, ENETUNREACH, ENODEV, ENOMEM,
    EOPNOTSUPP, EPERM,
};
use std::collections::HashMap;

/// Call, errno, what was found out, and words that its line must have.
type Cause = (&'static str, i32, Facts, &'static str);

fn told(call: &str, errno: i32, facts: &Facts) -> Explanation {
    explain::call(&CallQuery {
        call,
        errno,
        facts,
        role: Role::None,
        transport: Transport::Roce,
    })
}

fn come_to(progress: Progress) -> Facts {
    Facts {
        progress,
        ..Facts::default()
    }
}

fn over(name: &'static str, facts: Facts) -> Facts {
    Facts {
        wanted: vec![Limit {
            name,
            wanted: 200,
            max: 16,
        }],
        ..facts
    }
}

fn data(len: u32, max: u32, facts: Facts) -> Facts {
    Facts {
        private_data_len: Some(len),
        private_data_max: Some(max),
        ..facts
    }
}

fn source(address: &str) -> Addresses {
    Addresses {
        source: Some(address.parse().unwrap()),
        ports: Some((32_768, 60_999)),
        ..Addresses::default()
    }
}

fn destination(address: &str) -> Addresses {
    Addresses {
        source: None,
        destination: Some(address.parse().unwrap()),
        ..source("0.0.0.0:0")
    }
}

fn at(address: &str, device: &str) -> Facts {
    let here = Some(match device {
        "" => Here::No,
        device => Here::On(device.to_owned()),
    });
    of(Addresses {
        here,
        ..source(address)
    })
}

fn of(addresses: Addresses) -> Facts {
    Facts {
        addresses,
        ..Facts::default()
    }
}

fn low(port: u16, may: bool) -> Facts {
    of(Addresses {
        may_take_low_ports: Some(may),
        ..source(&format!("10.0.0.1:{port}"))
    })
}

fn family(number: u16) -> Facts {
    of(Addresses {
        odd_family: Some(number),
        ..Addresses::default()
    })
}

#[rustfmt::skip]
fn answers() -> Vec<Cause> {
    use Progress::{AcceptFailed, Accepted, Connecting, Listening, Rejected, Request};
    let mut all = vec![
        ("rdma_accept", EINVAL, over("responder_resources", come_to(Request)), "responder_resources 200"),
        ("rdma_accept", EINVAL, over("initiator_depth", come_to(Request)), "initiator_depth 200"),
        ("rdma_accept", EINVAL, data(197, 196, come_to(Request)), "197 bytes"),
        ("rdma_reject", EINVAL, data(149, 148, come_to(Request)), "149 bytes"),
    ];
    for (call, late) in [
        ("rdma_accept", "our accept came too late, the client had already gone"),
        ("rdma_reject", "our reject came too late, the client had already gone"),
    ] {
        all.extend([
            (call, EINVAL, come_to(Request), late),
            (call, EINVAL, come_to(Listening), "no connect request (it is a listener)"),
            (call, EINVAL, come_to(Connecting), "no connect request (it is connecting"),
            (call, EINVAL, come_to(Accepted), "accepted before"),
            (call, EINVAL, come_to(Rejected), "rejected before"),
            (call, EINVAL, come_to(AcceptFailed), "failed before, and that ended it"),
            (call, EINVAL, come_to(Progress::Unknown), "the kernel did not take our"),
        ]);
    }
    all
}

#[rustfmt::skip]
fn connects() -> Vec<Cause> {
    let ready = || come_to(Progress::RouteResolved);
    vec![
        ("rdma_connect", EINVAL, over("responder_resources", ready()), "responder_resources 200"),
        ("rdma_connect", EINVAL, data(57, 56, ready()), "57 bytes"),
        ("rdma_connect", EINVAL, come_to(Progress::AddressResolved), "its route is not"),
        ("rdma_connect", EINVAL, come_to(Progress::New), "has no address"),
        ("rdma_connect", EINVAL, come_to(Progress::Connecting), "connecting already"),
        ("rdma_connect", EINVAL, come_to(Progress::Ended), "its connection has ended"),
        ("rdma_connect", EINVAL, ready(), "or a parameter is not valid"),
        ("rdma_create_qp", EINVAL, Facts { has_qp: Some(true), ..Facts::default() }, "has a queue pair already"),
        ("rdma_create_qp", EINVAL, over("max_send_wr", Facts::default()), "max_send_wr 200"),
        ("rdma_create_qp", EINVAL, Facts::default(), "cannot take this queue pair"),
        ("rdma_establish", EINVAL, Facts { has_qp: Some(true), ..Facts::default() }, "the id has a queue pair"),
        ("rdma_establish", EINVAL, come_to(Progress::AddressResolved), "to confirm: its address"),
        ("rdma_establish", EINVAL, come_to(Progress::Answered), "could not be confirmed"),
        ("rdma_resolve_route", EINVAL, Facts { timeout_ms: Some(0), ..Facts::default() }, "timeout of rdma_resolve_route is 0"),
        ("rdma_resolve_route", EINVAL, come_to(Progress::RouteResolved), "its route is resolved"),
        ("rdma_resolve_route", EINVAL, come_to(Progress::AddressResolved), "cannot be resolved as things are"),
        ("rdma_join_multicast", EINVAL, Facts { datagram: Some(false), ..Facts::default() }, "not for datagrams"),
        ("rdma_join_multicast", EINVAL, come_to(Progress::New), "cannot join now: it is new"),
        ("rdma_join_multicast", EINVAL, come_to(Progress::Bound), "cannot join this group"),
        ("rdma_disconnect", EINVAL, come_to(Progress::Bound), "never connected"),
        ("rdma_disconnect", EINVAL, Facts { disconnected: true, ..Facts::default() }, "had ended already"),
        ("rdma_create_id", EINVAL, Facts { port_space_known: Some(false), ..Facts::default() }, "this port space"),
        ("rdma_create_id", EINVAL, Facts { port_space_known: Some(true), ..Facts::default() }, "does not take this id"),
        ("rdma_create_ep", ENODEV, at("198.51.100.1:1", "lo"), "198.51.100.1 (it is on lo)"),
        ("rdma_create_ep", ENODEV, at("203.0.113.9:1", ""), "203.0.113.9 is not an address of this host"),
        ("rdma_create_ep", ENODEV, of(destination("10.0.0.1:1")), "the way to that address"),
        ("rdma_create_ep", ENODEV, of(source("0.0.0.0:1")), "no RDMA device on this machine"),
        ("ibv_reg_mr", EPERM, Facts { memlock: Some(0), ..Facts::default() }, "may not lock memory at all"),
        ("ibv_reg_mr", EPERM, Facts { memlock: Some(1 << 16), ..Facts::default() }, "this registration is not permitted"),
    ]
}

#[rustfmt::skip]
fn memory() -> Vec<Cause> {
    const MIB: u64 = 1 << 20;
    let mr = |length, memlock| Facts { length: Some(length), memlock: Some(memlock), addr: Some(0x10_0000), access: Some(1), ..Facts::default() };
    let flags = |access| Facts { access: Some(access), ..mr(MIB, MIB) };
    let modify = |disconnected| Facts { disconnected, qp_state: Some(("RTS", "ERR")), ..Facts::default() };
    vec![
        ("ibv_reg_mr", ENOMEM, mr(2 * MIB, MIB), "too small: 2 MiB to register, limit 1 MiB"),
        ("ibv_reg_mr", ENOMEM, Facts { locked: Some(MIB), ..mr(4096, MIB) }, "1 MiB of it in use"),
        ("ibv_reg_mr", ENOMEM, mr(4096, MIB), "(1 MiB) seems enough"),
        ("ibv_reg_mr", ENOMEM, mr(2 * MIB, u64::MAX), "or the device has no room"),
        ("ibv_reg_mr", ENOMEM, Facts::default(), "most often the limit"),
        ("ibv_reg_mr", EINVAL, mr(0, MIB), "the length is 0"),
        ("ibv_reg_mr", EINVAL, flags(2), "needs local write access too"),
        ("ibv_reg_mr", EINVAL, mr(u64::MAX, MIB), "run over the end of memory"),
        ("ibv_reg_mr", EINVAL, Facts { huge_page: Some(2 * MIB), ..mr(MIB, MIB) }, "in 2 MiB huge pages"),
        ("ibv_reg_mr", EINVAL, flags(3), "not fit to be registered"),
        ("ibv_reg_mr", EOPNOTSUPP, flags(1 << 6), "probably not on-demand paging"),
        ("ibv_reg_mr", EOPNOTSUPP, flags(1), "does not support this registration"),
        ("ibv_create_qp", EINVAL, over("max_send_wr", Facts { inline: Some(4096), ..Facts::default() }), "max_send_wr 200"),
        ("ibv_create_qp", EINVAL, Facts { inline: Some(4096), ..Facts::default() }, "probably more inline data"),
        ("ibv_create_qp", EINVAL, Facts::default(), "does not take these attributes"),
        ("ibv_create_cq", EINVAL, over("max_cqe", Facts::default()), "max_cqe 200"),
        ("ibv_create_cq", EINVAL, Facts::default(), "does not take this completion queue"),
        ("ibv_modify_qp", EINVAL, modify(true), "did not go from RTS to ERR"),
        ("ibv_modify_qp", EINVAL, Facts::default(), "did not change its state"),
    ]
}

#[rustfmt::skip]
fn addresses() -> Vec<Cause> {
    let mut all = Vec::new();
    for call in ["rdma_bind_addr", "rdma_resolve_addr"] {
        all.extend([
            (call, EADDRINUSE, at("10.0.0.1:7471", "v0"), "10.0.0.1:7471 is taken: another id"),
            (call, EADDRNOTAVAIL, at("10.0.0.1:7471", "v0"), "port 7471 is taken: another id of this host holds it"),
            (call, EADDRNOTAVAIL, of(source("0.0.0.0:7472")), "port 7472 is taken: another id of this host holds it"),
            (call, EADDRNOTAVAIL, at("10.0.0.9:7471", ""), "10.0.0.9 is not an address of this host"),
            (call, EADDRNOTAVAIL, of(source("0.0.0.0:0")), "the ephemeral ports are used up: all, 32768 to 60999,"),
            (call, EADDRNOTAVAIL, of(source("10.0.0.2:7473")), "10.0.0.2:7473 cannot be used"),
            (call, EADDRNOTAVAIL, at("[::ffff:10.0.0.1]:7471", ""), "::ffff:10.0.0.1 is an IPv4 address in IPv6 form"),
            (call, ENODEV, at("[::ffff:10.0.0.1]:0", ""), "::ffff:10.0.0.1 is an IPv4 address in IPv6 form"),
            (call, ENODEV, at("10.0.0.1:0", "v0"), "10.0.0.1 (it is on v0)"),
            (call, ENODEV, at("10.0.0.9:0", ""), "10.0.0.9 is not an address of this host"),
            (call, EINVAL, family(1), "address family 1 is not supported"),
            (call, EINVAL, come_to(Progress::AddressResolved), "now: its address is resolved"),
            (call, EINVAL, of(source("[fe80::1]:0")), "fe80::1 has no scope"),
            (call, EACCES, low(80, false), "port 80 needs a right"),
            (call, EACCES, low(7471, false), "not permitted"),
        ]);
    }
    all.extend([
        ("rdma_bind_addr", EACCES, low(80, true), "not permitted"),
        ("rdma_bind_addr", EINVAL, Facts::default(), "cannot be bound to this address"),
        ("rdma_resolve_addr", EINVAL, Facts::default(), "with these arguments"),
        ("rdma_resolve_addr", EINVAL, of(Addresses { destination: Some("[2001:db8::1]:1".parse().unwrap()), ..source("10.0.0.1:0") }), "of different address families"),
        ("rdma_resolve_addr", EADDRNOTAVAIL, of(destination("[2001:db8::1]:7471")), "no source address and port"),
        ("rdma_resolve_addr", ENETUNREACH, of(destination("203.0.113.7:7471")), "no route to that address"),
        ("rdma_resolve_addr", ENETUNREACH, of(destination("[::ffff:10.0.0.1]:7471")), "IPv4 address in IPv6 form"),
        ("rdma_resolve_addr", ENETUNREACH, of(Addresses { source: Some("[::ffff:10.0.0.1]:0".parse().unwrap()), ..destination("[2001:db8::1]:1") }), "no route to that address"),
        ("rdma_resolve_addr", EHOSTUNREACH, of(destination("203.0.113.7:7471")), "a route of this host says"),
        ("rdma_listen", EADDRNOTAVAIL, come_to(Progress::New), "ephemeral ports are used up"),
        ("rdma_listen", EADDRNOTAVAIL, Facts { progress: Progress::Bound, ..of(source("0.0.0.0:7471")) }, "port 7471 is taken"),
        ("rdma_listen", EINVAL, come_to(Progress::Listening), "cannot listen: it is a listener"),
        ("rdma_listen", EINVAL, come_to(Progress::Established), "cannot listen: it is connected"),
        ("rdma_listen", EINVAL, Facts::default(), "cannot listen now"),
    ]);
    all
}

fn all() -> Vec<Cause> {
    [answers(), connects(), memory(), addresses()].concat()
}

#[test]
fn each_cause_has_its_words_and_no_neighbour_has_them() {
    let mut by_code: HashMap<(&str, i32), Vec<(String, &str)>> = HashMap::new();
    for (call, errno, facts, words) in all() {
        let summary = told(call, errno, &facts).summary;
        assert!(
            summary.contains(words),
            "{call} {errno}: {words:?} in {summary:?}"
        );
        by_code
            .entry((call, errno))
            .or_default()
            .push((summary, words));
    }
    for ((call, errno), causes) in by_code {
        for (at, (_, words)) in causes.iter().enumerate() {
            let others = causes.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (summary, _)) in others {
                let same_words = causes.iter().any(|(s, w)| s == summary && w == words);
                assert!(
                    same_words || !summary.contains(words),
                    "{call} {errno}: {words:?} also in {summary:?}"
                );
            }
        }
    }
}

/// Where nothing was found out, no cause is claimed.
#[test]
fn what_was_not_checked_is_only_possible() {
    let nothing = Facts::default();
    let calls: Vec<&str> = explain::calls().collect();
    for call in calls {
        for errno in [1, 2, 5, 13, 14, 16, 19, 22, 28, 95, 99, 101, 106] {
            let e = told(call, errno, &nothing);
            let claims = [
                " had gone",
                "has gone before",
                "was removed or",
                "is reached, or",
            ];
            for claim in claims {
                let at = e.cause.find(claim).unwrap_or(usize::MAX);
                let hedge = e
                    .cause
                    .to_lowercase()
                    .find("possible")
                    .unwrap_or(usize::MAX);
                assert!(
                    at == usize::MAX || hedge < at,
                    "{call} {errno}: {}",
                    e.cause
                );
            }
            // Several causes in one sentence are several possibilities.
            let several = e.cause.contains("; or ");
            assert!(
                !several || e.cause.to_lowercase().contains("possible"),
                "{call} {errno}: {}",
                e.cause
            );
        }
    }
}

/// A failed accept whose queue pair could not be moved is named by it only while the request is open.
#[test]
fn what_failed_inside_does_not_hide_the_order_of_calls() {
    let inside = |progress| Facts {
        nested: Some(("ibv_modify_qp", EINVAL)),
        ..come_to(progress)
    };
    let twice = told("rdma_accept", EINVAL, &inside(Progress::Accepted));
    assert!(
        twice.summary.contains("accepted before"),
        "{}",
        twice.summary
    );
    let open = told("rdma_accept", EINVAL, &inside(Progress::Request));
    assert!(
        open.summary.contains("ibv_modify_qp inside it failed"),
        "{}",
        open.summary
    );
}
