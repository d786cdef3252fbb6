//! The shim of this process: configuration read once, state renewed in a forked child.

use super::feature::Feature;
use super::per_process::Process;
use crate::process::sink;
use crate::sys::guard;
use crate::{sys, FEATURES};
use cmshim_core::config::{self, Config};
use once_cell::race::OnceBox;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything that lives as long as the process.
pub struct Shim {
    pub config: Config,
    /// The program's name, as in /proc/self/comm at the first call.
    pub program: String,
    on: AtomicBool,
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
    guard::run(first_call)
}

fn first_call() -> &'static Shim {
    sys::catch_panic_messages();
    let mut problems = Vec::new();
    make_state();
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

/// Before anybody can have the shim: then nothing has to be made in a signal handler.
fn make_state() {
    let last = Process::known();
    if last.id() != std::process::id() {
        let process = last.next();
        FEATURES.iter().for_each(|f| (f.renew)(process));
        process.follows(last);
    }
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
        };
        (shim, problems)
    }

    /// Sets up the log, the state of the features and their handlers, once.
    fn start(&'static self, problems: &[String]) {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.swap(true, Ordering::AcqRel) || !self.on() {
            return;
        }
        sink::install(&self.program, &self.config.log);
        for problem in problems {
            log::warn!("{problem}");
        }
        sys::around_fork(before_fork, after_fork, renew_in_child);
        sys::at_exit(at_exit);
    }

    /// Are features on?
    pub fn on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Runs a feature's part; if it panics, features are off from then on, and one line says so.
    pub fn guarded<T>(&'static self, work: impl FnOnce() -> T) -> Option<T> {
        if !self.on() {
            return None;
        }
        let result = guard::run(|| {
            // Debug builds only: what tools/check shows a panic with.
            #[cfg(debug_assertions)]
            assert!(
                sys::load::variable("CMSHIM_TEST_PANIC").is_none(),
                "asked for"
            );
            work()
        });
        if result.is_none() || sys::memory::short() {
            self.turn_off(result.is_none());
        }
        result
    }

    #[cold]
    #[inline(never)]
    fn turn_off(&'static self, broke: bool) {
        if broke {
            self.broke();
        } else {
            self.off(|| "out of memory".to_owned());
        }
    }

    /// A feature panicked: all off, and one line that says so.
    pub fn broke(&'static self) {
        self.off(|| format!("internal error: {}", sys::last_panic()));
    }

    /// All off, and one line that says why.
    fn off(&'static self, why: impl FnOnce() -> String) {
        if self.on.swap(false, Ordering::Relaxed) {
            FEATURES.iter().for_each(|f| (f.goes_off)(self));
            guard::run(|| {
                log::error!(
                    "{}; cmshim is off for this process, all calls pass through unchanged",
                    why()
                );
            });
            FEATURES.iter().for_each(|f| (f.is_off)(self));
        }
    }
}

fn each(work: impl Fn(&Feature, &'static Shim)) {
    if let Some(shim) = SHIM.get() {
        FEATURES.iter().for_each(|f| work(f, shim));
    }
}

extern "C" fn before_fork() {
    each(|f, shim| (f.fork_before)(shim));
}

extern "C" fn after_fork() {
    each(|f, shim| (f.fork_parent)(shim));
}

/// In the child, the only thread is the one that forked.
extern "C" fn renew_in_child() {
    if SHIM.get().is_some() {
        renew(Process::known());
    }
}

extern "C" fn at_exit() {
    if let Some(shim) = SHIM.get().filter(|shim| shim.on()) {
        let last_first = FEATURES.iter().rev();
        last_first.for_each(|f| (f.at_exit)(shim));
    }
}

/// All state is made anew, by each thread that finds it is another process's; what else is to be done, by one of them.
fn renew(last: Process) {
    let process = last.next();
    FEATURES.iter().for_each(|f| (f.renew)(process));
    if process.follows(last) {
        sys::no_own_threads();
        FEATURES.iter().for_each(|f| (f.fork_child)());
    }
}

/// The first call of a process with memory of its own: it may be a child that no atfork handler saw (`clone`, `_Fork`).
pub fn first_call_of_process() {
    let last = Process::known();
    if last.id() != std::process::id() {
        renew(last);
    }
}

/// The shim if a call has already made it; used where none should be made.
pub fn existing() -> Option<&'static Shim> {
    SHIM.get()
}
