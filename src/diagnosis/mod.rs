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

use crate::process::feature::Feature;
use crate::process::shim::Shim;
use crate::sys::guard;
use state::{records, STATE};
use std::time::Instant;

pub const FEATURE: Feature = Feature {
    renew: |process| STATE.renew(process),
    at_exit,
    work,
    ..Feature::NONE
};

/// What was counted and not told yet is told when the process exits.
fn at_exit(shim: &'static Shim) {
    guard::run(|| emit::rest(shim));
}

/// Tells of waits that took too long and sums up floods.
fn work(shim: &'static Shim, now: Instant) -> Option<Instant> {
    for (key, waiting) in records().watch.take_due(now) {
        waits::report(shim, key, &waiting, now);
    }
    let summary = emit::summaries(shim, now);
    records().watch.next().into_iter().chain(summary).min()
}
