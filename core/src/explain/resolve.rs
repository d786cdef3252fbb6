//! Names, addresses and routes: calls and events.

use super::call::{found, kernel, own, short_of_descriptors};
use super::query::{CallQuery, EventQuery};
use super::words;
use crate::codes::errno;
use crate::model::{Explanation, Severity, Transport, Who};

/// Words for the calls that resolve, or none.
pub(super) fn call(q: &CallQuery) -> Option<Explanation> {
    match q.call {
        "rdma_resolve_addr" => resolve_addr(q),
        "rdma_resolve_route" => resolve_route(q),
        "rdma_getaddrinfo" => getaddrinfo(q),
        _ => None,
    }
}

/// What a failed address resolution means, by positive errno; the same for call and event.
pub(super) fn address(number: i32) -> Option<Explanation> {
    Some(match number {
        110 => found(
            Who::Network,
            Severity::Error,
            "no neighbour answers for that address",
            "ARP or neighbour discovery got no reply within the timeout: the host is down, the cable or VLAN is wrong, or the gateway is.",
            "ip route get PEER; ip neigh; ping PEER; arping -I DEV PEER",
        ),
        113 => found(
            Who::Network,
            Severity::Error,
            "the host does not answer",
            "The neighbour entry failed: ARP or neighbour discovery got no reply.",
            "ip route get PEER; ip neigh; ping PEER",
        ),
        101 => kernel(
            "there is no route to that address",
            "This host has no interface or route that leads there; a wrong source address has the same effect.",
            "ip route get PEER; ip addr",
        ),
        19 => kernel(
            "the route leaves by a network device without RDMA",
            "The way to that address is a plain NIC, a bridge, or a tunnel, and not the RDMA port; or the RDMA device or its GID is gone.",
            "ip route get PEER; rdma link show (the netdev column must name that device)",
        ),
        99 => own(
            "the source address is not on this machine, or its port is taken",
            "No network device has the address given as source.",
            "ip addr; rdma resource show cm_id",
        ),
        97 => own(
            "the address family is not supported",
            "Only AF_INET, AF_INET6 and AF_IB are.",
            "Check sa_family of the address",
        ),
        100 => kernel(
            "the network device is down",
            "",
            "ip link show; rdma link show",
        ),
        _ => return None,
    })
}

fn resolve_addr(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        22 => Some(own(
            "source and destination do not go together, or the id is in use already",
            "One is IPv4 and the other IPv6, an IPv6 link-local address has no scope (sin6_scope_id, as in fe80::1%eth0), or the id was resolved before.",
            "Check the family and scope of both addresses, and the order of calls",
        )),
        n => address(n),
    }
}

fn resolve_route(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        22 => Some(own(
            "the route cannot be resolved now",
            "The id has no resolved address (wait for ADDR_RESOLVED), the route was resolved before, or the timeout is 0.",
            "Check the order of calls and the timeout",
        )),
        n => route(n, q.transport, q.facts.loopback),
    }
}

fn route(number: i32, transport: Transport, loopback: bool) -> Option<Explanation> {
    let ib = transport == Transport::Ib;
    Some(match number {
        110 => found(
            Who::Network,
            Severity::Error,
            if ib { "the subnet manager did not answer" } else { "the route was not resolved in time" },
            "No subnet manager runs, it is overloaded, or the timeout given is too short.",
            "sminfo; ibstat (state must be Active); saquery -p; try a longer timeout in rdma_resolve_route",
        ),
        22 if ib => found(
            Who::Network,
            Severity::Error,
            "the subnet manager knows no path to that address",
            "The peer's port is not in the fabric, or not in a common partition.",
            "saquery --sgid-to-dgid SGID-DGID; ibstat on both ends; grep -v 0x0000 /sys/class/infiniband/*/ports/*/pkeys/*",
        ),
        19 | 22 if loopback => own(
            "an RDMA port cannot be reached by a loopback address",
            "RoCE has no GID for 127.0.0.1 or ::1; within one host, too, it needs the address of an RDMA port.",
            "ip addr; rdma link show (the netdev column); connect to the address of that network device",
        ),
        19 | 22 => kernel(
            "the device or its GID is gone since the address was resolved",
            "The link went down, or an address or VLAN was removed.",
            "rdma link show; ip addr",
        ),
        113 | 101 => found(
            Who::Network,
            Severity::Error,
            "no path leads to the peer",
            "",
            "ip route get PEER; on InfiniBand: saquery -p, ibstat",
        ),
        _ => return None,
    })
}

/// EAI codes: rdma_getaddrinfo hands through what getaddrinfo returns (librdmacm/addrinfo.c).
fn getaddrinfo(q: &CallQuery) -> Option<Explanation> {
    let (name, summary, next) = match q.errno {
        -1 => ("EAI_BADFLAGS", "the flags in the hints are not valid", "Check ai_flags"),
        -2 => ("EAI_NONAME", "the host or service name is not known", "getent hosts NAME; check spelling, /etc/hosts and DNS; RAI_NUMERICHOST wants an address"),
        -3 => ("EAI_AGAIN", "the name server does not answer", "cat /etc/resolv.conf; getent hosts NAME; try again"),
        -4 => ("EAI_FAIL", "the name server refused", "getent hosts NAME"),
        -5 => ("EAI_NODATA", "the name has no address", "getent ahosts NAME"),
        -6 => ("EAI_FAMILY", "the address family is not supported", "Check ai_family"),
        -7 => ("EAI_SOCKTYPE", "the QP type or port space does not fit", "Check ai_qp_type and ai_port_space"),
        -8 => ("EAI_SERVICE", "the service name is not known for this port space", "Give a port number, or look into /etc/services"),
        -9 => ("EAI_ADDRFAMILY", "the host has no address of the wanted family", "getent ahosts NAME"),
        -10 => ("EAI_MEMORY", "out of memory", "free -m"),
        -11 => ("EAI_SYSTEM", "the system's resolver failed", "getent hosts NAME"),
        19 => return Some(kernel("no RDMA device on this machine", "", "rdma link show; modprobe ib_uverbs rdma_ucm")),
        22 => return Some(own("neither node, service nor hints were given", "", "Give at least one of them")),
        _ => return None,
    };
    let mut e = own(summary, "", with_name(next, q));
    e.code = format!("rdma_getaddrinfo {}, {name}", q.errno);
    Some(e)
}

/// The command with the name that was looked up, if that is safe to paste into a shell.
fn with_name(next: &str, q: &CallQuery) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    match &q.facts.node {
        Some(name) if !name.is_empty() && !name.starts_with('-') && name.chars().all(safe) => {
            next.replace("NAME", name)
        }
        _ => next.to_owned(),
    }
}

/// ADDR_ERROR.
pub(super) fn addr_error(q: &EventQuery) -> Explanation {
    if q.status == -1 {
        if let Some(e) = q.descriptors.and_then(short_of_descriptors) {
            return e;
        }
        return kernel(
            "the kernel found the RDMA device, but librdmacm cannot use it",
            "/dev/infiniband/uverbsN is missing or not accessible, ib_uverbs is not loaded, or the device vanished.",
            "ls -l /dev/infiniband; modprobe ib_uverbs; ibv_devices",
        );
    }
    address(q.status.saturating_abs()).unwrap_or_else(|| {
        kernel(
            format!(
                "the address was not resolved: {}",
                words::status_text(q.status)
            ),
            "",
            "ip route get PEER; ip neigh; rdma link show",
        )
    })
}

/// ROUTE_ERROR.
pub(super) fn route_error(q: &EventQuery) -> Explanation {
    if q.status == -1 {
        return kernel(
            "the route was found, but librdmacm could not read it",
            "The id or its device vanished in between.",
            "rdma link show; dmesg",
        );
    }
    route(q.status.saturating_abs(), q.transport, q.loopback).unwrap_or_else(|| {
        kernel(
            format!(
                "the route was not resolved: {}",
                words::status_text(q.status)
            ),
            "",
            "rdma link show; on InfiniBand: sminfo, saquery -p",
        )
    })
}

/// ADDRINFO_ERROR (service resolution through the subnet administrator).
pub(super) fn addrinfo_error(q: &EventQuery) -> Explanation {
    let summary = match errno::by_number(q.status) {
        Some(e) => format!("the service was not resolved: {} ({})", e.text, e.name),
        None => "the service was not resolved".to_string(),
    };
    found(
        Who::Network,
        Severity::Error,
        summary,
        "No such service is registered with the subnet administrator, or it did not answer.",
        "saquery -S; sminfo",
    )
}
