//! GET_EVENT: from the queue, or from the kernel.

use super::channel::{How, Tap};
use super::commands::{nonblocking, reads_ahead, Command};
use super::fetch::Fetched;
use super::{flood, handles, interpose, waiting};
use crate::abi::ucm::GET_EVENT_RESPONSE;
use crate::process::shim;
use crate::stats::{self, Bypass};
use crate::sys::guard;
use crate::sys::memory;
use crate::tenant;
use cmshim_core::codes::event;
use cmshim_core::event_queue::{Event, IdHandle, BYTES};
use libc::ssize_t;
use std::sync::atomic::Ordering;

extern "C-unwind" {
    fn pthread_testcancel();
}

/// # Safety
/// A whole GET_EVENT of the program.
pub unsafe fn get_event(tap: &'static Tap, command: &Command) -> ssize_t {
    if interpose::testing() {
        interpose::proven();
        guard::set_errno(libc::EAGAIN);
        return -1;
    }
    if !reads_ahead(tap) {
        stats::bypassed(Bypass::TapBlocking);
        // SAFETY: as promised by the caller.
        return unsafe { from_kernel(tap, command) };
    }
    // write is a cancellation point.
    // SAFETY: no lock is held, and nothing here has a destructor.
    unsafe { pthread_testcancel() };
    let mut refused = 0;
    loop {
        if let Some(next) = tap.queue.pop() {
            if tap.queue.is_empty() || tap.queue.more() || tap.paused.load(Ordering::Acquire) {
                make_room(tap);
            }
            // SAFETY: as promised by the caller.
            return unsafe { deliver(&next, command) };
        }
        if tap.queue.more() {
            guard::run(|| tap.queue.refill(&mut tap.lock().behind));
            continue;
        }
        let how = tap.how();
        if how == How::Thread {
            match waiting::wait(tap) {
                waiting::Ended::Arrived => continue,
                waiting::Ended::Errno(errno) => {
                    guard::set_errno(errno);
                    return -1;
                }
            }
        }
        if how != How::Inline || !nonblocking(tap) {
            // Blocks in the kernel as without us.
            stats::bypassed(Bypass::TapBlocking);
            // SAFETY: as promised by the caller.
            return unsafe { from_kernel(tap, command) };
        }
        // Without memory nothing is read ahead: the kernel answers librdmacm itself, and does not wait.
        let fetched = match memory::short() {
            true => None,
            false => guard::run(|| tap.fetch(batch())),
        };
        match fetched {
            // SAFETY: as promised by the caller.
            Some(Fetched::Event(next)) => return unsafe { deliver(&next, command) },
            Some(Fetched::Queue | Fetched::Changed) => continue,
            Some(Fetched::Refused(more)) => {
                // Signals were let in, and others had the lock.
                refused += more;
                if refused >= flood::AT_ONCE && flood::may_end(tap.app().0) {
                    guard::set_errno(libc::EAGAIN);
                    return -1;
                }
            }
            Some(Fetched::Errno(errno)) => {
                guard::set_errno(errno);
                return -1;
            }
            // SAFETY: as promised by the caller.
            None => return unsafe { from_kernel(tap, command) },
        }
    }
}

/// The kernel answers librdmacm itself.
///
/// # Safety
/// A whole GET_EVENT of the program.
unsafe fn from_kernel(tap: &Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller; the kernel has just written the answer.
    unsafe {
        let written = command.forward(tap);
        stats::read_ahead_at(0);
        if command.went_well(written) {
            let answer = command.u64(GET_EVENT_RESPONSE) as *const u32;
            let (handle, kind) = (
                answer.add(2).read_unaligned(),
                answer.add(3).read_unaligned() as i32,
            );
            // In a multicast event it is a group's.
            let multicast = matches!(kind, event::MULTICAST_JOIN | event::MULTICAST_ERROR);
            let id = (!multicast).then_some(IdHandle(handle));
            if let Some(id) = id.filter(|_| kind == event::CONNECT_REQUEST) {
                handles::is_new(id);
            }
            if tenant::on() {
                tenant::seats_by_handle::served(id, kind, false);
            }
        }
        written
    }
}

/// The queue has run empty, or its ring has, or the aggregator waits for room in it.
fn make_room(tap: &'static Tap) {
    guard::run(|| match tap.how() {
        How::Thread => super::aggregator::drained(tap),
        _ => tap.drained(batch()),
    });
}

fn batch() -> usize {
    shim::existing().map_or(1, |shim| shim.config.events.batch)
}

/// # Safety
/// A whole GET_EVENT of the program, whose answer has room for what it says.
unsafe fn deliver(event: &Event, command: &Command) -> ssize_t {
    stats::read_ahead_at(event.taken_at_ns());
    if tenant::on() {
        tenant::seats_by_handle::served(event.id(), event.kind(), event.decided());
    }
    let size = command.out.min(BYTES);
    // SAFETY: as promised by the caller; the kernel would write there too.
    unsafe {
        let to = command.u64(GET_EVENT_RESPONSE) as *mut u8;
        std::ptr::copy_nonoverlapping(event.words.as_ptr().cast::<u8>(), to, size);
    }
    command.size as ssize_t
}
