//! Interposing: the program's descriptor becomes an epoll set of ours, with its number unchanged, and the
//! kernel's moves to a high one. Descriptors that the program opens later get the numbers they would get
//! without us.

use super::channel::{AppFd, How, KernelFd, Locked, Tap};
use super::ready::Link;
use super::{aggregator, ready, table};
use crate::abi::cm::RdmaEventChannel;
use crate::process::shim::Shim;
use crate::real;
use crate::real::c_library;
use crate::stats::{self, Bypass};
use crate::sys;
use crate::sys::lock::lock;
use cmshim_core::codes::errno;
use libc::c_int;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::MutexGuard;

/// The share of the descriptor limit that the tap may take: one for each interposed channel.
const SHARE: u64 = 8;
/// Hidden descriptors begin at half of the limit, but not above this.
const HIGHEST_BASE: u64 = 32_768;

thread_local! {
    static TEST: Cell<Test> = const { Cell::new(Test::None) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Test {
    None,
    Running,
    Passed,
}

/// Is this thread looking whether librdmacm's writes come through us?
pub fn testing() -> bool {
    TEST.with(|t| t.get() != Test::None)
}

/// They do.
pub fn proven() {
    TEST.with(|t| t.set(Test::Passed));
}

/// The channel is read ahead from now on, if it can be. Inside `guard::run`.
pub fn interpose(shim: &'static Shim, tap: &'static Tap, how: How) {
    let shared = super::state();
    // One thread at a time, and none may come to know the kernel's descriptor meanwhile (`descriptors::expose`).
    let mut locked = tap.lock();
    let free = !tap.internal.load(Ordering::Acquire) && !tap.exposed.load(Ordering::Acquire);
    if tap.how() != How::Plain
        || how == How::Plain
        || !free
        || !shared.works.load(Ordering::Acquire)
    {
        return;
    }
    if let Err(why) = try_interpose(shim, tap, &mut locked, how) {
        static REPORTED: AtomicBool = AtomicBool::new(false);
        if !REPORTED.swap(true, Ordering::AcqRel) {
            log::info!(
                "an event channel is left alone, its events are not taken in batches: {why}"
            );
        }
    }
}

fn try_interpose(
    shim: &'static Shim,
    tap: &'static Tap,
    locked: &mut Locked,
    how: How,
) -> Result<(), String> {
    let shared = super::state();
    let app = tap.app();
    if !is_event_channel(app.0) {
        return Err("its descriptor is that of something else".to_owned());
    }
    let hidden = Hidden::of(app, &shared.extra)?;
    let kernel = hidden.kernel;
    if how == How::Thread {
        if let Err(why) = ready_for_thread(shim, tap, locked, kernel) {
            hidden.give_up(&shared.extra);
            return Err(why);
        }
    }
    tap.set_descriptors(app, kernel, how);
    let result = match hidden.put_at(app, how) {
        Ok(()) if !comes_through_us(app) => {
            shared.works.store(false, Ordering::Release);
            stats::bypassed(Bypass::TapUnproven);
            put_back(app, kernel);
            Err(
                "librdmacm's writes do not come through the preloaded library \
                 (bound with -Bsymbolic, or loaded with RTLD_DEEPBIND?)"
                    .to_owned(),
            )
        }
        // Last, since it is a flag of the program's own open file: an interposition that is undone leaves it as it was.
        Ok(()) if how == How::Thread && !set_nonblocking(kernel.0, true) => {
            let error = std::io::Error::last_os_error();
            put_back(app, kernel);
            Err(format!(
                "its descriptor cannot be made non-blocking: {}",
                errno::describe_error(&error)
            ))
        }
        Ok(()) => {
            let on = super::descriptors::is_nonblocking(app.0);
            tap.nonblocking.store(on, Ordering::Release);
            return Ok(());
        }
        Err(why) => Err(why),
    };
    tap.set_descriptors(app, KernelFd(app.0), How::Plain);
    if how == How::Thread {
        aggregator::remove(tap, kernel);
    }
    if let Some(link) = locked.link.take() {
        link.release(app);
    }
    close(kernel.0);
    shared.extra.fetch_sub(1, Ordering::AcqRel);
    result
}

/// What the thread needs of descriptors is had before it takes the first event: it has nobody to give one to later.
fn ready_for_thread(
    shim: &'static Shim,
    tap: &'static Tap,
    locked: &mut Locked,
    kernel: KernelFd,
) -> Result<(), String> {
    if locked.link.is_none() {
        locked.link = Link::reserve();
    }
    if locked.link.is_none() {
        let error = std::io::Error::last_os_error();
        return Err(format!(
            "no eventfd can be made: {}",
            errno::describe_error(&error)
        ));
    }
    aggregator::add(shim, tap, kernel)
}

/// The kernel's descriptor at its new number, and the epoll set that holds it.
struct Hidden {
    kernel: KernelFd,
    set: c_int,
}

impl Hidden {
    fn of(app: AppFd, extra: &AtomicUsize) -> Result<Hidden, String> {
        let limit = soft_limit();
        if (extra.fetch_add(1, Ordering::AcqRel) as u64 + 1) * SHARE > limit {
            extra.fetch_sub(1, Ordering::AcqRel);
            stats::bypassed(Bypass::TapDescriptors);
            return Err(format!(
                "an eighth of the process's descriptors ({limit}) is in use for this already"
            ));
        }
        let failed = |what: &str| {
            let error = std::io::Error::last_os_error();
            extra.fetch_sub(1, Ordering::AcqRel);
            Err(format!("{what}: {}", errno::describe_error(&error)))
        };
        let Some(kernel) = duplicate_up(app.0, limit) else {
            return failed("its descriptor cannot be duplicated");
        };
        // SAFETY: no pointer is passed.
        let set = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if set < 0 {
            close(kernel);
            return failed("no epoll set can be made");
        }
        Ok(Hidden {
            kernel: KernelFd(kernel),
            set,
        })
    }

    /// The set takes the program's descriptor's place. The aggregator has the kernel's in its own set: in this one
    /// it would wake who waits for this one each time, even if none of its events were asked for
    /// (`ep_poll_callback`, fs/eventpoll.c: ucma wakes without saying what for).
    fn put_at(self, app: AppFd, how: How) -> Result<(), String> {
        let (set, events) = (AppFd(self.set), libc::EPOLLIN as u32);
        let put = (how == How::Thread
            || ready::epoll(set, libc::EPOLL_CTL_ADD, self.kernel.0, events))
            && same_flags(app.0, self.set)
            && c_library::dup3(self.set, app.0, close_on_exec(app.0)) == app.0;
        let error = std::io::Error::last_os_error();
        close(self.set);
        match put {
            true => Ok(()),
            false => Err(format!(
                "its descriptor cannot be replaced: {}",
                errno::describe_error(&error)
            )),
        }
    }

    fn give_up(self, extra: &AtomicUsize) {
        close(self.set);
        close(self.kernel.0);
        extra.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Calls librdmacm for an event; `serve` answers that there is none. Where the write goes to the kernel, the
/// epoll set refuses it.
fn comes_through_us(app: AppFd) -> bool {
    let Some(get_event) = real::rdma_get_cm_event() else {
        return false;
    };
    let mut channel = RdmaEventChannel { fd: app.0 };
    let mut event = std::ptr::null_mut();
    TEST.with(|t| t.set(Test::Running));
    // SAFETY: a channel is its descriptor; both live across the call. No event is taken.
    unsafe { get_event(&mut channel, &mut event) };
    TEST.with(|t| t.replace(Test::None)) == Test::Passed
}

/// The kernel's descriptor gets its number back.
fn put_back(app: AppFd, kernel: KernelFd) -> bool {
    c_library::dup3(kernel.0, app.0, close_on_exec(app.0)) == app.0
}

/// Is the descriptor still our set, and the hidden one still the kernel's that is in it? A program may close
/// descriptors that it does not know, and get their numbers again. Not for a channel of the aggregator.
pub fn intact(tap: &Tap) -> bool {
    let events = libc::EPOLLIN as u32;
    tap.how() == How::Inline && ready::epoll(tap.app(), libc::EPOLL_CTL_MOD, tap.kernel().0, events)
}

/// Has the epoll sets find out anew whether the kernel has an event: it may have got some without a wake-up.
pub fn look_again(tap: &'static Tap) {
    match tap.how() {
        How::Inline => {
            ready::epoll(
                tap.app(),
                libc::EPOLL_CTL_MOD,
                tap.kernel().0,
                libc::EPOLLIN as u32,
            );
        }
        How::Thread => aggregator::look_again(tap),
        _ => {}
    }
}

/// Moves a descriptor of ours to a high number, or hides it where it is if there is none.
pub fn move_up(fd: c_int) -> c_int {
    match duplicate(fd) {
        Some(moved) => {
            c_library::close(fd);
            moved
        }
        None => {
            table::hide(fd, true);
            fd
        }
    }
}

/// A second number for a descriptor of ours.
pub fn duplicate(fd: c_int) -> Option<c_int> {
    duplicate_up(fd, soft_limit())
}

fn duplicate_up(fd: c_int, limit: u64) -> Option<c_int> {
    let base = (limit / 2).min(HIGHEST_BASE) as usize;
    let _hiding = hiding();
    // SAFETY: no pointer is passed.
    let high = unsafe { c_library::fcntl(fd, libc::F_DUPFD_CLOEXEC, base) };
    if high < 0 {
        return None;
    }
    table::hide(high, true);
    Some(high)
}

fn soft_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur
}

/// Only the kernel's event channels are character devices that librdmacm opened at this number; its
/// number may have become something else's if the program closed it itself.
pub fn is_event_channel(fd: c_int) -> bool {
    let Ok(name) = std::fs::read_link(sys::descriptor_path(fd)) else {
        return false;
    };
    name.ends_with("rdma_cm")
}

fn close_on_exec(fd: c_int) -> c_int {
    // SAFETY: no pointer is passed.
    match unsafe { c_library::fcntl(fd, libc::F_GETFD, 0) } & libc::FD_CLOEXEC {
        0 => 0,
        _ => libc::O_CLOEXEC,
    }
}

fn same_flags(from: c_int, to: c_int) -> bool {
    // SAFETY: no pointer is passed.
    unsafe {
        let flags = c_library::fcntl(from, libc::F_GETFL, 0);
        flags >= 0 && c_library::fcntl(to, libc::F_SETFL, flags as usize) == 0
    }
}

pub fn set_nonblocking(fd: c_int, on: bool) -> bool {
    // SAFETY: no pointer is passed.
    unsafe {
        let others = c_library::fcntl(fd, libc::F_GETFL, 0) & !libc::O_NONBLOCK;
        let flags = if on {
            others | libc::O_NONBLOCK
        } else {
            others
        };
        c_library::fcntl(fd, libc::F_SETFL, flags as usize) == 0
    }
}

/// Closes a descriptor of ours. Whoever opens a file meanwhile may get its number, and is not to find it hidden; whoever
/// closes that number meanwhile is not to close it before us, or twice.
pub fn close(fd: c_int) {
    let _hiding = hiding();
    c_library::close(fd);
    table::hide(fd, false);
}

/// Is it one of ours, for certain? Inside `guard::run`.
pub fn is_ours(fd: c_int) -> bool {
    table::hidden(fd) && {
        let _hiding = hiding();
        table::hidden(fd)
    }
}

fn hiding() -> MutexGuard<'static, ()> {
    lock(&super::state().hiding)
}
