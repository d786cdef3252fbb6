//! Makes the file and maps it, in such a way that using it later cannot fail.
//!
//! - It lies in a tmpfs, and its memory is taken before the first use (fallocate): no access to the mapping can
//!   end in SIGBUS for want of space, and none ever waits for a disk.
//! - Its mode has no write bit, so that no `>` or editor cuts it by mistake. Whoever removes that hindrance on
//!   purpose is root or the same user, who may end the program in any case.
//! - It appears under its name only when it is whole and locked (O_TMPFILE, then linkat).
//! - No descriptor stays open, none that the program could close or that could be taken for its own: the
//!   mapping holds the open file, and with it the lock, until the process is gone or becomes another program.
//! - A forked child does not inherit the mapping (MADV_DONTFORK), so the lock is not its either.

use super::place::{Dead, Place};
use super::process_local::Words;
use crate::sys;
use crate::sys::guard::errno;
use cmshim_core::config::Readers;
use cmshim_core::stats::layout::{HEADER_WORDS, WORDS};
use cmshim_core::stats::{places, Header};
use libc::{c_int, c_void};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

const BYTES: usize = WORDS * 8;

/// A mapped file that is not in use yet.
pub struct Made {
    words: &'static Words,
    place: Place,
    name: CString,
}

/// Makes the file of this process in a directory.
pub fn make(place: Place, header: &Header, readers: Readers) -> Result<Made, i32> {
    check_limit(BYTES as u64)?;
    let file = unnamed(&place)?;
    let mode = match readers {
        Readers::User => 0o400,
        Readers::Group => 0o440,
        Readers::All => 0o444,
    };
    let fd = file.as_raw_fd();
    // SAFETY: all of these only take our own open descriptor and plain numbers.
    unsafe {
        check(libc::fallocate(fd, 0, 0, BYTES as libc::off_t))?;
        check(libc::fchmod(fd, mode))?;
        check(libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB))?;
    }
    let words = map(&file)?;
    for (to, from) in words.iter().zip(header.encode()).take(HEADER_WORDS) {
        to.store(from, Ordering::Relaxed);
    }
    match link(&file, &place, header) {
        Ok(name) => Ok(Made { words, place, name }),
        Err(errno) => {
            // SAFETY: nobody else has the words yet, and this is their last use.
            unsafe { unmap(words) };
            Err(errno)
        }
    }
}

impl Made {
    /// The words, to be used for as long as the process lives.
    pub fn words(&self) -> &'static Words {
        self.words
    }

    /// It is not needed: another thread was faster.
    ///
    /// # Safety
    /// What `words` gave out is not used any more: the memory goes.
    pub unsafe fn discard(self) {
        self.place.unlink(&self.name);
        // SAFETY: from `map`, and not in use, as promised by the caller.
        unsafe { unmap(self.words) };
    }
}

fn check(rc: c_int) -> Result<(), i32> {
    match rc {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// EFBIG if the limit of file sizes (ulimit -f) does not allow this many bytes: fallocate would send SIGXFSZ.
pub fn check_limit(bytes: u64) -> Result<(), i32> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    check(unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) })?;
    if limit.rlim_cur < bytes {
        return Err(libc::EFBIG);
    }
    Ok(())
}

/// A new file without a name.
fn unnamed(place: &Place) -> Result<OwnedFd, i32> {
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: NUL-terminated name, open directory.
    let fd = unsafe { libc::openat(place.fd(), c".".as_ptr(), flags, 0o400) };
    if fd < 0 {
        return Err(errno());
    }
    // SAFETY: just opened, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn map(file: &OwnedFd) -> Result<&'static Words, i32> {
    // SAFETY: a fresh shared mapping of BYTES bytes of our own file, which is at least that long.
    unsafe {
        let at = libc::mmap(
            null_mut(),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
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
        Ok(&*at.cast::<Words>())
    }
}

/// # Safety
/// The words come from `map`, and nobody uses them any more.
unsafe fn unmap(words: &'static Words) {
    // SAFETY: a whole mapping of this size, which nobody uses: as promised by the caller.
    unsafe { libc::munmap(std::ptr::from_ref(words).cast_mut().cast::<c_void>(), BYTES) };
}

/// Gives the file its name. A name that is taken belongs to a dead process with our id, which makes room, or to a
/// live one in another pid namespace, or to this one before an exec, or to somebody who took it on purpose: then the next
/// name is tried, and in the end one that nobody can foresee.
fn link(file: &OwnedFd, place: &Place, header: &Header) -> Result<CString, i32> {
    let own = CString::new(sys::descriptor_path(file.as_raw_fd())).map_err(|_| libc::EINVAL)?;
    let named = |name: &CString| {
        let (at, links) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: NUL-terminated names, open directory.
        check(unsafe { libc::linkat(at, own.as_ptr(), place.fd(), name.as_ptr(), links) })
    };
    for attempt in 0..places::SAME_PID {
        let name =
            CString::new(places::file_name(header.pid, attempt)).map_err(|_| libc::EINVAL)?;
        for _ in 0..2 {
            match named(&name) {
                Ok(()) => return Ok(name),
                Err(libc::EEXIST) => {
                    let kept = |dead: &Dead| attempt < places::BEFORE_EXEC && dead.is_of(header);
                    let dead = place.dead(&name).filter(|dead| !kept(dead));
                    if !dead.is_some_and(Dead::remove) {
                        break;
                    }
                }
                Err(errno) => return Err(errno),
            }
        }
    }
    let last = CString::new(places::any_file_name(header.pid)).map_err(|_| libc::EINVAL)?;
    named(&last).map(|()| last)
}
