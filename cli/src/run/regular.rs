//! Opening what may not be a file: a FIFO would block, a device may do something.

use std::fs::{File, FileType};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// A regular file, open for reading.
pub fn open(path: &Path) -> std::io::Result<File> {
    refuse_other(std::fs::metadata(path)?.file_type())?;
    // The name may have come to mean a FIFO since we looked.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    refuse_other(file.metadata()?.file_type())?;
    Ok(file)
}

fn refuse_other(kind: FileType) -> std::io::Result<()> {
    match other(kind) {
        Some(what) => Err(Error::new(ErrorKind::InvalidInput, format!("is {what}"))),
        None => Ok(()),
    }
}

/// What it is, when it is no regular file.
pub fn other(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a directory")
    } else if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}
