//! What a feature has to do with the life of the process. The root (`lib.rs`) lists all of them; `shim` and `keeper` go through
//! the list, and know none of them by name.

use super::per_process::Process;
use super::shim::Shim;
use std::time::Instant;

/// What is to be done, and when. All of it may be called by any thread.
pub struct Feature {
    /// Makes the state of this process: at the first call, and in a forked child.
    pub renew: fn(Process),
    /// Before fork, in the thread that forks.
    pub fork_before: fn(&'static Shim),
    /// After it, in the parent.
    pub fork_parent: fn(&'static Shim),
    /// In the child, when all state has been made anew.
    pub fork_child: fn(),
    /// The process exits. In the opposite order of the list, as atexit(3) has it.
    pub at_exit: fn(&'static Shim),
    /// The shim goes off, and nothing was said of it yet.
    pub goes_off: fn(&'static Shim),
    /// It was said, and entries pass the shim by.
    pub is_off: fn(&'static Shim),
    /// The keeper's round: does what is due, and gives the time of what comes next.
    pub work: fn(&'static Shim, Instant) -> Option<Instant>,
    /// As `work`, for what guards itself, piece by piece.
    pub work_unguarded: fn(&'static Shim) -> Option<Instant>,
}

impl Feature {
    /// A feature that does none of it.
    pub const NONE: Feature = Feature {
        renew: |_| {},
        fork_before: |_| {},
        fork_parent: |_| {},
        fork_child: || {},
        at_exit: |_| {},
        goes_off: |_| {},
        is_off: |_| {},
        work: |_, _| None,
        work_unguarded: |_| None,
    };
}
