//! The file in which the processes of one user under one policy count together, mapped.
//!
//! Only files of this user are mapped: who else can write one could cut it, and end us by SIGBUS. As with the
//! statistics file its memory is taken beforehand, no descriptor stays open, and the mapping holds the open file, and
//! with it the lock on this process's slot, until the process is gone. A forked child does not inherit it.
//!
//! A name that somebody else has taken, or a file whose bytes he has locked (who may read a file can do that), is passed
//! by: each user may have several files, and all are added up.

use crate::stats::file::check_limit;
use crate::stats::place::{Place, EVERYBODY_S};
use crate::sys;
use crate::sys::guard::errno;
use cmshim_core::tenant::share::{
    self, header, header_words, row, HEADER_WORDS, ROWS, ROW_WORDS, SLOTS, SLOT_WORDS,
};
use libc::{c_int, c_void, stat};
use std::collections::hash_map::RandomState;
use std::ffi::{CStr, CString, OsStr};
use std::hash::{BuildHasher, Hasher};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The whole file. All zero but for the header is its first state.
#[repr(C)]
pub struct Table {
    pub header: [AtomicU64; HEADER_WORDS],
    pub slots: [[AtomicU64; SLOT_WORDS]; SLOTS],
    pub rows: [Row; ROWS],
}

/// One tenant or egress rule.
#[repr(C)]
pub struct Row {
    pub words: [AtomicU64; row::COUNTS],
    /// Live connections of each slot.
    pub counts: [AtomicU32; SLOTS],
}

const BYTES: usize = size_of::<Table>();
const _: () = assert!(BYTES == cmshim_core::tenant::share::BYTES);
const _: () = assert!(size_of::<Row>() == ROW_WORDS * 8);
const ATTEMPTS: usize = 16;
/// Of one policy in one directory, of all users. Each connect of a tenant with a limit opens all of them: more than anybody needs
/// (a user needs one for 512 processes) would slow it.
pub const MOST_FILES: usize = 1_024;
/// Names of any kind in a directory of several users: any of them can make as many as he likes.
const MOST_NAMES: usize = 16_384;

/// A place in a file of this user.
pub struct Joined {
    pub table: &'static Table,
    pub slot: usize,
    pub name: CString,
}

/// Takes a place: in a file of this user that is there, else in a new one.
pub fn join(place: &Place, policy: &str) -> Result<Joined, i32> {
    allowed(place)?;
    let beginning = share::beginning(policy.as_bytes());
    // SAFETY: no argument, never fails.
    let uid = u64::from(unsafe { libc::geteuid() });
    let name = |which| CString::new(format!("{beginning}{which:016x}")).map_err(|_| libc::EINVAL);
    let usual = name(uid)?;
    for attempt in 0..ATTEMPTS {
        // What cannot be listed (without /proc) has the usual name only.
        let listed = names(place, &beginning).unwrap_or_default();
        let others = listed.iter().filter(|other| **other != usual);
        let there = [&usual].into_iter().chain(others);
        if let Some(joined) = there.filter_map(|name| enter(place, name, policy)).next() {
            return Ok(joined);
        }
        listed.iter().for_each(|name| retire(place, name));
        let free = attempt == 0 && !listed.contains(&usual);
        let new = if free { usual.clone() } else { name(any())? };
        match make(place, new, policy) {
            Err(libc::EEXIST) => {}
            other => return other,
        }
    }
    Err(libc::EBUSY)
}

/// Takes a place in a file of this user in which a process counts.
pub fn join_live(place: &Place, policy: &str) -> Option<Joined> {
    allowed(place).ok()?;
    let names = names(place, &share::beginning(policy.as_bytes())).ok()?;
    let counts = |name: &&CString| Open::existing(place, name).is_ok_and(|open| open.is_used());
    let mut used = names.iter().filter(counts);
    used.find_map(|name| enter(place, name, policy))
}

/// Nobody counts where everybody may write: anyone could make so many names there that no others can be seen.
fn allowed(place: &Place) -> Result<(), i32> {
    match place.is_everybody_s() {
        true => Err(EVERYBODY_S),
        false => Ok(()),
    }
}

/// Takes a free place in a file of this user.
fn enter(place: &Place, name: &CStr, policy: &str) -> Option<Joined> {
    let open = Open::existing(place, name).ok()?;
    let slot = (0..SLOTS).find(|slot| open.lock_slot(*slot))?;
    let table = open.map(policy).ok()?;
    // The lock is held before this is looked at, and whoever retires a file looks for locks afterwards.
    if table.header[header::RETIRED].load(Ordering::SeqCst) != 0 {
        // SAFETY: from `map`, and nobody else has seen it.
        unsafe { libc::munmap(std::ptr::from_ref(table).cast_mut().cast(), BYTES) };
        return None;
    }
    let name = name.to_owned();
    Some(Joined { table, slot, name })
}

/// Removes a file of this user in which nobody counts any more, and nobody could begin: somebody else holds locks. It would
/// be in the way for ever.
fn retire(place: &Place, name: &CStr) {
    let Ok(open) = Open::existing(place, name) else {
        return;
    };
    // Who could not enter it for a passing reason leaves it to those who count in it.
    if open.is_used() {
        return;
    }
    let retired = 1u64.to_ne_bytes();
    let at = (header::RETIRED * 8) as libc::off_t;
    let fd = open.file.as_raw_fd();
    // SAFETY: our own descriptor, and a buffer of that length.
    let marked = unsafe { libc::pwrite(fd, retired.as_ptr().cast(), retired.len(), at) } == 8;
    if marked && !open.is_used() {
        place.unlink(name);
    }
}

/// A number that nobody can foresee.
fn any() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Names of files of one policy, of whomever they are. E2BIG where there are more than anybody needs.
pub fn names(place: &Place, beginning: &str) -> Result<Vec<CString>, i32> {
    let of_policy = |name: &OsStr| name.as_bytes().starts_with(beginning.as_bytes());
    let most = match place.group()? {
        Some(_) => MOST_NAMES,
        None => usize::MAX,
    };
    // The descriptor's own name: the directory is the one that was checked.
    let all = sys::list::some(sys::descriptor_path(place.fd()), of_policy, most)
        .map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
    if !all.whole || all.names.len() > MOST_FILES {
        return Err(libc::E2BIG);
    }
    let mut names: Vec<CString> = all
        .names
        .into_iter()
        .filter_map(|name| CString::new(name.into_vec()).ok())
        .collect();
    names.sort();
    Ok(names)
}

/// An open file of this user, before it is mapped.
pub struct Open {
    file: OwnedFd,
}

impl Open {
    /// Opens it if it is there, whole, this user's, and nobody else may write it (it may be a second name of any file of this
    /// user). Not with O_CREAT: that fails for a file of another user in a
    /// directory which several may write (`fs.protected_regular`).
    pub fn existing(place: &Place, name: &CStr) -> Result<Open, i32> {
        let file = open(place, name, libc::O_RDWR)?;
        // SAFETY: no argument, never fails.
        let uid = unsafe { libc::geteuid() };
        let status = status(file.as_raw_fd())?;
        match is_whole(&status, uid) && status.st_mode & 0o022 == 0 {
            true => Ok(Open { file }),
            false => Err(libc::EUCLEAN),
        }
    }

    /// Does a live process have a place in it?
    fn is_used(&self) -> bool {
        (0..SLOTS).any(|slot| lives(&self.file, slot))
    }

    /// Takes the lock of a slot if nobody has it.
    pub fn lock_slot(&self, slot: usize) -> bool {
        self.lock(slot, libc::F_WRLCK)
    }

    pub fn unlock_slot(&self, slot: usize) {
        self.lock(slot, libc::F_UNLCK);
    }

    fn lock(&self, slot: usize, kind: c_int) -> bool {
        let wanted = lock_of(slot, kind);
        // SAFETY: `wanted` lives across the call; the descriptor is our own.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &wanted) == 0 }
    }

    /// Maps it for as long as the process lives, if it is a file of the policy.
    fn map(self, policy: &str) -> Result<&'static Table, i32> {
        let table = map(libc::MAP_SHARED, self.file.as_raw_fd())?;
        match good(table, policy) {
            true => Ok(table),
            false => {
                // SAFETY: from `map`, and nobody else has seen it.
                unsafe { libc::munmap(std::ptr::from_ref(table).cast_mut().cast(), BYTES) };
                Err(libc::EUCLEAN)
            }
        }
    }
}

/// Opens a file that may be anybody's: no link, and nothing that makes us wait.
pub fn open(place: &Place, name: &CStr, how: c_int) -> Result<OwnedFd, i32> {
    let flags = how | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: NUL-terminated name, open directory; the descriptor is our own.
    unsafe {
        match libc::openat(place.fd(), name.as_ptr(), flags) {
            fd if fd < 0 => Err(errno()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Is it a file of this user with the size of a table?
pub fn is_whole(status: &stat, uid: u32) -> bool {
    let regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    regular && status.st_uid == uid && status.st_size == BYTES as libc::off_t
}

/// Does the process of the slot live? It does where nobody can tell. A lock for reading, which anybody can have who may read the file, says nothing.
pub fn lives(file: &OwnedFd, slot: usize) -> bool {
    let mut found = lock_of(slot, libc::F_RDLCK);
    // SAFETY: `found` lives across the call; the descriptor is our own.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut found) };
    asked != 0 || found.l_type == libc::F_WRLCK as libc::c_short
}

/// Locks of the open file, not of the process: they stay as long as it does (fcntl(2), F_OFD_SETLK).
fn lock_of(slot: usize, kind: c_int) -> libc::flock {
    // SAFETY: zeroed is a valid value of the plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = slot as libc::off_t;
    lock.l_len = 1;
    lock
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
    // SAFETY: a fresh mapping of the structure's size: of a file that is that long and that nobody but this user may write,
    // and so cut (`Open::existing`, `make`), or of none. Any bytes are a valid table.
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

fn good(table: &Table, policy: &str) -> bool {
    let wanted = header_words(policy);
    let same = |at: usize| table.header[at].load(Ordering::Relaxed) == wanted[at];
    let path = header::PATH..header::PATH + header::PATH_WORDS;
    (0..=header::SLOTS).chain(path).all(same)
}

/// Makes the file whole, with a place taken in it, and then gives it its name.
fn make(place: &Place, name: CString, policy: &str) -> Result<Joined, i32> {
    check_limit(BYTES as u64)?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    let words = header_words(policy);
    // SAFETY: NUL-terminated name, an open directory; the descriptor is our own.
    let file = unsafe {
        match libc::openat(place.fd(), c".".as_ptr(), flags, 0o600) {
            fd if fd < 0 => return Err(errno()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    let fd = file.as_raw_fd();
    let length = size_of_val(&words);
    // SAFETY: our own descriptor, and a buffer that lives across the call.
    let written = unsafe {
        libc::fallocate(fd, 0, 0, BYTES as libc::off_t) == 0
            && libc::pwrite(fd, words.as_ptr().cast(), length, 0) == length as isize
    };
    if !written {
        return Err(errno());
    }
    let_in(place, fd)?;
    let path = CString::new(sys::descriptor_path(fd)).map_err(|_| libc::EINVAL)?;
    let open = Open { file };
    let slot = 0;
    if !open.lock_slot(slot) {
        return Err(errno());
    }
    // SAFETY: NUL-terminated names, an open directory.
    let named = unsafe {
        let (at, links) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        libc::linkat(at, path.as_ptr(), place.fd(), name.as_ptr(), links) == 0
    };
    if !named {
        return Err(errno());
    }
    let table = open.map(policy)?;
    Ok(Joined { table, slot, name })
}

/// In a directory that a group counts in, the group may read the file.
fn let_in(place: &Place, fd: c_int) -> Result<(), i32> {
    let group = place.group()?;
    // SAFETY: our own descriptor; no user is the one that it has.
    let done = unsafe {
        let given = group.is_none_or(|gid| libc::fchown(fd, u32::MAX, gid) == 0);
        let mode = if group.is_some() { 0o640 } else { 0o600 };
        given && libc::fchmod(fd, mode) == 0
    };
    match done {
        true => Ok(()),
        false => Err(errno()),
    }
}

/// What has this name in the directory.
pub fn named(place: &Place, name: &CStr) -> Result<stat, i32> {
    // SAFETY: zeroed is a valid value of the plain structure, which the call fills; NUL-terminated name, open directory.
    unsafe {
        let mut status: stat = std::mem::zeroed();
        match libc::fstatat(
            place.fd(),
            name.as_ptr(),
            &mut status,
            libc::AT_SYMLINK_NOFOLLOW,
        ) {
            0 => Ok(status),
            _ => Err(errno()),
        }
    }
}

pub fn status(fd: c_int) -> Result<stat, i32> {
    // SAFETY: zeroed is a valid value of the plain structure, which the call fills.
    unsafe {
        let mut status: stat = std::mem::zeroed();
        match libc::fstat(fd, &mut status) {
            0 => Ok(status),
            _ => Err(errno()),
        }
    }
}
