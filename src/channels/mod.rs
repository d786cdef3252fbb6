//! The tap: CM events are taken from the kernel in batches and handed to librdmacm one by one.
//!
//! librdmacm reaches the kernel by `write(channel->fd, command)` and in no other way. `write` comes through
//! here: for a descriptor in `table`, `commands` looks at the command. GET_EVENT is served from the events
//! read ahead (`serve`), DESTROY_ID, LEAVE_MCAST and MIGRATE_ID are corrected for them (`teardown`), all else goes
//! on as it is. Everything with a side effect stays in librdmacm, in the program's own thread and order.
//!
//! A channel is left as it is until the program makes it non-blocking (`interpose`): then its descriptor becomes
//! an epoll set that is readable exactly when an event can be had, and the kernel's descriptor moves to a
//! high number. With an `aggregator` thread all channels are interposed when they are made.

mod admission;
mod aggregator;
mod channel;
mod commands;
pub mod descriptors;
mod fetch;
pub mod flood;
pub mod handles;
mod interpose;
mod lifetime;
mod ready;
mod relocate;
mod serve;
mod table;
mod teardown;
mod waiting;

pub use channel::Tap;
pub use commands::write;
pub use lifetime::{channel_ends, channel_made, more};
pub use table::find;

use crate::process::feature::Feature;
use crate::process::per_process::PerProcess;
use crate::real::ucm::{self, KernelFd};
use libc::c_int;
use lifetime::Shared;

static STATE: PerProcess<Shared> = PerProcess::new(Shared::default);

/// What the channels of this process share.
fn state() -> &'static Shared {
    STATE.get()
}

pub const FEATURE: Feature = Feature {
    renew: |process| STATE.renew(process),
    fork_child: lifetime::fork_child,
    ..Feature::NONE
};

/// Does the kernel take no command from this thread on the channel that the program knows by this descriptor, batched or not?
pub fn refused_at(channel: c_int) -> bool {
    let as_it_is = KernelFd(channel);
    ucm::refused(find(channel).map_or(as_it_is, Tap::kernel))
}
