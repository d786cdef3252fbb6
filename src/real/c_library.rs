//! libc's own functions behind ours, or those of the next preload library.
//!
//! They are looked up when this object is loaded: `write` may be called from a signal handler, where no
//! look-up may run. A call before that (a constructor of another library) goes to libc by its other name,
//! or straight to the kernel.

use libc::{c_int, c_long, c_void, epoll_event, size_t, ssize_t};
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Next(AtomicUsize);

impl Next {
    const fn new() -> Next {
        Next(AtomicUsize::new(0))
    }

    fn look_up(&self, name: &CStr) {
        // SAFETY: a NUL-terminated name; RTLD_NEXT looks behind this object.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        self.0.store(address as usize, Ordering::Relaxed);
    }

    fn get(&self) -> Option<usize> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            address => Some(address),
        }
    }
}

type ThreeWords = unsafe extern "C-unwind" fn(c_int, c_int, usize) -> c_int;
type Write = unsafe extern "C-unwind" fn(c_int, *const c_void, size_t) -> ssize_t;
type Ioctl = unsafe extern "C-unwind" fn(c_int, u64, usize) -> c_int;
type EpollCtl = unsafe extern "C-unwind" fn(c_int, c_int, c_int, *mut epoll_event) -> c_int;
type Dup = unsafe extern "C-unwind" fn(c_int) -> c_int;
type Dup2 = unsafe extern "C-unwind" fn(c_int, c_int) -> c_int;
type Dup3 = unsafe extern "C-unwind" fn(c_int, c_int, c_int) -> c_int;
type Close = unsafe extern "C-unwind" fn(c_int) -> c_int;
type CloseRange = unsafe extern "C-unwind" fn(u32, u32, c_int) -> c_int;
type Closefrom = unsafe extern "C-unwind" fn(c_int);

static WRITE: Next = Next::new();
static FCNTL: Next = Next::new();
static FCNTL64: Next = Next::new();
static IOCTL: Next = Next::new();
static EPOLL_CTL: Next = Next::new();
static DUP: Next = Next::new();
static DUP2: Next = Next::new();
static DUP3: Next = Next::new();
static CLOSE: Next = Next::new();
static CLOSE_RANGE: Next = Next::new();
static CLOSEFROM: Next = Next::new();

/// Run by the loader, before the program's first line.
pub fn look_up() {
    WRITE.look_up(c"write");
    FCNTL.look_up(c"fcntl");
    FCNTL64.look_up(c"fcntl64");
    IOCTL.look_up(c"ioctl");
    EPOLL_CTL.look_up(c"epoll_ctl");
    DUP.look_up(c"dup");
    DUP2.look_up(c"dup2");
    DUP3.look_up(c"dup3");
    CLOSE.look_up(c"close");
    CLOSE_RANGE.look_up(c"close_range");
    CLOSEFROM.look_up(c"closefrom");
}

extern "C-unwind" {
    /// glibc's other name of `write`: a cancellation point too.
    fn __write(fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t;
    /// The same of `close`.
    fn __close(fd: c_int) -> c_int;
}

/// # Safety
/// As `write`.
#[inline(always)]
pub unsafe fn write(fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    match WRITE.get() {
        // SAFETY: the address of `write`, which has this type; the caller's arguments.
        Some(f) => unsafe { std::mem::transmute::<usize, Write>(f)(fd, buffer, size) },
        // SAFETY: the caller's arguments.
        None => unsafe { __write(fd, buffer, size) },
    }
}

/// # Safety
/// As `fcntl`. The third argument is passed on whether or not the program gave one: on Linux a variadic
/// argument stands where a named one would.
pub unsafe fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { three(&FCNTL, libc::SYS_fcntl, fd, command, argument) }
}

/// # Safety
/// As `fcntl64`.
pub unsafe fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { three(&FCNTL64, libc::SYS_fcntl, fd, command, argument) }
}

/// # Safety
/// As `ioctl`.
pub unsafe fn ioctl(fd: c_int, request: u64, argument: usize) -> c_int {
    match IOCTL.get() {
        // SAFETY: the address of `ioctl`; the caller's arguments.
        Some(f) => unsafe { std::mem::transmute::<usize, Ioctl>(f)(fd, request, argument) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) as c_int },
    }
}

/// # Safety
/// As the function behind `next`, or the system call `number`.
unsafe fn three(next: &Next, number: c_long, fd: c_int, command: c_int, argument: usize) -> c_int {
    match next.get() {
        // SAFETY: the address of a function that takes these arguments on Linux.
        Some(f) => unsafe { std::mem::transmute::<usize, ThreeWords>(f)(fd, command, argument) },
        // SAFETY: the caller's arguments.
        None => unsafe { libc::syscall(number, fd, command, argument) as c_int },
    }
}

/// # Safety
/// As `epoll_ctl`.
pub unsafe fn epoll_ctl(set: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    match EPOLL_CTL.get() {
        // SAFETY: the address of `epoll_ctl`; the caller's arguments.
        Some(f) => unsafe { std::mem::transmute::<usize, EpollCtl>(f)(set, op, fd, event) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_epoll_ctl, set, op, fd, event) as c_int },
    }
}

pub fn dup(fd: c_int) -> c_int {
    match DUP.get() {
        // SAFETY: the address of `dup`, which takes any number.
        Some(f) => unsafe { std::mem::transmute::<usize, Dup>(f)(fd) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_dup, fd) as c_int },
    }
}

pub fn dup2(old: c_int, new: c_int) -> c_int {
    match DUP2.get() {
        // SAFETY: the address of `dup2`, which takes any numbers.
        Some(f) => unsafe { std::mem::transmute::<usize, Dup2>(f)(old, new) },
        // Before the constructors; dup3 refuses equal numbers, dup2 gives them back.
        None if old == new => old,
        None => dup3(old, new, 0),
    }
}

pub fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    match DUP3.get() {
        // SAFETY: the address of `dup3`, which takes any numbers.
        Some(f) => unsafe { std::mem::transmute::<usize, Dup3>(f)(old, new, flags) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_dup3, old, new, flags) as c_int },
    }
}

#[inline(always)]
pub fn close(fd: c_int) -> c_int {
    match CLOSE.get() {
        // SAFETY: the address of `close`, which takes any number.
        Some(f) => unsafe { std::mem::transmute::<usize, Close>(f)(fd) },
        // SAFETY: as above.
        None => unsafe { __close(fd) },
    }
}

/// The first descriptor of a range, the last one, flags. libc has this since 2.34; before, nobody calls it.
pub fn close_range(first: u32, last: u32, flags: c_int) -> c_int {
    match CLOSE_RANGE.get() {
        // SAFETY: the address of `close_range`, which takes any numbers.
        Some(f) => unsafe { std::mem::transmute::<usize, CloseRange>(f)(first, last, flags) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) as c_int },
    }
}

pub fn closefrom(first: c_int) {
    match CLOSEFROM.get() {
        // SAFETY: the address of `closefrom`, which takes any number.
        Some(f) => unsafe { std::mem::transmute::<usize, Closefrom>(f)(first) },
        None => {
            close_range(first.max(0) as u32, u32::MAX, 0);
        }
    }
}

/// Closes a range, one by one where the kernel cannot do it at once.
pub fn close_all(first: u32, last: u32) {
    if close_range(first, last, 0) != 0 {
        (first..=last.min(c_int::MAX as u32)).for_each(|fd| {
            close(fd as c_int);
        });
    }
}

/// All of them as C declarations, to be compared with the headers.
#[cfg(test)]
pub fn declarations() -> Vec<String> {
    use crate::headers::functions::{declaration, variadic};
    vec![
        declaration::<Write>("write"),
        variadic::<ThreeWords>("fcntl"),
        variadic::<ThreeWords>("fcntl64"),
        variadic::<Ioctl>("ioctl"),
        declaration::<EpollCtl>("epoll_ctl"),
        declaration::<Dup>("dup"),
        declaration::<Dup2>("dup2"),
        declaration::<Dup3>("dup3"),
        declaration::<Close>("close"),
        declaration::<CloseRange>("close_range"),
        declaration::<Closefrom>("closefrom"),
    ]
}
