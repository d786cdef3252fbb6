//! Our own API for events in batches, as in `include/cmshim.h`.

use super::{events, verbs};
use crate::abi::cm::{RdmaCmEvent, RdmaEventChannel};
use crate::abi::verbs::{IbvAsyncEvent, IbvContext};
use crate::boundary::guard::{self, errno, set_errno};
use libc::c_int;
use std::time::{Duration, Instant};

/// Takes up to `max` CM events of a channel.
///
/// Waits up to `timeout_ms` milliseconds for the first one (0: not at all, negative: for ever) and for no
/// other. Returns how many were put into `events`: 0 when the time ran out, -1 with `errno` when the first one
/// cannot be taken (EINVAL: a NULL pointer or `max` below 1; EINTR: a signal handler ran while waiting; else as
/// `rdma_get_cm_event`). A failure after the first event ends the batch, and the next call meets it.
///
/// Each event is the caller's and must be given to `rdma_ack_cm_event`, in any order: `rdma_destroy_id` waits
/// for all events of its id. On a non-blocking channel, and with the shim in effect, up to 16 events cost one
/// system call (`events.batch`); else each costs one of its own, and a blocking channel a `poll` more. Any
/// thread may call it. Cancelling the thread takes effect only while no event has been taken.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C-unwind" fn cmshim_get_cm_events(
    channel: *mut RdmaEventChannel,
    events: *mut *mut RdmaCmEvent,
    max: c_int,
    timeout_ms: c_int,
) -> c_int {
    if channel.is_null() || events.is_null() || max < 1 {
        set_errno(libc::EINVAL);
        return -1;
    }
    // SAFETY: the caller's channel, and room for `max` events.
    unsafe {
        batch((*channel).fd, max, timeout_ms, |i| {
            events::rdma_get_cm_event(channel, events.add(i))
        })
    }
}

/// Takes up to `max` asynchronous events of a device context.
///
/// As `cmshim_get_cm_events`, for `ibv_get_async_event`: `events` has room for `max` structures, and each must
/// be given to `ibv_ack_async_event`, since destroying a queue pair, completion queue or shared receive queue
/// waits for it. The kernel hands out one event for each system call.
#[allow(clippy::missing_safety_doc)]
#[no_mangle]
pub unsafe extern "C-unwind" fn cmshim_get_async_events(
    context: *mut IbvContext,
    events: *mut IbvAsyncEvent,
    max: c_int,
    timeout_ms: c_int,
) -> c_int {
    if context.is_null() || events.is_null() || max < 1 {
        set_errno(libc::EINVAL);
        return -1;
    }
    // SAFETY: the caller's context, and room for `max` events.
    unsafe {
        batch((*context).async_fd, max, timeout_ms, |i| {
            verbs::ibv_get_async_event(context, events.add(i))
        })
    }
}

/// Calls `take` for the events that the descriptor has, up to `max`.
///
/// No destructor lives across a call in which the thread may be cancelled.
unsafe fn batch(fd: c_int, max: c_int, timeout_ms: c_int, take: impl Fn(usize) -> c_int) -> c_int {
    let before = errno();
    // SAFETY: no pointer is passed.
    let blocking = unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_NONBLOCK == 0;
    // A negative number is for ever.
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    let deadline = timeout.map(|t| Instant::now() + t);
    loop {
        if blocking {
            match ready(fd, left(deadline)) {
                1 => {}
                other => return ended(other, before),
            }
        }
        if take(0) == 0 {
            break;
        }
        if errno() != libc::EAGAIN {
            return -1;
        }
        match ready(fd, left(deadline)) {
            1 => {}
            other => return ended(other, before),
        }
    }
    let state = guard::hold_cancellation();
    let mut count = 1;
    while count < max && (!blocking || ready(fd, 0) == 1) && take(count as usize) == 0 {
        count += 1;
    }
    set_errno(before);
    guard::release_cancellation(state);
    count
}

/// The time ran out, which is no failure, or waiting failed.
fn ended(ready: c_int, errno_before: c_int) -> c_int {
    if ready == 0 {
        set_errno(errno_before);
    }
    ready
}

fn left(deadline: Option<Instant>) -> c_int {
    let Some(deadline) = deadline else { return -1 };
    let left = deadline.saturating_duration_since(Instant::now());
    // Rounded up, so that the last wait does not become a busy loop.
    left.as_micros().div_ceil(1000).min(i32::MAX as u128) as c_int
}

/// 1 if the descriptor has an event within that time, 0 if not, -1 with errno.
fn ready(fd: c_int, ms: c_int) -> c_int {
    // A cancellation point: the libc crate's declaration does not allow the unwind.
    extern "C-unwind" {
        fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, ms: c_int) -> c_int;
    }
    let mut one = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd that lives across the call.
    unsafe { poll(&mut one, 1, ms) }
}
