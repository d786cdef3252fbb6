//! Our own API, as in `include/cmshim.h`.

use super::{rdmacm_connection, verbs};
use crate::abi::cm::{RdmaCmEvent, RdmaEventChannel};
use crate::abi::verbs::{IbvAsyncEvent, IbvContext, IbvPd, IbvQpInitAttr};
use crate::process::shim;
use crate::sys::guard::{self, errno, set_errno};
use crate::tenant::callback::cmshim_access_check;
use crate::tenant::check;
use crate::{pool, real};
use cmshim_core::explain;
use cmshim_core::model::Transport;
use libc::{c_char, c_int, c_void, size_t};
use std::time::{Duration, Instant};

// Our own API, as in `include/cmshim.h`.

/// What carries a connection: it decides how a status number is read.
#[repr(C)]
#[allow(non_camel_case_types, dead_code)]
pub enum cmshim_transport {
    /// Not known; a positive status is read as on InfiniBand.
    CMSHIM_TRANSPORT_UNKNOWN = 0,
    /// InfiniBand: a positive status is a reject reason (IBTA 12.6.7.2).
    CMSHIM_TRANSPORT_IB = 1,
    /// RoCE v1 and v2: as InfiniBand.
    CMSHIM_TRANSPORT_ROCE = 2,
    /// iWARP: a status is a negative errno.
    CMSHIM_TRANSPORT_IWARP = 3,
}

const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
const LENGTH: usize = TEXT.len();

/// In a section of its own, where `cmshim doctor` reads it without loading the library.
#[link_section = ".cmshim.version"]
static VERSION: [u8; LENGTH] = match TEXT.as_bytes().first_chunk() {
    Some(bytes) => *bytes,
    None => [0; LENGTH],
};

/// The version of the library, "MAJOR.MINOR.PATCH". Static: never freed. Any thread may call it at
/// any time.
#[no_mangle]
pub extern "C" fn cmshim_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Is the shim in effect in this process? 1 if the program's `rdma_*` calls come through it and it
/// is not disabled for this program, 0 if not (linked but behind librdmacm in the load order,
/// `disable`, on the `skip` list, or off after an internal error). Any thread may call it; the first
/// call reads the configuration.
#[no_mangle]
pub extern "C" fn cmshim_active() -> c_int {
    c_int::from(in_effect())
}

/// Do the program's calls come through us, with the shim on?
fn in_effect() -> bool {
    // SAFETY: NUL-terminated name; RTLD_DEFAULT looks where the program's own references look.
    let bound = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rdma_connect".as_ptr()) };
    real::is_ours(bound) && shim::get().is_some()
}

/// Explains an RDMA CM event in plain words: who ended it, why, and what to do.
///
/// `event` is a number of `enum rdma_cm_event_type`, `status` the event's status (a positive reject
/// reason or a negative errno), `transport` one of `enum cmshim_transport`. Writes at most `size`
/// bytes to `buffer`, always with a terminating NUL if `size` is not 0, and returns the length of the
/// whole text without the NUL, as snprintf does: a result of `size` or more was cut, at the end of a
/// UTF-8 character. `buffer` may be NULL to learn the length. Unknown numbers are explained as such;
/// there is no error. Any thread may call it.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_explain(
    event: c_int,
    status: c_int,
    transport: c_int,
    buffer: *mut c_char,
    size: size_t,
) -> size_t {
    let transport = match transport {
        1 => Transport::Ib,
        2 => Transport::Roce,
        3 => Transport::Iwarp,
        _ => Transport::Unknown,
    };
    let text = guard::run(|| explain::plain(event, status, transport)).unwrap_or_default();
    if !buffer.is_null() && size > 0 {
        let mut length = text.len().min(size - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: `length` + 1 bytes are at most `size`, which the caller promises.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
            *buffer.add(length) = 0;
        }
    }
    text.len()
}

/// Asks for `number` queue pairs of this kind to lie ready in the pool, in addition to what the pool
/// would do by itself: for a program that knows how many connections are to come. At most `pool.max`
/// of the configuration; they are made in the background, and given back when nobody needed them for
/// `pool.idle_s`.
///
/// `pd` and `attr` are as for ibv_create_qp; `attr` is not changed, and its `qp_context` does not
/// matter. Returns 0, or -1 with errno EINVAL (a NULL pointer, or a number below 1), or EOPNOTSUPP: no
/// pool in this process (not in effect, `pool.enable` or `threads` off), or a kind that is not
/// pooled (neither RC nor UC, objects that were not created through the shim, no completion queues
/// given). Any thread may call it that may call ibv_create_qp with the same arguments.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_pool_warm(
    pd: *const IbvPd,
    attr: *const IbvQpInitAttr,
    number: c_int,
) -> c_int {
    // SAFETY: null or valid, as the caller promises.
    let (domain, wanted) = unsafe { (pd.as_ref(), attr.as_ref()) };
    let (Some(domain), Some(wanted), Ok(number @ 1..)) = (domain, wanted, u32::try_from(number))
    else {
        guard::set_errno(libc::EINVAL);
        return -1;
    };
    let asked = shim::get()
        .and_then(|shim| guard::run(|| pool::create::warm(shim, domain, wanted, number)));
    if asked == Some(true) {
        return 0;
    }
    guard::set_errno(libc::EOPNOTSUPP);
    -1
}

// Our own API for access checks, as in `include/cmshim.h`.

/// Has `check` asked about each connect request, with `user` as its second argument; NULL: no longer.
///
/// It is asked after the rules of `tenant.policy` (which need not be there), only about requests that these let
/// through, and before rdma_get_cm_event or rdma_get_request returns the request. A refused one is rejected,
/// acked and destroyed, and the call goes on to the next event; the peer gets REJECTED 28, with a number for
/// the reason in the private data (6; the bytes are in cmshim-policy(5)). A peer under cmshim says "refused by the peer's
/// program: the program's own check refused".
///
/// `check` runs in the program's own thread that takes the event, perhaps in several at once. It holds nothing up but
/// that thread, and may leave by an exception or longjmp: the request is refused at the latest when the
/// thread takes its next event. After `tenant.check_ms` (1000 by default) without an answer the request is
/// refused, whatever `check` says later (not with `threads = "off"`). It must not take events of the same channel.
///
/// Returns 0, or -1 with errno EOPNOTSUPP: the shim is not in effect in this process, and nothing would be
/// asked. Any thread may call it; a check that is replaced may still be running.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_set_access_check(
    check: cmshim_access_check,
    user: *mut c_void,
) -> c_int {
    if !in_effect() {
        guard::set_errno(libc::EOPNOTSUPP);
        return -1;
    }
    guard::run(|| check::register(check, user));
    0
}

// Our own API for events in batches, as in `include/cmshim.h`.

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
            rdmacm_connection::rdma_get_cm_event(channel, events.add(i))
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
