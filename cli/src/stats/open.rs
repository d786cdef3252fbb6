//! One file: opened, checked, read. Nothing of it is trusted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cmshim_core::config::reason;
use cmshim_core::stats::{Snapshot, MAX_BYTES};
use rustix::fs::{flock, openat, FlockOperation, Mode, OFlags, CWD};
use rustix::io::Errno;

/// A file that could be read.
pub struct Found {
    pub path: PathBuf,
    /// A process holds the file's lock.
    pub alive: bool,
    pub stats: Snapshot,
    /// User id of the file's owner.
    owner: u32,
    /// Device and inode, to know the file again.
    pub inode: (u64, u64),
}

/// Why a file is not shown.
#[derive(Debug)]
pub enum Refused {
    /// Of another user, who does not let us read it.
    NotOurs,
    /// It is gone since the directory was listed.
    Gone,
    Because(String),
}

impl Refused {
    pub fn words(&self) -> &str {
        match self {
            Refused::NotOurs => "Permission denied (see stats.readers)",
            Refused::Gone => "No such file or directory",
            Refused::Because(why) => why,
        }
    }

    pub fn by(error: &std::io::Error) -> Refused {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::ACCESS | Errno::PERM) => Refused::NotOurs,
            Some(Errno::NOENT) => Refused::Gone,
            Some(Errno::LOOP) => Refused::Because("this is a symbolic link".into()),
            _ => Refused::Because(reason(error)),
        }
    }
}

// A FIFO is not waited for.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
pub const LISTED: OFlags = FLAGS.union(OFlags::NOFOLLOW);

/// A file that the user named: it may be a copy, of another owner than the process.
pub fn named(path: &Path) -> Result<Found, Refused> {
    read(openat(CWD, path, FLAGS, Mode::empty()), path)
}

/// A file in a directory that perhaps everybody can write: no links, and nobody speaks for another user.
pub fn listed(directory: &OwnedFd, name: &OsStr, path: &Path) -> Result<Found, Refused> {
    let opened = openat(directory, name, LISTED, Mode::empty());
    let found = read(opened, path)?;
    let (uid, owner) = (found.stats.header.uid, found.owner);
    if owner != uid {
        return Err(Refused::Because(format!(
            "it says that it is of user {uid}, and belongs to user {owner}"
        )));
    }
    Ok(found)
}

fn read(opened: Result<OwnedFd, Errno>, path: &Path) -> Result<Found, Refused> {
    let file = File::from(opened.map_err(|e| Refused::by(&e.into()))?);
    let about = file.metadata().map_err(|e| Refused::by(&e))?;
    if !about.is_file() {
        return Err(Refused::Because("this is no file".into()));
    }
    // Before the reading: what a dead process left does not change any more.
    let alive = held(&file);
    let mut bytes = Vec::new();
    let size = (&file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if size.map_err(|e| Refused::by(&e))? as u64 > MAX_BYTES {
        return Err(Refused::Because(format!(
            "it is larger than {MAX_BYTES} bytes: this is not a statistics file of cmshim"
        )));
    }
    let stats = Snapshot::parse(&bytes).map_err(|e| Refused::Because(e.to_string()))?;
    Ok(Found {
        path: path.to_owned(),
        alive,
        stats,
        owner: about.uid(),
        inode: (about.dev(), about.ino()),
    })
}

/// Does its process hold it? A shared lock, so that two readers do not take each other for it; gone with the
/// descriptor.
fn held(file: &impl AsFd) -> bool {
    flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}
