//! The table of the functions of libc through which a program or librdmacm uses the descriptor of an event
//! channel. For every other descriptor they are one look into a table, and then libc's own.

use super::{Lib, Symbol};

/// Version of the oldest symbols of glibc on this architecture.
#[cfg(target_arch = "x86_64")]
const C_BASE: &std::ffi::CStr = c"GLIBC_2.2.5";
#[cfg(target_arch = "aarch64")]
const C_BASE: &std::ffi::CStr = c"GLIBC_2.17";

/// All of them.
pub const DESCRIPTORS: &[Symbol] = &[
    on_descriptors(
        "write",
        C_BASE,
        "serves events that were read ahead, corrects commands that end or move an id",
    ),
    on_descriptors(
        "fcntl",
        C_BASE,
        "sees a channel become non-blocking, or duplicated",
    ),
    on_descriptors("fcntl64", c"GLIBC_2.28", "as fcntl"),
    on_descriptors(
        "ioctl",
        C_BASE,
        "sees a channel become non-blocking (FIONBIO)",
    ),
    on_descriptors(
        "epoll_ctl",
        epoll_version(),
        "sees a channel added to an epoll set",
    ),
    on_descriptors("dup", C_BASE, "sees a channel duplicated"),
    on_descriptors("dup2", C_BASE, "sees a channel duplicated or replaced"),
    on_descriptors(
        "dup3",
        dup3_version(),
        "sees a channel duplicated or replaced",
    ),
    on_descriptors("close", C_BASE, "sees a channel closed behind librdmacm's back; the library's own descriptors are not open for the program"),
    on_descriptors("close_range", c"GLIBC_2.34", "as close"),
    on_descriptors("closefrom", c"GLIBC_2.34", "as close"),
];

const fn on_descriptors(
    name: &'static str,
    version: &'static std::ffi::CStr,
    does: &'static str,
) -> Symbol {
    Symbol {
        name,
        lib: Lib::C,
        version,
        does,
        test: "calls/descriptors.c",
    }
}

const fn epoll_version() -> &'static std::ffi::CStr {
    if cfg!(target_arch = "x86_64") {
        c"GLIBC_2.3.2"
    } else {
        C_BASE
    }
}

const fn dup3_version() -> &'static std::ffi::CStr {
    if cfg!(target_arch = "x86_64") {
        c"GLIBC_2.9"
    } else {
        C_BASE
    }
}
