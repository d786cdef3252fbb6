//! Taking events from the kernel: up to 16 with one system call.
//!
//! The ucma device has `.write` and no `.write_iter`, so the kernel runs a `writev` segment by segment and
//! stops at the first that fails (`do_loop_readv_writev`, fs/read_write.c): 16 GET_EVENT commands are up to 16
//! events.

use super::channel::{How, KernelFd, Locked, Tap};
use super::ready::Link;
use super::{admission, handles};
use crate::abi::ucm::{cmd, GET_EVENT_SIZE};
use crate::real::c_library;
use crate::stats::{self, Counter};
use crate::sys::guard;
use crate::tenant;
use cmshim_core::codes::errno;
use cmshim_core::event_queue::{Event, BYTES};
use libc::{c_int, c_void, iovec};
use std::sync::atomic::{AtomicBool, Ordering};

/// The most events taken with one system call.
pub const MOST: usize = 16;

#[repr(C)]
#[derive(Clone, Copy)]
struct GetEvent {
    cmd: u32,
    size_in: u16,
    size_out: u16,
    response: u64,
}

/// Where the kernel writes. Made once for a channel and not cleared: the kernel writes the same number of
/// bytes each time, and what is behind them stays zero.
pub struct Buffers {
    events: [Event; MOST],
    commands: [GetEvent; MOST],
    segments: [iovec; MOST],
}

// SAFETY: the pointers of the segments point into the same allocation, and are used under the channel's
// lock only.
unsafe impl Send for Buffers {}

impl Buffers {
    fn new() -> Box<Buffers> {
        let none = iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: GET_EVENT_SIZE,
        };
        let command = GetEvent {
            cmd: cmd::GET_EVENT,
            size_in: (GET_EVENT_SIZE - crate::abi::ucm::HEADER) as u16,
            size_out: BYTES as u16,
            response: 0,
        };
        let mut made = Box::new(Buffers {
            events: [Event::EMPTY; MOST],
            commands: [command; MOST],
            segments: [none; MOST],
        });
        // The box does not move any more.
        for i in 0..MOST {
            made.commands[i].response = made.events[i].words.as_mut_ptr() as u64;
            made.segments[i].iov_base = std::ptr::from_mut(&mut made.commands[i]).cast();
        }
        made
    }

    /// Takes up to `most` events; errno if there is none.
    fn fill(&mut self, fd: KernelFd, most: usize) -> Result<&[Event], c_int> {
        let size = GET_EVENT_SIZE;
        // SAFETY: the segments are commands of that size, whose answers go to `events`; both live in self.
        let written = unsafe {
            match most {
                1 => c_library::write(fd.0, self.segments[0].iov_base as *const c_void, size),
                n => libc::writev(fd.0, self.segments.as_ptr(), n.min(MOST) as c_int),
            }
        };
        match usize::try_from(written) {
            Err(_) => Err(guard::errno()),
            Ok(bytes) => Ok(&self.events[..bytes / size]),
        }
    }
}

/// What came of it.
#[allow(clippy::large_enum_variant)] // lives for one call, and a box would be an allocation
pub enum Fetched {
    /// One for the caller; others may be in the queue.
    Event(Event),
    /// Somebody else's fetch filled the queue meanwhile.
    Queue,
    /// So many connect requests, and no other event: the tenant check has refused them all. More may wait.
    Refused(usize),
    /// The channel became blocking or plain meanwhile.
    Changed,
    Errno(c_int),
}

impl Tap {
    /// Takes events for a caller who found the queue empty. Inside `guard::run`.
    pub fn fetch(&self, batch: usize) -> Fetched {
        let mut locked = self.lock();
        if !self.queue.is_empty() {
            return Fetched::Queue;
        }
        if !self.never_waits() {
            return Fetched::Changed;
        }
        if locked.link.is_none() {
            locked.link = Link::reserve();
        }
        let most = match locked.link {
            Some(_) => self.queue.room(&locked.behind, batch).max(1),
            None => 1,
        };
        match self.take(&mut locked, most) {
            Ok((events, taken)) if events.is_empty() => Fetched::Refused(taken),
            Ok((mut events, _)) => {
                let first = events.remove(0);
                self.enqueue(&mut locked, events);
                Fetched::Event(first)
            }
            Err(errno) => Fetched::Errno(errno),
        }
    }

    /// Is the kernel's descriptor non-blocking? Under the channel's lock, where it stays so.
    fn never_waits(&self) -> bool {
        self.how() == How::Inline && self.nonblocking.load(Ordering::Acquire)
    }

    /// Takes up to `most` events, at least one, or errno; and how many it were with those that the tenant check has
    /// refused, which are gone already. Once: a flood of them must not hold the thread in here, with its signals blocked and
    /// the channel locked.
    fn take(&self, locked: &mut Locked, most: usize) -> Result<(Vec<Event>, usize), c_int> {
        let events = self.take_all(locked, most)?;
        let taken = events.len();
        match tenant::on() {
            true => Ok((
                admission::filter_requests(self, &mut locked.behind, events),
                taken,
            )),
            false => Ok((events, taken)),
        }
    }

    fn take_all(&self, locked: &mut Locked, most: usize) -> Result<Vec<Event>, c_int> {
        let buffers = locked.buffers.get_or_insert_with(Buffers::new);
        let mut events = buffers.fill(self.kernel(), most)?.to_vec();
        let now = crate::sys::clock::now_ns();
        for event in &mut events {
            event.stamp(now);
            if let Some(id) = event.request() {
                handles::is_new(id);
            }
        }
        stats::batch(events.len());
        self.full
            .store(most > 1 && events.len() == most, Ordering::Relaxed);
        match events.is_empty() {
            true => Err(libc::EAGAIN),
            false => Ok(events),
        }
    }

    /// Puts events into the queue, and makes the channel readable for them.
    fn enqueue(&self, locked: &mut Locked, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        self.queue.put(&mut locked.behind, events);
        self.signal_readable(locked);
    }

    /// Makes the channel readable; false if the kernel has no memory for that.
    pub fn signal_readable(&self, locked: &mut Locked) -> bool {
        let app = self.app();
        // The kernel's descriptor is not in the set of the aggregator's channels, so that what is refused wakes nobody. Who
        // waits edge by edge is told of more events by an eventfd that is put there anew.
        if self.how() == How::Thread {
            locked.nothing_queued(app);
        }
        if locked.link.is_none() {
            locked.link = Link::reserve();
        }
        let shown = locked.link.as_mut().is_some_and(|link| link.arm(app));
        if !shown {
            not_shown();
            super::aggregator::signal_later(self);
        }
        shown
    }

    /// Wakes once more whoever waits for the channel edge by edge; false if that cannot be. By the eventfd, put there anew: to
    /// change what is asked of the kernel's descriptor wakes nobody while its set knows that it has events (`ep_modify`,
    /// fs/eventpoll.c). Inside `guard::run`.
    pub fn edge(&self) -> bool {
        let mut locked = self.lock();
        if !self.interposed() {
            return false;
        }
        if locked.link.is_none() {
            locked.link = Link::reserve();
        }
        let app = self.app();
        let Some(link) = &mut locked.link else {
            return false;
        };
        link.disarm(app);
        let woken = link.arm(app);
        if self.queue.is_empty() {
            link.disarm(app);
        }
        woken
    }

    /// The queue has run empty: looks for more if the last batch was a full one, or else says that there is
    /// nothing to read. Inside `guard::run`.
    pub fn drained(&self, batch: usize) {
        let mut locked = self.lock();
        self.queue.refill(&mut locked.behind);
        if !self.queue.is_empty() {
            return;
        }
        if self.full.load(Ordering::Relaxed) && locked.link.is_some() && self.never_waits() {
            let most = self.queue.room(&locked.behind, batch);
            if most > 0 {
                let taken = self.take(&mut locked, most);
                if let Some((events, _)) = taken.ok().filter(|(events, _)| !events.is_empty()) {
                    self.enqueue(&mut locked, events);
                    return;
                }
            }
        }
        locked.nothing_queued(self.app());
    }

    /// Fills the queue for the aggregator; the number of events (0 if there was no room), or errno.
    pub fn read_ahead(&self, locked: &mut Locked, batch: usize) -> Result<usize, c_int> {
        let most = self.queue.room(&locked.behind, batch);
        if most == 0 {
            stats::add(Counter::RingFull, 1);
            self.paused.store(true, Ordering::Release);
            return Ok(0);
        }
        let (events, _) = self.take(locked, most)?;
        let count = events.len();
        self.enqueue(locked, events);
        Ok(count)
    }
}

/// A channel could not be made readable; errno says why.
pub fn not_shown() {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let why = std::io::Error::last_os_error();
    if !REPORTED.swap(true, Ordering::AcqRel) {
        log::warn!(
            "an event channel cannot be made readable for events that were read ahead ({}): a program that waits on its \
             descriptor may not see them at once",
            errno::describe_error(&why)
        );
    }
}
