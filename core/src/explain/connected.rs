//! Events after ESTABLISHED, and those of device and multicast group.

use super::query::EventQuery;
use super::words;
use crate::model::{Explanation, Role, Severity, Who};

/// DISCONNECTED: mostly the normal end.
pub fn disconnected(q: &EventQuery) -> Explanation {
    if q.status == -110 {
        return no_goodbye(q);
    }
    if q.status == -104 && !q.we_disconnected {
        return reset();
    }
    if q.we_disconnected {
        return Explanation::new(
            Who::ThisProcess,
            Severity::Debug,
            "ended",
            "",
            "disconnected as this program asked",
        );
    }
    match q.since_established {
        Some(lived) if lived < q.short_lived => short_lived(q),
        // The kernel of a program that died disconnects for it.
        _ => Explanation::new(
            Who::PeerProgram,
            Severity::Info,
            "ended",
            "",
            "the peer disconnected, or its program died",
        )
        .with_next("If it should not have: read the peer's log at this moment"),
    }
}

/// Our DREQ was repeated and never answered (IB_CM_DREQ_ERROR in cma.c).
fn no_goodbye(q: &EventQuery) -> Explanation {
    let severity = if q.we_disconnected {
        Severity::Info
    } else {
        Severity::Warn
    };
    Explanation::new(
        Who::Network,
        severity,
        "ended",
        "",
        "the peer did not answer our disconnect",
    )
    .with_cause("Possible: it died or was cut off before; or this host could not send. The connection is gone on this side in any case.")
    .with_next("Is the peer alive? ping PEER; ip neigh")
}

/// iWARP: the TCP connection below was reset instead of closed.
fn reset() -> Explanation {
    Explanation::new(
        Who::PeerProgram,
        Severity::Warn,
        "ended",
        "",
        "the connection was reset by the peer",
    )
    .with_cause("Possible: its program died or destroyed the queue pair without a disconnect; or its host was restarted.")
    .with_next("Read the peer's log at this moment. On the peer: dmesg")
}

/// Many programs end a short connection from the server's side. On the client it is bad news only if
/// not one packet went over it.
fn short_lived(q: &EventQuery) -> Explanation {
    let e = |severity, summary: &str| {
        Explanation::new(Who::PeerProgram, severity, "ended", "", summary)
    };
    match q.role {
        Role::Server => e(
            Severity::Info,
            "the client disconnected at once, or its program ended",
        )
        .with_cause("A health check or a port scan looks like this, and so does a client that did not like our answer.")
        .with_next("Read the client's log at this moment"),
        _ if !q.no_data => e(Severity::Info, "the peer disconnected soon")
            .with_next("If that is not what it should do: read the peer's log at this moment"),
        _ => e(
            Severity::Warn,
            "the peer took the connection and dropped it before any data, or its program ended",
        )
        .with_cause("Typical: it refused the log-in or the protocol version after accepting, hit its connection limit, could not register memory, or crashed.")
        .with_next("Read the peer's log at this moment; the completions of this QP tell if data was lost"),
    }
}

pub fn device_removal() -> Explanation {
    Explanation::new(
        Who::ThisKernel,
        Severity::Error,
        "ended",
        "",
        "the local RDMA device is being removed",
    )
    .with_cause("Possible: driver unload or reset, firmware error recovery, PCI hot-unplug, rdma link delete, or a namespace that goes away. The removal waits until the program has destroyed its ids and resources.")
    .with_next("dmesg; rdma link show; programs that still hold it: rdma resource show cm_id")
}

pub fn addr_change() -> Explanation {
    Explanation::new(
        Who::ThisKernel,
        Severity::Warn,
        "disturbed",
        "",
        "the network device below this connection changed its hardware address",
    )
    .with_cause("Possible: a bond failed over to another port. The kernel keeps the connection, but packets may go nowhere.")
    .with_next("ip -s link show; cat /proc/net/bonding/*; connect again if traffic stops")
}

pub fn timewait_exit() -> Explanation {
    Explanation::new(
        Who::ThisKernel,
        Severity::Debug,
        "reported",
        "",
        "the time-wait of the ended connection is over",
    )
}

/// MULTICAST_ERROR: the join failed, or the membership was lost.
pub fn multicast_error(q: &EventQuery) -> Explanation {
    let e = |who, summary: String| Explanation::new(who, Severity::Error, "failed", "", summary);
    match (q.status, q.nested) {
        (-1, nested) => e(
            Who::ThisKernel,
            match nested {
                Some((call, number)) => format!(
                    "the group was joined, but {call} failed: {}",
                    crate::codes::errno::label(number)
                ),
                None => "the group was joined, but the queue pair could not be attached to it".into(),
            },
        )
        .with_cause("Possible: the QP is not of type UD; or the device's limit of multicast attachments is reached.")
        .with_next("ibv_devinfo -v (max_mcast_grp, max_mcast_qp_attach)"),
        (-110, _) => e(Who::Network, "the subnet manager did not answer the join".into())
            .with_cause("Possible: no subnet manager runs; or it is overloaded.")
            .with_next("sminfo; ibstat"),
        (-102, _) => e(Who::Network, "the membership was lost and must be joined again".into())
            .with_cause("Possible: the port or the subnet manager went through a reset.")
            .with_next("Leave and join the group again; sminfo"),
        (status, _) => e(
            Who::Network,
            format!("the join was refused: {}", words::status_text(status)),
        )
        .with_cause("On InfiniBand the subnet manager refuses a join whose P_Key, MTU, rate or scope does not fit the group, or when no group exists and none may be made.")
        .with_next("saquery -g; sminfo; ip maddr show"),
    }
}
