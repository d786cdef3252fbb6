//! libcmshim: the shared object that stands between a program and librdmacm/libibverbs.
//!
//! The way of a call: `entry` (exported C symbols) -> `boundary` (init, re-entry, panics, errno) ->
//! `tenant` (who may connect), `tap` (takes events in batches), `pool` (what lies ready), `reasons` (decides what to tell), `stats` (counts and
//! times what happens) and `real` (the only place that calls the real libraries).

// In a test build the entries are not exported, so that the test program does not interpose itself.
#![cfg_attr(test, allow(dead_code))]

mod abi;
mod boundary;
mod entry;
#[cfg(test)]
mod headers;
mod keeper;
mod lock;
mod pool;
mod real;
mod reasons;
mod sink;
mod stats;
mod symbols;
mod sys;
mod tap;
mod tenant;

use boundary::feature::Feature;

/// The features, and what each has to do with the life of the process. The order is that in which state is made, the keeper works
/// and forks are told of; exits go the other way: the pool ends what is being made before the last lines are written.
static FEATURES: [Feature; 6] = [
    keeper::FEATURE,
    reasons::FEATURE,
    pool::FEATURE,
    Feature {
        work_unguarded: |shim| tenant::check::overdue(shim, tap::refused_at),
        ..tenant::FEATURE
    },
    tap::FEATURE,
    stats::FEATURE,
];
