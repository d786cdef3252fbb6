//! What librdmacm gave the kernel for each handle. Kept for the whole process without a lock, since it is
//! written in the middle of the program's own calls: handles are small numbers that the kernel hands out
//! from the lowest (`xa_alloc`, drivers/infiniband/core/ucma.c), each to one id or group of the whole host.

use cmshim_core::event_queue::{GroupHandle, IdHandle};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Handles have 32 bits: a table of tables of tables.
const FAN: usize = 1 << 10;
const TOP: usize = 1 << 12;

type Leaf = [AtomicU64; FAN];
type Branch = [AtomicPtr<Leaf>; FAN];

/// A value for each handle of one sort; 0 is none.
pub struct Handles<H> {
    branches: [AtomicPtr<Branch>; TOP],
    of: PhantomData<fn(H)>,
}

/// What the kernel numbers.
pub trait Handle: Copy {
    fn number(self) -> u32;
}

impl Handle for IdHandle {
    fn number(self) -> u32 {
        self.0
    }
}

impl Handle for GroupHandle {
    fn number(self) -> u32 {
        self.0
    }
}

/// uid of each id.
pub static IDS: Handles<IdHandle> = Handles::new();
/// 1 for each id that listens.
pub static LISTENERS: Handles<IdHandle> = Handles::new();
/// uid of each multicast group.
pub static GROUPS: Handles<GroupHandle> = Handles::new();
/// Handle of the id that joined each group, plus one.
pub static OWNERS: Handles<GroupHandle> = Handles::new();
/// The channel on which each connect request came that has moved to another one with its listener: the kernel leaves its id
/// there (`ucma_migrate_id`, drivers/infiniband/core/ucma.c).
pub static ORIGINS: Handles<IdHandle> = Handles::new();
/// Events of each id that nobody will see any more, though the id lives: the kernel still counts them.
pub static NEVER_SEEN: Handles<IdHandle> = Handles::new();

/// The kernel has given this handle to a new id. What is known of an older one is of no interest any more: the kernel destroys
/// the ids of a channel that is closed without a command for each.
pub fn is_new(handle: IdHandle) {
    for of_ids in [&IDS, &LISTENERS, &ORIGINS, &NEVER_SEEN] {
        of_ids.take(handle);
    }
}

impl<H> Handles<H> {
    const fn new() -> Handles<H> {
        Handles {
            branches: [const { AtomicPtr::new(null_mut()) }; TOP],
            of: PhantomData,
        }
    }
}

impl<H: Handle> Handles<H> {
    pub fn get(&self, handle: H) -> u64 {
        self.entry(handle).map_or(0, |e| e.load(Ordering::Acquire))
    }

    /// The value, which is gone then.
    pub fn take(&self, handle: H) -> u64 {
        self.entry(handle)
            .map_or(0, |e| e.swap(0, Ordering::AcqRel))
    }

    pub fn set(&self, handle: H, value: u64) {
        let (top, middle, low) = parts(handle);
        let branch = or_made(&self.branches[top], || {
            Box::new([const { AtomicPtr::new(null_mut()) }; FAN])
        });
        let leaf = or_made(&branch[middle], || {
            Box::new([const { AtomicU64::new(0) }; FAN])
        });
        leaf[low].store(value, Ordering::Release);
    }

    pub fn add(&self, handle: H, value: u64) {
        self.set(handle, self.get(handle) + value);
    }

    fn entry(&self, handle: H) -> Option<&AtomicU64> {
        let (top, middle, low) = parts(handle);
        Some(&made(&made(&self.branches[top])?[middle])?[low])
    }
}

fn parts(handle: impl Handle) -> (usize, usize, usize) {
    let handle = handle.number() as usize;
    (handle / FAN / FAN, handle / FAN % FAN, handle % FAN)
}

fn made<T>(place: &AtomicPtr<T>) -> Option<&T> {
    // SAFETY: null, or a table that `or_made` stored; tables are never freed.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// Racing threads each make a table and the first wins.
fn or_made<T>(place: &AtomicPtr<T>, make: impl FnOnce() -> Box<T>) -> &T {
    if let Some(there) = made(place) {
        return there;
    }
    let fresh = Box::into_raw(make());
    match place.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: from Box::into_raw above, and never freed from here on.
        Ok(_) => unsafe { &*fresh },
        Err(first) => {
            // SAFETY: from Box::into_raw above, and nobody else has seen it; `first` is a table that another thread stored.
            unsafe {
                drop(Box::from_raw(fresh));
                &*first
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_handle() {
        static SOME: Handles<IdHandle> = Handles::new();
        assert_eq!(SOME.get(IdHandle(5)), 0);
        SOME.set(IdHandle(5), 77);
        SOME.set(IdHandle(1023), 78);
        SOME.set(IdHandle(1024), 79);
        SOME.set(IdHandle(u32::MAX), 80);
        assert_eq!(
            (
                SOME.get(IdHandle(u32::MAX - 1)),
                SOME.get(IdHandle(1 << 21))
            ),
            (0, 0)
        );
        assert_eq!(
            (
                SOME.get(IdHandle(5)),
                SOME.get(IdHandle(1023)),
                SOME.get(IdHandle(1024))
            ),
            (77, 78, 79)
        );
        assert_eq!(
            (
                SOME.take(IdHandle(5)),
                SOME.get(IdHandle(5)),
                SOME.get(IdHandle(u32::MAX))
            ),
            (77, 0, 80)
        );
    }
}
