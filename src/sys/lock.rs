//! Locks that a forked child and a panicking thread leave usable.
//!
//! std's futex locks, and not parking_lot's: those park waiters in one table of the process, whose
//! own locks a fork in another thread's wait leaves held for ever in the child.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic: what these locks guard is bookkeeping that is valid at every step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
