//! Programs built with a sanitizer of gcc or clang.
//!
//! The run-time library of AddressSanitizer ends a program at its start when another library comes before it
//! (`AsanCheckDynamicRTPrereqs`, compiler-rt/lib/asan/asan_linux.cpp): one that brings its own malloc would hide from it.
//! Ours has none. The run-time libraries of the other sanitizers do not look.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{dynamic, program, warn};

const ASAN_OPTIONS: &str = "ASAN_OPTIONS";
const ANY_ORDER: &str = "verify_asan_link_order=0";

/// What the files of their run-time libraries are called, by gcc and by clang.
const RUN_TIMES: [&[u8]; 6] = [
    b"libasan.so",
    b"libhwasan.so",
    b"liblsan.so",
    b"libtsan.so",
    b"libubsan.so",
    b"libclang_rt.",
];
/// Those of AddressSanitizer.
const ASAN: [&[u8]; 2] = [b"libasan.so", b"libclang_rt.asan"];

/// Is the library, named as in LD_PRELOAD, a sanitizer's?
pub fn is_one(name: &[u8]) -> bool {
    is_any(name, &RUN_TIMES)
}

fn is_any(name: &[u8], known: &[&[u8]]) -> bool {
    let file = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
    known.iter().any(|known| file.starts_with(known))
}

/// The options with which AddressSanitizer bears us before it, for a program that is linked with it.
pub fn options(name: &OsStr) -> Option<(&'static str, OsString)> {
    let path = warn::executed(program::find(name)?);
    checks_order(&path).then(|| (ASAN_OPTIONS, added(std::env::var_os(ASAN_OPTIONS))))
}

fn checks_order(path: &Path) -> bool {
    let needed = dynamic::read(path).unwrap_or_default().needed;
    needed.iter().any(|name| is_any(name.as_bytes(), &ASAN))
}

/// The last mention of an option counts.
fn added(there: Option<OsString>) -> OsString {
    let mut all = there.unwrap_or_default();
    if !all.is_empty() {
        all.push(":");
    }
    all.push(ANY_ORDER);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_options_are_kept() {
        assert_eq!(added(None), "verify_asan_link_order=0");
        let both = added(Some("detect_leaks=0".into()));
        assert_eq!(both, "detect_leaks=0:verify_asan_link_order=0");
    }
}
