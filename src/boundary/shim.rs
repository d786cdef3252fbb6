//! The shim of this process: configuration read once, state renewed in a forked child.

use crate::pool::fork;
use crate::reasons::state::State;
use crate::sink;
use crate::sys;
use cmshim_core::config::{self, Config};
use once_cell::race::OnceBox;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Everything that lives as long as the process.
pub struct Shim {
    pub config: Config,
    /// The program's name, as in /proc/self/comm at the first call.
    pub program: String,
    on: AtomicBool,
    state: AtomicPtr<State>,
}

/// Racing threads each build one and the first wins. Nobody waits: a thread that waited here could
/// hold the loader's lock (a constructor during dlopen), or be the child of a fork in the middle.
static SHIM: OnceBox<Shim> = OnceBox::new();

/// The shim, made on the first call; `None` if it is disabled for this program.
pub fn get() -> Option<&'static Shim> {
    let shim = match SHIM.get() {
        Some(shim) => shim,
        None => made()?,
    };
    shim.on().then_some(shim)
}

#[cold]
#[inline(never)]
fn made() -> Option<&'static Shim> {
    super::guard::run(first_call)
}

fn first_call() -> &'static Shim {
    sys::catch_panic_messages();
    let mut problems = Vec::new();
    let made = SHIM.get_or_try_init(|| {
        let (shim, found) = Shim::from_configuration();
        problems = found;
        Ok::<_, Infallible>(Box::new(shim))
    });
    let shim = match made {
        Ok(shim) => shim,
        Err(never) => match never {},
    };
    // Only the thread whose shim won goes on from here with problems to tell and hooks to set.
    shim.start(&problems);
    shim
}

impl Shim {
    fn from_configuration() -> (Shim, Vec<String>) {
        let program = sys::program_name();
        let loaded = config::load(&sys::configuration_input(&program));
        let on = !loaded.config.disable && !loaded.skipped();
        let problems = loaded.problems.iter().map(ToString::to_string).collect();
        let shim = Shim {
            config: loaded.config,
            program,
            on: AtomicBool::new(on),
            state: AtomicPtr::new(Box::into_raw(Box::new(State::new()))),
        };
        (shim, problems)
    }

    /// Sets up the log and the fork handler, once.
    fn start(&'static self, problems: &[String]) {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.swap(true, Ordering::AcqRel) || !self.on() {
            return;
        }
        sink::install(self);
        for problem in problems {
            log::warn!("{problem}");
        }
        sys::around_fork(fork::begins, fork::ended, renew_in_child);
        sys::at_exit(crate::reasons::at_exit);
        sys::at_exit(crate::pool::at_exit);
    }

    /// Are features on?
    pub fn on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// State of this process. A forked child has its own: a lock that another thread of the parent
    /// held at the fork stays held for ever in the copy.
    pub fn state(&self) -> &'static State {
        // SAFETY: the pointer comes from Box::into_raw and is never freed.
        unsafe { &*self.state.load(Ordering::Acquire) }
    }

    /// A feature panicked: all off, and one line that says so.
    pub fn broke(&self) {
        self.off(|| format!("internal error: {}", sys::last_panic()));
    }

    /// All off, and one line that says why.
    pub fn off(&self, why: impl FnOnce() -> String) {
        if self.on.swap(false, Ordering::Relaxed) {
            crate::tenant::shim_goes_off(self);
            super::guard::run(|| {
                log::error!(
                    "{}; cmshim is off for this process, all calls pass through unchanged",
                    why()
                );
            });
            // The entries are past: what lies ready would make the program's own destructions fail.
            super::guard::run(|| crate::pool::evict::abandon(self));
        }
    }
}

/// In the child, the only thread is the one that forked.
extern "C" fn renew_in_child() {
    if let Some(shim) = SHIM.get() {
        let parents = shim.state.load(Ordering::Acquire);
        let fresh = Box::into_raw(Box::new(State::new()));
        if shim
            .state
            .compare_exchange(parents, fresh, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            sys::no_own_threads();
            crate::tap::fork_child();
            crate::stats::fork_child();
        }
    }
}

/// The first call of a process with memory of its own: it may be a child that no atfork handler saw (`clone`, `_Fork`).
pub fn first_call_of_process(shim: &Shim) {
    if shim.state().pid != std::process::id() {
        renew_in_child();
    }
}

/// The shim if a call has already made it; used where none should be made.
pub fn existing() -> Option<&'static Shim> {
    SHIM.get()
}
