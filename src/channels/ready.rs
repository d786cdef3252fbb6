//! What makes a channel's descriptor readable while events wait in the queue: an eventfd that always is,
//! put into the channel's epoll set for that time. One eventfd serves many channels.

use super::channel::AppFd;
use crate::real::c_library;
use crate::sys::lock::lock;
use libc::{c_int, epoll_event};
use std::sync::{Mutex, MutexGuard};

/// Channels that share an eventfd. The kernel bounds the number of ways from a file up through nested epoll
/// sets (100 of length 3, `path_limits` in fs/eventpoll.c), and would refuse the program's own epoll_ctl.
const SHARED_BY: usize = 48;

struct Always {
    fd: c_int,
    links: usize,
}

/// The eventfds of this process. Lock order: taken under a channel's lock, nothing is taken under it.
#[derive(Default)]
pub struct AlwaysReadable(Mutex<Vec<Always>>);

/// Those of this process: a forked child has its own.
fn all() -> MutexGuard<'static, Vec<Always>> {
    lock(&super::state().always.0)
}

/// A channel's place in an eventfd's count, kept as long as the channel is read ahead: what was taken from the kernel can
/// be shown then, even if the process has no descriptor left. Given back with [`Link::release`].
#[derive(Debug)]
pub struct Link {
    fd: c_int,
    /// Is the eventfd in the channel's epoll set?
    armed: bool,
}

impl Link {
    /// Keeps a place; `None` when no descriptor can be had: then no event may be read ahead.
    pub fn reserve() -> Option<Link> {
        let mut all = all();
        let at = match all.iter().position(|a| a.links < SHARED_BY) {
            Some(at) => at,
            None => {
                let fd = always_readable()?;
                all.push(Always { fd, links: 0 });
                all.len() - 1
            }
        };
        all[at].links += 1;
        Some(Link {
            fd: all[at].fd,
            armed: false,
        })
    }

    /// The eventfd has a new number.
    pub fn renumber(&mut self, channel: AppFd, from: c_int, to: c_int) {
        if self.fd == from {
            let armed = self.armed;
            self.disarm(channel);
            self.fd = to;
            if armed {
                self.arm(channel);
            }
        }
    }

    /// Makes the channel readable; false if the kernel refuses.
    pub fn arm(&mut self, channel: AppFd) -> bool {
        self.armed =
            self.armed || epoll(channel, libc::EPOLL_CTL_ADD, self.fd, libc::EPOLLIN as u32);
        self.armed
    }

    /// The channel is readable only if the kernel has an event.
    pub fn disarm(&mut self, channel: AppFd) {
        if self.armed {
            epoll(channel, libc::EPOLL_CTL_DEL, self.fd, 0);
            self.armed = false;
        }
    }

    /// The channel is read ahead no more.
    pub fn release(mut self, channel: AppFd) {
        self.disarm(channel);
        let mut all = all();
        if let Some(of) = all.iter_mut().find(|a| a.fd == self.fd) {
            of.links = of.links.saturating_sub(1);
        }
    }
}

/// An eventfd is had by a new number from now on.
pub fn renumber(from: c_int, to: c_int) {
    let mut all = all();
    if let Some(of) = all.iter_mut().find(|a| a.fd == from) {
        of.fd = to;
    }
}

/// epoll_ctl on a channel's own set.
pub fn epoll(channel: AppFd, op: c_int, fd: c_int, events: u32) -> bool {
    let mut event = epoll_event {
        events,
        u64: fd as u64,
    };
    // SAFETY: `event` lives across the call.
    unsafe { c_library::epoll_ctl(channel.0, op, fd, &mut event) == 0 }
}

/// An eventfd with a count that nobody reads.
fn always_readable() -> Option<c_int> {
    // SAFETY: no pointer is passed.
    let fd = unsafe { libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return None;
    }
    Some(super::interpose::move_up(fd))
}
