//! One event channel.

use super::fetch::Buffers;
use super::ready::Link;
use super::waiting::Waiters;
pub use crate::real::ucm::KernelFd;
use crate::sys::lock::lock;
use cmshim_core::event_queue::{Queue, QueueState};
use libc::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The descriptor that the program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppFd(pub c_int);

/// How the events of a channel are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum How {
    /// By librdmacm: the program's descriptor is the kernel's.
    Plain = 0,
    /// In the program's own call, many at once.
    Inline = 1,
    /// By the aggregator.
    Thread = 2,
    /// By nobody: a channel of the parent, in a forked child. The kernel refuses every command.
    Foreign = 3,
}

/// Events that the ring of a channel holds. With an aggregator this is how far it reads ahead.
const RING: usize = 64;

/// An event channel. It is never freed, so that a thread which is still in a call on it harms nothing; a
/// destroyed one is used again for a later channel.
pub struct Tap {
    app: AtomicI32,
    kernel: AtomicI32,
    how: AtomicU8,
    /// Made inside another call, for an id without a channel: the program does not know of it.
    pub internal: AtomicBool,
    /// In an epoll set, or duplicated, while it was plain: it has to stay so.
    pub exposed: AtomicBool,
    /// Duplicated: its flags may be changed through another number.
    pub duplicated: AtomicBool,
    /// Has the program made it non-blocking?
    pub nonblocking: AtomicBool,
    /// Brought as many events as were asked for, the last time: there may be more.
    pub full: AtomicBool,
    pub queue: Queue,
    /// The aggregator waits for room in the queue.
    pub paused: AtomicBool,
    waiters: AtomicPtr<Waiters>,
    /// For the channel after this one, or null: a channel may end in a signal handler, where nothing may be allocated.
    next_waiters: AtomicPtr<Waiters>,
    locked: Mutex<Locked>,
}

/// What is changed under the channel's lock only. The lock is held during system calls that do not block,
/// and taken inside `guard::run` only.
#[derive(Default)]
pub struct Locked {
    pub behind: QueueState,
    pub buffers: Option<Box<Buffers>>,
    /// What makes the program's descriptor readable while events are in the queue.
    pub link: Option<Link>,
}

impl Locked {
    /// The channel is readable only if the kernel has an event.
    pub fn nothing_queued(&mut self, app: AppFd) {
        if let Some(link) = &mut self.link {
            link.disarm(app);
        }
    }
}

impl Tap {
    pub fn new() -> Tap {
        Tap {
            app: AtomicI32::new(-1),
            kernel: AtomicI32::new(-1),
            how: AtomicU8::new(How::Plain as u8),
            internal: AtomicBool::new(false),
            exposed: AtomicBool::new(false),
            duplicated: AtomicBool::new(false),
            nonblocking: AtomicBool::new(false),
            full: AtomicBool::new(false),
            queue: Queue::new(RING),
            paused: AtomicBool::new(false),
            waiters: AtomicPtr::new(Waiters::fresh()),
            next_waiters: AtomicPtr::new(std::ptr::null_mut()),
            locked: Mutex::default(),
        }
    }

    /// Becomes the plain channel of `fd`.
    pub fn begin(&self, fd: c_int, internal: bool) {
        self.set_descriptors(AppFd(fd), KernelFd(fd), How::Plain);
        self.internal.store(internal, Ordering::Release);
        for flag in [
            &self.exposed,
            &self.duplicated,
            &self.nonblocking,
            &self.full,
            &self.paused,
        ] {
            flag.store(false, Ordering::Release);
        }
        if self.next_waiters.load(Ordering::Acquire).is_null() {
            self.next_waiters.store(Waiters::fresh(), Ordering::Release);
        }
    }

    pub fn app(&self) -> AppFd {
        AppFd(self.app.load(Ordering::Acquire))
    }

    pub fn kernel(&self) -> KernelFd {
        KernelFd(self.kernel.load(Ordering::Acquire))
    }

    pub fn how(&self) -> How {
        match self.how.load(Ordering::Acquire) {
            1 => How::Inline,
            2 => How::Thread,
            3 => How::Foreign,
            _ => How::Plain,
        }
    }

    /// Is the program's descriptor an epoll set of ours?
    pub fn interposed(&self) -> bool {
        matches!(self.how(), How::Inline | How::Thread)
    }

    pub fn set_how(&self, how: How) {
        self.how.store(how as u8, Ordering::Release);
    }

    pub fn set_descriptors(&self, app: AppFd, kernel: KernelFd, how: How) {
        self.app.store(app.0, Ordering::Release);
        self.kernel.store(kernel.0, Ordering::Release);
        self.set_how(how);
    }

    /// The threads that wait for an event of the channel.
    pub fn waiters(&self) -> &'static Waiters {
        // SAFETY: from `Waiters::fresh`, and never freed.
        unsafe { &*self.waiters.load(Ordering::Acquire) }
    }

    /// The channel ends. Threads that still wait for it (or left by cancellation or longjmp, which nobody can tell apart)
    /// wait on, as bare, and learn nothing of the next channel.
    pub fn leave_waiters(&self) {
        if self.waiters().nobody() {
            return;
        }
        let next = self
            .next_waiters
            .swap(std::ptr::null_mut(), Ordering::AcqRel);
        // Null only where the channel ends twice: then those who wait have left the first time.
        if !next.is_null() {
            self.waiters.store(next, Ordering::Release);
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Locked> {
        lock(&self.locked)
    }
}
