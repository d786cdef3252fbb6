//! Which functions explain knows, and how a name that is none of them is refused.

use cmshim_core::explain::calls;

use crate::failure::{Failure, USAGE};

/// The function's name as it is written in C.
pub fn known(name: &str) -> Result<&'static str, Failure> {
    let wanted = name.trim().trim_end_matches("()");
    calls()
        .find(|call| call.eq_ignore_ascii_case(wanted))
        .ok_or_else(|| {
            let all: Vec<&str> = calls().collect();
            let message = format!("--call: {name:?} is not one of {}", all.join(", "));
            Failure::new(USAGE, message)
        })
}
