//! The handshake's calls, the end of a connection, and multicast.

use super::causes::{caused_by, caused_by_kernel, caused_by_program};
use super::progress::Progress;
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
        caused_by_program(
            format!("{len} bytes of private data are too much, {max} fit"),
            "On InfiniBand and RoCE a connect carries 56 bytes, an accept 196 and a reject 148; of datagram ids (UDP, IPoIB) a connect carries 180 and an answer 136.",
            "Send less, or send it after the connection is up",
        )
    })
}

/// More RDMA reads and atomics at once than the device has: librdmacm says EINVAL and asks nobody (`ucma_valid_param`).
fn too_many_reads(q: &CallQuery) -> Option<Explanation> {
    Some(over_limit(q)?.with_cause("responder_resources counts the RDMA reads and atomics that this side serves at once, initiator_depth those that it asks for.")
        .with_next("ibv_devinfo -v (max_qp_rd_atom, max_qp_init_rd_atom); give less, or RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH"))
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
        caused_by_program(
            format!(
                "more was asked for than the device has: {}",
                over.join(", ")
            ),
            "",
            "ibv_devinfo -v; set the program's queue depth or scatter entries lower",
        )
    })
}

/// EINVAL of rdma_connect, in the order in which librdmacm and the kernel look.
fn connect_invalid(q: &CallQuery) -> Explanation {
    let progress = q.facts.progress;
    let wrong_order = || {
        (progress.is_known() && progress != Progress::RouteResolved).then(|| {
            caused_by_program(
                format!("the id cannot connect now: {}", progress.phrase()),
                "",
                "Connect a fresh id once, after ROUTE_RESOLVED; a connect request is answered by rdma_accept",
            )
        })
    };
    too_many_reads(q)
        .or_else(wrong_order)
        .or_else(|| private_data(q))
        .unwrap_or_else(|| {
            caused_by_program(
                "the id is not ready to connect, or a parameter is not valid",
                "Possible: the route is not resolved (wait for ROUTE_RESOLVED); the id was used before; there is neither a queue pair nor a parameter; private data is too long; responder_resources or initiator_depth is above the device's limit; or the path is gone.",
                "Check the order of calls; ibv_devinfo -v (max_qp_rd_atom, max_qp_init_rd_atom)",
            )
        })
}

fn connect(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => connect_invalid(q),
        // ib_find_cached_pkey in cm_init_av_by_path (cm.c), or a handle that is not there (ucma.c).
        2 => caused_by_program(
            "the kernel does not find the id, or not the P_Key of its path",
            "Possible: the subnet manager took the port out of the partition; or the id was destroyed.",
            "grep -v 0x0000 /sys/class/infiniband/*/ports/*/pkeys/*; look for a use of the id after rdma_destroy_id",
        ),
        111 => caused_by(
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
        110 => caused_by(
            Who::Network,
            Severity::Error,
            "no answer to any connect request",
            rejected::no_answer_cause(q.transport),
            rejected::no_answer_next(q.transport),
        ),
        113 | 101 => caused_by(
            Who::Network,
            Severity::Error,
            "the peer's address cannot be reached",
            "Possible: no route leads there any more; or no neighbour answers for it.",
            "ip route get PEER; ip neigh; ping PEER",
        ),
        104 => caused_by(
            Who::PeerProgram,
            Severity::Error,
            "the peer's program refused, or ended before it answered",
            "",
            "Read the peer's log at this moment",
        ),
        19 => caused_by_kernel(
            "the RDMA device cannot be used for this connection any more",
            "Possible: the link went down; the device was removed since the address was resolved; or the route to the peer now leaves by another device.",
            "rdma link show; ip -br link; ip route get PEER; dmesg",
        ),
        99 => caused_by_kernel(
            "the source address cannot be used any more",
            "Possible: the address or VLAN was removed since it was resolved.",
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
        22 | 107 => too_many_reads(q)
            .or_else(|| not_open(q, "accept"))
            .or_else(|| private_data(q))
            .unwrap_or_else(|| too_late(q, "accept")),
        19 | 5 => caused_by_kernel(
            "the RDMA device or port is gone",
            "",
            "rdma link show; dmesg",
        ),
        _ => return None,
    })
}

/// The id is no connect request that waits for its answer.
fn not_open(q: &CallQuery, what: &str) -> Option<Explanation> {
    let progress = q.facts.progress;
    (progress.is_known() && progress != Progress::Request).then(|| {
        caused_by_program(
            format!("there is nothing to {what}: {}", not_open_phrase(progress)),
            "rdma_accept and rdma_reject answer the id of a CONNECT_REQUEST event, once.",
            "Check which id is given, and the order of calls",
        )
    })
}

/// A failed accept of the kernel's is followed by its own reject (`rdma_accept`, cma.c).
fn not_open_phrase(progress: Progress) -> String {
    match progress {
        Progress::AcceptFailed => {
            "an accept of this request failed before, and that ended it".to_owned()
        }
        Progress::Accepted | Progress::Rejected | Progress::Ended => {
            format!("{}, and needs no other answer", progress.phrase())
        }
        _ => format!("the id is no connect request ({})", progress.phrase()),
    }
}

fn reject(q: &CallQuery) -> Option<Explanation> {
    // Nobody is hurt where there is nothing to refuse any more.
    let harmless = |e: Explanation| Explanation {
        severity: Severity::Info,
        ..e.with_next("Nothing is lost; destroy this id")
    };
    match q.errno {
        22 | 107 => Some(match q.facts.progress {
            Progress::AcceptFailed | Progress::Rejected | Progress::Ended => {
                harmless(not_open(q, "reject")?)
            }
            _ => not_open(q, "reject")
                .or_else(|| private_data(q))
                .unwrap_or_else(|| harmless(too_late(q, "reject"))),
        }),
        _ => None,
    }
}

/// EINVAL of an answer to an open request whose parameters are in order: the CM of InfiniBand and RoCE has left the state
/// of a request, for the client withdrew it (`ib_send_cm_rep`, `cm_send_rej_locked`, `cm_init_qp_rtr_attr` in cm.c).
fn too_late(q: &CallQuery, what: &str) -> Explanation {
    let by_elimination = q.facts.progress == Progress::Request
        && matches!(q.transport, Transport::Ib | Transport::Roce);
    if !by_elimination {
        return caused_by(
            Who::ThisKernel,
            Severity::Warn,
            format!("the kernel did not take our {what}{}", waited(q.facts.age)),
            "Possible: the client has gone (its own timeout ran out, it ended, or it lost its network); the request was answered before; the id never was a request; or a parameter is not valid.",
            "Answer each CONNECT_REQUEST once, and soon; compare responder_resources and initiator_depth with ibv_devinfo -v",
        );
    }
    let mut e = caused_by(
        Who::PeerProgram,
        Severity::Warn,
        format!("our {what} came too late, the client had already gone{}", waited(q.facts.age)),
        "Possible: its own timeout ran out; it ended; or it lost its network.",
        "Answer requests sooner (no slow work between CONNECT_REQUEST and rdma_accept), or give the client more time; destroy this id",
    );
    e.verb = "given up";
    e
}

fn establish(q: &CallQuery) -> Option<Explanation> {
    if q.errno != 22 {
        return None;
    }
    let progress = q.facts.progress;
    Some(if q.facts.has_qp == Some(true) {
        caused_by_program(
            "the id has a queue pair: librdmacm confirms by itself",
            "rdma_establish is only for ids without a queue pair of rdma_create_qp.",
            "Do not call rdma_establish for it",
        )
    } else if progress.is_known() && progress != Progress::Answered {
        caused_by_program(
            format!("there is no answer to confirm: {}", progress.phrase()),
            "rdma_establish confirms a CONNECT_RESPONSE, once.",
            "Check the order of calls",
        )
    } else {
        caused_by_program(
            "the answer could not be confirmed",
            "Possible: no CONNECT_RESPONSE came; it was confirmed before; or the peer has given up.",
            "Check the order of calls; read the peer's log at this moment",
        )
    })
}

fn notify(q: &CallQuery) -> Option<Explanation> {
    let summary = match q.errno {
        106 => "the connection is up already: the kernel had no use for the notice",
        22 | 107 => "the kernel had no use for the notice",
        _ => return None,
    };
    let cause = match q.errno {
        106 => "",
        _ => "Possible: the connection is not waiting for its first message; or the notice is another than IBV_EVENT_COMM_EST and IBV_EVENT_PATH_MIG.",
    };
    Some(caused_by(
        Who::ThisKernel,
        Severity::Debug,
        summary,
        cause,
        "",
    ))
}

fn disconnect(q: &CallQuery) -> Option<Explanation> {
    let progress = q.facts.progress;
    let quiet = |summary: &str, cause: &str| {
        caused_by(Who::ThisKernel, Severity::Debug, summary, cause, "")
    };
    if q.facts.disconnected {
        return Some(quiet(
            "the connection had ended already",
            "This is harmless.",
        ));
    }
    matches!(q.errno, 22 | 107 | 2).then(|| {
        if progress.is_before_connect() {
            quiet("the id was never connected", "This is harmless.")
        } else {
            quiet(
                "there is no connection to end",
                "Possible: it has ended already; or it never came up. This is harmless.",
            )
        }
    })
}

fn join(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => join_invalid(q),
        95 | 38 | 524 => caused_by_kernel(
            "this kind of multicast group is not supported here",
            "Possible: an IPv6 group on RoCE v2, which the kernel does not have; a device without multicast, as iWARP; or a librdmacm that does not know the attributes.",
            "Use an IPv4 group on RoCE v2; rdma link show",
        ),
        19 => caused_by_kernel(
            "the network device of the id is gone or not known",
            "",
            "ip link show; rdma link show",
        ),
        12 => caused_by_kernel(
            "no memory, or no room for one more multicast group",
            "",
            "free -m; ibv_devinfo -v (max_mcast_grp)",
        ),
        _ => return None,
    })
}

fn join_invalid(q: &CallQuery) -> Explanation {
    let progress = q.facts.progress;
    if q.facts.datagram == Some(false) {
        return caused_by_program(
            "the id is not for datagrams",
            "Multicast needs the port space RDMA_PS_UDP or RDMA_PS_IPOIB.",
            "Check the port space given to rdma_create_id",
        );
    }
    let ready = matches!(
        progress,
        Progress::Unknown | Progress::Bound | Progress::AddressResolved | Progress::AddressFailed
    );
    if !ready {
        return caused_by_program(
            format!("the id cannot join now: {}", progress.phrase()),
            "An id joins when it is bound to an address of an RDMA port, or its address is resolved.",
            "Check the order of calls",
        );
    }
    caused_by_program(
        "the id cannot join this group",
        "Possible: the id is bound to the any-address and so to no device; the group address is not complete; or the join flags are not known.",
        "Bind to the address of an RDMA port, or resolve an address; check the group address",
    )
}

fn leave(q: &CallQuery) -> Option<Explanation> {
    (q.errno == 99).then(|| {
        caused_by(
            Who::ThisProcess,
            Severity::Warn,
            "the id is not in that group",
            "Possible: it was left before, or joined with another address.",
            "",
        )
    })
}
