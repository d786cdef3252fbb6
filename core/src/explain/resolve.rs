//! Names, addresses and routes: calls and events.

use super::address::{self, Addresses};
use super::causes::{caused_by, caused_by_kernel, caused_by_program};
use super::descriptors::short_of_descriptors;
use super::progress::Progress;
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
pub(super) fn address(number: i32, a: &Addresses) -> Option<Explanation> {
    if let (101, Some(e)) = (number, address::mapped_destination(a)) {
        return Some(e);
    }
    Some(match number {
        // rdma_resolve_ip in addr.c: whatever was wrong last, at the end of the timeout it is this.
        110 => caused_by(
            Who::Network,
            Severity::Error,
            "no neighbour answered for that address in time",
            "ARP or neighbour discovery got no reply within the timeout of rdma_resolve_addr. Possible: the host or the gateway is down; the cable or VLAN is wrong; or the timeout is too short.",
            "ip route get PEER; ip neigh; ping PEER; arping -I DEV PEER",
        ),
        113 => caused_by_kernel(
            "a route of this host says that the address cannot be reached",
            "The kernel gives this for a route of type unreachable. A host that does not answer ends in a timeout instead.",
            "ip route get PEER; ip route show table all type unreachable",
        ),
        101 => caused_by_kernel(
            "there is no route to that address",
            "No route of this host leads there.",
            "ip route get PEER; ip addr",
        ),
        19 => caused_by_kernel(
            "no RDMA device serves the way to that address",
            "Possible: the route leaves by a plain NIC, a bridge or a tunnel, and not by the RDMA port; or the RDMA device or its GID is gone, or of another network namespace.",
            "ip route get PEER; rdma link show (the netdev column must name that device)",
        ),
        98 => address::taken(a),
        99 => address::not_available(a),
        97 => address::odd_family(a).unwrap_or_else(|| {
            caused_by_program(
                "the address family is not supported",
                "Only AF_INET, AF_INET6 and AF_IB are.",
                "Check sa_family of both addresses",
            )
        }),
        100 => caused_by_kernel(
            "the network device is down",
            "",
            "ip link show; rdma link show",
        ),
        _ => return None,
    })
}

/// What rdma_resolve_addr fails for (`resolve_prepare_src` and `rdma_resolve_ip`, cma.c and addr.c).
fn resolve_addr(q: &CallQuery) -> Option<Explanation> {
    let a = &q.facts.addresses;
    match q.errno {
        22 => Some(resolve_invalid(q)),
        13 => Some(address::not_permitted(a, true)),
        19 => no_device(a),
        n => address(n, a),
    }
}

/// ENODEV: of the source address where there is one, else of the way to the destination.
pub(super) fn no_device(a: &Addresses) -> Option<Explanation> {
    if a.source.is_some_and(|s| !s.ip().is_unspecified()) {
        Some(address::no_rdma_device(a))
    } else {
        address(libc::ENODEV, a)
    }
}

fn resolve_invalid(q: &CallQuery) -> Explanation {
    let a = &q.facts.addresses;
    let wrong_order = || {
        let progress = q.facts.progress;
        let ready = matches!(
            progress,
            Progress::New | Progress::Bound | Progress::AddressFailed
        );
        (progress.is_known() && !ready).then(|| {
            caused_by_program(
                format!("the address cannot be resolved now: {}", progress.phrase()),
                "",
                "Call rdma_resolve_addr once on a fresh id",
            )
        })
    };
    address::odd_family(a)
        .or_else(wrong_order)
        .or_else(|| address::two_families(a))
        .or_else(|| address::without_scope(a))

        .unwrap_or_else(|| {
            caused_by_program(
                "the address cannot be resolved with these arguments",
                "Possible: the id was resolved before; source and destination are of two address families; an IPv6 link-local source lacks its scope (sin6_scope_id, as in fe80::1%eth0); the source address was removed; or a route drops packets to that address (blackhole).",
                "Check both addresses and the order of calls; ip route get PEER",
            )
        })
}

fn resolve_route(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        22 => Some(route_invalid(q)),
        n => route(n, q.transport, q.facts.loopback),
    }
}

/// EINVAL of rdma_resolve_route (cma.c): the timeout, the state, and on RoCE a network device with a tiny MTU.
fn route_invalid(q: &CallQuery) -> Explanation {
    let progress = q.facts.progress;
    if q.facts.timeout_ms == Some(0) {
        return caused_by_program(
            "the timeout of rdma_resolve_route is 0",
            "The kernel wants at least a millisecond.",
            "Give the timeout in milliseconds, for example 2000",
        );
    }
    if progress.is_known() && progress != Progress::AddressResolved {
        return caused_by_program(
            format!("the route cannot be resolved now: {}", progress.phrase()),
            "",
            "Call rdma_resolve_route once, after ADDR_RESOLVED",
        );
    }
    caused_by_program(
        "the route cannot be resolved as things are",
        "Possible: the id has no resolved address (wait for ADDR_RESOLVED); its route was resolved before; the timeout is 0; or the MTU of the network device is too small for RDMA.",
        "Check the order of calls and the timeout; ip link show",
    )
}

fn route(number: i32, transport: Transport, loopback: bool) -> Option<Explanation> {
    let ib = transport == Transport::Ib;
    Some(match number {
        110 => caused_by(
            Who::Network,
            Severity::Error,
            if ib { "the subnet manager did not answer in time" } else { "the route was not resolved in time" },
            "Possible: no subnet manager runs; it is overloaded; or the timeout given is too short.",
            "sminfo; ibstat (state must be Active); saquery -p; try a longer timeout in rdma_resolve_route",
        ),
        22 if ib => caused_by(
            Who::Network,
            Severity::Error,
            "the subnet manager gave no path to that address",
            "Possible: the peer's port is not in the fabric, or not in a common partition.",
            "saquery --sgid-to-dgid SGID-DGID; ibstat on both ends; grep -v 0x0000 /sys/class/infiniband/*/ports/*/pkeys/*",
        ),
        19 | 22 if loopback => caused_by_program(
            "an RDMA port cannot be reached by a loopback address",
            "RoCE has no GID for 127.0.0.1 or ::1; within one host, too, it needs the address of an RDMA port.",
            "ip addr; rdma link show (the netdev column); connect to the address of that network device",
        ),
        19 | 22 => caused_by_kernel(
            "no network device was found for the route",
            "Possible: the RDMA device or its GID is gone since the address was resolved (link down, an address or VLAN removed).",
            "rdma link show; ip addr",
        ),
        113 | 101 => caused_by(
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
        19 => return Some(caused_by_kernel("no RDMA device on this machine", "", "rdma link show; modprobe ib_uverbs rdma_ucm")),
        22 => return Some(caused_by_program("neither node, service nor hints were given", "", "Give at least one of them")),
        _ => return None,
    };
    let mut e = caused_by_program(summary, "", with_name(next, q));
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
        return caused_by_kernel(
            "the kernel found the RDMA device, but librdmacm cannot use it",
            "Possible: /dev/infiniband/uverbsN is missing or not accessible; ib_uverbs is not loaded; or the device vanished.",
            "ls -l /dev/infiniband; modprobe ib_uverbs; ibv_devices",
        );
    }
    address(q.status.saturating_abs(), &q.addresses).unwrap_or_else(|| {
        caused_by_kernel(
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
        return caused_by_kernel(
            "the route was found, but librdmacm could not read it",
            "Possible: the device vanished in between.",
            "rdma link show; dmesg",
        );
    }
    route(q.status.saturating_abs(), q.transport, q.loopback).unwrap_or_else(|| {
        caused_by_kernel(
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
    caused_by(
        Who::Network,
        Severity::Error,
        summary,
        "Possible: no such service is registered with the subnet administrator; or it did not answer.",
        "saquery -S; sminfo",
    )
}
