//! fork while the keeper is at work: the child would get the locks of the real libraries as they are at that
//! moment, with nobody to release them. So the keeper is let finish what it does, and begins nothing meanwhile.
//! And nothing lies ready: a child that goes on in its parent's place (a daemon) may destroy what it inherited.

use super::evict;
use crate::boundary::{guard, shim};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One creation takes less. A device that does not answer is no reason never to fork.
const LONGEST: Duration = Duration::from_millis(100);

/// Before fork.
pub extern "C" fn begins() {
    if let Some(shim) = shim::existing() {
        shim.state().pool.forking.fetch_add(1, Ordering::AcqRel);
        guard::run(|| evict::empty(shim, LONGEST));
    }
}

/// In the parent, after fork. The child has a pool of its own.
pub extern "C" fn ended() {
    if let Some(shim) = shim::existing() {
        shim.state().pool.forking.fetch_sub(1, Ordering::AcqRel);
    }
}
