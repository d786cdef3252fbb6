//! What is known when something has to be explained.

use super::address::Addresses;
use super::progress::Progress;
use super::Port;
use crate::model::{Role, Transport};
use crate::tenant::reason::OwnedReason;
use std::time::Duration;

/// A CM event and its circumstances.
#[derive(Debug, Clone)]
pub struct EventQuery {
    /// Number of the event.
    pub event: i32,
    /// Its status, as delivered.
    pub status: i32,
    pub transport: Transport,
    pub role: Role,
    /// How long ago ESTABLISHED came, if it did.
    pub since_established: Option<Duration>,
    /// This process called rdma_disconnect (or moved the QP to ERR) before.
    pub we_disconnected: bool,
    /// A connection that lived shorter than this is worth a line.
    pub short_lived: Duration,
    /// The call inside librdmacm that failed first, and its errno: what a status of -1 hides.
    pub nested: Option<(&'static str, i32)>,
    /// The queue pair's sequence numbers tell that no packet went either way.
    pub no_data: bool,
    /// The event carries private data that is not all zero: the peer's program wrote it.
    pub private_data: bool,
    /// The private data is the reason of a peer whose policy refused.
    pub policy: Option<OwnedReason>,
    /// From the attempt to this event.
    pub elapsed: Option<Duration>,
    /// The local port in use.
    pub port: Option<Port>,
    /// Both addresses are of this host.
    pub same_host: bool,
    /// The peer's address is a loopback address (127.0.0.1, ::1).
    pub loopback: bool,
    /// The event's id is a listener.
    pub listener: bool,
    /// Descriptors of this process.
    pub descriptors: Option<Descriptors>,
    /// Those of the event's id.
    pub addresses: Addresses,
}

/// Open descriptors of this process, beside the limit (`RLIMIT_NOFILE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    pub open: u64,
    pub limit: u64,
}

impl Descriptors {
    /// What librdmacm and libibverbs hold open at the same time while they look for the devices:
    /// directories and files of sysfs, the device, its event files.
    const NEEDED: u64 = 6;

    /// Was there too little room for what the libraries open for a moment?
    pub(super) fn short(&self) -> bool {
        self.open.saturating_add(Self::NEEDED) >= self.limit
    }
}

impl Default for EventQuery {
    fn default() -> Self {
        EventQuery {
            event: 0,
            status: 0,
            transport: Transport::Unknown,
            role: Role::None,
            since_established: None,
            we_disconnected: false,
            short_lived: Duration::from_secs(1),
            nested: None,
            no_data: false,
            private_data: false,
            policy: None,
            elapsed: None,
            port: None,
            same_host: false,
            loopback: false,
            listener: false,
            descriptors: None,
            addresses: Addresses::default(),
        }
    }
}

/// A number that was asked for, beside the most that the device gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Name of the attribute: "max_send_wr".
    pub name: &'static str,
    pub wanted: u64,
    pub max: u64,
}

/// Whatever the caller knows about a failed call. All of it may be missing.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Bytes to register.
    pub length: Option<u64>,
    /// Address of the memory to register.
    pub addr: Option<u64>,
    /// Soft RLIMIT_MEMLOCK in bytes; `u64::MAX` means unlimited.
    pub memlock: Option<u64>,
    /// Bytes that this process has pinned or locked already.
    pub locked: Option<u64>,
    /// Page size of the mapping, when it is a hugetlb mapping.
    pub huge_page: Option<u64>,
    /// Access flags of the registration (`IBV_ACCESS_*`).
    pub access: Option<u32>,
    /// Time since the CONNECT_REQUEST that is now answered.
    pub age: Option<Duration>,
    /// How far the id had come before the call.
    pub progress: Progress,
    /// The addresses that the call was given, or else those of its id.
    pub addresses: Addresses,
    /// The timeout that the call was given.
    pub timeout_ms: Option<i32>,
    /// Has the id a queue pair of rdma_create_qp?
    pub has_qp: Option<bool>,
    /// Is the id for datagrams?
    pub datagram: Option<bool>,
    /// Is the port space that was given one of the kernel's?
    pub port_space_known: Option<bool>,
    /// Length of the private data given, and the most that fits.
    pub private_data_len: Option<u32>,
    pub private_data_max: Option<u32>,
    /// Inline data asked for in a direct ibv_create_qp, in bytes. No attribute of a device tells its limit.
    pub inline: Option<u32>,
    /// Capabilities asked for, beside the device's limits.
    pub wanted: Vec<Limit>,
    /// State change asked for, by name.
    pub qp_state: Option<(&'static str, &'static str)>,
    /// The call inside that failed first, and its errno.
    pub nested: Option<(&'static str, i32)>,
    /// The id is known to be disconnected.
    pub disconnected: bool,
    /// Descriptors of this process.
    pub descriptors: Option<Descriptors>,
    /// The peer's address is a loopback address (127.0.0.1, ::1).
    pub loopback: bool,
    /// The name that was looked up.
    pub node: Option<String>,
}

impl Facts {
    /// Was more asked for than the device has?
    pub fn over_limit(&self) -> bool {
        self.wanted.iter().any(|l| l.wanted > l.max)
    }
}

/// A failed call and its circumstances.
#[derive(Debug, Clone, Copy)]
pub struct CallQuery<'a> {
    /// Name of the function.
    pub call: &'a str,
    /// errno it left; for rdma_getaddrinfo a negative number is an `EAI_` code.
    pub errno: i32,
    pub facts: &'a Facts,
    pub role: Role,
    pub transport: Transport,
}
