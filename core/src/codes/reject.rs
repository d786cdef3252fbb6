//! Reasons of an IB CM reject: the status of REJECTED on InfiniBand and RoCE.
//!
//! Numbers and words: IBTA volume 1, 12.6.7.2 "Rejection reason"; names: `enum ib_cm_rej_reason` in
//! `include/rdma/ib_cm.h`. 34 is not assigned by the kernel; 35 is used by the ECE calls.
//!
//! Who can send what was read in `drivers/infiniband/core/{cm,cma,ucma}.c` (6.1). Linux itself sends
//! only 4, 8, 10, 12, 18 and 28, and 35 when a program calls `rdma_reject_ece`; the others come
//! from kernel services that use the CM directly (SRP target), or from systems that are not Linux.

use crate::model::Who;

/// One reject reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    pub number: i32,
    /// Name in the kernel's enum.
    pub symbol: &'static str,
    /// Words of the IBTA specification.
    pub words: &'static str,
    pub who: Who,
    pub summary: &'static str,
    pub cause: &'static str,
    pub next: &'static str,
}

const PEER_CM: &str = "On the peer: rdma resource show cm_id, and dmesg";
const PATH: &str = "On InfiniBand ask the subnet manager for the path: saquery -p; restart the connection after the fabric has settled";
const ALT: &str = "Connect without an alternate path, or have it resolved anew";
const FOREIGN: &str = "Linux does not send this reason by itself: look at what kind of system or kernel service the peer is. On the peer: dmesg";

macro_rules! rejects {
    ($($number:literal $symbol:ident $words:literal $who:ident, $summary:expr, $cause:expr, $next:expr;)*) => {
        /// All of them, by number.
        pub static ALL: &[Reject] = &[$(Reject {
            number: $number,
            symbol: concat!("IB_CM_REJ_", stringify!($symbol)),
            words: $words,
            who: Who::$who,
            summary: $summary,
            cause: $cause,
            next: $next,
        }),*];
    };
}

rejects! {
    1 NO_QP "no QP available" PeerKernel,
        "the peer has no queue pair left for us",
        "Possible: its RDMA device or its resource limits are used up, often by queue pairs that leaked in failed connections.",
        "On the peer: rdma resource show, and compare with max_qp of ibv_devinfo -v";
    2 NO_EEC "no end-to-end context available" PeerKernel,
        "the peer has no end-to-end context for reliable datagrams",
        "Reliable datagram is not implemented on Linux: the request asks for a service that the peer cannot give.",
        FOREIGN;
    3 NO_RESOURCES "no resources available" PeerKernel,
        "the peer is out of resources",
        "Possible: memory, queue pairs or the session limit of a kernel service (an SRP target for example) are used up there. A listener of a program that is full does not say so: it drops the request in silence.",
        "On the peer: dmesg, free -m, rdma resource show";
    4 TIMEOUT "timeout" PeerKernel,
        "the peer stopped waiting",
        "It gave up before the handshake was complete. Possible: its timeout is shorter than our delay; or messages were lost on the way.",
        "Compare the clocks of both logs; look for repeated messages: grep . /sys/class/infiniband/*/ports/*/cm_tx_retries/*";
    5 UNSUPPORTED "unsupported request" PeerKernel,
        "the peer does not support the kind of request",
        "Possible: the service type or an option of the request is unknown to it.",
        FOREIGN;
    6 INVALID_COMM_ID "invalid communication ID" PeerKernel,
        "the peer does not know the handshake that our message belongs to",
        "Possible: it has forgotten this connection attempt: it gave up, crashed or was restarted in the middle of the handshake.",
        "Connect again; if it stays, on the peer: rdma resource show cm_id, and dmesg";
    7 INVALID_COMM_INSTANCE "invalid communication instance" PeerKernel,
        "the peer does not know the instance that our message belongs to",
        "Possible: it has forgotten this connection attempt: it gave up, crashed or was restarted in the middle of the handshake.",
        "Connect again; if it stays, on the peer: rdma resource show cm_id, and dmesg";
    8 INVALID_SERVICE_ID "invalid service ID" PeerKernel,
        "nobody listens there",
        "Is the server up, and bound to this address and port (and to the same port space)?",
        "On the peer: rdma resource show cm_id (ss -l does not list RDMA listeners)";
    9 INVALID_TRANSPORT_TYPE "invalid transport service type" PeerKernel,
        "the peer's service uses another transport type",
        "Possible: the two programs disagree about the kind of queue pair (RC, UC, XRC or UD).",
        "Compare the port space and QP type of both programs. On the peer: rdma resource show cm_id";
    10 STALE_CONN "stale connection" PeerKernel,
        "the peer believes that our queue pair is already connected to it",
        "Possible: this host crashed, lost power or was reset without a disconnect; or this QP number is used again while the peer still holds its old connection.",
        "The peer now drops the old connection: connect again, best with a new queue pair. On the peer: rdma resource show qp";
    11 RDC_NOT_EXIST "RDC does not exist" PeerKernel,
        "the peer has no reliable datagram channel of that kind",
        "Reliable datagram is not implemented on Linux.",
        FOREIGN;
    12 INVALID_GID "invalid GID" PeerKernel,
        "the peer's kernel cannot use the GIDs of our request",
        "Possible: the GID is not (or no longer) in its table, for an address or VLAN changed or the two ends use different RoCE versions; or the P_Key is missing there.",
        "On both ends: show_gids, or grep -v '^0000:0000:0000:0000:0000:0000' /sys/class/infiniband/*/ports/*/gids/*";
    13 INVALID_LID "invalid LID" PeerKernel,
        "the peer does not accept the LID of the path",
        "Possible: the subnet manager gave out new LIDs after this path was resolved.",
        PATH;
    14 INVALID_SL "invalid service level" PeerKernel,
        "the peer does not accept the service level of the path",
        "Possible: the fabric's QoS setting and the path in the request do not agree.",
        PATH;
    15 INVALID_TRAFFIC_CLASS "invalid traffic class" PeerKernel,
        "the peer does not accept the traffic class of the path",
        "Possible: the type of service (rdma_set_option, or default_roce_tos of rdma_cm) does not suit the peer.",
        "Try without a type of service; compare the settings of both ends";
    16 INVALID_HOP_LIMIT "invalid hop limit" PeerKernel,
        "the peer does not accept the hop limit of the path",
        "Possible: the path through a router is described wrongly, or the two ends disagree about being in one subnet.",
        PATH;
    17 INVALID_PACKET_RATE "invalid packet rate" PeerKernel,
        "the peer does not accept the packet rate of the path",
        "Possible: the rate in the path record is not one that the peer's port can do; did a link come up slower than before?",
        "Compare the link speed of both ports: rdma link show, ibstat, ethtool";
    18 INVALID_ALT_GID "invalid alternate GID" PeerKernel,
        "the peer's kernel cannot use the GIDs of the alternate path",
        "Possible: the alternate path points to a port or address that the peer does not have.",
        ALT;
    19 INVALID_ALT_LID "invalid alternate LID" PeerKernel,
        "the peer does not accept the LID of the alternate path",
        "Possible: the subnet manager gave out new LIDs after the alternate path was resolved.",
        ALT;
    20 INVALID_ALT_SL "invalid alternate service level" PeerKernel,
        "the peer does not accept the service level of the alternate path",
        "Possible: the fabric's QoS setting and the alternate path do not agree.",
        ALT;
    21 INVALID_ALT_TRAFFIC_CLASS "invalid alternate traffic class" PeerKernel,
        "the peer does not accept the traffic class of the alternate path",
        "Possible: the type of service of the alternate path does not suit the peer.",
        ALT;
    22 INVALID_ALT_HOP_LIMIT "invalid alternate hop limit" PeerKernel,
        "the peer does not accept the hop limit of the alternate path",
        "Possible: the alternate path through a router is described wrongly.",
        ALT;
    23 INVALID_ALT_PACKET_RATE "invalid alternate packet rate" PeerKernel,
        "the peer does not accept the packet rate of the alternate path",
        "Possible: the rate of the alternate path is not one that the peer's second port can do.",
        ALT;
    24 PORT_CM_REDIRECT "port and CM redirection" PeerKernel,
        "the peer sends us to another port and another connection manager",
        "It wants the request at a different address, which is in the additional reject information. librdmacm does not follow it.",
        "Connect to the address that the peer's administrator gives for this service";
    25 PORT_REDIRECT "port redirection" PeerKernel,
        "the peer sends us to another of its ports",
        "It wants the request at a different port GID (SRP targets do so). librdmacm does not follow it.",
        "Connect to the address of the other port";
    26 INVALID_MTU "invalid path MTU" PeerKernel,
        "the peer does not accept the path MTU",
        "Possible: the MTU of the request is larger than its port can do: the network MTUs of the two hosts or of the switch differ.",
        "On both ends: ip link show (mtu) and ibv_devinfo (active_mtu); on RoCE the RDMA MTU follows the network device's";
    27 INSUFFICIENT_RESP_RESOURCES "insufficient responder resources" PeerKernel,
        "the peer cannot serve that many RDMA reads and atomics at once",
        "initiator_depth in our rdma_connect is larger than what the peer's device offers (max_qp_rd_atom).",
        "ConnectionRequest for less, or for RDMA_MAX_INIT_DEPTH. On the peer: ibv_devinfo -v (max_qp_rd_atom)";
    28 CONSUMER_DEFINED "consumer reject" PeerProgram,
        "no consent from the peer: its program said no or ended, or its listener is on another address",
        "Possible: it called rdma_reject; its accept failed; it exited with the request pending; its listener was closed; somebody listens on that port but on another address; or the peer's routing does not lead back to our address.",
        "Read the peer's log at this moment. On the peer: rdma resource show cm_id, and ip route get HERE (the address of this host)";
    29 INVALID_RNR_RETRY "invalid RNR retry count" PeerKernel,
        "the peer does not accept the RNR retry count",
        "rnr_retry_count in the request does not suit it (0 to 7; 7 means for ever).",
        "Set rnr_retry_count of rdma_connect to 7 and try again";
    30 DUPLICATE_LOCAL_COMM_ID "duplicate local communication ID" PeerKernel,
        "the peer already has a handshake with the same id of ours",
        "Possible: this host was restarted in the middle of a handshake, or an old request was repeated late by the network.",
        "Connect again after some seconds; if it stays, on the peer: rdma resource show cm_id";
    31 INVALID_CLASS_VERSION "unsupported class version" PeerKernel,
        "the peer speaks another version of the connection manager's protocol",
        "Possible: one of the two ends is very old, or not what it is taken for.",
        FOREIGN;
    32 INVALID_FLOW_LABEL "invalid flow label" PeerKernel,
        "the peer does not accept the flow label of the path",
        "Possible: the flow label in the path record does not suit it.",
        PATH;
    33 INVALID_ALT_FLOW_LABEL "invalid alternate flow label" PeerKernel,
        "the peer does not accept the flow label of the alternate path",
        "Possible: the flow label in the alternate path record does not suit it.",
        ALT;
    35 VENDOR_OPTION_NOT_SUPPORTED "vendor option not supported" PeerProgram,
        "the peer's program does not support the vendor options of our request",
        "It called rdma_reject_ece: the enhanced connection options (ECE) of the two devices, drivers or rdma-core versions do not go together.",
        "Compare both ends: ethtool -i, ibv_devinfo (firmware), and the version of rdma-core";
}

/// Looks a number up.
pub fn by_number(number: i32) -> Option<&'static Reject> {
    ALL.binary_search_by_key(&number, |r| r.number)
        .ok()
        .map(|i| &ALL[i])
}

/// Looks a name up: any case, `-` or `_` between words, with or without `IB_CM_REJ_`.
pub fn by_name(name: &str) -> Option<&'static Reject> {
    let upper = name.trim().to_ascii_uppercase().replace(['-', ' '], "_");
    let bare = upper.strip_prefix("IB_CM_REJ_").unwrap_or(&upper);
    ALL.iter()
        .find(|r| r.symbol.strip_prefix("IB_CM_REJ_") == Some(bare))
}

/// What to look at when nothing better is known.
pub const GENERAL_NEXT: &str = PEER_CM;
