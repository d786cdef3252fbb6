//! Our own code runs inside somebody else's thread: no signal, cancellation or panic may leave
//! it halfway, and errno is afterwards what it was before.

use libc::{c_int, sigset_t};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};

extern "C-unwind" {
    // Not in the libc crate for Linux. Values from <pthread.h>.
    // Letting cancellation in again may itself begin the unwind, if the program asked for asynchronous cancellation.
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}
const PTHREAD_CANCEL_DISABLE: c_int = 1;

thread_local! {
    /// Is our own code running on this thread? Then calls that it makes pass straight through.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Is this thread inside `run` already?
pub fn inside() -> bool {
    INSIDE.with(Cell::get)
}

/// errno of this thread.
pub fn errno() -> c_int {
    // SAFETY: glibc returns a valid pointer to this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Sets errno of this thread.
pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value }
}

/// Blocks every signal for this thread and gives the mask that was in force.
pub fn block_signals() -> sigset_t {
    let mut all = MaybeUninit::<sigset_t>::zeroed();
    let mut old = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: both sets are writable, and zeroed is a valid value of the plain bit set.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        old.assume_init()
    }
}

/// Puts a mask back.
pub fn restore_signals(old: &sigset_t) {
    // SAFETY: `old` is a set that pthread_sigmask filled.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, old, std::ptr::null_mut());
    }
}

/// Lets all signals into this thread, one of ours.
pub fn let_signals_in() {
    let mut none = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: the set is writable, and zeroed is a valid value of it.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        restore_signals(&none.assume_init());
    }
}

/// Runs our own code with signals blocked, cancellation held back, panics caught and errno kept.
/// `None` if it panicked, or if this thread is inside already.
///
/// A forced unwind (pthread_cancel) must never meet `catch_unwind`, so nothing that the program
/// could be cancelled in may run in here; with cancellation disabled nothing can.
pub fn run<T>(work: impl FnOnce() -> T) -> Option<T> {
    if inside() {
        return None;
    }
    let before = step_in();
    let result = catch_unwind(AssertUnwindSafe(work));
    step_out(&before);
    result.ok()
}

/// What this thread had before our own code.
struct Before {
    errno: c_int,
    mask: sigset_t,
    cancel: c_int,
}

// Out of line: `run` stands in each entry, some of them several times.
#[inline(never)]
fn step_in() -> Before {
    let errno = errno();
    let mask = block_signals();
    let cancel = set_cancel_state(PTHREAD_CANCEL_DISABLE);
    INSIDE.with(|i| i.set(true));
    Before {
        errno,
        mask,
        cancel,
    }
}

#[inline(never)]
fn step_out(before: &Before) {
    INSIDE.with(|i| i.set(false));
    set_errno(before.errno);
    // Whoever leaves from here on, by cancellation or by longjmp out of a handler, leaves nothing behind.
    set_cancel_state(before.cancel);
    restore_signals(&before.mask);
}

/// Holds cancellation back from here on; gives the state that was.
pub fn hold_cancellation() -> c_int {
    set_cancel_state(PTHREAD_CANCEL_DISABLE)
}

/// Lets it in again, as it was. May itself begin the unwind.
pub fn release_cancellation(state: c_int) {
    set_cancel_state(state);
}

fn set_cancel_state(state: c_int) -> c_int {
    let mut old = 0;
    // SAFETY: `old` is writable; the call only changes a flag of this thread.
    unsafe { pthread_setcancelstate(state, &mut old) };
    old
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_errno_kept() {
        set_errno(123);
        let result: Option<()> = run(|| {
            set_errno(5);
            panic!("caught")
        });
        assert!(result.is_none());
        assert_eq!(errno(), 123);
        assert!(!inside());
    }

    #[test]
    fn signals_are_blocked_inside_only() {
        let blocked = || {
            let mut now = MaybeUninit::<sigset_t>::zeroed();
            // SAFETY: only asks for the mask.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), now.as_mut_ptr());
                libc::sigismember(now.as_ptr(), libc::SIGALRM) == 1
            }
        };
        assert_eq!(run(blocked), Some(true));
        assert!(!blocked());
    }

    static SEEN: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

    extern "C" fn handler(_: c_int) {
        let state = i32::from(inside()) * 1000 + errno();
        SEEN.store(state, std::sync::atomic::Ordering::Relaxed);
    }

    #[test]
    fn a_signal_that_came_meanwhile_finds_this_thread_outside_again() {
        let handler: extern "C" fn(c_int) = handler;
        // SAFETY: the handler only reads thread-locals and stores an atomic.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        set_errno(77);
        run(|| {
            set_errno(5);
            // SAFETY: sent to this thread, which blocks it.
            unsafe { libc::raise(libc::SIGUSR1) };
            assert_eq!(SEEN.load(std::sync::atomic::Ordering::Relaxed), -1);
        });
        assert_eq!(SEEN.load(std::sync::atomic::Ordering::Relaxed), 77);
    }

    #[test]
    fn calls_from_inside_do_not_enter_again() {
        assert_eq!(run(|| run(|| 1)), Some(None));
    }
}
