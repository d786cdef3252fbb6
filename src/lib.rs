//! libcmshim: the shared object that stands between a program and librdmacm/libibverbs.
//!
//! The way of a call: `hooks` (exported C symbols) -> `call` -> the features (`stats`, `tenant`, `pool`, `channels`, `diagnosis`) ->
//! `process` (what stands around our code) -> `real` (all ways out). Nothing imports what stands before it. This file is the root: it lists
//! the features.

// In a test build the entries are not exported, so that the test program does not interpose itself.
#![cfg_attr(test, allow(dead_code))]

mod abi;
mod call;
mod channels;
mod diagnosis;
#[cfg(test)]
mod headers;
mod hooks;
mod pool;
mod process;
mod real;
mod stats;
mod symbols;
mod sys;
mod tenant;

use libc::{c_char, c_int};
use process::feature::Feature;

/// The features, and what each has to do with the life of the process. The order is that in which state is made, the keeper works
/// and forks are told of; exits go the other way: the pool ends what is being made before the last lines are written.
static FEATURES: [Feature; 6] = [
    process::keeper::FEATURE,
    diagnosis::FEATURE,
    pool::FEATURE,
    Feature {
        work_unguarded: |shim| tenant::check::overdue(shim, channels::refused_at),
        ..tenant::FEATURE
    },
    channels::FEATURE,
    stats::FEATURE,
];

/// glibc calls constructors with the arguments of main.
#[used]
#[link_section = ".init_array"]
static AT_LOAD: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = at_load;

unsafe extern "C" fn at_load(_argc: c_int, _argv: *const *const c_char, env: *const *const c_char) {
    real::c_library::look_up();
    // SAFETY: as the loader passes it.
    unsafe { sys::load::remember(env) };
}
