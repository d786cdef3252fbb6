//! The aggregator: one thread that takes the events of all channels, where the configuration asks for it.

use super::channel::{AppFd, KernelFd, Locked, Tap};
use super::{ready, waiting};
use crate::boundary::guard;
use crate::boundary::shim::{self, Shim};
use crate::lock::lock;
use crate::sys;
use cmshim_core::codes::errno;
use cmshim_core::config::cpus::Cpus;
use libc::{c_int, epoll_event};
use std::sync::atomic::Ordering;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const STACK: usize = 256 * 1024;
/// How often it looks whether anybody is left to work for.
const LOOK_UP_MS: c_int = 1_000;
const EVENTS: usize = 64;

/// The thread of this process. Lock order: taken under a channel's lock, nothing is taken under it.
#[derive(Default)]
pub struct Aggregator(Mutex<Work>);

#[derive(Default)]
struct Work {
    /// The epoll set of all channels' kernel descriptors.
    set: Option<c_int>,
    channels: usize,
    running: bool,
}

/// Has the thread take the channel's events; false if there can be none.
pub fn add(shim: &'static Shim, tap: &'static Tap, kernel: KernelFd) -> bool {
    let mut work = lock(&shim.state().tap.aggregator.0);
    let Some(set) = work.set.or_else(make_set) else {
        return false;
    };
    work.set = Some(set);
    if !work.running && !start(shim) {
        return false;
    }
    work.running = true;
    let mut event = epoll_event {
        events: libc::EPOLLIN as u32,
        u64: std::ptr::from_ref(tap) as u64,
    };
    // SAFETY: `event` lives across the call.
    let added =
        unsafe { super::next::epoll_ctl(set, libc::EPOLL_CTL_ADD, kernel.0, &mut event) == 0 };
    work.channels += usize::from(added);
    added
}

fn make_set() -> Option<c_int> {
    // SAFETY: no pointer is passed.
    let set = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    (set >= 0).then(|| super::swap::move_up(set).unwrap_or(set))
}

/// The channel is gone; false if its descriptor was something else already. (A channel that the program closed past us
/// left the set when its last descriptor was closed.)
pub fn remove(shim: &'static Shim, kernel: KernelFd) -> bool {
    let mut work = lock(&shim.state().tap.aggregator.0);
    let removed = work
        .set
        .is_some_and(|set| ready::epoll(AppFd(set), libc::EPOLL_CTL_DEL, kernel.0, 0));
    work.channels -= usize::from(removed);
    removed
}

/// A descriptor of ours has a new number: the set itself, or a channel's kernel descriptor.
pub fn renumber(shim: &'static Shim, from: c_int, to: c_int, tap: Option<&'static Tap>) {
    let mut work = lock(&shim.state().tap.aggregator.0);
    if work.set == Some(from) {
        work.set = Some(to);
    }
    let (Some(set), Some(tap)) = (work.set, tap) else {
        return;
    };
    ready::epoll(AppFd(set), libc::EPOLL_CTL_DEL, from, 0);
    let mut event = epoll_event {
        events: match tap.paused.load(Ordering::Acquire) {
            true => 0,
            false => libc::EPOLLIN as u32,
        },
        u64: std::ptr::from_ref(tap) as u64,
    };
    // SAFETY: `event` lives across the call.
    unsafe { super::next::epoll_ctl(set, libc::EPOLL_CTL_ADD, to, &mut event) };
}

/// Listens to the channel, or stops until there is room in its queue. Under the channel's lock, so that the
/// two never cross.
fn listen(shim: &'static Shim, tap: &'static Tap, on: bool) {
    let Some(set) = lock(&shim.state().tap.aggregator.0).set else {
        return;
    };
    let mut event = epoll_event {
        events: if on { libc::EPOLLIN as u32 } else { 0 },
        u64: std::ptr::from_ref(tap) as u64,
    };
    // SAFETY: `event` lives across the call.
    unsafe { super::next::epoll_ctl(set, libc::EPOLL_CTL_MOD, tap.kernel().0, &mut event) };
}

/// The kernel may have events of the channel without having said so.
pub fn look_again(tap: &'static Tap) {
    if let Some(shim) = shim::existing().filter(|_| !tap.paused.load(Ordering::Acquire)) {
        listen(shim, tap, true);
    }
}

/// There is room in the queue again.
pub fn resume(tap: &'static Tap, _locked: &mut Locked) {
    if !tap.paused.swap(false, Ordering::AcqRel) {
        return;
    }
    if let Some(shim) = shim::existing() {
        listen(shim, tap, true);
    }
}

/// An event was taken: the queue may be empty, or have room again. Inside `guard::run`.
pub fn drained(tap: &'static Tap) {
    let mut locked = tap.lock();
    tap.queue.refill(&mut locked.behind);
    if !tap.queue.is_empty() {
        let batch = shim::existing().map_or(1, |shim| shim.config.events.batch);
        if tap.queue.room(&locked.behind, batch) * 2 >= batch {
            resume(tap, &mut locked);
        }
        return;
    }
    if let Some(link) = locked.link.take() {
        link.unlink(tap.app());
    }
    resume(tap, &mut locked);
}

fn start(shim: &'static Shim) -> bool {
    // The thread inherits that all signals are blocked: the program's handlers never run on it.
    let mask = guard::block_signals();
    let started = std::thread::Builder::new()
        .name("cmshim-events".to_owned())
        .stack_size(STACK + sys::thread_local_size())
        .spawn(move || {
            let _own = sys::OwnThread::begin();
            run(shim);
        });
    guard::restore_signals(&mask);
    if let Err(error) = &started {
        let why = errno::told_of(error);
        log::warn!("cannot start a thread ({why}): events are not read ahead in this process");
    }
    started.is_ok()
}

fn run(shim: &'static Shim) {
    guard::run(|| place(&shim.config.events.cpus));
    let busy = shim.config.events.busy_poll;
    let mut awake_until = Instant::now();
    loop {
        let wait = match Instant::now() < awake_until {
            true => 0,
            false => LOOK_UP_MS,
        };
        let round = guard::run(|| round(shim, wait));
        match round {
            None => {
                shim.broke();
                return;
            }
            Some(0) if wait != 0 && ended(shim) => return,
            Some(0) => {}
            Some(_) => awake_until = later(busy),
        }
    }
}

fn later(busy: Duration) -> Instant {
    Instant::now() + busy
}

/// Waits for channels with events and takes them; the number of channels.
fn round(shim: &'static Shim, wait_ms: c_int) -> usize {
    // Asked each time: it may have made way for a file of the program.
    let Some(set) = lock(&shim.state().tap.aggregator.0).set else {
        return 0;
    };
    let mut events = [epoll_event { events: 0, u64: 0 }; EVENTS];
    // SAFETY: `events` is writable for that many.
    let n = unsafe { libc::epoll_wait(set, events.as_mut_ptr(), EVENTS as c_int, wait_ms) };
    let n = usize::try_from(n).unwrap_or(0);
    for event in &events[..n] {
        // SAFETY: the address of a tap, which is never freed.
        if let Some(tap) = unsafe { (event.u64 as *const Tap).as_ref() } {
            take(shim, tap);
        }
    }
    n
}

fn take(shim: &'static Shim, tap: &'static Tap) {
    let mut locked = tap.lock();
    if tap.how() != super::channel::How::Thread {
        return;
    }
    let count = tap.read_ahead(&mut locked, shim.config.events.batch);
    if tap.paused.load(Ordering::Acquire) {
        listen(shim, tap, false);
    }
    drop(locked);
    if count > 0 {
        waiting::wake(tap);
    }
}

/// Is nobody left to work for? A process whose main thread called pthread_exit ends with its last thread.
fn ended(shim: &'static Shim) -> bool {
    let mut work = lock(&shim.state().tap.aggregator.0);
    if work.channels > 0 && !sys::last_thread() {
        return false;
    }
    work.running = false;
    drop(work);
    if sys::main_thread_ended() {
        guard::let_signals_in();
    }
    true
}

/// Binds the thread to its CPUs; where that cannot be, one line, and it runs anywhere.
fn place(cpus: &Cpus) {
    let list = match cpus {
        Cpus::Any => return,
        Cpus::These(list) => Ok(list.clone()),
        Cpus::Device => sys::device::numa_cpus(),
    };
    let placed = list.and_then(|list| sys::run_on(&list).map_err(|e| errno::told_of(&e)));
    if let Err(why) = placed {
        log::warn!("events.cpus: the thread that reads events runs on any CPU: {why}");
    }
}
