//! The handshake's calls, the end of a connection, and multicast.

use super::call::{found, kernel, own};
use super::query::CallQuery;
use super::rejected;
use super::words;
use crate::model::{Explanation, Severity, Transport, Who};
use std::time::Duration;

/// Words for these calls, or none.
pub(super) fn call(q: &CallQuery) -> Option<Explanation> {
    match q.call {
        "rdma_connect" | "rdma_connect_ece" => connect(q),
        "rdma_accept" | "rdma_accept_ece" => accept(q),
        "rdma_reject" | "rdma_reject_ece" => reject(q),
        "rdma_establish" => establish(q),
        "rdma_notify" => notify(q),
        "rdma_disconnect" => disconnect(q),
        "rdma_join_multicast" | "rdma_join_multicast_ex" => join(q),
        "rdma_leave_multicast" => leave(q),
        _ => None,
    }
}

/// More private data than the message has room for: the kernel says EINVAL and nothing else.
fn private_data(q: &CallQuery) -> Option<Explanation> {
    let len = q.facts.private_data_len?;
    let max = q.facts.private_data_max?;
    (len > max).then(|| {
        own(
            format!("{len} bytes of private data are too much, {max} fit"),
            "A connect carries 56 bytes, an accept 196 and a reject 148 on InfiniBand and RoCE; iWARP has other limits.",
            "Send less, or send it after the connection is up",
        )
    })
}

/// Attributes beyond what the device can do.
pub(super) fn over_limit(q: &CallQuery) -> Option<Explanation> {
    let over: Vec<String> = q
        .facts
        .wanted
        .iter()
        .filter(|l| l.wanted > l.max)
        .map(|l| format!("{} {} (the device gives {})", l.name, l.wanted, l.max))
        .collect();
    (!over.is_empty()).then(|| {
        own(
            format!(
                "more was asked for than the device has: {}",
                over.join(", ")
            ),
            "",
            "ibv_devinfo -v; set the program's queue depth or scatter entries lower",
        )
    })
}

fn connect(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => private_data(q).or_else(|| over_limit(q)).unwrap_or_else(|| {
            own(
                "the id is not ready to connect, or a parameter is not valid",
                "The route is not resolved (wait for ROUTE_RESOLVED), the id was used before, private data is over 56 bytes, or responder_resources or initiator_depth is above the device's limit.",
                "Check the order of calls; ibv_devinfo -v (max_qp_rd_atom, max_qp_init_rd_atom)",
            )
        }),
        111 => found(
            Who::PeerKernel,
            Severity::Error,
            if q.transport == Transport::Iwarp {
                "nobody listens there, or the peer's program refused"
            } else {
                "refused"
            },
            "Is the server up, and bound to this address and port?",
            "On the peer: rdma resource show cm_id (ss -l does not list RDMA listeners)",
        ),
        110 => found(
            Who::Network,
            Severity::Error,
            "no answer to any connect request",
            rejected::no_answer_cause(q.transport),
            rejected::no_answer_next(q.transport),
        ),
        113 | 101 => found(
            Who::Network,
            Severity::Error,
            "the peer's address cannot be reached",
            "No route, or no neighbour answers for it.",
            "ip route get PEER; ip neigh; ping PEER",
        ),
        104 => found(
            Who::PeerProgram,
            Severity::Error,
            "the peer's program refused, or ended before it answered",
            "",
            "Read the peer's log at this moment",
        ),
        19 => kernel(
            "the RDMA port is gone or not active",
            "The link went down, or the device was removed since the address was resolved.",
            "rdma link show; ip -br link; dmesg",
        ),
        99 => kernel(
            "the GID of the source address is gone",
            "The address or VLAN was removed since it was resolved.",
            "ip addr; grep -v '^0000:0000:0000:0000:0000:0000' /sys/class/infiniband/*/ports/*/gids/*",
        ),
        _ => return None,
    })
}

/// How long the request waited, as an addition to a sentence.
fn waited(age: Option<Duration>) -> String {
    match age {
        Some(age) => format!(" (the request had waited {})", words::duration(age)),
        None => String::new(),
    }
}

fn accept(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => private_data(q)
            .or_else(|| over_limit(q))
            .unwrap_or_else(|| too_late(q, "accept")),
        107 => too_late(q, "accept"),
        19 | 5 => kernel(
            "the RDMA device or port is gone",
            "",
            "rdma link show; dmesg",
        ),
        _ => return None,
    })
}

fn reject(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        22 | 107 => Some(private_data(q).unwrap_or_else(|| {
            // Nobody is hurt: the client is gone, and was to be refused anyway.
            let mut e = too_late(q, "reject").with_next("Nothing is lost; destroy this id");
            e.severity = Severity::Info;
            e
        })),
        _ => None,
    }
}

/// EINVAL of the kernel's rdma_accept: the id has left its CONNECT state, for the client withdrew.
fn too_late(q: &CallQuery, what: &str) -> Explanation {
    let mut e = found(
        Who::PeerProgram,
        Severity::Warn,
        format!("our {what} came too late, the client had already gone{}", waited(q.facts.age)),
        "The client's own timeout ran out, it ended, or it lost its network; or the request was answered twice.",
        "Answer requests sooner (no slow work between CONNECT_REQUEST and rdma_accept), or give the client more time; destroy this id",
    );
    e.verb = "given up";
    e
}

fn establish(q: &CallQuery) -> Option<Explanation> {
    (q.errno == 22).then(|| {
        own(
            "the id has a queue pair of librdmacm, or no answer to confirm",
            "rdma_establish is only for ids without a QP, after CONNECT_RESPONSE; librdmacm confirms for the others.",
            "Check the order of calls; the peer may have given up in between",
        )
    })
}

fn notify(q: &CallQuery) -> Option<Explanation> {
    (q.errno == 22 || q.errno == 107).then(|| {
        found(
            Who::ThisKernel,
            Severity::Debug,
            "the kernel had no use for the notice",
            "The connection is up already, or gone.",
            "",
        )
    })
}

fn disconnect(q: &CallQuery) -> Option<Explanation> {
    (matches!(q.errno, 22 | 107 | 2) || q.facts.disconnected).then(|| {
        found(
            Who::ThisKernel,
            Severity::Debug,
            "the connection was not up any more",
            "The peer was faster, or it never came up. This is harmless.",
            "",
        )
    })
}

fn join(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => own(
            "the id cannot join: it has no device, or is not for datagrams",
            "Joining needs a port space of UDP or IPoIB, and an id that is bound or has its address resolved; the group address must be complete.",
            "Check rdma_create_id (RDMA_PS_UDP) and the order of calls",
        ),
        95 | 38 | 524 => kernel(
            "this kind of multicast group is not supported here",
            "The kernel has no IPv6 multicast over RoCE v2, and iWARP has no multicast at all.",
            "Use an IPv4 group on RoCE v2; rdma link show",
        ),
        19 => kernel(
            "the network device of the id is gone or not known",
            "",
            "ip link show; rdma link show",
        ),
        12 => kernel(
            "no room for one more multicast group",
            "",
            "ibv_devinfo -v (max_mcast_grp)",
        ),
        _ => return None,
    })
}

fn leave(q: &CallQuery) -> Option<Explanation> {
    (q.errno == 99).then(|| {
        found(
            Who::ThisProcess,
            Severity::Warn,
            "the id is not in that group",
            "It was left before, or joined with another address.",
            "",
        )
    })
}
