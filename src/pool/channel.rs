//! Completion channels for bundles. A channel is a descriptor, and the kernel gives the lowest free
//! number: a program may count on getting that itself (`close(1); open(...)`). So the keeper opens none.
//! The program's own threads do, inside their rdma_create_qp; a channel waits under a high number,
//! and is given the lowest free one when it is handed out, as a new one would have.

use crate::abi::verbs::{IbvCompChannel, IbvContext};
use crate::{real, sys};
use cmshim_core::pool::{ChannelPtr, Pair};
use libc::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// Channels wait from half of the descriptor limit upwards, and never from higher than here: a high
/// number makes the kernel's table larger.
const HIGHEST: u64 = 4096;
/// At most one in so many of the descriptors that the process may have.
const SHARE: u64 = 8;

/// Channels that the pool has. A forked child has its parent's open, too.
static OURS: AtomicU64 = AtomicU64::new(0);
/// Inode and device of what a channel's descriptor leads to.
static INODE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Opens a pair, out of the way of the program's descriptors; `None` if that cannot be, if the program
/// has half of those that it may have, or if our share is taken.
///
/// # Safety
/// The context is open during the call.
pub unsafe fn open_pair(context: *mut IbvContext) -> Option<Pair> {
    // SAFETY: as promised by the caller.
    let first = unsafe { open_high(context) }?;
    // SAFETY: as promised by the caller.
    let Some(second) = (unsafe { open_high(context) }) else {
        // SAFETY: made above, and nobody has it yet.
        unsafe { close(first) };
        return None;
    };
    Some([first, second])
}

/// # Safety
/// As `open_pair`.
unsafe fn open_high(context: *mut IbvContext) -> Option<ChannelPtr> {
    let limit = descriptor_limit();
    if (OURS.load(Ordering::Relaxed) + 1) * SHARE > limit {
        return None;
    }
    let open = real::ibv_create_comp_channel()?;
    // SAFETY: as promised by the caller.
    let channel = unsafe { open(context) };
    if channel.is_null() {
        return None;
    }
    OURS.fetch_add(1, Ordering::Relaxed);
    let least = (limit / 2).min(HIGHEST) as c_int;
    // SAFETY: the real library just made it.
    let fd = unsafe { (*channel).fd };
    for (known, now) in INODE.iter().zip(inode(fd)) {
        known.store(now, Ordering::Relaxed);
    }
    // SAFETY: the real library just made it, and nobody has it yet.
    unsafe {
        if fd < least && move_to(channel, least) {
            return Some(ChannelPtr(channel as usize));
        }
        close(ChannelPtr(channel as usize));
    }
    None
}

fn descriptor_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur
}

/// What a descriptor leads to; zeroes if it is not open.
fn inode(fd: c_int) -> [u64; 2] {
    // SAFETY: zero is a valid value of the plain structure, which the call fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        libc::fstat(fd, &mut stat);
        [stat.st_ino, stat.st_dev]
    }
}

/// The channel itself, to be followed only while the pool has it.
pub fn at(channel: ChannelPtr) -> *mut IbvCompChannel {
    channel.0 as *mut IbvCompChannel
}

/// Gives the channel the lowest free number; false if it is not what it was, or no number is free.
///
/// # Safety
/// The channel is alive and belongs to the pool.
pub unsafe fn bring_down(channel: ChannelPtr) -> bool {
    let channel = at(channel);
    // SAFETY: as promised by the caller.
    unsafe { is_own(channel) && move_to(channel, 0) }
}

/// The program has it from now on.
pub fn handed_out() {
    OURS.fetch_sub(1, Ordering::Relaxed);
}

/// Gives the channel the lowest free number that is not below `least`. Nobody waits on the old one.
///
/// # Safety
/// The channel is alive and belongs to the pool.
unsafe fn move_to(channel: *mut IbvCompChannel, least: c_int) -> bool {
    // SAFETY: the channel is alive, as promised by the caller; fcntl and close touch only its descriptor.
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
///
/// # Safety
/// The channel is alive.
unsafe fn is_own(channel: *const IbvCompChannel) -> bool {
    // SAFETY: as promised by the caller.
    let fd = unsafe { (*channel).fd };
    // The name that the kernel gives it (`ufile_alloc`, drivers/infiniband/core/uverbs_std_types_async_fd.c
    // and uverbs_std_types_cq.c: "[infinibandevent]").
    match std::fs::read_link(sys::descriptor_path(fd)) {
        Ok(name) => name.as_os_str() == "anon_inode:[infinibandevent]",
        // It is closed, or there is no /proc in sight (chroot): all channels lead to one inode.
        Err(_) => inode(fd) == [&INODE[0], &INODE[1]].map(|known| known.load(Ordering::Relaxed)),
    }
}

/// Closes a channel of the pool.
///
/// # Safety
/// It is alive, belongs to the pool, is not used any more, and no completion queue stands on it.
pub unsafe fn close(channel: ChannelPtr) {
    OURS.fetch_sub(1, Ordering::Relaxed);
    let at = at(channel);
    // SAFETY: the channel is alive, as promised by the caller, until the last of these calls.
    unsafe {
        if !is_own(at) {
            // Its number is another file's: nothing is to be closed.
            (*at).fd = -1;
        }
        if let Some(destroy) = real::ibv_destroy_comp_channel() {
            destroy(at);
        }
    }
}

/// # Safety
/// As `close`, for each of them.
pub unsafe fn close_all(channels: impl IntoIterator<Item = ChannelPtr>) {
    for channel in channels {
        // SAFETY: as promised by the caller, each is closed once.
        unsafe { close(channel) };
    }
}
