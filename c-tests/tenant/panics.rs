//! For tenant/check: catches a function's panic, and panics. As Rust does it; thrown.cc does the same as C++ does.

use std::ffi::c_int;
use std::panic::{catch_unwind, resume_unwind};

#[no_mangle]
pub extern "C-unwind" fn caught(call: extern "C-unwind" fn() -> c_int) -> c_int {
    let number = |panic: Box<dyn std::any::Any + Send>| panic.downcast_ref().copied().unwrap_or(0);
    catch_unwind(|| call()).unwrap_or_else(number)
}

/// Without the message that `panic!` prints.
#[no_mangle]
pub extern "C-unwind" fn thrown(number: c_int) {
    resume_unwind(Box::new(number));
}
