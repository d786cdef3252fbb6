//! Ready ones go: before an object that they stand on, with their device, or because memory ran out.

use super::counts::increment;
use super::{channel, enabled, CqPtr, Pool, Ready, AT_EXIT};
use crate::abi::verbs::IbvQp;
use crate::process::shim::Shim;
use crate::real;
use crate::sys::lock::lock;
use cmshim_core::pool::Scope;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Everything of this scope is gone when this returns. It waits for one that is just being made, or
/// destroyed by another thread. True if the object of the scope had been created through us.
#[inline(never)]
pub fn evict(shim: &Shim, scope: Scope) -> bool {
    let pool = super::state();
    let evicted = pool.with(shim, |book| book.evict(scope));
    for item in evicted.items {
        // SAFETY: the book has just given it up, and knows it no more.
        unsafe { destroy(item) };
        pool.counts.destroyed(&pool.counts.evicted);
    }
    // SAFETY: the book has just given these channels up, and nothing stands on them.
    unsafe { channel::close_all(evicted.pairs.into_iter().flatten()) };
    pool.with(shim, |book| book.end(evicted.flight));
    pool.notify_done();
    let of_device = u32::from(matches!(scope, Scope::All | Scope::Context(_)));
    pool.hurry.fetch_add(of_device, Ordering::Relaxed);
    let mut book = lock(&pool.book);
    while book.as_ref().is_some_and(|b| b.busy(scope)) {
        book = wait(pool, book, Duration::from_secs(3600));
    }
    drop(book);
    pool.hurry.fetch_sub(of_device, Ordering::Relaxed);
    evicted.known
}

/// The shim goes off: nothing of the pool may stay, as no destruction comes by any more. What is just being
/// made is destroyed by the keeper when it lands, and waited for, but not for long: it may be the keeper that broke.
pub fn abandon() {
    super::state().closed.store(true, Ordering::Release);
    empty(AT_EXIT);
}

/// Nothing lies ready any more when this returns, and nothing is just being made, unless that takes longer than `limit`.
pub fn empty(limit: Duration) {
    let pool = super::state();
    let evicted = lock(&pool.book).as_mut().map(|b| b.evict(Scope::All));
    let Some(evicted) = evicted else { return };
    for item in evicted.items {
        // SAFETY: the book has just given it up, and knows it no more.
        unsafe { destroy(item) };
        pool.counts.destroyed(&pool.counts.evicted);
    }
    // SAFETY: the book has just given these channels up, and nothing stands on them.
    unsafe { channel::close_all(evicted.pairs.into_iter().flatten()) };
    if let Some(book) = lock(&pool.book).as_mut() {
        book.end(evicted.flight);
    }
    wait_for_all(limit);
}

/// Waits for what is being made or destroyed, for a while.
pub fn wait_for_all(limit: Duration) {
    let pool = super::state();
    let end = Instant::now() + limit;
    let mut book = lock(&pool.book);
    while book.as_ref().is_some_and(|b| b.busy(Scope::All)) && Instant::now() < end {
        book = wait(pool, book, limit);
    }
}

fn wait<'a, T>(pool: &'a Pool, held: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    let woken = pool.landed.wait_timeout(held, limit);
    woken.unwrap_or_else(PoisonError::into_inner).0
}

/// A call of the program's own failed with this errno: gives up all that the pool has, if that may
/// help. True if the call is worth a second try.
#[inline(never)]
pub fn make_room(shim: &Shim, errno: i32) -> bool {
    let short = matches!(
        errno,
        libc::ENOMEM | libc::EAGAIN | libc::ENOSPC | libc::EMFILE | libc::ENFILE
    );
    if !short || !enabled(shim) {
        return false;
    }
    let pool = super::state();
    let held = pool.with(shim, |book| {
        let held = book.holds_any();
        if held {
            book.hold(Instant::now());
        }
        held
    });
    if held {
        evict(shim, Scope::All);
        increment(&pool.counts.rescued);
    }
    held
}

/// Destroys one that was taken off the shelf, with all that was made with it. A device that is gone is no
/// error of these calls; after another one the object is left to the kernel.
///
/// # Safety
/// All of it is alive, belongs to the pool, and is not used any more: the book does not have it.
#[inline(never)]
pub unsafe fn destroy(item: Ready) {
    // SAFETY: as promised by the caller; what stands on another object goes before it.
    unsafe {
        destroy_qp(item.qp());
        if let Some(own) = item.own {
            own.cqs.into_iter().for_each(|cq| destroy_cq(cq));
            channel::close_all(own.channels);
        }
    }
}

/// Destroys a queue pair of the pool.
///
/// # Safety
/// It is alive, belongs to the pool, and is not used any more.
pub unsafe fn destroy_qp(qp: *mut IbvQp) {
    if let Some(real) = real::ibv_destroy_qp() {
        // SAFETY: as promised by the caller.
        unsafe { real(qp) };
    }
}

/// Destroys a completion queue of the pool.
///
/// # Safety
/// It is alive, belongs to the pool, is not used any more, and no queue pair stands on it.
pub(super) unsafe fn destroy_cq(cq: CqPtr) {
    if let Some(real) = real::ibv_destroy_cq() {
        // SAFETY: as promised by the caller.
        unsafe { real(cq.at()) };
    }
}
