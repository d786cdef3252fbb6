//! What is remembered when the object is loaded, before the program's first line: what stderr is,
//! and the shim's own variables. One system call, in every program that is preloaded.
//!
//! The variables are copied here because the program may change its environment in another thread
//! later, or write its title over it.

use libc::{c_char, c_int, stat};
use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

type Variables = Vec<(OsString, OsString)>;

/// Device and inode of stderr; 0 if it was closed.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
/// Null while there is none: most programs have none, and nothing is allocated in them.
static VARIABLES: AtomicPtr<Variables> = AtomicPtr::new(std::ptr::null_mut());

/// Before the program's first line.
///
/// # Safety
/// `env` is the array that the loader passes to a constructor.
pub unsafe fn remember(env: *const *const c_char) {
    if let Some(s) = status(2) {
        DEVICE.store(s.st_dev, Ordering::Relaxed);
        INODE.store(s.st_ino, Ordering::Relaxed);
    }
    // SAFETY: as promised by the caller.
    let found = unsafe { own_variables(env) };
    if !found.is_empty() {
        VARIABLES.store(Box::into_raw(Box::new(found)), Ordering::Release);
    }
}

/// # Safety
/// `env` is null or a null-terminated array of NUL-terminated strings.
unsafe fn own_variables(env: *const *const c_char) -> Variables {
    let mut found = Vec::new();
    let mut at = env;
    // SAFETY: as promised by the caller; the loop ends at the null.
    while let Some(entry) = unsafe { at.as_ref() }.filter(|e| !e.is_null()) {
        // SAFETY: as promised by the caller.
        let entry = unsafe { CStr::from_ptr(*entry) }.to_bytes();
        if entry.starts_with(b"CMSHIM_") || entry.starts_with(b"MLX5_SINGLE_THREADED=") {
            let end = entry.iter().position(|b| *b == b'=').unwrap_or(entry.len());
            let (name, value) = entry.split_at(end);
            let value = value.get(1..).unwrap_or_default();
            found.push((
                OsStr::from_bytes(name).into(),
                OsStr::from_bytes(value).into(),
            ));
        }
        // SAFETY: not yet at the terminating null.
        at = unsafe { at.add(1) };
    }
    found
}

/// The `CMSHIM_*` variables that the program was started with, and those of a provider that matter to us.
pub fn variables() -> Variables {
    let kept = VARIABLES.load(Ordering::Acquire);
    // SAFETY: null, or from Box::into_raw and never changed or freed.
    unsafe { kept.as_ref() }.cloned().unwrap_or_default()
}

/// One of them.
pub fn variable(name: &str) -> Option<&'static OsStr> {
    let kept = VARIABLES.load(Ordering::Acquire);
    // SAFETY: as above.
    let mut kept = unsafe { kept.as_ref() }?.iter();
    kept.find(|(known, _)| known == name)
        .map(|(_, value)| value.as_os_str())
}

/// Is this still what stderr was at the start?
pub fn was_stderr(s: &stat) -> bool {
    s.st_ino == INODE.load(Ordering::Relaxed) && s.st_dev == DEVICE.load(Ordering::Relaxed)
}

/// Status of a descriptor; `None` if it is closed.
pub fn status(fd: c_int) -> Option<stat> {
    let mut s = MaybeUninit::<stat>::zeroed();
    // SAFETY: `s` is writable for a stat, and zeroed is a valid one.
    unsafe { (libc::fstat(fd, s.as_mut_ptr()) == 0).then(|| s.assume_init()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_variables_are_kept() {
        let entries = [
            c"PATH=/bin",
            c"CMSHIM_LOG_LEVEL=debug",
            c"CMSHIM_ODD",
            c"XCMSHIM_A=1",
        ];
        let mut env: Vec<*const c_char> = entries.iter().map(|e| e.as_ptr()).collect();
        env.push(std::ptr::null());
        // SAFETY: a null-terminated array of strings.
        let found = unsafe { own_variables(env.as_ptr()) };
        let pair = |n: &str, v: &str| (OsString::from(n), OsString::from(v));
        assert_eq!(
            found,
            [pair("CMSHIM_LOG_LEVEL", "debug"), pair("CMSHIM_ODD", "")]
        );
        // SAFETY: null is allowed.
        assert!(unsafe { own_variables(std::ptr::null()) }.is_empty());
    }
}
