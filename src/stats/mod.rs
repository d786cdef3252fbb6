//! Statistics: what every part of the library counts and times, in one file for each process.
//!
//! All of it is safe at any place: a counter is one relaxed atomic addition; nothing here takes a lock,
//! allocates or makes a system call, so signal handlers, cancellation and longjmp may come anywhere and
//! nothing needs `sys::guard`. Before the first RDMA call, in a forked child before its own first one,
//! and where statistics are off, everything is a look at a pointer.

mod calls;
mod count;
mod events;
pub mod file;
mod peer;
pub mod place;
pub mod probes;
mod process_local;
mod reasons;
mod recorder;
mod start;
mod starts;

use crate::process::feature::Feature;

pub use calls::{first_id, id_of, learned, CallSpan};
pub use cmshim_core::stats::{Bypass, Counter, Entry, Phase};
pub use events::{acked, handed_over, read_ahead_at};
pub use peer::address as peer_address;
pub use reasons::Kind as Reason;
pub use start::{begin, describe_failure};

pub use count::*;

pub const FEATURE: Feature = Feature {
    fork_child: process_local::fork_child,
    ..Feature::NONE
};

#[cfg(test)]
mod tests;
