//! The host that is looked at: files below a root, and what the kernel says about this process.
//!
//! Tests put a made-up tree in the place of `/`, with the files that hardware would show.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};
use rustix::process::{getrlimit, Resource};

use crate::run::{places, regular};

/// More of a file is never looked at; the longest that is read is the list of packages of dpkg.
const MAX_BYTES: u64 = 16 << 20;
/// CAP_IPC_LOCK in the kernel's include/uapi/linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;

pub struct Host {
    pub root: PathBuf,
    /// Whether this is the machine itself, so that its programs (ibv_devinfo, dcb, rpm) tell about it.
    pub real: bool,
    /// Soft and hard RLIMIT_MEMLOCK; `None` is unlimited.
    pub memlock: (Option<u64>, Option<u64>),
    pub library_path: OsString,
}

impl Host {
    pub fn this() -> Host {
        let memlock = getrlimit(Resource::Memlock);
        Host {
            root: PathBuf::from("/"),
            real: true,
            memlock: (memlock.current, memlock.maximum),
            library_path: std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default(),
        }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        places::below(&self.root, Path::new(path))
    }

    /// The path as the host itself calls it.
    pub fn own_name(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(rest) => Path::new("/").join(rest),
            Err(_) => path.to_owned(),
        }
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A file's text without the white space at its ends. `None` when it cannot be read: some files
    /// of sysfs answer EINVAL where there is no value.
    pub fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let file = regular::open(&self.path(path)).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A short value, as the files of sysfs have one: all of it comes with one read. For the thousands
    /// of them in a GID table.
    pub fn value(&self, path: &str) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::open(self.path(path), flags, Mode::empty()).ok()?;
        let mut bytes = [0; 256];
        let length = rustix::io::read(file, &mut bytes).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..length)?);
        Some(text.trim().to_owned())
    }

    pub fn number<N: std::str::FromStr>(&self, path: &str) -> Option<N> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory, in order: numbers by their value, so that 2 comes before 10.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_by_cached_key(|name| natural(name));
        names
    }

    /// The last part of what a symbolic link points at.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Whether this user may read and write it.
    pub fn accessible(&self, path: &str) -> bool {
        rustix::fs::access(self.path(path), Access::READ_OK | Access::WRITE_OK).is_ok()
    }

    /// The value of a line `KEY: value` in a file like /proc/self/status.
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        let text = self.text(path)?;
        let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned());
        text.lines().find_map(value)
    }

    /// Whether RLIMIT_MEMLOCK does not hold for this process (ib_umem_get, drivers/infiniband/core/umem.c).
    pub fn may_lock_all(&self) -> bool {
        let mask = self.field("/proc/self/status", "CapEff");
        let mask = mask.and_then(|text| u64::from_str_radix(&text, 16).ok());
        mask.is_some_and(|mask| mask >> CAP_IPC_LOCK & 1 == 1)
    }
}

/// A key by which eth2 comes before eth10.
fn natural(name: &str) -> (String, u64, String) {
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    let (stem, number) = name.split_at(name.len() - digits);
    (
        stem.to_owned(),
        number.parse().unwrap_or(0),
        name.to_owned(),
    )
}
