//! The keeper: the one thread of our own. It tells of waits that take too long, sums up floods, fills
//! the pool and looks whether the tenant policy has changed.

use crate::boundary::guard;
use crate::boundary::shim::Shim;
use crate::pool::fill;
use crate::reasons::{emit, waits};
use crate::sys;
use crate::tenant;
use cmshim_core::codes::errno;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Lines are built on this stack, beside the program's thread-local variables, which glibc puts
/// there too; measured use is below 40 KiB in a debug build.
const STACK: usize = 256 * 1024;

/// Starts the keeper of this process if it does not run. To be called after that which it is to look
/// after was put down. The thread inherits that all signals are blocked: the program's handlers never
/// run on it.
pub fn ensure(shim: &'static Shim) {
    let state = shim.state();
    if !shim.config.threads || state.keeper.swap(true, Ordering::AcqRel) {
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
    if let Err(error) = started {
        let why = errno::told_of(&error);
        log::warn!(
            "cannot start a thread ({why}): early warnings, the watchdog and the pool are off in this process"
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
        if let Some(when) = tenant::check::overdue(shim) {
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
