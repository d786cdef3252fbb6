//! What the program does to a channel's descriptor besides writing: its flags, epoll sets, duplicates.

use super::channel::{How, Tap};
use super::lifetime::{self, hooked};
use super::{next, swap, table};
use crate::boundary::guard;
use cmshim_core::config::Taker;
use libc::{c_int, epoll_event};
use std::sync::atomic::Ordering;

/// `fcntl` went well.
pub fn fcntl_done(fd: c_int, command: c_int, argument: usize, result: c_int) {
    let Some(tap) = table::find(fd) else { return };
    match command {
        libc::F_SETFL => flags_set(tap, argument as c_int & libc::O_NONBLOCK != 0),
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicated(tap, result),
        _ => {}
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
                swap::swap(shim, tap, How::Inline);
            }
            return;
        }
        follow(tap);
    });
}

/// The kernel's descriptor follows the program's. With an aggregator it stays non-blocking.
fn follow(tap: &'static Tap) {
    let on = is_nonblocking(tap.app().0);
    if tap.how() == How::Inline {
        swap::set_nonblocking(tap.kernel().0, on);
    }
    tap.nonblocking.store(on, Ordering::Release);
}

pub fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: no pointer is passed.
    let flags = unsafe { next::fcntl(fd, libc::F_GETFL, 0) };
    flags >= 0 && flags & libc::O_NONBLOCK != 0
}

/// The channel's descriptor has got a second number.
pub fn duplicated(tap: &'static Tap, _to: c_int) {
    // A plain channel cannot be swapped any more: the duplicate would stay the kernel's.
    tap.exposed.store(true, Ordering::Release);
    tap.duplicated.store(true, Ordering::Release);
}

/// `dup`, `dup2` or `dup3` went well.
pub fn dup_done(from: c_int, to: c_int) {
    if let Some(tap) = table::find(from) {
        duplicated(tap, to);
    }
}

/// `dup2` or `dup3` is about to put another file at `to`.
pub fn about_to_replace(from: c_int, to: c_int) {
    let Some(tap) = table::find(to).filter(|tap| from != to && tap.app().0 == to) else {
        return;
    };
    if let Some(shim) = hooked() {
        guard::run(|| lifetime::replaced(shim, tap));
    }
}

/// The program is about to put the channel into an epoll set.
///
/// # Safety
/// `event` is null or readable.
pub unsafe fn about_to_add(op: c_int, fd: c_int, event: *const epoll_event) {
    if op != libc::EPOLL_CTL_ADD {
        return;
    }
    let Some(tap) = table::find(fd) else { return };
    match tap.how() {
        How::Plain => tap.exposed.store(true, Ordering::Release),
        How::Inline => {
            // SAFETY: as promised by the caller.
            let events = unsafe { event.as_ref() }.map_or(0, |event| event.events);
            // The kernel takes no epoll set with this flag (EINVAL).
            if events & libc::EPOLLEXCLUSIVE as u32 != 0 {
                if let Some(shim) = hooked() {
                    guard::run(|| lifetime::undo_swap(shim, tap));
                }
            }
        }
        _ => {}
    }
}

/// May the program close that number? One of ours is not open for it.
pub fn may_close(fd: c_int) -> bool {
    let known = table::find(fd).filter(|tap| tap.app().0 == fd);
    if known.is_none() && !table::hidden(fd) {
        return true;
    }
    let Some(shim) = hooked() else { return true };
    if let Some(tap) = known {
        guard::run(|| lifetime::replaced(shim, tap));
        return true;
    }
    false
}

/// The program closes all numbers from `first` to `last`; the ranges that are its own.
pub fn about_to_close_range(first: u32, last: u32) -> Option<Vec<(u32, u32)>> {
    let shim = hooked()?;
    guard::run(|| {
        for tap in table::all() {
            if u32::try_from(tap.app().0).is_ok_and(|fd| (first..=last).contains(&fd)) {
                lifetime::replaced(shim, tap);
            }
        }
        table::without_hidden(first, last)
    })
}
