//! The first feature: every connection that fails says who, why and what to do.

pub mod asynchronous;
pub mod calls;
pub mod emit;
pub mod events;
pub mod facts;
pub mod refusals;
pub mod state;
pub mod storm;
pub mod subject;
pub mod traffic;
pub mod waits;
pub mod watch;

use crate::boundary::{guard, shim};

/// What was counted and not told yet is told when the process exits.
pub extern "C" fn at_exit() {
    if let Some(shim) = shim::existing().filter(|s| s.on()) {
        guard::run(|| emit::rest(shim));
    }
}
