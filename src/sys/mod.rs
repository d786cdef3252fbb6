//! What is asked of this process and its kernel: names, limits, sysfs.

pub mod device;
pub mod limits;
mod load;
pub mod output;

use cmshim_core::config::{self, Input};
use std::sync::Mutex;

/// The program's name as `ps` shows it.
pub fn program_name() -> String {
    std::fs::read_to_string("/proc/self/comm")
        .map(|s| s.trim_end().to_owned())
        .unwrap_or_else(|_| "?".to_owned())
}

/// Name of the executable's file, which is not cut to 15 characters.
fn executable_name() -> Option<String> {
    let path = std::fs::read_link("/proc/self/exe").ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Where this process's configuration comes from.
pub fn configuration_input(program: &str) -> Input {
    let mut names = vec![program.to_owned()];
    names.extend(executable_name());
    config::gather(load::variables(), names, secure())
}

/// Is this a secure execution (ld.so(8))?
fn secure() -> bool {
    // SAFETY: getauxval only reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Has `handler` run in each forked child, before fork returns there.
pub fn after_fork_in_child(handler: extern "C" fn()) {
    extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    // SAFETY: the handler is a function of this object, which is never unmapped (-z nodelete).
    unsafe { pthread_atfork(None, None, Some(handler)) };
}

/// Has `handler` run when the process exits.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { libc::atexit(handler) };
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Keeps a panic's message for the line that tells of it, instead of std's print to stderr. The
/// standard library in this object is our own copy: no Rust program above us is affected.
pub fn catch_panic_messages() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST_PANIC.try_lock() {
            *last = info.to_string().replace('\n', " ");
        }
    }));
}

/// Message of the last panic.
pub fn last_panic() -> String {
    LAST_PANIC.lock().map(|s| s.clone()).unwrap_or_default()
}
