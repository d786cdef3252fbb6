//! The clock of all times: one look through the vDSO, no system call. Where several parts of the library time one
//! thing, they share a look.

use std::cell::Cell;
use std::time::Duration;

/// A point of time, by CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    #[inline]
    pub fn now() -> Moment {
        Moment(now_ns())
    }

    #[inline]
    pub const fn from_ns(ns: u64) -> Moment {
        Moment(ns)
    }

    #[inline]
    pub fn ns(self) -> u64 {
        self.0
    }

    /// How long it is after another one; not at all if it lies before.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// One look at the clock for all who ask during a short piece of our own work, such as that after a real call. It
/// is made when the first one asks, and lies on the stack, so that nobody finds it later. After what may block,
/// `past` is to be called.
#[derive(Debug, Default)]
pub struct LazyNow(Cell<Option<Moment>>);

impl LazyNow {
    #[inline]
    pub fn moment(&self) -> Moment {
        self.0.get().unwrap_or_else(|| {
            let now = Moment::now();
            self.0.set(Some(now));
            now
        })
    }

    /// The moment is over: whoever asks now looks again.
    pub fn past(&self) {
        self.0.set(None);
    }
}

/// CLOCK_MONOTONIC in ns.
#[inline]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME in ns.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable. Both clocks exist always.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_one_moment_until_it_is_past() {
        let (before, look) = (Moment::now(), LazyNow::default());
        std::thread::sleep(Duration::from_millis(2));
        let first = look.moment();
        assert!(
            first.since(before) >= Duration::from_millis(2),
            "not made early"
        );
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(look.moment(), first);
        look.past();
        assert!(look.moment().since(first) >= Duration::from_millis(2));
        assert_eq!(before.since(first), Duration::ZERO);
    }
}
