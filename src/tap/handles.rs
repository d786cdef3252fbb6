//! What librdmacm gave the kernel for each handle. Kept for the whole process without a lock, since it is
//! written in the middle of the program's own calls: handles are small numbers that the kernel hands out
//! from the lowest (`xa_alloc`, drivers/infiniband/core/ucma.c), each to one id or group of the whole host.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

const PAGE: usize = 1024;
const PAGES: usize = 1024;

type Page = [AtomicU64; PAGE];

/// A value for each handle; 0 is none. Handles of a million and more have none.
pub struct Handles {
    pages: [AtomicPtr<Page>; PAGES],
}

/// uid of each id.
pub static IDS: Handles = Handles::new();
/// 1 for each id that listens.
pub static LISTENERS: Handles = Handles::new();
/// uid of each multicast group.
pub static GROUPS: Handles = Handles::new();
/// Handle of the id that joined each group, plus one.
pub static OWNERS: Handles = Handles::new();

/// Events of each id that nobody will see any more, though the id lives: the kernel still counts them.
pub static NEVER_SEEN: Handles = Handles::new();

impl Handles {
    const fn new() -> Handles {
        Handles {
            pages: [const { AtomicPtr::new(std::ptr::null_mut()) }; PAGES],
        }
    }

    pub fn get(&self, handle: u32) -> u64 {
        self.entry(handle).map_or(0, |e| e.load(Ordering::Acquire))
    }

    /// The value, which is gone then.
    pub fn take(&self, handle: u32) -> u64 {
        self.entry(handle)
            .map_or(0, |e| e.swap(0, Ordering::AcqRel))
    }

    pub fn set(&self, handle: u32, value: u64) {
        if self.entry(handle).is_none() {
            self.add_page(handle);
        }
        if let Some(entry) = self.entry(handle) {
            entry.store(value, Ordering::Release);
        }
    }

    pub fn add(&self, handle: u32, value: u64) {
        self.set(handle, self.get(handle) + value);
    }

    fn entry(&self, handle: u32) -> Option<&AtomicU64> {
        let handle = handle as usize;
        let page = self.pages.get(handle / PAGE)?.load(Ordering::Acquire);
        // SAFETY: null, or a page that `add_page` stored; pages are never freed.
        Some(&unsafe { page.as_ref() }?[handle % PAGE])
    }

    /// Racing threads each make a page and the first wins.
    fn add_page(&self, handle: u32) {
        let Some(place) = self.pages.get(handle as usize / PAGE) else {
            return;
        };
        let page: Box<Page> = Box::new([const { AtomicU64::new(0) }; PAGE]);
        let page = Box::into_raw(page);
        let won = place.compare_exchange(
            std::ptr::null_mut(),
            page,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: from Box::into_raw above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(page) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_handle() {
        static SOME: Handles = Handles::new();
        assert_eq!(SOME.get(5), 0);
        SOME.set(5, 77);
        SOME.set(1023, 78);
        SOME.set(1024, 79);
        SOME.set(u32::MAX, 80);
        assert_eq!((SOME.get(5), SOME.get(1023), SOME.get(1024)), (77, 78, 79));
        assert_eq!((SOME.take(5), SOME.get(5), SOME.get(u32::MAX)), (77, 0, 0));
    }
}
