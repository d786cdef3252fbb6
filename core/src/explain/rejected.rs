//! REJECTED and UNREACHABLE: the peer said no, or nothing.

use super::query::EventQuery;
use super::{policy, words, Port};
use crate::codes::reject;
use crate::model::{Explanation, Role, Severity, Transport, Who};
use std::time::Duration;

/// IB_CM_REJ_CONSUMER_DEFINED
const CONSUMER_DEFINED: i32 = 28;
const ECONNRESET: i32 = -104;
const ETIMEDOUT: i32 = -110;
const ECONNREFUSED: i32 = -111;
const EHOSTUNREACH: i32 = -113;

/// One failed client is an error for itself; one failed client of many is a warning for the server.
fn severity(role: Role) -> Severity {
    match role {
        Role::Server => Severity::Warn,
        _ => Severity::Error,
    }
}

/// REJECTED: a reason of the IB CM, or an errno on iWARP.
pub fn rejected(q: &EventQuery) -> Explanation {
    if let Some(reason) = q.policy.as_ref().filter(|_| by_policy(q)) {
        let known = reject::by_number(q.status);
        let code = known.map(|r| format!("REJECTED {}, {}", r.number, r.symbol));
        return policy::refused(reason, code.unwrap_or_default());
    }
    if q.status < 0 {
        return rejected_errno(q);
    }
    if q.transport == Transport::Iwarp {
        return odd(
            q,
            "iWARP gives a negative errno here, but this status is positive",
        );
    }
    match reject::by_number(q.status) {
        Some(r) => known(q, r),
        None => odd(q, "this reason is not in the InfiniBand specification"),
    }
}

/// Could a policy of the peer have ended it? rdma_reject gives these, and only a client is refused so.
fn by_policy(q: &EventQuery) -> bool {
    q.role != Role::Server && matches!(q.status, CONSUMER_DEFINED | ECONNREFUSED | ECONNRESET)
}

fn known(q: &EventQuery, r: &reject::Reject) -> Explanation {
    let code = format!("REJECTED {}, {}", r.number, r.symbol);
    if q.role == Role::Server {
        if let Some(e) = seen_by_server(r.number) {
            return Explanation { code, ..e };
        }
    }
    if r.number == CONSUMER_DEFINED && q.private_data {
        // A kernel's own reject, and the one for a dead program, carry no private data.
        return Explanation::new(
            r.who,
            severity(q.role),
            "refused",
            code,
            "the peer's program called rdma_reject and gave its reason in the private data",
        )
        .with_next("Read the private data and the peer's log at this moment");
    }
    Explanation::new(r.who, severity(q.role), "refused", code, r.summary)
        .with_cause(r.cause)
        .with_next(r.next)
}

/// On the server a reject answers our accept, and that changes the story.
fn seen_by_server(reason: i32) -> Option<Explanation> {
    let (summary, cause, next) = match reason {
        8 => (
            "the client's kernel refused our accept with a reason that Linux gives only to connect requests",
            "Possible: the client's system is not Linux; or its connection manager was loaded anew in between.",
            "On the client: rdma resource show cm_id, and dmesg",
        ),
        4 => (
            "the client gave up before our accept was complete",
            "Possible: its program destroyed the id; or its own timeout ran out, for this server was slow to accept or the client is impatient.",
            "Look at how long requests wait here (listen.min_backlog, slow work before rdma_accept), and at the client's log",
        ),
        10 => (
            "the client believes that the queue pair we accepted with is already connected to it",
            "Possible: this server was restarted or reset without a disconnect and got the same QP number again; or it uses a queue pair a second time.",
            "The client drops the old connection now: let it connect again",
        ),
        28 => (
            "the client turned back after our accept",
            "Possible: its program ended or destroyed the id; it called rdma_reject on our answer; or its queue pair could not be brought up.",
            "Read the client's log at this moment; cmshim there names a failed ibv_modify_qp",
        ),
        _ => return None,
    };
    let who = if matches!(reason, 8 | 10) {
        Who::PeerKernel
    } else {
        Who::PeerProgram
    };
    Some(
        Explanation::new(who, Severity::Warn, "refused", "", summary)
            .with_cause(cause)
            .with_next(next),
    )
}

fn rejected_errno(q: &EventQuery) -> Explanation {
    let s = severity(q.role);
    match q.status {
        ECONNREFUSED => Explanation::new(
            Who::PeerKernel,
            s,
            "refused",
            "",
            "nobody listens there, or the peer's program refused",
        )
        .with_cause("Is the server up, and bound to this address and port? Some iWARP drivers give the same number when the program called rdma_reject.")
        .with_next("On the peer: rdma resource show cm_id (ss -l does not list RDMA listeners)"),
        ECONNRESET => Explanation::new(
            Who::PeerProgram,
            s,
            "refused",
            "",
            "the peer's program refused, or ended before it answered",
        )
        .with_cause("The connection below was reset. Possible: rdma_reject, an exit with the request pending, or a TCP service that is no RDMA service on that port.")
        .with_next("Read the peer's log at this moment. On the peer: rdma resource show cm_id; ss -ltn for a plain TCP service on that port"),
        ETIMEDOUT => no_answer(q),
        other => Explanation::new(
            Who::PeerKernel,
            s,
            "refused",
            "",
            words::status_text(other),
        )
        .with_cause("The driver of this device gave the errno.")
        .with_next("dmesg on both ends; rdma link show"),
    }
}

fn odd(q: &EventQuery, what: &str) -> Explanation {
    let code = match q.status {
        0 => "REJECTED 0".to_string(),
        n => format!("REJECTED {n}, unknown reason"),
    };
    Explanation::new(
        Who::PeerKernel,
        severity(q.role),
        "refused",
        code,
        format!("the reason is unknown: {what}"),
    )
    .with_cause("Possible: the peer is not Linux; or it is newer than cmshim.")
    .with_next(reject::GENERAL_NEXT)
}

/// UNREACHABLE: no answer, or on datagram ids a SIDR status.
pub fn unreachable(q: &EventQuery) -> Explanation {
    if q.since_established.is_some() && q.status == ETIMEDOUT {
        return neighbour_changed(q);
    }
    match q.status {
        ETIMEDOUT if not_sent(q) => could_not_send(q),
        ETIMEDOUT => no_answer(q),
        EHOSTUNREACH | -101 => Explanation::new(
            Who::Network,
            severity(q.role),
            "failed",
            "",
            "the peer's address cannot be reached",
        )
        .with_cause("Possible: no route leads there any more; or no neighbour answers for it.")
        .with_next("ip route get PEER; ip neigh; ping PEER"),
        s if s > 0 => sidr(q, s),
        s => Explanation::new(
            Who::Network,
            severity(q.role),
            "failed",
            "",
            format!("the peer was not reached: {}", words::status_text(s)),
        )
        .with_next("ip route get PEER; ip neigh; rdma link show"),
    }
}

/// The CM of InfiniBand and RoCE repeats a message for many seconds before it gives up. An end far
/// below that is a send that failed at once: `cm_process_send_error` in cm.c.
fn not_sent(q: &EventQuery) -> bool {
    const AT_ONCE: Duration = Duration::from_secs(1);
    const FAR_BELOW: Duration = Duration::from_secs(10);
    let port_down = q.port.as_ref().is_some_and(Port::unusable);
    let limit = if port_down { FAR_BELOW } else { AT_ONCE };
    matches!(q.transport, Transport::Ib | Transport::Roce)
        && q.elapsed.is_some_and(|elapsed| elapsed < limit)
}

fn could_not_send(q: &EventQuery) -> Explanation {
    let message = match q.role {
        Role::Server => "accept",
        _ => "connect request",
    };
    let e = |summary, cause: &str, next: String| {
        Explanation::new(Who::ThisKernel, severity(q.role), "failed", "", summary)
            .with_cause(cause)
            .with_next(next)
    };
    match &q.port {
        Some(port) if port.unusable() => e(
            format!("could not send the {message}: {}", port.sentence()),
            "Possible: the network device was set down; or its cable, its switch port or the RDMA device is gone.",
            port.next(),
        ),
        port => e(
            format!("could not send the {message}: the send failed at once, nobody was waited for"),
            "Possible: the port went down in this moment; or the device no longer takes the packets of the connection manager.",
            port.as_ref().map_or_else(|| "rdma link show; dmesg".to_owned(), Port::next),
        ),
    }
}

/// After ESTABLISHED the kernel (since 6.0) sends UNREACHABLE when the neighbour entry of the peer
/// changes: `cma_netevent_callback` in cma.c. It looks only at the entry's link address, which is gone
/// too when the entry failed or its network device went down.
fn neighbour_changed(q: &EventQuery) -> Explanation {
    if let Some(port) = q.port.as_ref().filter(|p| p.unusable()) {
        return Explanation::new(
            Who::ThisKernel,
            Severity::Warn,
            "disturbed",
            "",
            format!("the neighbour entry of the peer is gone: {}", port.sentence()),
        )
        .with_cause("The network device went down while the connection was up. Nothing goes over the connection while it is.")
        .with_next(port.next());
    }
    Explanation::new(
        Who::Network,
        Severity::Warn,
        "disturbed",
        "",
        "the neighbour entry of the peer changed or failed while the connection was up",
    )
    .with_cause("Possible: the network device here went down and up; the peer no longer answers ARP; or its address moved to another port or host (fail-over, live migration, a duplicate IP address). This connection still sends to the old hardware address.")
    .with_next("ip neigh; ip monitor neigh; arping -D -I DEV PEER finds a duplicate address; connect again")
}

fn no_answer(q: &EventQuery) -> Explanation {
    if q.role == Role::Server {
        return Explanation::new(
            Who::Network,
            Severity::Warn,
            "timed out",
            "",
            "the client did not confirm our accept",
        )
        .with_cause("Possible: it died or lost its network in the middle of the handshake; or its last message (RTU) was lost each time.")
        .with_next("Is the client alive? ping PEER; ip neigh; packet loss: ethtool -S, perfquery");
    }
    let e = Explanation::new(
        Who::Network,
        severity(q.role),
        "timed out",
        "",
        "no answer to any connect request",
    );
    if q.same_host && q.transport != Transport::Iwarp {
        return e.with_cause(OWN_HOST_CAUSE).with_next(OWN_HOST_NEXT);
    }
    e.with_cause(no_answer_cause(q.transport))
        .with_next(no_answer_next(q.transport))
}

/// What silence can mean when the peer is this host. Soft-RoCE of Linux 6.1 was seen to answer
/// nothing more after its network device had been down.
pub const OWN_HOST_CAUSE: &str = "The peer is this host. Possible: the server's program has not taken the request; its listen backlog is full (the kernel then drops requests in silence); or the device receives nothing (Soft-RoCE may stay deaf after its network device was down and up).";
pub const OWN_HOST_NEXT: &str = "rdma resource show cm_id; sysctl net.rdma_ucm.max_backlog; rdma link show; for Soft-RoCE make the device anew: rdma link delete NAME; rdma link add NAME type rxe netdev NETDEV";

/// What silence can mean.
pub fn no_answer_cause(transport: Transport) -> &'static str {
    match transport {
        Transport::Iwarp => "Possible: the host is down; a firewall drops the TCP connection; or no iWARP device serves that address.",
        Transport::Ib => "Possible: the host is down or rebooting; no RDMA CM runs there (ib_cm not loaded); the path is stale; the server's program has not taken the request; or its listen backlog is full (the kernel there then drops requests in silence).",
        _ => "Possible: the host is down; no RDMA device serves that address; UDP 4791 is filtered, or the two ends use different RoCE versions; the server's program has not taken the request; or its listen backlog is full (the kernel there then drops requests in silence).",
    }
}

/// What to run against silence.
pub fn no_answer_next(transport: Transport) -> &'static str {
    match transport {
        Transport::Iwarp => "ping PEER; ip neigh. On the peer: rdma link show, and rdma resource show cm_id",
        Transport::Ib => "ping PEER; ibping. On the peer: ibstat, rdma resource show cm_id, sysctl net.rdma_ucm.max_backlog",
        _ => "ping PEER; ip neigh. On the peer: rdma link show, rdma resource show cm_id, sysctl net.rdma_ucm.max_backlog; tcpdump -ni any udp port 4791 (sees Soft-RoCE only, for hardware use ethtool -S)",
    }
}

/// Status of a SIDR reply (datagram ids): `enum ib_cm_sidr_status` in include/rdma/ib_cm.h.
fn sidr(q: &EventQuery, status: i32) -> Explanation {
    let (symbol, who, summary) = match status {
        1 => (
            "IB_SIDR_UNSUPPORTED",
            Who::PeerKernel,
            "nobody listens there for datagrams",
        ),
        2 => (
            "IB_SIDR_REJECT",
            Who::PeerProgram,
            "the peer's program said no, or ended before it answered",
        ),
        3 => (
            "IB_SIDR_NO_QP",
            Who::PeerKernel,
            "the peer has no queue pair for this service",
        ),
        4 => (
            "IB_SIDR_REDIRECT",
            Who::PeerKernel,
            "the peer sends us to another address",
        ),
        5 => (
            "IB_SIDR_UNSUPPORTED_VERSION",
            Who::PeerKernel,
            "the peer speaks another version of the protocol",
        ),
        _ => (
            "unknown status",
            Who::PeerKernel,
            "the peer refused with a status that is not in the specification",
        ),
    };
    Explanation::new(
        who,
        severity(q.role),
        "refused",
        format!("UNREACHABLE {status}, {symbol}"),
        summary,
    )
    .with_cause("Is the server up, and bound to this address, port and port space (UDP or IPoIB)?")
    .with_next("On the peer: rdma resource show cm_id")
}
