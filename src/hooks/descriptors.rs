//! Functions of libc on descriptors. For all but event channels' they are libc's own, a bounds check and one
//! load later: async-signal-safe, without lock or allocation, cancellation points as before.

use crate::channels::{self, descriptors};
use crate::real::c_library;
use crate::sys::guard;
use libc::{c_int, c_uint, c_void, epoll_event, size_t, ssize_t};

/// # Safety
/// As `write`.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn write(fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    // SAFETY: the program's arguments.
    unsafe {
        match channels::find(fd) {
            None => c_library::write(fd, buffer, size),
            Some(tap) => channels::write(tap, fd, buffer, size),
        }
    }
}

/// Declared with three arguments: on Linux a variadic argument stands where a named one would.
///
/// # Safety
/// As `fcntl`.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    descriptors::about_to_fcntl(fd, command);
    // SAFETY: the program's arguments.
    let result = unsafe { c_library::fcntl(fd, command, argument) };
    if result >= 0 {
        descriptors::fcntl_done(fd, command, argument, result);
    }
    result
}

/// # Safety
/// As `fcntl64`.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    descriptors::about_to_fcntl(fd, command);
    // SAFETY: the program's arguments.
    let result = unsafe { c_library::fcntl64(fd, command, argument) };
    if result >= 0 {
        descriptors::fcntl_done(fd, command, argument, result);
    }
    result
}

/// # Safety
/// As `ioctl`.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(fd: c_int, request: u64, argument: usize) -> c_int {
    // SAFETY: the program's arguments.
    let result = unsafe { c_library::ioctl(fd, request, argument) };
    if result >= 0 && request == libc::FIONBIO {
        // SAFETY: the kernel has just read an int there.
        descriptors::fionbio_done(fd, unsafe { *(argument as *const c_int) } != 0);
    }
    result
}

/// # Safety
/// As `epoll_ctl`.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn epoll_ctl(
    set: c_int,
    op: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if let Some(mut instead) = descriptors::about_to_add(op, fd, event) {
            return c_library::epoll_ctl(set, op, fd, &mut instead);
        }
        let result = c_library::epoll_ctl(set, op, fd, event);
        if result == 0 {
            return result;
        }
        match descriptors::not_added(op, fd, event) {
            Some(mut instead) => c_library::epoll_ctl(set, op, fd, &mut instead),
            None => result,
        }
    }
}

/// # Safety
/// As `dup`: any number may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    descriptors::about_to_duplicate(fd);
    duplicated(fd, c_library::dup(fd))
}

/// # Safety
/// As `dup2`: any numbers may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    match descriptors::about_to_replace(from, to, 0) {
        Ok(()) => duplicated(from, c_library::dup2(from, to)),
        Err(errno) => refused(errno),
    }
}

/// # Safety
/// As `dup3`: any numbers may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    match descriptors::about_to_replace(from, to, flags) {
        Ok(()) => duplicated(from, c_library::dup3(from, to, flags)),
        Err(errno) => refused(errno),
    }
}

fn duplicated(from: c_int, result: c_int) -> c_int {
    if result >= 0 {
        descriptors::duplicated(from, result);
    }
    result
}

fn refused(errno: c_int) -> c_int {
    guard::set_errno(errno);
    -1
}

/// # Safety
/// As `close`: any number may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if !descriptors::may_close(fd) {
        return refused(libc::EBADF);
    }
    c_library::close(fd)
}

/// # Safety
/// As `close_range`: any numbers may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // With flags it does not close, or in a table that is no longer shared: both as the kernel does it.
    let own = match flags {
        0 if first <= last => descriptors::about_to_close_range(first, last),
        _ => None,
    };
    match own {
        None => c_library::close_range(first, last, flags),
        Some(ranges) => ranges
            .map(|(first, last)| c_library::close_range(first, last, flags))
            .fold(0, c_int::min),
    }
}

/// # Safety
/// As `closefrom`: any number may be given.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    // libc's own also works where the kernel has no close_range.
    match descriptors::about_to_close_range(first.max(0) as c_uint, c_uint::MAX) {
        None => c_library::closefrom(first),
        Some(ranges) => ranges.for_each(|range| match range {
            (first, c_uint::MAX) => c_library::closefrom(first as c_int),
            (first, last) => c_library::close_all(first, last),
        }),
    }
}
