//! What a call said of addresses and ports, and what this host knows of them.

use super::causes::{caused_by_kernel, caused_by_program};
use crate::model::Explanation;
use std::net::{IpAddr, SocketAddr};

/// Addresses of a call or an id, and what was found out of them when it failed.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    pub source: Option<SocketAddr>,
    pub destination: Option<SocketAddr>,
    /// An address family that the connection manager does not have.
    pub odd_family: Option<u16>,
    /// Where the source address is, where that was looked up.
    pub here: Option<Here>,
    /// The first and the last port that the kernel picks by itself (net.ipv4.ip_local_port_range).
    pub ports: Option<(u16, u16)>,
    /// Has this process CAP_NET_BIND_SERVICE?
    pub may_take_low_ports: Option<bool>,
}

/// Is an address on this host?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Here {
    No,
    /// On this network device.
    On(String),
}

/// The kernel keeps those below for CAP_NET_BIND_SERVICE (PROT_SOCK).
const FIRST_FREE_PORT: u16 = 1_024;

const SHOW_IDS: &str = "rdma resource show cm_id";

/// An IPv4 address in IPv6 form: the connection manager looks at the family only (`addr_resolve`, addr.c).
fn mapped(address: Option<SocketAddr>, looks_for: &str) -> Option<Explanation> {
    let Some(SocketAddr::V6(given)) = address else {
        return None;
    };
    let v4 = given.ip().to_ipv4_mapped()?;
    Some(caused_by_program(
        format!(
            "{} is an IPv4 address in IPv6 form, and is taken for IPv6",
            given.ip()
        ),
        format!("The kernel's RDMA connection manager looks for {looks_for}, and there is none."),
        format!("Give the address as IPv4 (AF_INET): {v4}"),
    ))
}

fn mapped_source(a: &Addresses) -> Option<Explanation> {
    mapped(a.source, "a network device with this IPv6 address")
}

pub(super) fn mapped_destination(a: &Addresses) -> Option<Explanation> {
    mapped(a.destination, "an IPv6 route to it")
}

/// The family of an address is none of the connection manager's: librdmacm answers EINVAL.
pub(super) fn odd_family(a: &Addresses) -> Option<Explanation> {
    let family = a.odd_family?;
    Some(caused_by_program(
        format!("the address family {family} is not supported"),
        "Only AF_INET, AF_INET6 and AF_IB are.",
        "Check sa_family of the address",
    ))
}

/// An IPv6 link-local source address without the device that it is on.
pub(super) fn without_scope(a: &Addresses) -> Option<Explanation> {
    let Some(SocketAddr::V6(v6)) = a.source else {
        return None;
    };
    (is_link_local(v6.ip().segments()[0]) && v6.scope_id() == 0).then(|| {
        caused_by_program(
            format!("the link-local address {} has no scope", v6.ip()),
            "Every network device has such addresses; sin6_scope_id says which one is meant.",
            "Set sin6_scope_id, written as fe80::1%eth0",
        )
    })
}

fn is_link_local(first: u16) -> bool {
    first & 0xffc0 == 0xfe80
}

/// Source and destination are of two families.
pub(super) fn two_families(a: &Addresses) -> Option<Explanation> {
    let (source, destination) = (a.source?, a.destination?);
    (source.is_ipv4() != destination.is_ipv4()).then(|| {
        caused_by_program(
            format!(
                "the source {} and the destination {} are of different address families",
                source.ip(),
                destination.ip()
            ),
            "",
            "Give both as IPv4, or both as IPv6",
        )
    })
}

/// EADDRINUSE: only an id with the same address and port gives it (`cma_check_port`, cma.c).
pub(super) fn taken(a: &Addresses) -> Explanation {
    let what = match a.source {
        Some(source) => format!("{source} is taken: another id of this host is bound to it"),
        None => {
            "the address and port are taken: another id of this host is bound to them".to_owned()
        }
    };
    caused_by_program(
        what,
        "Perhaps an old process still runs. RDMA ports are not TCP ports: ss does not show them.",
        format!(
            "{SHOW_IDS}; RDMA_OPTION_ID_REUSEADDR lets ids share the address before they listen"
        ),
    )
}

/// EADDRNOTAVAIL, which the kernel gives for three things.
pub(super) fn not_available(a: &Addresses) -> Explanation {
    let any = |ip: IpAddr| ip.is_unspecified();

    match (a.source, &a.here) {
        (None, _) => no_port(a),
        (Some(s), _) if any(s.ip()) && s.port() == 0 => no_port(a),
        (Some(s), _) if any(s.ip()) => shared_with_any(s.port()),
        (Some(s), Some(Here::No)) => not_here(a, s.ip()),
        (Some(s), Some(Here::On(_))) if s.port() == 0 => used_up(a),
        (Some(s), Some(Here::On(_))) => shared_with_any(s.port()),
        (Some(s), None) => not_here_or_taken(s),
    }
}

fn not_here(a: &Addresses, ip: IpAddr) -> Explanation {
    mapped_source(a).unwrap_or_else(|| {
        caused_by_program(
            format!("{ip} is not an address of this host"),
            "No network device of this network namespace has it.",
            "ip addr; in a container: the addresses are those of its own network namespace",
        )
    })
}

fn shared_with_any(port: u16) -> Explanation {
    caused_by_program(
        format!("port {port} is taken: another id of this host holds it, and one of the two is bound to the any-address"),
        "The any-address (0.0.0.0 or ::) covers all addresses. Perhaps an old process still runs. RDMA ports are not TCP ports: ss does not show them.",
        SHOW_IDS,
    )
}

fn not_here_or_taken(s: SocketAddr) -> Explanation {
    caused_by_program(
        format!("{s} cannot be used"),
        format!("Possible: no network device has {}; or another id holds the port, and one of the two is bound to the any-address.", s.ip()),
        format!("ip addr; {SHOW_IDS}"),
    )
}

/// The kernel was to pick a port.
fn no_port(a: &Addresses) -> Explanation {
    if !a.destination.is_some_and(|d| d.is_ipv6()) {
        return used_up(a);
    }
    caused_by_program(
        "no source address and port could be found",
        "Possible: no network device on the way has a usable IPv6 address (one that is still being checked does not count); or all ephemeral ports are taken.",
        format!("ip -6 route get PEER; ip -6 addr; {SHOW_IDS} | wc -l; cat /proc/sys/net/ipv4/ip_local_port_range"),
    )
}

/// All ephemeral ports have an owner (`cma_alloc_any_port`, cma.c).
pub(super) fn used_up(a: &Addresses) -> Explanation {
    let range = match a.ports {
        Some((first, last)) => format!(", {first} to {last},"),
        None => String::new(),
    };
    caused_by_program(
        format!("the ephemeral ports are used up: all{range} are taken"),
        "Each id that is bound, connecting or connected holds a port until it is destroyed.",
        format!(
            "{SHOW_IDS} | wc -l; are ids destroyed after use? Widen net.ipv4.ip_local_port_range"
        ),
    )
}

/// EACCES: a low port, or a channel that is another's.
pub(super) fn not_permitted(a: &Addresses, routed: bool) -> Explanation {
    const CHANNEL: &str = "the event channel was opened before a fork, or before this process changed its user or rights";
    let low = a
        .source
        .map(|s| s.port())
        .filter(|p| (1..FIRST_FREE_PORT).contains(p));
    match (low, a.may_take_low_ports) {
        (Some(port), Some(false)) => caused_by_program(
            format!("port {port} needs a right that this process does not have (CAP_NET_BIND_SERVICE)"),
            "The kernel keeps ports below 1024 for it.",
            "Use a higher port, or: setcap cap_net_bind_service+ep PROGRAM (then LD_PRELOAD no longer works), or systemd's AmbientCapabilities=",
        ),
        (Some(port), _) => caused_by_program(
            "not permitted",
            format!("Possible: port {port} needs CAP_NET_BIND_SERVICE in the first user namespace of the host, which a container does not have; or {CHANNEL}."),
            "Use a higher port; open the channel after the fork or change of user",
        ),
        (None, _) if routed => caused_by_program(
            "not permitted",
            format!("Possible: {CHANNEL}; or a route forbids that address (prohibit)."),
            "Open the channel after the fork or change of user; ip route get PEER",
        ),
        (None, _) => caused_by_program(
            "not permitted: the event channel is not this process's, or no longer",
            format!("The kernel takes commands only from whom opened the channel, and {CHANNEL}."),
            "Open the channel after the fork or change of user",
        ),
    }
}

/// ENODEV of a source address: no port of an RDMA device has it.
pub(super) fn no_rdma_device(a: &Addresses) -> Explanation {
    let (summary, cause) = match (a.source, &a.here) {
        // Of an id with a device from an earlier call the kernel does not look for the address any more.
        (Some(s), Some(Here::No)) if !s.ip().is_unspecified() => return not_here(a, s.ip()),
        (Some(s), Some(Here::On(device))) => (
            format!("no RDMA port has the address {} (it is on {device})", s.ip()),
            format!("Possible: {device} is no RDMA network device (a bridge, a plain NIC, lo); or its RDMA device is of another network namespace or gone."),
        ),
        (Some(s), _) => (
            format!("no RDMA port has the address {}", s.ip()),
            "Possible: it is on a network device without RDMA (a bridge, a plain NIC, lo); its scope names no network device; or the RDMA device is of another network namespace or gone.".to_owned(),
        ),
        (None, _) => (
            "no RDMA device was found".to_owned(),
            "Possible: none is there, or it is of another network namespace or gone.".to_owned(),
        ),
    };
    caused_by_kernel(summary, cause, "rdma link show (netdev column); ip addr")
}
