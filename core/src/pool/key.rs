//! What makes two queue pairs the same, as long as none of them was used.

/// `IBV_QPT_RC` and `IBV_QPT_UC` of `enum ibv_qp_type`.
pub const QPT_RC: i32 = 2;
pub const QPT_UC: i32 = 3;

/// `struct ibv_qp_cap`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Caps {
    pub send_wr: u32,
    pub recv_wr: u32,
    pub send_sge: u32,
    pub recv_sge: u32,
    pub inline_data: u32,
}

/// All that a creation is asked for, but the context of the program's own. Addresses are names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub context: usize,
    pub pd: usize,
    /// 0: the queue pair comes with completion queues and channels of its own (a bundle).
    pub send_cq: usize,
    pub recv_cq: usize,
    /// 0: none.
    pub srq: usize,
    pub qp_type: i32,
    /// As asked for, not as given.
    pub caps: Caps,
    /// As the program wrote it: devices may read more than zero and one.
    pub sq_sig_all: i32,
}

impl Key {
    /// Stands for whatever of a device has no queue pair yet.
    pub(super) fn of_device(context: usize) -> Key {
        Key {
            context,
            pd: 0,
            send_cq: 0,
            recv_cq: 0,
            srq: 0,
            qp_type: 0,
            caps: Caps::default(),
            sq_sig_all: 0,
        }
    }

    /// What is the same for all completion queues.
    pub(super) fn without_cqs(&self) -> Key {
        Key {
            send_cq: 0,
            recv_cq: 0,
            ..*self
        }
    }

    /// Does it come with its own completion queues?
    pub fn is_bundle(&self) -> bool {
        self.send_cq == 0 && self.recv_cq == 0
    }

    /// Completion queues that one of this key takes from the device's limit.
    pub fn own_cqs(&self) -> u32 {
        if self.is_bundle() {
            2
        } else {
            0
        }
    }
}

/// Why a creation was not served from the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Miss {
    /// None was made ahead yet: the first and the second of a key, or the first after a rest.
    First,
    /// Some were made ahead, and all are taken.
    Empty,
    /// A type that is not pooled: UD, XRC, raw.
    Type,
    /// A protection domain, completion queue or shared receive queue that was not created through
    /// us: its destruction might not come through us either.
    Unknown,
    /// The device is gone or failed.
    Device,
    /// The creation changed more of the attributes than the capabilities.
    Changed,
    /// Attributes of the extended structure.
    Extended,
    /// The program's own threads alone may touch its queues: the provider takes no locks.
    Threads,
}

impl Miss {
    pub const ALL: [Miss; 8] = [
        Miss::First,
        Miss::Empty,
        Miss::Type,
        Miss::Unknown,
        Miss::Device,
        Miss::Changed,
        Miss::Extended,
        Miss::Threads,
    ];

    /// A word for lists of counters.
    pub fn word(self) -> &'static str {
        match self {
            Miss::First => "first",
            Miss::Empty => "empty",
            Miss::Type => "type",
            Miss::Unknown => "unknown",
            Miss::Device => "device",
            Miss::Changed => "changed",
            Miss::Extended => "extended",
            Miss::Threads => "threads",
        }
    }
}
