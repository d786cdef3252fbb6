//! The keeper: the one thread of our own. It tells of waits that take too long and sums up floods.

use crate::boundary::guard;
use crate::boundary::shim::Shim;
use crate::reasons::{emit, waits};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Lines are built on this stack; measured use is below 40 KiB in a debug build.
const STACK: usize = 256 * 1024;

/// Starts the keeper of this process if it does not run. Called with all signals blocked, and the
/// thread inherits that: the program's handlers never run on it.
pub fn ensure(shim: &'static Shim) {
    let state = shim.state();
    if !shim.config.threads || state.keeper.swap(true, Ordering::AcqRel) {
        return;
    }
    let started = std::thread::Builder::new()
        .name("cmshim-keeper".to_owned())
        .stack_size(STACK)
        .spawn(move || loop {
            let told = guard::run(|| {
                let now = Instant::now();
                for (key, waiting) in state.watch.take_due(now) {
                    waits::tell(shim, key, &waiting, now);
                }
                emit::summaries(shim, state, now);
            });
            if told.is_none() {
                shim.broke();
                return;
            }
            state.watch.sleep();
        });
    if let Err(error) = started {
        log::warn!(
            "cannot start a thread ({error}): early warnings and the watchdog are off in this process"
        );
    }
}
