//! Memory of our own code: the program's malloc, and a small reserve for when that has no more.
//!
//! librdmacm answers ENOMEM then, and the program goes on; Rust would end the process. The reserve
//! carries us to the end of what we are at, and afterwards the shim is off (`short`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One line takes less than 32 KiB; several threads may be at one. Pages that are not used cost nothing.
const RESERVE: usize = 256 * 1024;

#[repr(align(4096))]
struct Reserve {
    memory: UnsafeCell<[u8; RESERVE]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given out once, by the atomic counter.
unsafe impl Sync for Reserve {}

static LAST: Reserve = Reserve::new();

/// Has malloc failed once?
pub fn short() -> bool {
    LAST.used.load(Ordering::Relaxed) > 0
}

struct WithReserve;

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

// SAFETY: memory comes from the system's allocator or, each byte once and never again, from the reserve.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            return LAST.take(layout);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !LAST.holds(memory) {
            // SAFETY: as promised by the caller; it came from the system's allocator.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !LAST.holds(memory) {
            // SAFETY: as promised by the caller; it came from the system's allocator.
            let grown = unsafe { System.realloc(memory, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller promises a size that makes a valid layout.
        let moved = LAST.take(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !moved.is_null() {
            // SAFETY: both are as large as the smaller size, and new memory overlaps nothing.
            unsafe {
                std::ptr::copy_nonoverlapping(memory, moved, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}

impl Reserve {
    const fn new() -> Reserve {
        Reserve {
            memory: UnsafeCell::new([0; RESERVE]),
            used: AtomicUsize::new(0),
        }
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        // Room to align within; the reserve itself is aligned for everything that Rust asks for.
        let Some(room) = layout.size().checked_add(layout.align()) else {
            return null_mut();
        };
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(room).filter(|end| *end <= RESERVE)
            });
        match taken {
            Ok(from) => {
                let at = from.next_multiple_of(layout.align());
                // SAFETY: `at` and the size lie within what was just taken.
                unsafe { self.memory.get().cast::<u8>().add(at) }
            }
            Err(_) => null_mut(),
        }
    }

    fn holds(&self, memory: *mut u8) -> bool {
        let start = self.memory.get() as usize;
        (start..start + RESERVE).contains(&(memory as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_aligned_given_out_once_and_ends() {
        static OWN: Reserve = Reserve::new();
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        let a = OWN.take(layout(3, 1));
        let b = OWN.take(layout(64, 64));
        assert!(OWN.holds(a) && OWN.holds(b) && (b as usize).is_multiple_of(64));
        assert!(b as usize >= a as usize + 3);
        assert!(OWN.take(layout(RESERVE, 1)).is_null());
        assert!(!OWN.holds(b.wrapping_add(RESERVE)));
        assert!(!short(), "another one's reserve");
    }
}
