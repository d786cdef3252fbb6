//! State that belongs to one process. A forked child has its own: a lock that another thread of the parent held at the fork
//! stays held for ever in the copy.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Which process this is, in the order of forks (high half), and its id (low half). The id alone would not do: in
/// another namespace a child may have its parent's.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// A process, as its forks see it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// The one that all state is of.
    pub fn known() -> Process {
        Process(PROCESS.load(Ordering::Acquire))
    }

    /// The one that runs, which is no longer the one that all state is of.
    pub fn next(self) -> Process {
        let forks = (self.0 >> 32).wrapping_add(1);
        Process(forks << 32 | u64::from(std::process::id()))
    }

    pub fn id(self) -> u32 {
        self.0 as u32
    }

    /// All state is of this process from now on. True for the one caller that makes it so.
    pub fn follows(self, last: Process) -> bool {
        PROCESS
            .compare_exchange(last.0, self.0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// A value for each process. Never freed, as threads may hold what `get` gave.
pub struct PerProcess<T: Send + Sync + 'static> {
    at: AtomicPtr<Of<T>>,
    make: fn() -> T,
}

struct Of<T> {
    process: Process,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    pub const fn new(make: fn() -> T) -> PerProcess<T> {
        let at = AtomicPtr::new(std::ptr::null_mut());
        PerProcess { at, make }
    }

    /// That of this process. Made by `renew` at the first call, so that no later one allocates here.
    #[inline]
    pub fn get(&self) -> &'static T {
        // SAFETY: null, or from Box::into_raw in `renew`, and never freed once it is there.
        match unsafe { self.at.load(Ordering::Acquire).as_ref() } {
            Some(of) => &of.value,
            None => self.first(),
        }
    }

    #[cold]
    fn first(&self) -> &'static T {
        self.renew(Process::known());
        self.get()
    }

    /// Makes that of a process, if nobody has done so.
    pub fn renew(&self, process: Process) {
        loop {
            let last = self.at.load(Ordering::Acquire);
            // SAFETY: as in `get`.
            if unsafe { last.as_ref() }.is_some_and(|of| of.process == process) {
                return;
            }
            let value = (self.make)();
            let fresh = Box::into_raw(Box::new(Of { process, value }));
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            if self
                .at
                .compare_exchange(last, fresh, order.0, order.1)
                .is_ok()
            {
                return;
            }
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_value_is_made_once_for_each_process() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        static VALUE: PerProcess<u32> = PerProcess::new(|| MADE.fetch_add(1, Ordering::Relaxed));
        assert_eq!((VALUE.get(), VALUE.get()), (&0, &0));
        let child = Process(1 << 32 | 7);
        VALUE.renew(child);
        VALUE.renew(child);
        assert_eq!(VALUE.get(), &1);
        // A child of the child that has the same id, in a namespace of its own.
        VALUE.renew(Process(2 << 32 | 7));
        assert_eq!(VALUE.get(), &2);
    }

    #[test]
    fn threads_that_race_have_one_value() {
        static VALUE: PerProcess<Box<u32>> = PerProcess::new(|| Box::new(3));
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| std::ptr::from_ref(VALUE.get()) as usize))
            .collect();
        let mut seen: Vec<usize> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        seen.dedup();
        assert_eq!(seen.len(), 1);
    }
}
