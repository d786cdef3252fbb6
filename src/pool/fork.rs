//! fork while the keeper is at work: the child would get the locks of the real libraries as they are at that
//! moment, with nobody to release them. So the keeper is let finish what it does, and begins nothing meanwhile.
//! And nothing lies ready: a child that goes on in its parent's place (a daemon) may destroy what it inherited.

use super::evict;
use super::state;
use crate::sys::guard;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One creation takes less. A device that does not answer is no reason never to fork.
const LONGEST: Duration = Duration::from_millis(100);

/// Before fork.
pub fn begins() {
    state().forking.fetch_add(1, Ordering::AcqRel);
    guard::run(|| evict::empty(LONGEST));
}

/// In the parent, after fork. The child has a pool of its own.
pub fn ended() {
    state().forking.fetch_sub(1, Ordering::AcqRel);
}
