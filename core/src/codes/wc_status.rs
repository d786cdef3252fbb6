//! Status of a work completion (`enum ibv_wc_status`, verbs.h): what ibv_poll_cq gives.
//!
//! Meanings: IBTA volume 1, 11.6.2 "Completion return status". 3, 14, 17 and 18 belong to reliable
//! datagrams, which no driver of Linux offers; 22 and 23 to tag matching.

use crate::model::{Severity, Who};

/// One completion status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WcStatus {
    pub number: i32,
    /// "IBV_WC_RETRY_EXC_ERR"
    pub symbol: &'static str,
    pub severity: Severity,
    pub who: Who,
    pub meaning: &'static str,
    pub cause: &'static str,
    pub next: &'static str,
}

const PEER_COMPLETIONS: &str = "Read what the peer's program says of its own completions at this moment; on the peer: rdma resource show qp, and dmesg";
const KEYS: &str = "Compare address, length and rkey with what the peer registered, and that it still is registered; on the peer: rdma resource show mr";
const DATAGRAM: &str = "Linux has no reliable datagrams: suspect the driver or a number that is no completion status. dmesg; ethtool -i (driver and firmware)";
const DEVICE: &str = "dmesg; rdma link show; ethtool -i (driver and firmware)";

macro_rules! statuses {
    ($($number:literal $symbol:ident $severity:ident $who:ident, $meaning:expr, $cause:expr, $next:expr;)*) => {
        /// All of them, by number.
        pub static ALL: &[WcStatus] = &[$(WcStatus {
            number: $number,
            symbol: concat!("IBV_WC_", stringify!($symbol)),
            severity: Severity::$severity,
            who: Who::$who,
            meaning: $meaning,
            cause: $cause,
            next: $next,
        }),*];
    };
}

statuses! {
    0 SUCCESS Debug ThisKernel,
        "the work request was done",
        "",
        "Nothing";
    1 LOC_LEN_ERR Error ThisProcess,
        "a length does not fit on this side",
        "Possible: a posted receive buffer is smaller than the message that came, or a send is larger than the port or the path MTU of a datagram allows.",
        "Compare the size of the receive buffers with the messages of the peer; for datagrams leave 40 bytes for the GRH and look at active_mtu of ibv_devinfo";
    2 LOC_QP_OP_ERR Error ThisProcess,
        "the queue pair found something wrong in its own work request",
        "Possible: the request does not fit the queue pair: an operation that its type does not have, too many or wrong entries of the gather list, or a queue pair in the wrong state.",
        "Check opcode, sg_list and num_sge of the request named by wr_id; rdma resource show qp; dmesg";
    3 LOC_EEC_OP_ERR Error ThisKernel,
        "an end-to-end context found an error of its own (reliable datagrams)",
        "",
        DATAGRAM;
    4 LOC_PROT_ERR Error ThisProcess,
        "a local buffer is not covered by a memory registration",
        "Possible: the lkey in the gather list is wrong, the memory was deregistered already, it lies outside of the registration, or it belongs to another protection domain.",
        "Check lkey, address and length of the request named by wr_id; rdma resource show mr";
    5 WR_FLUSH_ERR Error ThisProcess,
        "the request was thrown away, because the queue pair is in the error state",
        "It is the consequence of something else: an earlier completion of this queue pair has the real error, or the connection was ended by either side. At an orderly end every receive that is still posted completes like this.",
        "Look for the first completion with another status, and for the DISCONNECTED event before it; the peer's log";
    6 MW_BIND_ERR Error ThisProcess,
        "a memory window could not be bound",
        "Possible: the window and its registration do not belong together, or the registration does not allow windows (IBV_ACCESS_MW_BIND).",
        "Check the access flags of ibv_reg_mr, and that both are in one protection domain";
    7 BAD_RESP_ERR Error PeerKernel,
        "the peer answered with a packet that was not expected",
        "Possible: the two queue pairs are out of step: a wrong packet number or opcode, often after one side made its queue pair anew.",
        PEER_COMPLETIONS;
    8 LOC_ACCESS_ERR Error ThisProcess,
        "a local buffer may not be written",
        "Possible: the registration lacks IBV_ACCESS_LOCAL_WRITE, or data came for memory that was registered only for reading.",
        "Register the memory with IBV_ACCESS_LOCAL_WRITE";
    9 REM_INV_REQ_ERR Error PeerKernel,
        "the peer found our request not valid",
        "Possible: its queue pair does not allow the operation, its receive buffer is smaller than our message, or we ask for more RDMA reads and atomics at once than it was told.",
        "Compare message size and the peer's receive buffers; responder_resources and initiator_depth of both ends; qp_access_flags on the peer";
    10 REM_ACCESS_ERR Error PeerKernel,
        "the peer does not let us read or write there",
        "Possible: the rkey is wrong or no longer valid, the range lies outside of the registration, or it lacks the right (IBV_ACCESS_REMOTE_WRITE, READ or ATOMIC).",
        KEYS;
    11 REM_OP_ERR Error PeerKernel,
        "the peer could not finish our request",
        "Something failed on its side while it worked on the request, for example its receive buffer had a wrong lkey; its own completion tells what.",
        PEER_COMPLETIONS;
    12 RETRY_EXC_ERR Error Network,
        "the peer does not acknowledge: all retries of the transport are used up",
        "Possible: the peer's program or host is gone, its queue pair is in the error state, the path is wrong (GID, VLAN, MTU), or packets are lost: on RoCE often priority flow control, ECN or a filter on UDP 4791.",
        "Does the peer's program still run? On the peer: rdma resource show qp; on both ends: rdma link show, ping of the RDMA address with the full MTU (ping -M do -s), and the drop counters (rdma statistic show; ethtool -S)";
    13 RNR_RETRY_EXC_ERR Error PeerProgram,
        "the peer has no receive posted (receiver not ready), and all retries are used up",
        "Possible: the peer's program posted no receives, too few, or too late; a shared receive queue ran empty.",
        "On the peer: post receives before the connection is accepted, and more of them; on this side rnr_retry_count 7 of rdma_connect and rdma_accept retries for ever";
    14 LOC_RDD_VIOL_ERR Error ThisKernel,
        "the reliable datagram domains do not agree",
        "",
        DATAGRAM;
    15 REM_INV_RD_REQ_ERR Error PeerKernel,
        "the peer found a reliable datagram request not valid",
        "",
        DATAGRAM;
    16 REM_ABORT_ERR Error PeerProgram,
        "the peer gave up the operation",
        "Possible: its queue pair was reset or suspended while it worked on the request.",
        PEER_COMPLETIONS;
    17 INV_EECN_ERR Error ThisKernel,
        "the number of an end-to-end context is not valid (reliable datagrams)",
        "",
        DATAGRAM;
    18 INV_EEC_STATE_ERR Error ThisKernel,
        "an end-to-end context is in the wrong state (reliable datagrams)",
        "",
        DATAGRAM;
    19 FATAL_ERR Error ThisKernel,
        "the device failed and cannot tell what became of the request",
        "Possible: it was reset or removed, or its driver found it broken.",
        DEVICE;
    20 RESP_TIMEOUT_ERR Error Network,
        "the peer did not respond in time",
        "The request was taken, but no response came back.",
        PEER_COMPLETIONS;
    21 GENERAL_ERR Error ThisKernel,
        "an error that no other status describes",
        "The driver has a code of its own for it (vendor_err of the completion).",
        "Print vendor_err of the completion and look it up at the device's vendor; dmesg";
    22 TM_ERR Error ThisProcess,
        "a request of tag matching failed",
        "Possible: the tag list is not in step with the device, or an entry is gone.",
        "Check the arguments of ibv_post_srq_ops, and that the device offers tag matching: ibv_devinfo -v";
    23 TM_RNDV_INCOMPLETE Warn ThisProcess,
        "a message of tag matching came only in part; the program must fetch the rest",
        "The device could not do the rendezvous by itself, for example because the peer's header is not what it expects.",
        "Fetch the rest by an RDMA read of the program";
}

/// Looks a number up.
pub fn by_number(number: i32) -> Option<&'static WcStatus> {
    usize::try_from(number).ok().and_then(|i| ALL.get(i))
}

/// Looks a name up: any case, `-` or `_` between words, with or without `IBV_WC_`.
pub fn by_name(name: &str) -> Option<&'static WcStatus> {
    let upper = name.trim().to_ascii_uppercase().replace('-', "_");
    let bare = upper.strip_prefix("IBV_WC_").unwrap_or(&upper);
    ALL.iter()
        .find(|s| s.symbol.strip_prefix("IBV_WC_") == Some(bare))
}
