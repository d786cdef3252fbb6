//! librdmacm calls its own exported functions, and these calls come through us like the program's. A librdmacm that was
//! linked with -Bsymbolic-functions binds them within itself: they pass us by, and what we do in them has to be done by
//! the call that the program makes.

use crate::process::thread;
use std::sync::atomic::{AtomicBool, Ordering};

/// Once a call was seen whose inner ones did not come.
static PAST_US: AtomicBool = AtomicBool::new(false);

/// Do inner calls pass us by? Known as soon as the program has made an id or endpoint for which librdmacm calls itself.
pub fn past_us() -> bool {
    PAST_US.load(Ordering::Relaxed)
}

/// A call is about to be made in which librdmacm calls another function of its own.
#[derive(Clone, Copy)]
pub struct Inner(u64);

impl Inner {
    pub fn awaited() -> Inner {
        Inner(thread::entered())
    }

    /// The call went well: did the inner one come through us?
    pub fn came(self) -> bool {
        let came = thread::entered() != self.0;
        if !came {
            PAST_US.store(true, Ordering::Relaxed);
        }
        came
    }
}
