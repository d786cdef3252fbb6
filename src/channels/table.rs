//! Which descriptors are event channels. Looked at for every `write` of the process: a bounds check and one
//! load.

use super::channel::Tap;
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

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

/// A set of descriptors, one bit each.
struct Set([AtomicU64; DESCRIPTORS / 64]);

impl Set {
    const fn new() -> Set {
        Set([const { AtomicU64::new(0) }; DESCRIPTORS / 64])
    }

    fn bit(&self, fd: c_int) -> Option<(&AtomicU64, u64)> {
        let fd = usize::try_from(fd).ok()?;
        Some((self.0.get(fd / 64)?, 1 << (fd % 64)))
    }

    fn has(&self, fd: c_int) -> bool {
        self.bit(fd)
            .is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }

    fn put(&self, fd: c_int, on: bool) {
        match self.bit(fd) {
            Some((word, bit)) if on => word.fetch_or(bit, Ordering::AcqRel),
            Some((word, bit)) => word.fetch_and(!bit, Ordering::AcqRel),
            None => 0,
        };
    }
}

/// Descriptors of ours that the program does not know.
static HIDDEN: Set = Set::new();

/// Is it one of ours?
pub fn hidden(fd: c_int) -> bool {
    HIDDEN.has(fd)
}

/// It is one of ours from now on, or none any more.
pub fn hide(fd: c_int, on: bool) {
    HIDDEN.put(fd, on);
}

/// Other numbers that the program gave to channels which are epoll sets of ours. One that was closed past us stays here, so it is
/// asked about only where the kernel has refused the file at a number.
static COPIES: Set = Set::new();

/// Is it such a number?
pub fn is_copy(fd: c_int) -> bool {
    COPIES.has(fd)
}

/// It is such a number from now on, or none any more.
pub fn set_copy(fd: c_int, on: bool) {
    COPIES.put(fd, on);
}

/// Ranges of `first..=last` that leave out what is ours. Without allocation: closefrom is called in children of vfork, and
/// close_range in handlers.
pub fn without_hidden(first: u32, last: u32) -> impl Iterator<Item = (u32, u32)> {
    // 64 bits, since the last number may be u32::MAX.
    let (mut from, last) = (u64::from(first), u64::from(last));
    let ours = |fd: u64| c_int::try_from(fd).is_ok_and(hidden);
    std::iter::from_fn(move || {
        while from <= last && ours(from) {
            from += 1;
        }
        if from > last {
            return None;
        }
        let begin = from;
        from = (begin..=last.min(DESCRIPTORS as u64))
            .find(|fd| ours(*fd))
            .unwrap_or(last + 1);
        Some((begin as u32, (from - 1) as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_out_what_is_hidden() {
        hide(60_010, true);
        hide(60_020, true);
        hide(60_021, true);
        assert!(hidden(60_020) && !hidden(60_019) && !hidden(-1) && !hidden(70_000));
        assert_eq!(
            without_hidden(60_000, u32::MAX).collect::<Vec<_>>(),
            [(60_000, 60_009), (60_011, 60_019), (60_022, u32::MAX)]
        );
        assert_eq!(without_hidden(60_020, 60_021).count(), 0);
        hide(60_010, false);
        let ranges: Vec<_> = without_hidden(60_010, 60_020).collect();
        assert_eq!(ranges, [(60_010, 60_019)]);
    }
}
