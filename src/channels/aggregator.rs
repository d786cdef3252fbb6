//! The aggregator: one thread that takes the events of all channels, where the configuration asks for it.
//!
//! It never stands between a program and its events: a channel that it cannot read (the kernel takes commands only from a
//! thread with the credentials of the one that opened the channel, `ib_safe_file_access`) goes back to the program's own
//! threads, and all channels do when it ends.

use super::channel::{AppFd, How, KernelFd, Locked, Tap};
use super::{descriptors, fetch, interpose, ready, table, waiting};
use crate::process::shim::{self, Shim};
use crate::sys::guard;
use crate::sys::lock::lock;
use crate::sys::{self, memory};
use cmshim_core::codes::errno;
use cmshim_core::config::cpus::Cpus;
use libc::{c_int, epoll_event};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const STACK: usize = 256 * 1024;
/// How often it looks whether anybody is left to work for.
const LOOK_UP_MS: c_int = 1_000;
const EVENTS: usize = 64;
/// Rounds in a row that tell only of channels that are not ours, after which the set is not believed to be ours either: a
/// channel that ends while its event is under way makes one.
const STRANGE: u32 = 64;

/// The thread of this process. Lock order: taken under a channel's lock, nothing is taken under it.
#[derive(Default)]
pub struct Aggregator {
    work: Mutex<Work>,
    /// Channels have events that could not be shown: to be tried again.
    unshown: AtomicBool,
}

#[derive(Default)]
struct Work {
    /// The epoll set of all channels' kernel descriptors.
    set: Option<c_int>,
    /// The channels in it, by what the set says of them: a number that stands for a channel only if it is here.
    channels: HashMap<u64, &'static Tap>,
    running: bool,
}

/// What the set says of a channel.
fn key(tap: &Tap) -> u64 {
    std::ptr::from_ref(tap) as u64
}

/// Has the thread take the channel's events, or says what failed.
pub fn add(shim: &'static Shim, tap: &'static Tap, kernel: KernelFd) -> Result<(), String> {
    let failed =
        |what: &str, error: &std::io::Error| format!("{what}: {}", errno::describe_error(error));
    let last = std::io::Error::last_os_error;
    let mut work = lock(&super::state().aggregator.work);
    let set = work.set.or_else(make_set);
    let set = set.ok_or_else(|| failed("the thread's epoll set cannot be made", &last()))?;
    work.set = Some(set);
    if !work.running {
        start(shim).map_err(|error| failed("no thread can be started", &error))?;
    }
    work.running = true;
    let mut event = epoll_event {
        events: libc::EPOLLIN as u32,
        u64: key(tap),
    };
    // SAFETY: `event` lives across the call.
    let added = unsafe {
        crate::real::c_library::epoll_ctl(set, libc::EPOLL_CTL_ADD, kernel.0, &mut event) == 0
    };
    if !added {
        return Err(failed(
            "its descriptor cannot be put into the thread's epoll set",
            &last(),
        ));
    }
    work.channels.insert(key(tap), tap);
    Ok(())
}

fn make_set() -> Option<c_int> {
    // SAFETY: no pointer is passed.
    let set = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    (set >= 0).then(|| interpose::move_up(set))
}

/// The channel is gone; false if its descriptor was something else already. (A channel that the program closed past us
/// left the set when its last descriptor was closed.)
pub fn remove(tap: &'static Tap, kernel: KernelFd) -> bool {
    let mut work = lock(&super::state().aggregator.work);
    work.channels.remove(&key(tap));
    match work.set {
        Some(set) => ready::epoll(AppFd(set), libc::EPOLL_CTL_DEL, kernel.0, 0),
        // The thread is ending, and has left its set to the channels' owners.
        None => interpose::is_event_channel(kernel.0),
    }
}

/// A descriptor of ours has a new number: the set itself, or a channel's kernel descriptor.
pub fn renumber(from: c_int, to: c_int, tap: Option<&'static Tap>) {
    let mut work = lock(&super::state().aggregator.work);
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
        u64: key(tap),
    };
    // SAFETY: `event` lives across the call.
    unsafe { crate::real::c_library::epoll_ctl(set, libc::EPOLL_CTL_ADD, to, &mut event) };
}

/// Listens to the channel, or stops until there is room in its queue. Under the channel's lock, so that the
/// two never cross.
fn listen(tap: &'static Tap, on: bool) {
    let Some(set) = lock(&super::state().aggregator.work).set else {
        return;
    };
    let mut event = epoll_event {
        events: if on { libc::EPOLLIN as u32 } else { 0 },
        u64: key(tap),
    };
    // SAFETY: `event` lives across the call.
    unsafe {
        crate::real::c_library::epoll_ctl(set, libc::EPOLL_CTL_MOD, tap.kernel().0, &mut event)
    };
}

/// The kernel may have events of the channel without having said so.
pub fn look_again(tap: &'static Tap) {
    if !tap.paused.load(Ordering::Acquire) {
        listen(tap, true);
    }
}

/// There is room in the queue again.
pub fn resume(tap: &'static Tap, _locked: &mut Locked) {
    if tap.paused.swap(false, Ordering::AcqRel) {
        listen(tap, true);
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
    locked.nothing_queued(tap.app());
    resume(tap, &mut locked);
}

fn start(shim: &'static Shim) -> std::io::Result<()> {
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
        let why = errno::describe_error(error);
        log::warn!("cannot start a thread ({why}): events are not read ahead in this process");
    }
    started.map(drop)
}

fn run(shim: &'static Shim) {
    guard::run(|| place(&shim.config.events.cpus));
    let busy = shim.config.events.busy_poll;
    let mut awake_until = Instant::now();
    let mut strange = 0;
    loop {
        let wait = match Instant::now() < awake_until {
            true => 0,
            false => LOOK_UP_MS,
        };
        let round = guard::run(|| round(shim, wait));
        strange = match round {
            Some(Round::Strange) => strange + 1,
            _ => 0,
        };
        match round {
            None => {
                hand_over_all("it broke");
                shim.broke();
                return;
            }
            Some(Round::Lost(why)) => return hand_over_all(&why),
            Some(_) if memory::short() => return hand_over_all("no memory"),
            Some(Round::Strange) if strange > STRANGE => {
                return hand_over_all("its epoll set tells of other files");
            }
            Some(Round::Strange) => {}
            Some(Round::Quiet) if wait != 0 && ended() => return,
            Some(Round::Quiet) => {}
            Some(Round::Busy) => awake_until = later(busy),
        }
    }
}

fn later(busy: Duration) -> Instant {
    Instant::now() + busy
}

/// What a look at the channels brought.
enum Round {
    Quiet,
    Busy,
    /// Only of channels that there are not.
    Strange,
    /// The set is no more: the program has closed it by a system call of its own.
    Lost(String),
}

/// Waits for channels with events and takes them.
fn round(shim: &'static Shim, wait_ms: c_int) -> Round {
    let shared = &super::state().aggregator;
    // Asked each time: it may have made way for a file of the program.
    let Some(set) = lock(&shared.work).set else {
        return Round::Lost("its epoll set is gone".to_owned());
    };
    let mut events = [epoll_event { events: 0, u64: 0 }; EVENTS];
    // SAFETY: `events` is writable for that many.
    let n = unsafe { libc::epoll_wait(set, events.as_mut_ptr(), EVENTS as c_int, wait_ms) };
    let Ok(n) = usize::try_from(n) else {
        let error = std::io::Error::last_os_error();
        // It may have got another number meanwhile.
        let moved = lock(&shared.work).set != Some(set);
        return match error.raw_os_error() {
            Some(libc::EBADF | libc::EINVAL) if !moved => {
                Round::Lost(format!("epoll_wait: {}", errno::describe_error(&error)))
            }
            _ => Round::Quiet,
        };
    };
    if shared.unshown.swap(false, Ordering::AcqRel) {
        signal_again();
    }
    let known = |event: &epoll_event| lock(&shared.work).channels.get(&{ event.u64 }).copied();
    let mut ours = 0;
    for tap in events[..n].iter().filter_map(known) {
        take(shim, tap);
        ours += 1;
    }
    match (n, ours) {
        (0, _) => Round::Quiet,
        (_, 0) => Round::Strange,
        _ => Round::Busy,
    }
}

fn take(shim: &'static Shim, tap: &'static Tap) {
    let mut locked = tap.lock();
    if tap.how() != How::Thread {
        return;
    }
    let count = match tap.read_ahead(&mut locked, shim.config.events.batch) {
        Ok(count) => count,
        Err(libc::EAGAIN | libc::EINTR) => 0,
        Err(why) => {
            hand_over(tap, &mut locked);
            drop(locked);
            return not_readable(why);
        }
    };
    if tap.paused.load(Ordering::Acquire) {
        listen(tap, false);
    }
    drop(locked);
    if count > 0 {
        waiting::wake(tap);
    }
}

fn not_readable(why: c_int) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Ordering::AcqRel) {
        let why = errno::describe_error(&std::io::Error::from_raw_os_error(why));
        log::warn!(
            "the thread that reads events cannot read those of an event channel ({why}): the program's own threads read \
             them, and those of other channels where it is so"
        );
    }
}

/// The program's own threads read the channel from now on: non-blocking, many events at once as without the thread; blocking,
/// as bare. Under the channel's lock.
fn hand_over(tap: &'static Tap, _locked: &mut Locked) {
    let (app, kernel) = (tap.app(), tap.kernel());
    remove(tap, kernel);
    let on = descriptors::is_nonblocking(app.0);
    interpose::set_nonblocking(kernel.0, on);
    tap.nonblocking.store(on, Ordering::Release);
    tap.paused.store(false, Ordering::Release);
    // Before the channel says that it is readable: who comes then must not be told that there is nothing.
    tap.set_how(How::Inline);
    if !ready::epoll(app, libc::EPOLL_CTL_ADD, kernel.0, libc::EPOLLIN as u32) {
        fetch::not_shown();
    }
    waiting::wake(tap);
}

/// The thread ends before the program does.
fn hand_over_all(why: &str) {
    let channels = guard::run(|| {
        let mut work = lock(&super::state().aggregator.work);
        work.running = false;
        // Not closed: its number may be another file's by now.
        if let Some(set) = work.set.take() {
            table::hide(set, false);
        }
        std::mem::take(&mut work.channels)
    });
    for tap in channels.unwrap_or_default().into_values() {
        guard::run(|| {
            let mut locked = tap.lock();
            if tap.how() == How::Thread {
                hand_over(tap, &mut locked);
            }
        });
    }
    guard::run(|| {
        log::warn!(
            "the thread that reads events ends ({why}): the program's own threads read them"
        );
    });
}

/// The events of a channel could not be shown to the program.
pub fn signal_later(tap: &Tap) {
    if tap.how() == How::Thread {
        let shared = &super::state().aggregator;
        shared.unshown.store(true, Ordering::Release);
    }
}

fn signal_again() {
    let channels = lock(&super::state().aggregator.work).channels.clone();
    for tap in channels.into_values() {
        let mut locked = tap.lock();
        if tap.how() == How::Thread && !tap.queue.is_empty() {
            tap.signal_readable(&mut locked);
        }
    }
}

/// Is nobody left to work for? A process whose main thread called pthread_exit ends with its last thread.
fn ended() -> bool {
    let mut work = lock(&super::state().aggregator.work);
    if !work.channels.is_empty() && !sys::last_thread() {
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
    let placed = list.and_then(|list| sys::run_on(&list).map_err(|e| errno::describe_error(&e)));
    if let Err(why) = placed {
        log::warn!("events.cpus: the thread that reads events runs on any CPU: {why}");
    }
}
