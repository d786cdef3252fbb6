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
