//! What processes count in other files than this one's: those of other users who count in the same directory, and more
//! files of the same user, if there are any.
//!
//! They are read, never mapped: their owner may cut them at any time. Nothing that stands in them can do more than a claim
//! of connections or of tokens, and a claim never lifts what others count.

use super::map::{self, lives};
use crate::stats::place::{Place, UNSAFE};
use crate::sys::guard::errno;
use crate::sys::lock::lock;
use cmshim_core::tenant::share::{places_of, row_at, RowCopy, ROW_WORDS};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// What is read for one user to answer one question, in files and rows. Who has so much that this is not enough keeps
/// others from counting, as he could by claiming all connections.
const MOST_OF_ONE: usize = 2_048;

/// A directory keeps the time of its last change with the clock's last tick, which may be this old.
const TICK: Duration = Duration::from_millis(100);

/// Where they are.
pub struct Others {
    directory: PathBuf,
    /// How their names begin.
    beginning: String,
    /// This process's own file.
    own: CString,
    own_inode: Option<u64>,
    /// The directory's group, if that counts together.
    group: Option<u32>,
    uid: u32,
    seen: Mutex<Seen>,
}

/// The files that were there.
#[derive(Default)]
struct Seen {
    /// Device, inode and time of the last change, by which a directory that is as it was is known.
    directory: [i64; 4],
    /// With their owners.
    files: Vec<(u32, CString)>,
}

/// What one row has in all these files.
#[derive(Default)]
pub struct Said {
    /// Live connections; in the file of a user who counts what is not true, perhaps any number.
    pub live: u64,
    /// The latest of the times that the buckets have.
    pub arrival_ns: u64,
}

impl Others {
    pub fn new(
        directory: PathBuf,
        beginning: String,
        own: CString,
        place: &Place,
    ) -> Result<Others, i32> {
        Ok(Others {
            directory,
            beginning,
            own_inode: map::named(place, &own).ok().map(|status| status.st_ino),
            own,
            group: place.group()?,
            // SAFETY: no argument, never fails.
            uid: unsafe { libc::geteuid() },
            seen: Mutex::default(),
        })
    }

    pub fn place(&self) -> (&std::path::Path, &CStr) {
        (&self.directory, &self.own)
    }

    /// Adds up what they say of a key. `alive`: counts of dead processes are left out, which has to be asked for each
    /// process. An error if they cannot be seen: nothing of them is counted then if that is to be `blind`. Who has no way to
    /// his user's own directory any more (he has another root, or became another user) goes on with the file that he maps.
    pub fn ask(&self, key: u64, alive: bool, blind: bool) -> Result<Said, i32> {
        match self.asked(key, alive) {
            Err(_) if blind => Ok(Said::default()),
            Err(number) if self.group.is_none() && no_way(number) => Ok(Said::default()),
            other => other,
        }
    }

    fn asked(&self, key: u64, alive: bool) -> Result<Said, i32> {
        let mut seen = lock(&self.seen);
        if seen.files.is_empty() && self.is_as_before(&seen) {
            return Ok(Said::default());
        }
        let place = Place::open(&self.directory)?;
        self.look(&place, &mut seen)?;
        let files = seen.files.clone();
        drop(seen);
        let (mut said, mut read) = (Said::default(), HashMap::new());
        for (owner, name) in files {
            let read = read.entry(owner).or_insert(0);
            *read += 1;
            if let Some((file, _)) = self.open(&place, &name)? {
                said.add(&file, key, alive, read)?;
            }
            if *read > MOST_OF_ONE {
                return Err(libc::E2BIG);
            }
        }
        Ok(said)
    }

    /// The directory, by its name alone.
    fn is_as_before(&self, seen: &Seen) -> bool {
        use std::os::unix::fs::MetadataExt;
        let now = std::fs::metadata(&self.directory);
        now.is_ok_and(|now| {
            let at = [
                now.dev() as i64,
                now.ino() as i64,
                now.mtime(),
                now.mtime_nsec(),
            ];
            at == seen.directory
        })
    }

    /// Lists the directory if it has changed. What changed within the clock's last tick may change again without a trace.
    fn look(&self, place: &Place, seen: &mut Seen) -> Result<(), i32> {
        let begin = SystemTime::now();
        let now = place.status()?;
        let at = [
            now.st_dev as i64,
            now.st_ino as i64,
            now.st_mtime,
            now.st_mtime_nsec,
        ];
        if seen.directory == at {
            return Ok(());
        }
        let names = map::names(place, &self.beginning)?;
        let others = names.into_iter().filter(|name| *name != self.own);
        // A file with several names is one file; one of them may be our own.
        let mut inodes: HashSet<u64> = self.own_inode.into_iter().collect();
        let mut files = Vec::new();
        for name in others {
            let Some((file, owner)) = self.open(place, &name)? else {
                continue;
            };
            if inodes.insert(map::status(file.as_raw_fd())?.st_ino) {
                files.push((owner, name));
            }
        }
        let changed = Duration::new(now.st_mtime.max(0) as u64, now.st_mtime_nsec as u32);
        let settled = begin
            .duration_since(SystemTime::UNIX_EPOCH + changed)
            .is_ok_and(|age| age > TICK);
        *seen = Seen {
            directory: if settled { at } else { [0; 4] },
            files,
        };
        Ok(())
    }

    /// A file that counts, with its owner. An error if it may count, and we cannot tell.
    fn open(&self, place: &Place, name: &CStr) -> Result<Option<(OwnedFd, u32)>, i32> {
        let file = match map::open(place, name, libc::O_RDONLY) {
            Ok(file) => file,
            // It has gone, or is a link, or a socket.
            Err(libc::ENOENT | libc::ELOOP | libc::ENXIO) => return Ok(None),
            Err(libc::EACCES) => return self.closed(place, name),
            Err(number) => return Err(number),
        };
        let status = map::status(file.as_raw_fd())?;
        Ok(self.counts(&status).then_some((file, status.st_uid)))
    }

    /// A file that we may not read does not count if its owner wants it so: an error if by its mode we may.
    fn closed<T>(&self, place: &Place, name: &CStr) -> Result<Option<T>, i32> {
        let status = match map::named(place, name) {
            Err(libc::ENOENT) => return Ok(None),
            other => other?,
        };
        let ours = match status.st_uid == self.uid {
            true => libc::S_IRUSR,
            false => libc::S_IRGRP,
        };
        match self.counts(&status) && status.st_mode & ours != 0 {
            true => Err(libc::EACCES),
            false => Ok(None),
        }
    }

    /// Whole, and this user's or of one of the group.
    fn counts(&self, status: &libc::stat) -> bool {
        let ours = status.st_uid == self.uid || self.group == Some(status.st_gid);
        ours && map::is_whole(status, status.st_uid)
    }
}

/// Does the errno say that the directory is out of reach? (Too few descriptors, or too many files, do not.)
fn no_way(number: i32) -> bool {
    let numbers = [libc::ENOENT, libc::EACCES, libc::ENOTDIR, UNSAFE];
    numbers.contains(&number)
}

impl Said {
    fn add(&mut self, file: &OwnedFd, key: u64, alive: bool, rows: &mut usize) -> Result<(), i32> {
        let Some(row) = find(file, key, rows)? else {
            return Ok(());
        };
        let counted = row.live().filter(|(slot, _)| !alive || lives(file, *slot));
        let live: u64 = counted.map(|(_, count)| u64::from(count)).sum();
        self.live = self.live.saturating_add(live);
        self.arrival_ns = self.arrival_ns.max(row.arrival_ns());
        Ok(())
    }
}

/// A copy of the row of a key. `rows`: how many were read.
fn find(file: &OwnedFd, key: u64, rows: &mut usize) -> Result<Option<RowCopy>, i32> {
    for at in places_of(key) {
        *rows += 1;
        let row = read(file, at)?;
        match row.as_ref().map_or(0, RowCopy::key) {
            0 => return Ok(None),
            found if found == key => return Ok(row),
            _ => {}
        }
    }
    Ok(None)
}

/// `None` where the file ends before it.
fn read(file: &OwnedFd, row: usize) -> Result<Option<RowCopy>, i32> {
    let mut bytes = [0; ROW_WORDS * 8];
    let at = (row_at(row) * 8) as libc::off_t;
    // SAFETY: our own descriptor, and a buffer of that length. A file that was cut meanwhile gives fewer bytes.
    let length =
        unsafe { libc::pread(file.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), at) };
    match length {
        -1 => Err(errno()),
        _ => Ok((length == bytes.len() as isize).then(|| RowCopy::new(&bytes))),
    }
}
