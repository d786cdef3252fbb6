//! Threads of the program that wait for an event while the aggregator takes them from the kernel.

use super::channel::{How, Tap};
use super::commands::nonblocking;
use crate::real::ucm;
use crate::sys::guard;
use libc::{c_int, sem_t};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{fence, AtomicU32, Ordering};

extern "C-unwind" {
    /// A cancellation point; starts again after a handler with SA_RESTART and ends with EINTR without
    /// (signal(7)), as a `write` to the kernel's event channel does.
    fn sem_wait(semaphore: *mut sem_t) -> c_int;
}

/// Posts beyond this are of threads that left their wait by longjmp or cancellation.
const PLENTY: c_int = 64;

/// What threads sleep on.
pub struct Waiters {
    semaphore: UnsafeCell<MaybeUninit<sem_t>>,
    /// Threads that sleep, or are about to. Too many after a cancellation, which costs a few wake-ups.
    count: AtomicU32,
}

// SAFETY: a semaphore is made for use by many threads.
unsafe impl Sync for Waiters {}

impl Waiters {
    /// Never freed: a thread may sleep on them for as long as it likes.
    pub fn fresh() -> *mut Waiters {
        let made = Box::new(Waiters {
            semaphore: UnsafeCell::new(MaybeUninit::zeroed()),
            count: AtomicU32::new(0),
        });
        // SAFETY: writable for a sem_t.
        unsafe { libc::sem_init(made.at(), 0, 0) };
        Box::into_raw(made)
    }

    /// Does nobody sleep here? A thread that left by cancellation still counts.
    pub fn nobody(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn at(&self) -> *mut sem_t {
        self.semaphore.get().cast()
    }
}

pub enum Ended {
    /// Look again.
    Arrived,
    Errno(c_int),
}

/// Waits until there may be an event, as the kernel would: the thread may be cancelled or leave by longjmp.
pub fn wait(tap: &'static Tap) -> Ended {
    // What the aggregator may read, this thread may not, if it has changed its credentials since the channel was opened.
    if ucm::refused(tap.kernel()) {
        return Ended::Errno(libc::EACCES);
    }
    if nonblocking(tap) {
        return Ended::Errno(libc::EAGAIN);
    }
    let waiters = tap.waiters();
    waiters.count.fetch_add(1, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    // Before it sleeps: whoever puts events into the queue, or stops reading for the thread, counts the sleepers after that.
    if !tap.queue.is_empty() || tap.how() != How::Thread {
        waiters.count.fetch_sub(1, Ordering::SeqCst);
        return Ended::Arrived;
    }
    loop {
        // SAFETY: a semaphore that was set up; nothing here has a destructor.
        let rc = unsafe { sem_wait(waiters.at()) };
        let errno = guard::errno();
        if rc == 0 && !std::ptr::eq(waiters, tap.waiters()) {
            // The channel that it waits for is no more.
            continue;
        }
        waiters.count.fetch_sub(1, Ordering::SeqCst);
        return match rc {
            0 => Ended::Arrived,
            _ => Ended::Errno(errno),
        };
    }
}

/// Wakes those who wait, after events were put into the queue or the thread stopped reading for them.
pub fn wake(tap: &Tap) {
    fence(Ordering::SeqCst);
    let waiters = tap.waiters();
    for _ in 0..waiters.count.load(Ordering::SeqCst) {
        let mut posted = 0;
        // SAFETY: a semaphore that was set up.
        unsafe {
            libc::sem_getvalue(waiters.at(), &mut posted);
            if posted > PLENTY {
                return;
            }
            libc::sem_post(waiters.at());
        }
    }
}
