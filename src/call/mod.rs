//! A call of the program on its way through: `Call` begins it, lets the features have their say, and ends it once.

mod policy;

use crate::abi::cm::RdmaCmId;
use crate::process::ended::Ended;
use crate::process::shim::{self, Shim};
use crate::process::thread;
use crate::stats::{self, Bypass, CallSpan, Entry};
use crate::sys::clock::Moment;
use crate::sys::guard::{self, errno, set_errno};
use std::sync::Mutex;

/// A value that a C function returns, and how it says "failed".
pub trait Returned: Copy {
    /// The errno of a failure: -1 or NULL leave it in `errno`, some verbs return it.
    fn failure(self, errno: i32) -> Option<i32>;
}

impl Returned for i32 {
    fn failure(self, errno: i32) -> Option<i32> {
        match self {
            0 => None,
            positive if positive > 0 => Some(positive),
            _ => Some(errno),
        }
    }
}

impl<T> Returned for *mut T {
    fn failure(self, errno: i32) -> Option<i32> {
        self.is_null().then_some(errno)
    }
}

impl Returned for () {
    fn failure(self, _errno: i32) -> Option<i32> {
        None
    }
}

/// A call on its way through. It has one end: `finish`, `finish_if`, `finish_if_failed`, `done` or `refused` takes it, and gives
/// what the entry has to return. It has no destructor on purpose: a thread can be cancelled, or leave
/// by longjmp, while the real call blocks.
#[must_use]
pub struct Call {
    pub name: &'static str,
    /// Is this the program's own call (and not one of librdmacm's inner ones)?
    pub outermost: bool,
    shim: Option<&'static Shim>,
    began: CallSpan,
    errno: i32,
    /// Something took its time since it began.
    delayed: bool,
}

/// What an entry returns: only an end of its `Call` makes it.
#[must_use]
pub struct Finished<R>(R);

impl<R> Finished<R> {
    pub fn value(self) -> R {
        self.0
    }

    /// The entry returns this: where the value that says how the call ended is another one.
    pub fn giving<S>(self, value: S) -> Finished<S> {
        Finished(value)
    }
}

/// Steps into an entry. Costs a thread-local look when the shim is off.
///
/// # Safety
/// `id` is null or the program's id, valid during this call.
#[inline(never)]
pub unsafe fn enter(entry: Entry, id: *const RdmaCmId) -> Call {
    let name = entry.name();
    let pass = Call {
        name,
        outermost: false,
        shim: None,
        began: CallSpan::uncounted(entry),
        errno: 0,
        delayed: false,
    };
    if guard::inside() {
        return pass;
    }
    let before = errno();
    let here = 0u8;
    let Some(shim) = shim::get() else {
        stats::bypassed(Bypass::Off);
        return pass;
    };
    let outermost = thread::enter(name, std::ptr::addr_of!(here) as usize);
    if !stats::on() {
        stats::begin(shim);
    }
    // SAFETY: as promised by the caller.
    let began = unsafe { CallSpan::now(entry, outermost, id) };
    if outermost {
        thread::note_mark(began.mark);
    }
    Call {
        name,
        outermost,
        shim: Some(shim),
        began,
        errno: before,
        delayed: false,
    }
}

impl Call {
    /// Does it come from outside, with the shim on?
    pub fn counted(&self) -> bool {
        self.shim.is_some()
    }

    /// The shim, for work that needs no guard: it takes no lock, allocates nothing and calls nobody.
    pub fn shim(&self) -> Option<&'static Shim> {
        self.shim.filter(|shim| shim.on())
    }

    /// The moment before the real call: that at which this one began, where statistics looked at the clock then, and
    /// nothing has taken its time since.
    pub fn moment(&self) -> Moment {
        let began = self.began.at().filter(|_| !self.delayed);
        began.unwrap_or_else(Moment::now)
    }

    /// Its time counts as this phase: where the same entry may be served in two ways.
    pub fn counts_as(&mut self, phase: stats::Phase) {
        self.began.counts_as(phase);
    }

    /// Runs the feature's part before the real call.
    pub fn before(&self, work: impl FnOnce(&'static Shim)) {
        self.decide((), work);
    }

    /// As `before`, with a value for the real call; `otherwise` when the feature is off or broke.
    pub fn decide<T>(&self, otherwise: T, work: impl FnOnce(&'static Shim) -> T) -> T {
        match self.shim {
            Some(shim) => shim.guarded(|| work(shim)).unwrap_or(otherwise),
            None => otherwise,
        }
    }

    /// Steps out of a call that is not made: it fails with this errno.
    pub fn refused(self, errno: i32) -> Finished<i32> {
        set_errno(errno);
        let finished = self.finish(-1, |_, ended| {
            if !ended.outermost {
                thread::note_inner(thread::Inner {
                    call: ended.name,
                    errno,
                    states: None,
                });
            }
        });
        set_errno(errno);
        finished
    }

    /// The errno with which the real call failed, if it did; costs nothing while the shim is off.
    fn failed_with<R: Returned>(&self, ret: R) -> Option<i32> {
        self.shim.and_then(|_| ret.failure(errno()))
    }

    /// The outcome of a call, or of a second try where the feature says that the errno of the first one is
    /// worth it.
    pub fn retry_if<R: Returned>(
        &self,
        first: R,
        worth: impl FnOnce(&'static Shim, i32) -> bool,
        make: impl FnOnce() -> R,
    ) -> R {
        match self.failed_with(first) {
            Some(errno) if self.decide(false, |shim| worth(shim, errno)) => {
                // The first try never was.
                set_errno(self.errno);
                make()
            }
            _ => first,
        }
    }

    /// Steps out of a call that returned `rc`, with the features' part after it.
    pub fn finish<R: Returned>(
        self,
        rc: R,
        work: impl FnOnce(&'static Shim, Ended),
    ) -> Finished<R> {
        let Some(shim) = self.shim else {
            return Finished(rc);
        };
        let failed = rc.failure(errno());
        self.began.ends(failed);
        let ended = Ended {
            name: self.name,
            outermost: self.outermost,
            failed,
            mark: thread::mark(),
            began: self.began.at(),
        };
        shim.guarded(|| work(shim, ended));
        thread::leave();
        Finished(rc)
    }

    /// As `finish`, for work that only a failed call makes: one that went well just steps out.
    pub fn finish_if_failed<R: Returned>(
        self,
        rc: R,
        work: impl FnOnce(&'static Shim, Ended),
    ) -> Finished<R> {
        self.finish_if(rc, false, work)
    }

    /// As `finish_if_failed`, but if `wanted` with work after a call that went well, too.
    pub fn finish_if<R: Returned>(
        self,
        rc: R,
        wanted: bool,
        work: impl FnOnce(&'static Shim, Ended),
    ) -> Finished<R> {
        if wanted || rc.failure(0).is_some() {
            self.finish(rc, work)
        } else {
            self.done(rc)
        }
    }

    /// Steps out where nothing is left to do: it went well, or ended without news.
    pub fn done<R>(self, rc: R) -> Finished<R> {
        if self.shim.is_some() {
            self.began.ends(None);
            thread::leave();
        }
        Finished(rc)
    }
}

/// A symbol that no library has: one line, and the failure value that the caller returns.
pub fn missing<R>(name: &'static str, failure: R) -> R {
    stats::bypassed(Bypass::MissingSymbol);
    static REPORTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    if let Some(shim) = shim::get().filter(|_| !guard::inside()) {
        shim.guarded(|| {
            // Not waited for: in a forked child it may be held for ever.
            let Ok(mut told) = REPORTED.try_lock() else {
                return;
            };
            if !told.contains(&name) {
                told.push(name);
                log::warn!("{name} is not in the installed library (an older rdma-core?): the call fails with ENOSYS");
            }
        });
    }
    set_errno(libc::ENOSYS);
    failure
}

#[cfg(test)]
mod tests {
    use super::Call;

    /// Whoever copied a call, or forgot it in a destructor, could end it twice or in the middle of an unwinding.
    #[test]
    fn a_call_is_neither_copied_nor_dropped() {
        trait Kind {
            const COPIED: bool = false;
        }
        struct Of<T>(std::marker::PhantomData<T>);
        impl<T> Kind for Of<T> {}
        impl<T: Clone> Of<T> {
            const COPIED: bool = true;
        }
        const { assert!(Of::<i32>::COPIED && !Of::<Call>::COPIED) };
        const { assert!(!std::mem::needs_drop::<Call>()) };
    }
}
