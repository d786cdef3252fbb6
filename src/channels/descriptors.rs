//! What the program does to a channel's descriptor besides writing: its flags, epoll sets, duplicates.

use super::channel::{How, Tap};
use super::lifetime::{self, hooked};
use super::{interpose, relocate, table};
use crate::real::c_library;
use crate::sys::guard;
use cmshim_core::config::Taker;
use libc::{c_int, epoll_event};
use std::sync::atomic::Ordering;

/// `fcntl` is about to be called.
pub fn about_to_fcntl(fd: c_int, command: c_int) {
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        about_to_duplicate(fd);
    }
}

/// `fcntl` went well.
pub fn fcntl_done(fd: c_int, command: c_int, argument: usize, result: c_int) {
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        duplicated(fd, result);
    }
    if command != libc::F_SETFL {
        return;
    }
    if let Some(tap) = table::find(fd) {
        flags_set(tap, argument as c_int & libc::O_NONBLOCK != 0);
    }
}

/// `ioctl(FIONBIO)` went well.
pub fn fionbio_done(fd: c_int, on: bool) {
    if let Some(tap) = table::find(fd) {
        flags_set(tap, on);
    }
}

/// The program made its descriptor blocking or non-blocking.
fn flags_set(tap: &'static Tap, on: bool) {
    let Some(shim) = hooked() else { return };
    guard::run(|| {
        if tap.how() == How::Plain {
            tap.nonblocking.store(on, Ordering::Release);
            if on && shim.on() && shim.config.events_taker() == Taker::Inline {
                interpose::interpose(shim, tap, How::Inline);
            }
            return;
        }
        follow(tap);
    });
}

/// The kernel's descriptor follows the program's. With an aggregator it stays non-blocking. Under the channel's
/// lock: nobody may be taking a batch, which would wait in the kernel.
pub fn follow(tap: &'static Tap) {
    if tap.how() == How::Foreign {
        return;
    }
    let _locked = tap.lock();
    let on = is_nonblocking(tap.app().0);
    if tap.how() == How::Inline {
        interpose::set_nonblocking(tap.kernel().0, on);
    }
    tap.nonblocking.store(on, Ordering::Release);
}

pub fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: no pointer is passed.
    let flags = unsafe { c_library::fcntl(fd, libc::F_GETFL, 0) };
    flags >= 0 && flags & libc::O_NONBLOCK != 0
}

/// A plain channel cannot be interposed any more: somebody will know the kernel's descriptor. Under the channel's
/// lock, so that none is being interposed.
fn expose(tap: &'static Tap, duplicated: bool) {
    // A child that shares our memory (vfork) has descriptors of its own.
    if hooked().is_none() || tap.how() == How::Foreign {
        return;
    }
    guard::run(|| {
        let _locked = tap.lock();
        tap.exposed.store(true, Ordering::Release);
        if duplicated {
            tap.duplicated.store(true, Ordering::Release);
        }
    });
}

/// The descriptor is about to get a second number.
pub fn about_to_duplicate(from: c_int) {
    if let Some(tap) = table::find(from) {
        expose(tap, true);
    }
}

/// The file at `from` has the number `to`, too.
pub fn duplicated(from: c_int, to: c_int) {
    let channel = table::find(from).is_some_and(|tap| tap.kernel().0 != tap.app().0);
    let ours = channel || table::is_copy(from);
    if from != to && ours != table::is_copy(to) && hooked().is_some() {
        table::set_copy(to, ours);
    }
}

/// `dup2` or `dup3` is about to put another file at `to`; errno if there is no room for what is there.
pub fn about_to_replace(from: c_int, to: c_int, flags: c_int) -> Result<(), c_int> {
    about_to_duplicate(from);
    let known = table::find(to).filter(|tap| tap.app().0 == to);
    if known.is_none() && !table::hidden(to) || from == to {
        return Ok(());
    }
    if hooked().is_none() {
        return Ok(());
    }
    // A call that will fail replaces nothing.
    // SAFETY: no pointer is passed.
    if flags & !libc::O_CLOEXEC != 0 || unsafe { c_library::fcntl(from, libc::F_GETFD, 0) } < 0 {
        return Ok(());
    }
    let way = guard::run(|| match known {
        Some(tap) => {
            lifetime::replaced(tap);
            true
        }
        None => !interpose::is_ours(to) || relocate::make_way(to),
    });
    match way {
        Some(false) => Err(libc::EMFILE),
        _ => Ok(()),
    }
}

/// All that may stand beside EPOLLEXCLUSIVE (`EPOLLEXCLUSIVE_OK_BITS`, fs/eventpoll.c).
const BESIDE_EXCLUSIVE: u32 = (libc::EPOLLIN
    | libc::EPOLLOUT
    | libc::EPOLLERR
    | libc::EPOLLHUP
    | libc::EPOLLWAKEUP
    | libc::EPOLLET) as u32;

/// The program is about to put a file into an epoll set; what is asked of the kernel instead, if anything.
///
/// # Safety
/// `event` is null or readable if `fd` is a channel's.
pub unsafe fn about_to_add(op: c_int, fd: c_int, event: *const epoll_event) -> Option<epoll_event> {
    if op != libc::EPOLL_CTL_ADD {
        return None;
    }
    let tap = table::find(fd)?;
    if tap.how() == How::Plain {
        expose(tap, false);
    }
    if tap.kernel().0 == tap.app().0 {
        return None;
    }
    // SAFETY: as promised by the caller.
    unsafe { without_exclusive(event) }
}

/// The kernel has refused to put this file into an epoll set; what is to be asked instead, if anything.
///
/// # Safety
/// `event` is what the kernel was given.
pub unsafe fn not_added(op: c_int, fd: c_int, event: *const epoll_event) -> Option<epoll_event> {
    let ours = op == libc::EPOLL_CTL_ADD && guard::errno() == libc::EINVAL && table::is_copy(fd);
    // SAFETY: the kernel has read the event, else it would have said EFAULT.
    ours.then(|| unsafe { without_exclusive(event) }).flatten()
}

/// With EPOLLEXCLUSIVE the kernel takes no epoll set, which a channel's descriptor is (EINVAL). Without it all who wait wake,
/// which the flag allows: "one or more" (epoll_ctl(2)).
///
/// # Safety
/// `event` is null or readable.
unsafe fn without_exclusive(event: *const epoll_event) -> Option<epoll_event> {
    const EXCLUSIVE: u32 = libc::EPOLLEXCLUSIVE as u32;
    // SAFETY: as promised by the caller.
    let asked = *unsafe { event.as_ref() }?;
    let allowed = asked.events & !(EXCLUSIVE | BESIDE_EXCLUSIVE) == 0;
    (asked.events & EXCLUSIVE != 0 && allowed).then_some(epoll_event {
        events: asked.events & !EXCLUSIVE,
        u64: asked.u64,
    })
}

/// May the program close that number? One of ours is not open for it.
pub fn may_close(fd: c_int) -> bool {
    let known = table::find(fd).filter(|tap| tap.app().0 == fd);
    let copy = table::is_copy(fd);
    if known.is_none() && !copy && !table::hidden(fd) {
        return true;
    }
    if hooked().is_none() {
        return true;
    }
    if copy {
        table::set_copy(fd, false);
    }
    if let Some(tap) = known {
        guard::run(|| lifetime::replaced(tap));
        return true;
    }
    guard::run(|| !interpose::is_ours(fd)).unwrap_or(true)
}

/// The program closes all numbers from `first` to `last`; the ranges that are its own.
pub fn about_to_close_range(first: u32, last: u32) -> Option<impl Iterator<Item = (u32, u32)>> {
    hooked()?;
    guard::run(|| {
        for tap in table::all() {
            if u32::try_from(tap.app().0).is_ok_and(|fd| (first..=last).contains(&fd)) {
                lifetime::replaced(tap);
            }
        }
    });
    Some(table::without_hidden(first, last))
}
