//! The keeper: the one thread of our own. It tells of waits that take too long, sums up floods, fills
//! the pool and looks whether the tenant policy has changed.

use crate::boundary::guard;
use crate::boundary::shim::Shim;
use crate::pool::fill;
use crate::reasons::{emit, waits};
use crate::stats::now_ns;
use crate::sys;
use crate::tap;
use crate::tenant;
use cmshim_core::codes::errno;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Lines are built on this stack, beside the program's thread-local variables, which glibc puts
/// there too; measured use is below 40 KiB in a debug build.
const STACK: usize = 256 * 1024;

/// After a start that failed, none is tried for so long: what is short then, a limit of threads or memory, is not had
/// at the next call.
const PAUSE_NS: u64 = 1_000_000_000;

/// Whether the keeper of a process runs.
#[derive(Default)]
pub struct Running {
    runs: AtomicBool,
    /// When a start may be tried again, after one that failed; 0: at once.
    again_ns: AtomicU64,
}

impl Running {
    /// True for the one caller that is to start it now.
    pub fn claim(&self) -> bool {
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
    pub fn ends(&self) {
        self.runs.store(false, Ordering::Release);
    }
}

/// Does it run? Where it does not, whoever needs what it does has to do that himself.
pub fn runs(shim: &Shim) -> bool {
    shim.state().keeper.runs.load(Ordering::Acquire)
}

/// Starts the keeper of this process if it does not run. To be called after that which it is to look
/// after was put down. The thread inherits that all signals are blocked: the program's handlers never
/// run on it.
pub fn ensure(shim: &'static Shim) {
    let running = &shim.state().keeper;
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
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::AcqRel) {
        let why = errno::told_of(error);
        log::warn!(
            "cannot start a thread ({why}): early warnings, the watchdog, the pool and tenant.check_ms wait until one can be started; \
             a tenant policy is looked at by the program's own threads"
        );
    }
}

/// Until nothing has been waited for a while. A process whose main thread called pthread_exit ends
/// with its last thread, and that must not be this one for long.
fn keep(shim: &'static Shim) {
    let state = shim.state();
    loop {
        let told = guard::run(|| {
            let now = Instant::now();
            for (key, waiting) in state.watch.take_due(now) {
                waits::tell(shim, key, &waiting, now);
            }
            emit::summaries(shim, state, now);
            if let Some(when) = fill::work(shim) {
                state.watch.pool_at(when);
            }
            if let Some(when) = tenant::look(shim) {
                state.watch.tenants_at(when);
            }
        });
        if let Some(when) = tenant::check::overdue(shim, tap::refused_at) {
            state.watch.tenants_at(when);
        }
        if told.is_none() {
            shim.broke();
            return;
        }
        let idle = !state.watch.sleep(&state.keeper) || !shim.on();
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
