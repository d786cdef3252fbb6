//! The file in which all processes under one policy count together, mapped.
//!
//! As with the statistics file: its memory is taken beforehand, no descriptor stays open, and the mapping holds
//! the open file, and with it the lock on this process's slot, until the process is gone. A forked child does not
//! inherit it.

use crate::boundary::guard::errno;
use crate::stats::file::check_limit;
use crate::stats::place::Place;
use crate::sys;
use cmshim_core::tenant::share::{
    header, header_words, HEADER_WORDS, ROWS, ROW_WORDS, SLOTS, SLOT_WORDS,
};
use libc::{c_int, c_void, stat};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The whole file. All zero but for the header is its first state.
#[repr(C)]
pub struct Table {
    pub header: [AtomicU64; HEADER_WORDS],
    pub rows: [[AtomicU64; ROW_WORDS]; ROWS],
    pub slots: [[AtomicU64; SLOT_WORDS]; SLOTS],
    /// Live connections of a slot in a row.
    pub counts: [[AtomicU32; ROWS]; SLOTS],
}

const BYTES: usize = size_of::<Table>();
const _: () = assert!(BYTES == cmshim_core::tenant::share::BYTES);
const ATTEMPTS: usize = 8;

/// An open file, before it is mapped.
pub struct Open {
    file: OwnedFd,
}

impl Open {
    /// Opens the file of that name, and makes it if it is missing.
    pub fn or_make(place: &Place, name: &CStr, policy: &str) -> Result<Open, i32> {
        for _ in 0..ATTEMPTS {
            match Open::existing(place, name) {
                Err(libc::ENOENT) => {}
                other => return other,
            }
            match make(place, name, policy) {
                Ok(()) | Err(libc::EEXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(libc::EBUSY)
    }

    /// Opens it if it is there and whole. Not with O_CREAT: that fails for a file of another user in a directory
    /// which several may write (`fs.protected_regular`).
    pub fn existing(place: &Place, name: &CStr) -> Result<Open, i32> {
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: NUL-terminated name, open directory; the descriptor is our own.
        let file = unsafe {
            match libc::openat(place.fd(), name.as_ptr(), flags) {
                fd if fd < 0 => return Err(errno()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let status = status(file.as_raw_fd())?;
        let regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
        match regular && status.st_size == BYTES as libc::off_t {
            true => Ok(Open { file }),
            false => Err(libc::EUCLEAN),
        }
    }

    /// Takes the lock of a slot if nobody has it.
    pub fn lock_slot(&self, slot: usize) -> bool {
        self.lock(slot, libc::F_WRLCK)
    }

    pub fn unlock_slot(&self, slot: usize) {
        self.lock(slot, libc::F_UNLCK);
    }

    /// Locks of the open file, not of the process: they stay as long as it does (fcntl(2), F_OFD_SETLK).
    fn lock(&self, slot: usize, kind: c_int) -> bool {
        // SAFETY: zeroed is a valid value of the plain structure.
        let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
        wanted.l_type = kind as libc::c_short;
        wanted.l_whence = libc::SEEK_SET as libc::c_short;
        wanted.l_start = slot as libc::off_t;
        wanted.l_len = 1;
        // SAFETY: `wanted` lives across the call; the descriptor is our own.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &wanted) == 0 }
    }

    /// Maps it for as long as the process lives.
    pub fn map(self) -> Result<&'static Table, i32> {
        let table = map(libc::MAP_SHARED, self.file.as_raw_fd())?;
        match good(table) {
            true => Ok(table),
            false => {
                // SAFETY: from `map`, and nobody else has seen it.
                unsafe { libc::munmap(std::ptr::from_ref(table).cast_mut().cast(), BYTES) };
                Err(libc::EUCLEAN)
            }
        }
    }
}

/// A table of this process alone.
pub fn private(policy: &str) -> Result<&'static Table, i32> {
    let table = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
    for (to, from) in table.header.iter().zip(header_words(policy)) {
        to.store(from, Ordering::Relaxed);
    }
    Ok(table)
}

fn map(how: c_int, fd: c_int) -> Result<&'static Table, i32> {
    // SAFETY: a fresh mapping of the structure's size: of our own file, which is that long, or of none. Any bytes
    // are a valid table.
    unsafe {
        let at = libc::mmap(
            null_mut::<c_void>(),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            how,
            fd,
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(errno());
        }
        if libc::madvise(at, BYTES, libc::MADV_DONTFORK) != 0 {
            let errno = errno();
            libc::munmap(at, BYTES);
            return Err(errno);
        }
        Ok(&*at.cast::<Table>())
    }
}

fn good(table: &Table) -> bool {
    let wanted = header_words("");
    let same = |at: usize| table.header[at].load(Ordering::Relaxed) == wanted[at];
    (0..=header::SLOTS).all(same)
}

/// Makes the file whole and then gives it its name.
fn make(place: &Place, name: &CStr, policy: &str) -> Result<(), i32> {
    check_limit(BYTES as u64)?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    let words = header_words(policy);
    let own = |fd: c_int| std::ffi::CString::new(sys::descriptor_path(fd));
    // SAFETY: NUL-terminated names, an open directory, our own descriptor, and a buffer that lives across the call.
    unsafe {
        let fd = libc::openat(place.fd(), c".".as_ptr(), flags, 0o600);
        if fd < 0 {
            return Err(errno());
        }
        let file = OwnedFd::from_raw_fd(fd);
        let fd = file.as_raw_fd();
        let length = size_of_val(&words);
        let own = own(fd).map_err(|_| libc::EINVAL)?;
        let made = libc::fallocate(fd, 0, 0, BYTES as libc::off_t) == 0
            && libc::fchmod(fd, mode(place, fd)?) == 0
            && libc::pwrite(fd, words.as_ptr().cast(), length, 0) == length as isize
            && libc::linkat(
                libc::AT_FDCWD,
                own.as_ptr(),
                place.fd(),
                name.as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            ) == 0;
        match made {
            true => Ok(()),
            false => Err(errno()),
        }
    }
}

/// A directory that a group may write is meant for several users: if the file got that group (a setgid directory gives it),
/// the group may write it too.
fn mode(place: &Place, file: c_int) -> Result<libc::mode_t, i32> {
    let (directory, file) = (status(place.fd())?, status(file)?);
    match directory.st_mode & 0o020 != 0 && directory.st_gid == file.st_gid {
        true => Ok(0o660),
        false => Ok(0o600),
    }
}

fn status(fd: c_int) -> Result<stat, i32> {
    // SAFETY: zeroed is a valid value of the plain structure, which the call fills.
    unsafe {
        let mut status: stat = std::mem::zeroed();
        match libc::fstat(fd, &mut status) {
            0 => Ok(status),
            _ => Err(errno()),
        }
    }
}
