//! From the making of a channel to its end, and in a forked child.

use super::channel::{AppFd, How, KernelFd, Tap};
use super::ready::AlwaysReadable;
use super::{aggregator, interpose, table};
use crate::process::per_process::Process;
use crate::process::shim::{self, Shim};
use crate::stats::{self, Bypass};
use crate::sys::lock::lock;
use crate::tenant;
use cmshim_core::config::Taker;
use libc::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

/// What all channels of a process share.
pub struct Shared {
    pub always: AlwaysReadable,
    free: Mutex<Free>,
    /// Held while a descriptor of ours is opened and hidden, or closed. Nothing is taken under it.
    pub hiding: Mutex<()>,
    /// Hidden descriptors.
    pub extra: AtomicUsize,
    /// False once librdmacm's writes were seen not to come through us.
    pub works: AtomicBool,
    pub aggregator: aggregator::Aggregator,
}

/// Destroyed channels, to be used again.
#[derive(Default)]
struct Free {
    taps: Vec<&'static Tap>,
    made: usize,
}

impl Free {
    /// Room for all is kept, since a channel may end in a signal handler, where nothing may be allocated.
    fn take(&mut self) -> &'static Tap {
        if let Some(tap) = self.taps.pop() {
            return tap;
        }
        self.made += 1;
        self.taps.reserve(self.made);
        Box::leak(Box::new(Tap::new()))
    }
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            always: AlwaysReadable::default(),
            free: Mutex::default(),
            hiding: Mutex::default(),
            extra: AtomicUsize::new(0),
            works: AtomicBool::new(true),
            aggregator: aggregator::Aggregator::default(),
        }
    }
}

/// librdmacm has made a channel. `internal`: for an id without one, so that the program does not know of it.
/// Inside `guard::run`.
pub fn channel_made(shim: &'static Shim, fd: c_int, internal: bool) {
    let taker = shim.config.events_taker();
    if taker == Taker::Librdmacm {
        stats::bypassed(Bypass::TapDisabled);
        return;
    }
    if internal {
        stats::bypassed(Bypass::TapInternal);
    }
    if fd < 0 || fd as usize >= table::DESCRIPTORS {
        stats::bypassed(Bypass::TapDescriptors);
        return;
    }
    let tap = lock(&super::state().free).take();
    tap.begin(fd, internal);
    table::set(fd, tap);
    if taker == Taker::Thread {
        interpose::interpose(shim, tap, How::Thread);
    }
}

/// librdmacm is about to close the channel's descriptor. Inside `guard::run`.
pub fn channel_ends(fd: c_int) {
    let Some(tap) = table::find(fd).filter(|tap| tap.app().0 == fd) else {
        return;
    };
    table::clear(fd);
    end(tap);
}

/// The program closes the channel's descriptor itself, or puts another file there.
pub fn replaced(tap: &'static Tap) {
    table::clear(tap.app().0);
    end(tap);
}

fn end(tap: &'static Tap) {
    let shared = super::state();
    if tap.how() == How::Foreign {
        // The parent's: only our copy of the descriptor is closed, and its lock is never taken again.
        if tap.kernel().0 != tap.app().0 {
            close(tap.kernel());
        }
        return;
    }
    tenant::seats_by_handle::channel_ends(tap.app().0);
    let mut locked = tap.lock();
    // Under the lock: the aggregator may have been about to give the channel back.
    let (how, interposed) = (tap.how(), tap.interposed());
    // Is the hidden descriptor still the kernel's? Whoever has it in a set knows.
    let ours = match how {
        How::Thread => aggregator::remove(tap, tap.kernel()),
        _ => interpose::intact(tap),
    };
    if let Some(link) = locked.link.take() {
        link.release(tap.app());
    }
    // Requests among them go with the channel: the kernel destroys all its ids.
    loop {
        match tap.queue.pop() {
            Some(event) => {
                if let Some(id) = event.request() {
                    tenant::seats_by_handle::ended(id);
                }
            }
            None if tap.queue.more() => tap.queue.refill(&mut locked.behind),
            None => break,
        }
    }
    locked.behind.clear();
    if interposed {
        if ours {
            close(tap.kernel());
        }
        shared.extra.fetch_sub(1, Ordering::AcqRel);
    }
    tap.set_descriptors(AppFd(-1), KernelFd(-1), How::Plain);
    tap.leave_waiters();
    drop(locked);
    lock(&shared.free).taps.push(tap);
}

fn close(fd: KernelFd) {
    interpose::close(fd.0);
}

/// In a forked child every channel is the parent's: the kernel refuses its commands (EACCES,
/// `ib_safe_file_access`), and the epoll sets are shared with the parent.
pub fn fork_child() {
    for tap in table::all() {
        tap.set_how(How::Foreign);
    }
}

/// Does another event of the channel wait already? `None` where its events are not read ahead, and the
/// kernel must be asked.
pub fn more(fd: c_int) -> Option<bool> {
    let tap = table::find(fd).filter(|tap| tap.interposed())?;
    Some(!tap.queue.is_empty())
}

/// The shim, for a hook on a descriptor: `None` inside our own code, and in a child that shares our memory but
/// not our descriptors (vfork), or that no atfork handler saw.
pub fn hooked() -> Option<&'static Shim> {
    let usable = || !crate::sys::guard::inside() && Process::known().id() == std::process::id();
    shim::existing().filter(|_| usable())
}
