//! Statistics: what every part of the library counts and times, in one file for each process.
//!
//! All of it is safe at any place: a counter is one relaxed atomic addition; nothing here takes a lock,
//! allocates or makes a system call, so signal handlers, cancellation and longjmp may come anywhere and
//! nothing needs `boundary::guard`. Before the first RDMA call, in a forked child before its own first one,
//! and where statistics are off, everything is a look at a pointer.

mod calls;
mod clock;
mod count;
mod events;
pub mod file;
mod own;
mod peer;
pub mod place;
pub mod probes;
mod reasons;
mod recorder;
mod start;
mod starts;

pub use calls::{first_id, id_of, learned, Began};
pub use cmshim_core::stats::{Bypass, Counter, Entry, Phase};
pub use events::{acked, handed_over, read_ahead_at};
pub use own::fork_child;
pub use peer::address as peer_address;
pub use reasons::Kind as Reason;
pub use recorder::Mark;
pub use start::{begin, told};

pub use clock::{now_ns, realtime_ns, Look, Moment};
pub use count::*;

#[cfg(test)]
mod tests;
