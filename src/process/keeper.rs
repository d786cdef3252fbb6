//! The keeper: the one thread of our own beside that which reads events. It does what the features have put down for later: tells of
//! waits that take too long, sums up floods, fills the pool, looks whether the tenant policy has changed.

use crate::process::feature::Feature;
use crate::process::per_process::PerProcess;
use crate::process::shim::Shim;
use crate::sys::clock::now_ns;
use crate::sys::guard;
use crate::sys::lock::lock;
use crate::{sys, FEATURES};
use cmshim_core::codes::errno;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// It never sleeps longer, and ends when it had nothing to do for so long.
const NAP: Duration = Duration::from_secs(1);

/// Lines are built on this stack, beside the program's thread-local variables, which glibc puts
/// there too; measured use is below 40 KiB in a debug build.
const STACK: usize = 256 * 1024;

/// After a start that failed, none is tried for so long: what is short then, a limit of threads or memory, is not had
/// at the next call.
const PAUSE_NS: u64 = 1_000_000_000;

/// The keeper of a process.
#[derive(Default)]
struct Keeper {
    running: Running,
    schedule: Mutex<Schedule>,
    bell: Condvar,
}

#[derive(Default)]
struct Schedule {
    /// Up to when it sleeps; `None`: not known.
    asleep_until: Option<Instant>,
    /// The earliest of the times that were put down since its last round began.
    planned: Option<Instant>,
}

static KEEPER: PerProcess<Keeper> = PerProcess::new(Keeper::default);

pub const FEATURE: Feature = Feature {
    renew: |process| KEEPER.renew(process),
    ..Feature::NONE
};

/// Whether the keeper of a process runs.
#[derive(Default)]
struct Running {
    runs: AtomicBool,
    /// When a start may be tried again, after one that failed; 0: at once.
    again_ns: AtomicU64,
}

impl Running {
    /// True for the one caller that is to start it now.
    fn claim(&self) -> bool {
        let idle = !self.runs.load(Ordering::Acquire);
        idle && now_ns() >= self.again_ns.load(Ordering::Acquire)
            && !self.runs.swap(true, Ordering::AcqRel)
    }

    fn failed(&self) {
        self.again_ns.store(now_ns() + PAUSE_NS, Ordering::Release);
        self.ends();
    }

    /// True if a start had failed before.
    fn started(&self) -> bool {
        self.again_ns.swap(0, Ordering::AcqRel) != 0
    }

    /// It ends: who needs it later starts another.
    fn ends(&self) {
        self.runs.store(false, Ordering::Release);
    }
}

/// Does it run? Where it does not, whoever needs what it does has to do that himself.
pub fn runs() -> bool {
    KEEPER.get().running.runs.load(Ordering::Acquire)
}

/// There is something to do at that time. Rings only if the keeper would sleep past it.
pub fn at(when: Instant) {
    let keeper = KEEPER.get();
    let mut schedule = lock(&keeper.schedule);
    schedule.plan(when);
    let late = schedule.asleep_until.is_none_or(|until| until > when);
    drop(schedule);
    if late {
        keeper.bell.notify_one();
    }
}

/// Starts the keeper of this process if it does not run. To be called after that which it is to look
/// after was put down. The thread inherits that all signals are blocked: the program's handlers never
/// run on it.
pub fn ensure(shim: &'static Shim) {
    let running = &KEEPER.get().running;
    if !shim.config.threads || !running.claim() {
        return;
    }
    let mask = guard::block_signals();
    let started = std::thread::Builder::new()
        .name("cmshim-keeper".to_owned())
        .stack_size(STACK + sys::thread_local_size())
        .spawn(move || {
            let _own = sys::OwnThread::begin();
            keep(shim);
        });
    guard::restore_signals(&mask);
    match started {
        Ok(_) if running.started() => {
            log::info!("the thread that could not be started before runs now");
        }
        Ok(_) => {}
        Err(error) => {
            running.failed();
            not_started(&error);
        }
    }
}

/// Once in a process.
fn not_started(error: &std::io::Error) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Ordering::AcqRel) {
        let why = errno::describe_error(error);
        log::warn!(
            "cannot start a thread ({why}): early warnings, the watchdog, the pool and tenant.check_ms wait until one can be started; \
             a tenant policy is looked at by the program's own threads"
        );
    }
}

/// Until nothing has been waited for a while. A process whose main thread called pthread_exit ends
/// with its last thread, and that must not be this one for long.
fn keep(shim: &'static Shim) {
    let keeper = KEEPER.get();
    loop {
        lock(&keeper.schedule).planned = None;
        let done = guard::run(|| {
            let now = Instant::now();
            FEATURES.iter().filter_map(|f| (f.work)(shim, now)).min()
        });
        let unguarded = FEATURES.iter().filter_map(|f| (f.work_unguarded)(shim));
        let next = done.flatten().into_iter().chain(unguarded).min();
        if done.is_none() {
            shim.broke();
            return;
        }
        let idle = !keeper.sleep(next) || !shim.on();
        if idle || sys::last_thread() {
            if sys::main_thread_ended() {
                // Our end may be that of the process: its exit handlers run here then, and signals
                // may end it.
                guard::let_signals_in();
            }
            return;
        }
    }
}

impl Schedule {
    fn plan(&mut self, when: Instant) {
        self.planned = Some(self.planned.map_or(when, |planned| planned.min(when)));
    }
}

impl Keeper {
    /// Sleeps until that time or one that is put down meanwhile, or until `NAP` is over. False when there was nothing to do all
    /// the time: it is said to have ended then, and the thread is to end.
    fn sleep(&self, next: Option<Instant>) -> bool {
        let mut schedule = lock(&self.schedule);
        let next = next.into_iter().chain(schedule.planned).min();
        let now = Instant::now();
        let pause = next.map_or(NAP, |next| {
            next.saturating_duration_since(now)
                .clamp(Duration::from_millis(1), NAP)
        });
        schedule.asleep_until = Some(now + pause);
        let mut schedule = self
            .bell
            .wait_timeout(schedule, pause)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        // Awake, and not asleep until a later time than that: whoever adds from now on need not ring, the next round looks at everything.
        schedule.asleep_until = Some(now);
        let idle = next.is_none() && schedule.planned.is_none();
        if idle {
            // Under the lock: whoever adds later finds the flag cleared and starts another keeper.
            self.running.ends();
        }
        !idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_only_when_nothing_is_put_down() {
        let keeper = Keeper::default();
        assert!(keeper.running.claim());
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(keeper.sleep(Some(soon)), "a feature waits for something");
        assert!(!keeper.running.claim());
        lock(&keeper.schedule).plan(soon);
        assert!(keeper.sleep(None), "something was put down");
        lock(&keeper.schedule).planned = None;
        assert!(!keeper.sleep(None));
        assert!(
            keeper.running.claim(),
            "the next one that puts something down starts another"
        );
    }

    #[test]
    fn the_bell_wakes_it_for_an_earlier_time() {
        static ASLEEP: Keeper = Keeper {
            running: Running {
                runs: AtomicBool::new(false),
                again_ns: AtomicU64::new(0),
            },
            schedule: Mutex::new(Schedule {
                asleep_until: None,
                planned: None,
            }),
            bell: Condvar::new(),
        };
        let sleeper = std::thread::spawn(|| {
            let far = Instant::now() + Duration::from_secs(3600);
            while lock(&ASLEEP.schedule).planned.is_none() {
                ASLEEP.sleep(Some(far));
            }
        });
        let mut schedule = lock(&ASLEEP.schedule);
        schedule.plan(Instant::now() + Duration::from_millis(5));
        drop(schedule);
        ASLEEP.bell.notify_one();
        sleeper.join().unwrap();
    }
}
