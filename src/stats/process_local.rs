//! Memory of this process alone: where its statistics are, and what has begun and not ended.
//!
//! The kernel wipes it in every forked child (MADV_WIPEONFORK), also where no atfork handler runs: a
//! child finds no file and makes its own at its first RDMA call, and never writes into its parent's.
//!
//! But a signal handler may fork in the middle of a count, and when it returns in the child, the count goes on there
//! with the address that it had: `fork_child` puts memory there.

use super::starts::OpenSpans;
use cmshim_core::stats::layout::WORDS;
use libc::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The words of the mapped file.
pub type Words = [AtomicU64; WORDS];

/// All zero is its valid first state.
#[repr(C)]
pub struct Own {
    words: AtomicPtr<Words>,
    off: AtomicBool,
    pub starts: OpenSpans,
}

static OWN: AtomicPtr<Own> = AtomicPtr::new(null_mut());
/// Where the file is mapped; not wiped.
static MAPPED: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// This process's, if it is there already.
#[inline]
pub fn get() -> Option<&'static Own> {
    // SAFETY: null, or a mapping that is never unmapped.
    unsafe { OWN.load(Ordering::Acquire).as_ref() }
}

/// The mapped file, if there is one.
#[inline]
pub fn words() -> Option<&'static Words> {
    get()?.words()
}

impl Own {
    #[inline]
    pub fn words(&self) -> Option<&'static Words> {
        // SAFETY: null, or a mapping that is never unmapped. A forked child does not have that
        // mapping (MADV_DONTFORK), and finds null here.
        unsafe { self.words.load(Ordering::Acquire).as_ref() }
    }

    /// Was it found that there is nothing to count into?
    #[inline]
    pub fn off(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    /// Nothing is counted in this process. True for the first one to say so.
    pub fn turn_off(&self) -> bool {
        !self.off.swap(true, Ordering::Relaxed)
    }

    /// Counts into these words from now on; false if another thread was faster.
    pub fn adopt(&self, words: &'static Words) -> bool {
        let words = std::ptr::from_ref(words).cast_mut();
        let first = self
            .words
            .compare_exchange(null_mut(), words, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if first {
            MAPPED.store(words, Ordering::Release);
        }
        first
    }
}

/// In a forked child: empty memory in the place of its parent's file, which nobody will look at.
pub fn fork_child() {
    let at: *mut c_void = MAPPED.swap(null_mut(), Ordering::AcqRel).cast();
    if at.is_null() {
        return;
    }
    let size = size_of::<Words>();
    // SAFETY: an anonymous mapping where nothing is mapped. A kernel that does not know that flag (before 4.17) may
    // choose another place: that one is given back.
    unsafe {
        let made = libc::mmap(
            at,
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        );
        if made != libc::MAP_FAILED && made != at {
            libc::munmap(made, size);
        }
    }
}

/// This process's, made if need be: racing threads each make one, and the first wins.
pub fn get_or_make() -> Result<&'static Own, i32> {
    if let Some(own) = get() {
        return Ok(own);
    }
    let size = size_of::<Own>();
    // SAFETY: a fresh anonymous mapping of the structure's size; its first state is zero.
    let made = unsafe {
        let made = libc::mmap(
            null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if made == libc::MAP_FAILED {
            return Err(last_errno());
        }
        if libc::madvise(made, size, libc::MADV_WIPEONFORK) != 0 {
            let errno = last_errno();
            libc::munmap(made, size);
            return Err(errno);
        }
        made
    };
    Ok(publish(made))
}

fn last_errno() -> i32 {
    let error = std::io::Error::last_os_error();
    error.raw_os_error().unwrap_or(0)
}

/// Makes the mapping known, or takes the one that another thread made meanwhile.
fn publish(made: *mut c_void) -> &'static Own {
    let ours = made.cast::<Own>();
    let won = OWN.compare_exchange(null_mut(), ours, Ordering::AcqRel, Ordering::Acquire);
    let own = match won {
        Ok(_) => ours,
        Err(theirs) => {
            // SAFETY: nobody else has seen this mapping.
            unsafe { libc::munmap(made, size_of::<Own>()) };
            theirs
        }
    };
    // SAFETY: either mapping is whole and never unmapped.
    unsafe { &*own }
}
