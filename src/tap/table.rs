//! Which descriptors are event channels. Looked at for every `write` of the process: a bounds check and one
//! load.

use super::channel::Tap;
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// Channels with higher descriptors are left alone.
pub const DESCRIPTORS: usize = 65_536;

/// Taps are never freed, so whoever found one may use it.
static TABLE: [AtomicPtr<Tap>; DESCRIPTORS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; DESCRIPTORS];

/// The highest descriptor that ever was one.
static HIGHEST: AtomicI32 = AtomicI32::new(-1);

/// The event channel behind a descriptor.
#[inline(always)]
pub fn find(fd: c_int) -> Option<&'static Tap> {
    // A negative descriptor becomes a number far outside.
    let entry = TABLE.get(fd as usize)?;
    // SAFETY: null, or a tap that `set` stored; taps are never freed.
    unsafe { entry.load(Ordering::Acquire).as_ref() }
}

/// Puts a channel at its descriptor; false if the number is too high.
pub fn set(fd: c_int, tap: &'static Tap) -> bool {
    match TABLE.get(fd as usize) {
        Some(entry) => {
            entry.store(std::ptr::from_ref(tap).cast_mut(), Ordering::Release);
            HIGHEST.fetch_max(fd, Ordering::AcqRel);
            true
        }
        None => false,
    }
}

/// The descriptor is no event channel (any more).
pub fn clear(fd: c_int) {
    if let Some(entry) = TABLE.get(fd as usize) {
        entry.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// All channels.
pub fn all() -> impl Iterator<Item = &'static Tap> {
    (0..=HIGHEST.load(Ordering::Acquire)).filter_map(find)
}
