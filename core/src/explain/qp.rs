//! Queue pairs, completion queues, shared receive queues.

use super::causes::{caused_by_kernel, caused_by_program};
use super::connect::over_limit;
use super::progress::Progress;
use super::query::CallQuery;
use crate::model::{Explanation, Role, Severity, Who};

/// Words for these calls, or none.
pub(super) fn call(q: &CallQuery) -> Option<Explanation> {
    match q.call {
        "rdma_create_qp" | "rdma_create_qp_ex" => rdma_create_qp(q),
        "rdma_init_qp_attr" => init_qp_attr(q),
        "ibv_create_qp" | "ibv_create_qp_ex" => create_qp(q),
        "ibv_create_cq" | "ibv_resize_cq" => create_cq(q),
        "rdma_create_srq" | "rdma_create_srq_ex" | "ibv_create_srq" | "ibv_create_srq_ex" => {
            create_srq(q)
        }
        "ibv_modify_qp" => modify_qp(q),
        _ => None,
    }
}

fn rdma_create_qp(q: &CallQuery) -> Option<Explanation> {
    if q.errno == 22 && q.facts.has_qp == Some(true) {
        return Some(caused_by_program(
            "the id has a queue pair already",
            "rdma_create_qp gives an id one queue pair.",
            "Call rdma_destroy_qp first, or use a fresh id",
        ));
    }
    if q.errno == 22 {
        return Some(over_limit(q).unwrap_or_else(|| {
            caused_by_program(
                "the id cannot take this queue pair",
                "Possible: the PD or a CQ belongs to another device; a CQ differs from the id's own; the QP type is not supported; or an attribute is above the device's limit.",
                "Use id->verbs for PD and CQs; ibv_devinfo -v (max_qp_wr, max_sge)",
            )
        }));
    }
    create_qp(q)
}

/// The kernel has attributes only while the connection is at a point where the state may be entered
/// (`cm_init_qp_init_attr` and its siblings in cm.c).
fn init_qp_attr(q: &CallQuery) -> Option<Explanation> {
    let (cause, next) = match (q.errno, q.role) {
        (22, Role::Server) if q.facts.progress == Progress::Request => (
            "Its client has gone before the answer. Possible: it was ended, gave up waiting, or destroyed its id.",
            "Destroy the id and take the next request; on the client, look why it ended",
        ),
        (22, Role::Server) => (
            "Possible: the client has ended the connection, or gave up waiting; or the state that was asked for is not the next one.",
            "Destroy the id and take the next request; on the client, look why it ended",
        ),
        (22, _) => (
            "Possible: the peer has ended the connection meanwhile; the id is not bound to a device yet (wait for ADDR_RESOLVED); or the state that was asked for is not the next one.",
            "ConnectionRequest for INIT once the route is resolved, for RTR and RTS once the peer has answered",
        ),
        _ => return None,
    };
    Some(caused_by_program(
        "the kernel has no attributes for this queue pair state",
        cause,
        next,
    ))
}

fn create_qp(q: &CallQuery) -> Option<Explanation> {
    if let (12 | 22, Some(bytes), None) = (q.errno, q.facts.inline, over_limit(q)) {
        return Some(too_much_inline(bytes));
    }
    Some(match q.errno {
        22 => over_limit(q).unwrap_or_else(|| {
            caused_by_program(
                "the device does not take these attributes",
                "Possible: queue depth, scatter entries or inline size are above its limit; a CQ is missing; or the QP type is not supported.",
                "ibv_devinfo -v (max_qp_wr, max_sge); dmesg",
            )
        }),
        12 => over_limit(q).unwrap_or_else(|| no_room(q, "queue pair", "qp", "max_qp, max_qp_wr")),
        28 => no_room(q, "queue pair", "qp", "max_qp"),
        1 | 13 => caused_by_kernel(
            "this process may not create this queue pair",
"Possible: it is a raw packet queue pair, which needs CAP_NET_RAW; or the process forked or changed its user after it opened the device.",
"Run with CAP_NET_RAW, or use another QP type; open the device after the fork or change of user",
        ),
        95 | 38 => caused_by_kernel(
            "the device does not have this kind of queue pair",
            "",
            "ibv_devinfo -v; rdma link show",
        ),
        _ => return None,
    })
}

/// A device does not tell how much inline data it takes, so programs (libfabric, UCX) try, and a
/// failure is how they learn it.
fn too_much_inline(bytes: u32) -> Explanation {
    let e = caused_by_program(
        format!("probably more inline data than the device takes ({bytes} bytes)"),
        "All other attributes are within its limits. Some programs find this limit by trying, and then this is no error.",
        "If the program ends here: lower its max_inline_data",
    );
    Explanation {
        severity: Severity::Info,
        ..e
    }
}

/// ENOMEM and friends: device full, cgroup limit, or pinned memory.
fn no_room(q: &CallQuery, what: &str, resource: &str, limits: &str) -> Explanation {
    let memlock = match q.facts.memlock {
        Some(limit) if limit != u64::MAX => format!(
            " The limit of locked memory is {}, and queues count as locked memory with some providers.",
            super::words::bytes(limit)
        ),
        _ => String::new(),
    };
    caused_by_kernel(
        format!("no {what} is left, or no memory for it"),
        format!("Possible: the device's limit is reached (leaked on failed connections?); or memory is short.{memlock}"),
        format!("rdma resource show; rdma resource show {resource} | wc -l; ibv_devinfo -v ({limits}); ulimit -l"),
    )
}

fn create_cq(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => over_limit(q).unwrap_or_else(|| {
            caused_by_program(
                "the device does not take this completion queue",
                "Possible: the number of entries is 0 or above max_cqe; or the completion vector does not exist.",
                "ibv_devinfo -v (max_cqe, num_comp_vectors)",
            )
        }),
        12 | 28 => {
            over_limit(q).unwrap_or_else(|| no_room(q, "completion queue", "cq", "max_cq, max_cqe"))
        }
        16 => caused_by_program(
            "the queue holds more completions than the new size",
            "",
            "Poll it empty first",
        ),
        _ => return None,
    })
}

fn create_srq(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => over_limit(q).unwrap_or_else(|| {
            caused_by_program(
                "the device does not take this shared receive queue",
                "Possible: depth or scatter entries are 0 or above its limit; or srq_type is missing.",
                "ibv_devinfo -v (max_srq_wr, max_srq_sge)",
            )
        }),
        12 | 28 => over_limit(q)
            .unwrap_or_else(|| no_room(q, "shared receive queue", "srq", "max_srq, max_srq_wr")),
        95 | 38 => caused_by_kernel(
            "the device has no shared receive queues",
            "",
            "ibv_devinfo -v (max_srq)",
        ),
        _ => return None,
    })
}

/// What a failed ibv_modify_qp means while a connection is made.
pub(super) fn modify_cause(number: i32, to: Option<&str>) -> &'static str {
    match number {
        22 if to == Some("INIT") => "Possible: the port, the P_Key index or the access flags are not valid for this device; or the queue pair is in another state than believed.",
        22 => "Possible on the way to RTR: a GID that is gone, an MTU above the port's, or too many reads at once; on the way to RTS: a wrong timeout or retry count; anywhere: the queue pair is in another state than believed.",
        110 => "Possible: neighbour discovery for the peer's GID got no answer; or the device did not answer the command.",
        19 => "Possible: the port or the GID is gone (link down, address or VLAN removed).",
        12 => "Possible: memory or a device table is full.",
        101 | 113 => "Possible: no route leads to the peer's GID; or no neighbour answers for it.",
        5 => "Possible: the device failed or was removed.",
        _ => "The driver gave no more than this errno.",
    }
}

/// A neighbour that does not answer is the network's doing, the rest is found here.
pub(super) fn modify_who(number: i32) -> Who {
    match number {
        110 | 101 | 113 => Who::Network,
        _ => Who::ThisKernel,
    }
}

fn modify_qp(q: &CallQuery) -> Option<Explanation> {
    let change = match q.facts.qp_state {
        Some((from, to)) => format!("the queue pair did not go from {from} to {to}"),
        None => "the queue pair did not change its state".to_string(),
    };
    let teardown = matches!(q.facts.qp_state, Some((_, "ERR" | "RESET")));
    if teardown && q.facts.disconnected {
        return Some(super::causes::caused_by(
            Who::ThisKernel,
            Severity::Debug,
            change,
            "The connection is gone already. This is harmless.",
            "",
        ));
    }
    let next = "rdma link show; ip neigh; ibv_devinfo -v (active_mtu, max_qp_rd_atom); grep -v '^0000:0000:0000:0000:0000:0000' /sys/class/infiniband/*/ports/*/gids/*; dmesg";
    let mut e = caused_by_kernel(
        change,
        modify_cause(q.errno, q.facts.qp_state.map(|(_, to)| to)),
        next,
    );
    e.who = modify_who(q.errno);
    Some(e)
}
