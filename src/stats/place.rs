//! The directory of the files: found, made, checked, and kept from growing without end.

use crate::sys;
use crate::sys::guard::errno;
use cmshim_core::stats::layout::{HEADER_WORDS, SAME_PROCESS};
use cmshim_core::stats::{places, Header};
use libc::c_int;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Each file takes less than 200 KiB of memory: with more files than this, a new process removes those of
/// dead ones. A busy host has fewer, so that what died can still be read.
const MANY: usize = 256;
/// Others may have made any number in the same directory: no more than these are looked at.
const LISTED: usize = 4_096;
/// It removes at most so many, so that no start takes long.
const AT_ONCE: usize = 64;

/// What `Place::open` says of a directory that others could change. No call that is made for the file fails with it.
pub const UNSAFE: c_int = libc::EKEYREJECTED;

/// What is said of a directory that is safe, but no place to count in.
pub const EVERYBODY_S: c_int = libc::EKEYREVOKED;

/// An open directory that may hold our file.
pub struct Place(OwnedFd);

impl Place {
    /// Opens the directory, and makes it if only its last part is missing.
    pub fn open(path: &Path) -> Result<Place, i32> {
        let place = match open_directory(path, libc::O_NOFOLLOW) {
            Err(libc::ENOENT) => {
                make_directory(path)?;
                open_directory(path, libc::O_NOFOLLOW)?
            }
            other => other?,
        };
        place.check()?;
        Ok(place)
    }

    /// Opens the directory if it is there.
    pub fn existing(path: &Path) -> Result<Place, i32> {
        let place = open_directory(path, libc::O_NOFOLLOW)?;
        place.check()?;
        Ok(place)
    }

    pub fn fd(&self) -> c_int {
        self.0.as_raw_fd()
    }

    /// The group that counts in it together: it may write in it, and others may not.
    pub fn group(&self) -> Result<Option<u32>, i32> {
        let stat = self.status()?;
        let shared = stat.st_mode & 0o022 == 0o020;
        Ok(shared.then_some(stat.st_gid))
    }

    /// May everybody put files into it?
    pub fn is_everybody_s(&self) -> bool {
        self.status().is_ok_and(|stat| stat.st_mode & 0o002 != 0)
    }

    pub fn status(&self) -> Result<libc::stat, i32> {
        // SAFETY: zeroed is a valid value of the plain structure, which the call fills.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            match libc::fstat(self.fd(), &mut stat) {
                0 => Ok(stat),
                _ => Err(errno()),
            }
        }
    }

    /// Is it in memory, and safe from other users? In a directory of somebody else, or one that others can
    /// change, a file could be put in place of ours.
    fn check(&self) -> Result<(), i32> {
        self.in_memory()?;
        let stat = self.status()?;
        // SAFETY: no argument, never fails.
        let uid = unsafe { libc::geteuid() };
        let owned = stat.st_uid == uid || stat.st_uid == 0;
        let open_to_others = stat.st_mode & 0o022 != 0 && stat.st_mode & libc::S_ISVTX == 0;
        match owned && !open_to_others {
            true => Ok(()),
            false => Err(UNSAFE),
        }
    }

    /// Is it in a tmpfs?
    fn in_memory(&self) -> Result<(), i32> {
        // SAFETY: zeroed is a valid value of the plain structure, which the call fills.
        let fs = unsafe {
            let mut fs: libc::statfs = std::mem::zeroed();
            if libc::fstatfs(self.fd(), &mut fs) != 0 {
                return Err(errno());
            }
            fs
        };
        match fs.f_type == libc::TMPFS_MAGIC {
            true => Ok(()),
            false => Err(libc::EMEDIUMTYPE),
        }
    }

    /// Makes a directory in this one.
    fn make(&self, name: &CStr, mode: libc::mode_t) -> Result<(), i32> {
        // SAFETY: NUL-terminated name, open directory.
        match unsafe { libc::mkdirat(self.fd(), name.as_ptr(), mode) } {
            0 => Ok(()),
            _ if errno() == libc::EEXIST => Ok(()),
            _ => Err(errno()),
        }
    }

    pub fn unlink(&self, name: &CStr) {
        // SAFETY: NUL-terminated name, open directory.
        unsafe { libc::unlinkat(self.fd(), name.as_ptr(), 0) };
    }

    /// A file that belongs to no live process, which would hold its lock.
    pub fn dead(&self, name: &CStr) -> Option<Dead<'_>> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: NUL-terminated name, open directory; the descriptor is our own.
        let file = unsafe {
            match libc::openat(self.fd(), name.as_ptr(), flags) {
                fd if fd < 0 => return None,
                fd => File::from_raw_fd(fd),
            }
        };
        // SAFETY: our own open descriptor.
        let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 };
        locked.then(|| Dead {
            place: self,
            name: name.to_owned(),
            file,
        })
    }

    /// Removes files of dead processes where there are many files.
    pub fn thin_out(&self) {
        // The descriptor's own name: the directory is the one that was checked.
        let of_process = |name: &OsStr| name.to_str().is_some_and(|n| places::pid_of(n).is_some());
        let Ok(listed) = sys::list::some(sys::descriptor_path(self.fd()), of_process, LISTED)
        else {
            return;
        };
        let names: Vec<CString> = listed
            .names
            .into_iter()
            .filter_map(|name| CString::new(name.as_bytes()).ok())
            .collect();
        if names.len() > MANY {
            let dead = names.iter().filter_map(|name| self.dead(name));
            let removed = dead.map(Dead::remove).filter(|removed| *removed);
            removed.take(AT_ONCE).for_each(drop);
        }
    }
}

/// A dead process's file, locked: whoever removes it holds the lock, so nobody else does meanwhile.
pub struct Dead<'a> {
    place: &'a Place,
    name: CString,
    file: File,
}

impl Dead<'_> {
    /// Takes the name away, if it is this file's still: it may have been removed before it was locked, and a live
    /// process may have the name now.
    pub fn remove(self) -> bool {
        // SAFETY: zeroed is a valid value of the plain structure, which the calls fill; NUL-terminated name, and
        // descriptors of our own.
        unsafe {
            let [mut ours, mut named]: [libc::stat; 2] = std::mem::zeroed();
            let (at, name) = (self.place.fd(), self.name.as_ptr());
            libc::fstat(self.file.as_raw_fd(), &mut ours) == 0
                && libc::fstatat(at, name, &mut named, libc::AT_SYMLINK_NOFOLLOW) == 0
                && (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
                && libc::unlinkat(at, name, 0) == 0
        }
    }

    /// Did the process of this header make it? Before it executed another program, or itself again.
    pub fn is_of(&self, process: &Header) -> bool {
        let mut bytes = [0; HEADER_WORDS * 8];
        let whole = self.file.read_exact_at(&mut bytes, 0).is_ok();
        let words = process.encode();
        let same = |at: usize| bytes[at * 8..][..8] == words[at].to_ne_bytes();
        whole && SAME_PROCESS.into_iter().all(same)
    }
}

fn c_string(text: &OsStr) -> Result<CString, i32> {
    CString::new(text.as_bytes()).map_err(|_| libc::EINVAL)
}

fn open_directory(path: &Path, links: c_int) -> Result<Place, i32> {
    let name = c_string(path.as_os_str())?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | links;
    // SAFETY: NUL-terminated name; the descriptor is our own.
    unsafe {
        match libc::open(name.as_ptr(), flags) {
            fd if fd < 0 => Err(errno()),
            fd => Ok(Place(OwnedFd::from_raw_fd(fd))),
        }
    }
}

/// Makes the last part of a path, if it would be in a tmpfs. Others may look into the host's directory (each
/// file has its own mode); a user's is the user's.
fn make_directory(path: &Path) -> Result<(), i32> {
    let (Some(parent), Some(last)) = (path.parent(), path.file_name()) else {
        return Err(libc::ENOENT);
    };
    let parent = open_directory(parent, 0)?;
    parent.in_memory()?;
    let for_host = path == Path::new(places::HOST);
    parent.make(&c_string(last)?, if for_host { 0o755 } else { 0o700 })
}
