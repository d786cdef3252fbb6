//! Asynchronous events of a device (`enum ibv_event_type`, verbs.h): what ibv_get_async_event gives.

use crate::model::{Severity, Who};

/// What the event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    Cq,
    Qp,
    Srq,
    Wq,
    Port,
    Device,
}

impl Element {
    /// As it stands in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Element::Cq => "completion queue",
            Element::Qp => "queue pair",
            Element::Srq => "shared receive queue",
            Element::Wq => "work queue",
            Element::Port => "port",
            Element::Device => "device",
        }
    }
}

/// One asynchronous event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    pub number: i32,
    /// "IBV_EVENT_QP_FATAL"
    pub symbol: &'static str,
    pub severity: Severity,
    pub element: Element,
    pub who: Who,
    pub meaning: &'static str,
    pub cause: &'static str,
    pub next: &'static str,
}

const LINK: &str = "rdma link show; ip -br link; dmesg; on InfiniBand: ibstat and perfquery";
const QP: &str =
    "rdma resource show qp; the completions of this queue pair name the failed request; dmesg";

macro_rules! asyncs {
    ($($number:literal $symbol:ident $severity:ident $element:ident $who:ident, $meaning:expr, $cause:expr, $next:expr;)*) => {
        /// All of them, by number.
        pub static ALL: &[AsyncEvent] = &[$(AsyncEvent {
            number: $number,
            symbol: concat!("IBV_EVENT_", stringify!($symbol)),
            severity: Severity::$severity,
            element: Element::$element,
            who: Who::$who,
            meaning: $meaning,
            cause: $cause,
            next: $next,
        }),*];
    };
}

asyncs! {
    0 CQ_ERR Error Cq ThisProcess,
        "a completion queue overran and is dead",
        "More completions came than it has room for. Possible: the queue is smaller than the work posted on all its queue pairs; or the program does not poll it.",
        "Make the CQ larger (ibv_create_cq) than the sum of the send and receive queues that use it";
    1 QP_FATAL Error Qp ThisKernel,
        "a queue pair failed and is in the error state",
        "The device could not go on with it, for example because its completion queue failed or its memory could not be read.",
        QP;
    2 QP_REQ_ERR Error Qp PeerProgram,
        "a queue pair got an invalid request from its peer",
        "The peer sent something that does not fit: a wrong opcode or length, or more reads at once than agreed.",
        QP;
    3 QP_ACCESS_ERR Error Qp PeerProgram,
        "a queue pair's peer touched memory that it may not",
        "Possible: wrong rkey, address or length, memory that was deregistered, or access flags missing at ibv_reg_mr.",
        QP;
    4 COMM_EST Debug Qp PeerProgram,
        "a first message arrived before the handshake was complete",
        "The peer's last handshake message is late or lost; librdmacm programs call rdma_notify for this.",
        "Nothing, unless the connection then stays in its handshake";
    5 SQ_DRAINED Debug Qp ThisProcess,
        "a send queue is drained",
        "The program asked for it by moving the queue pair to SQD.",
        "Nothing";
    6 PATH_MIG Warn Qp ThisKernel,
        "a connection moved to its alternate path",
        "Possible: the primary path failed, or the migration was asked for.",
        LINK;
    7 PATH_MIG_ERR Error Qp ThisKernel,
        "a connection could not move to its alternate path",
        "Possible: primary and alternate path are both unusable, or the alternate path was never loaded right.",
        LINK;
    8 DEVICE_FATAL Error Device ThisKernel,
        "the RDMA device failed",
        "Possible: firmware or hardware error; or the driver resets the device. All its resources are lost.",
        "dmesg; devlink health show; all ids, QPs and CQs of this device must be destroyed and the device opened again";
    9 PORT_ACTIVE Info Port ThisKernel,
        "a port is active again",
        "The link came up.",
        "Nothing; rdma link show";
    10 PORT_ERR Error Port Network,
        "a port is down",
        "Possible: cable, switch port or subnet manager; or the network device was set down.",
        LINK;
    11 LID_CHANGE Warn Port Network,
        "the LID of a port changed",
        "The subnet manager gave it a new one; paths resolved before no longer lead here.",
        "sminfo; ibstat; long-lived connections may have to be made anew";
    12 PKEY_CHANGE Warn Port Network,
        "the P_Key table of a port changed",
        "The subnet manager changed the partitions; queue pairs in a removed partition go silent.",
        "grep -v 0x0000 /sys/class/infiniband/*/ports/*/pkeys/*";
    13 SM_CHANGE Info Port Network,
        "another subnet manager took over",
        "Possible: the subnet manager failed over or was restarted.",
        "sminfo";
    14 SRQ_ERR Error Srq ThisKernel,
        "a shared receive queue failed",
        "The device could not go on with it; its queue pairs will get errors.",
        "dmesg; destroy and create it anew with its queue pairs";
    15 SRQ_LIMIT_REACHED Info Srq ThisProcess,
        "a shared receive queue has fewer buffers than its limit",
        "The program asked to be told (srq_limit); it should now post more receives.",
        "Nothing, if the program refills it; otherwise peers will see RNR retries";
    16 QP_LAST_WQE_REACHED Debug Qp ThisKernel,
        "a queue pair took its last receive from the shared receive queue",
        "It is in the error state and will use no more; it may be destroyed now.",
        "Nothing";
    17 CLIENT_REREGISTER Info Port Network,
        "the subnet manager asks for new registrations",
        "Possible: it was restarted. Multicast groups and services must be joined again, which the kernel does for its own.",
        "Programs that joined multicast groups through umad must do so again";
    18 GID_CHANGE Info Port ThisKernel,
        "the GID table of a port changed",
        "Possible: an IP address or VLAN was added to or removed from the network device; connections on a removed GID break.",
        "ip addr; grep -v '^0000:0000:0000:0000:0000:0000' /sys/class/infiniband/*/ports/*/gids/*";
    19 WQ_FATAL Error Wq ThisKernel,
        "a work queue failed and is in the error state",
        "The device could not go on with it, for example because its completion queue failed.",
        "dmesg; destroy and create it anew";
    20 DEVICE_SPEED_CHANGE Info Port ThisKernel,
        "the speed of a port changed",
        "The link came up with another speed or width than before.",
        "rdma link show; ethtool";
}

/// Looks a number up.
pub fn by_number(number: i32) -> Option<&'static AsyncEvent> {
    usize::try_from(number).ok().and_then(|i| ALL.get(i))
}

/// Looks a name up: any case, `-` or `_` between words, with or without `IBV_EVENT_`.
pub fn by_name(name: &str) -> Option<&'static AsyncEvent> {
    let upper = name.trim().to_ascii_uppercase().replace('-', "_");
    let bare = upper.strip_prefix("IBV_EVENT_").unwrap_or(&upper);
    ALL.iter()
        .find(|e| e.symbol.strip_prefix("IBV_EVENT_") == Some(bare))
}
