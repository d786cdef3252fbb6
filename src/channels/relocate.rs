//! Moves one of our descriptors to another number when the program is about to put a file at its own (dup2, dup3).

use super::channel::{How, KernelFd, Tap};
use super::{aggregator, interpose, ready, table};
use libc::c_int;

/// Makes way at `number`; false if there is no other number. Inside `guard::run`.
pub fn make_way(number: c_int) -> bool {
    let Some(moved) = interpose::duplicate(number) else {
        return false;
    };
    // First, so that no channel is linked to the old number from here on.
    ready::renumber(number, moved);
    aggregator::renumber(number, moved, None);
    table::all().for_each(|tap| renumber(tap, number, moved));
    table::hide(number, false);
    true
}

fn renumber(tap: &'static Tap, from: c_int, to: c_int) {
    let app = tap.app();
    if tap.how() == How::Foreign {
        // Nobody's epoll set but the parent's, and its lock is never taken again.
        if tap.kernel() == KernelFd(from) {
            tap.set_descriptors(app, KernelFd(to), How::Foreign);
        }
        return;
    }
    let mut locked = tap.lock();
    if let Some(link) = &mut locked.link {
        link.renumber(app, from, to);
    }
    if !tap.interposed() || tap.kernel() != KernelFd(from) {
        return;
    }
    if tap.how() == How::Thread {
        aggregator::renumber(from, to, Some(tap));
    } else {
        ready::epoll(app, libc::EPOLL_CTL_DEL, from, 0);
        ready::epoll(app, libc::EPOLL_CTL_ADD, to, libc::EPOLLIN as u32);
    }
    tap.set_descriptors(app, KernelFd(to), tap.how());
}
