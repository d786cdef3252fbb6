//! RDMA CM events (`enum rdma_cm_event_type`, `rdma_cma.h` of rdma-core 64).
//!
//! 0 to 15 exist since rdma-core 1; 16 to 19 came with rdma-core 60, and an older
//! librdmacm never delivers them.

/// One event of the connection manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmEvent {
    pub number: i32,
    /// "REJECTED"
    pub name: &'static str,
    /// "RDMA_CM_EVENT_REJECTED"
    pub symbol: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

macro_rules! events {
    ($($number:literal $name:ident $meaning:literal),* $(,)?) => {
        /// All of them, by number.
        pub static ALL: &[CmEvent] = &[$(CmEvent {
            number: $number,
            name: stringify!($name),
            symbol: concat!("RDMA_CM_EVENT_", stringify!($name)),
            meaning: $meaning,
        }),*];
        $(
            #[doc = $meaning]
            pub const $name: i32 = $number;
        )*
    };
}

events! {
    0 ADDR_RESOLVED "The address was resolved: a local RDMA device and the peer's link address are known.",
    1 ADDR_ERROR "The address could not be resolved to a device and a neighbour.",
    2 ROUTE_RESOLVED "The route to the peer was resolved.",
    3 ROUTE_ERROR "The route to the peer could not be resolved.",
    4 CONNECT_REQUEST "A peer asks this listener for a connection.",
    5 CONNECT_RESPONSE "The peer accepted; an id without a queue pair of librdmacm must now call rdma_establish.",
    6 CONNECT_ERROR "The connection could not be established because of a local or transport error.",
    7 UNREACHABLE "The peer did not answer, or cannot be reached.",
    8 REJECTED "The peer refused the connection; the status is the reason.",
    9 ESTABLISHED "The connection is up.",
    10 DISCONNECTED "The connection was ended by either side.",
    11 DEVICE_REMOVAL "The local RDMA device of this id is being removed.",
    12 MULTICAST_JOIN "The multicast group was joined.",
    13 MULTICAST_ERROR "The multicast group could not be joined, or the membership was lost.",
    14 ADDR_CHANGE "The network device below this id changed its hardware address, for example by a bonding fail-over.",
    15 TIMEWAIT_EXIT "The waiting time after the end of the connection is over; its queue pair may be used again.",
    16 ADDRINFO_RESOLVED "The service name or id was resolved.",
    17 ADDRINFO_ERROR "The service name or id could not be resolved.",
    18 USER "An event that a program wrote itself with rdma_write_cm_event.",
    19 INTERNAL "An event inside librdmacm or the kernel; programs should never see it.",
}

/// Looks a number up.
pub fn by_number(number: i32) -> Option<&'static CmEvent> {
    usize::try_from(number).ok().and_then(|i| ALL.get(i))
}

/// Looks a name up: any case, `-` or `_` between words, with or without `RDMA_CM_EVENT_`.
pub fn by_name(name: &str) -> Option<&'static CmEvent> {
    let upper = name.trim().to_ascii_uppercase().replace('-', "_");
    let bare = upper.strip_prefix("RDMA_CM_EVENT_").unwrap_or(&upper);
    ALL.iter().find(|e| e.name == bare)
}

/// "REJECTED", or "event 42" for a number that the table does not have.
pub fn label(number: i32) -> String {
    match by_number(number) {
        Some(e) => e.name.to_string(),
        None => format!("event {number}"),
    }
}
