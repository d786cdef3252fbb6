//! Completion channels for bundles. A channel is a descriptor, and the kernel gives the lowest free
//! number: a program may count on getting that itself (`close(1); open(...)`). So the keeper opens none.
//! The program's own threads do, inside their rdma_create_qp; a channel waits under a high number,
//! and is given the lowest free one when it is handed out, as a new one would have.

use crate::abi::verbs::{IbvCompChannel, IbvContext};
use crate::real;
use cmshim_core::pool::Pair;
use libc::c_int;

/// Channels wait from half of the descriptor limit upwards, and never from higher than here: a high
/// number makes the kernel's table larger.
const HIGHEST: c_int = 4096;

/// Opens a pair, out of the way of the program's descriptors; `None` if that cannot be, or if the program
/// has half of those that it may have.
pub fn open_pair(context: *mut IbvContext) -> Option<Pair> {
    let first = open_high(context)?;
    let Some(second) = open_high(context) else {
        close(first);
        return None;
    };
    Some([first, second])
}

fn open_high(context: *mut IbvContext) -> Option<usize> {
    let open = real::ibv_create_comp_channel()?;
    // SAFETY: the context of the program's id, which is open during its call.
    let channel = unsafe { open(context) };
    if channel.is_null() {
        return None;
    }
    let waiting = lowest_waiting();
    // SAFETY: the real library just made it.
    let scarce = unsafe { (*channel).fd } >= waiting;
    if !scarce && move_to(channel, waiting) {
        return Some(channel as usize);
    }
    close(channel as usize);
    None
}

fn lowest_waiting() -> c_int {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    c_int::try_from(limit.rlim_cur / 2).map_or(HIGHEST, |half| half.min(HIGHEST))
}

/// Gives the channel the lowest free number; false if it is not what it was, or no number is free.
pub fn bring_down(channel: usize) -> bool {
    let channel = channel as *mut IbvCompChannel;
    is_own(channel) && move_to(channel, 0)
}

/// Gives the channel the lowest free number that is not below `least`. Nobody waits on the old one.
fn move_to(channel: *mut IbvCompChannel, least: c_int) -> bool {
    // SAFETY: the channel is the pool's own; fcntl and close touch only its descriptor.
    unsafe {
        let old = (*channel).fd;
        let new = libc::fcntl(old, libc::F_DUPFD_CLOEXEC, least);
        if new < 0 {
            return false;
        }
        (*channel).fd = new;
        libc::close(old);
    }
    true
}

/// Is the channel's descriptor still one of a channel? A program that closes all descriptors that it
/// did not open itself may have closed it, and the number may be another file's now.
fn is_own(channel: *const IbvCompChannel) -> bool {
    // SAFETY: the channel is the pool's own.
    let fd = unsafe { (*channel).fd };
    // The name that the kernel gives it (`ufile_alloc`, drivers/infiniband/core/uverbs_std_types_async_fd.c
    // and uverbs_std_types_cq.c: "[infinibandevent]").
    std::fs::read_link(format!("/proc/self/fd/{fd}"))
        .is_ok_and(|name| name.as_os_str() == "anon_inode:[infinibandevent]")
}

/// Closes a channel of the pool, on which no completion queue stands any more.
pub fn close(channel: usize) {
    let at = channel as *mut IbvCompChannel;
    if !is_own(at) {
        // SAFETY: the channel is the pool's own. Its number is not, any more: nothing is to be closed.
        unsafe { (*at).fd = -1 };
    }
    if let Some(destroy) = real::ibv_destroy_comp_channel() {
        // SAFETY: the channel is the pool's own, and is forgotten with this call.
        unsafe { destroy(at) };
    }
}
