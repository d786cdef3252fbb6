//! When the policy file is read: once it is whole. A file that is written in place is half there for a while, and what
//! stands in the half may be valid: a tenant without the line that would refuse it.
//!
//! Whole is a file that was put there by rename, or that nobody has changed for `QUIET`, and that is the same after it
//! was read as before.

use crate::sys::clock::now_ns;
use crate::sys::lock::lock;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often it is looked whether the file has changed.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who writes a file in pieces does not leave longer pauses.
const QUIET: Duration = Duration::from_secs(1);
/// How often the file that is there when the process begins is looked at, until it is whole.
const FIRST_LOOKS: u32 = 25;

/// By what a changed file is known. A ConfigMap is changed by a symbolic link that leads to another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: [u64; 2],
    size: u64,
    /// When its content changed, and when anything of it did, its name too; ns.
    written: i128,
    changed: i128,
}

impl Stamp {
    fn of(path: &str) -> Option<Stamp> {
        let data = std::fs::metadata(path).ok()?;
        let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Some(Stamp {
            file: [data.dev(), data.ino()],
            size: data.size(),
            written: ns(data.mtime(), data.mtime_nsec()),
            changed: ns(data.ctime(), data.ctime_nsec()),
        })
    }

    /// Has nobody changed it for a while?
    fn quiet(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos() as i128);
        now - self.written.max(self.changed) >= QUIET.as_nanos() as i128
    }

    /// A rename changes only the later of the two times, each write both.
    fn renamed_since(&self, before: Option<&Stamp>) -> bool {
        self.changed > self.written && before.is_none_or(|before| before.file != self.file)
    }
}

/// The file as it was found at one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found(Option<Stamp>);

/// What was found so far, so that each change is read and told of once.
#[derive(Default)]
pub struct Watched {
    files: Mutex<Files>,
    pub reloads: AtomicU64,
    looked_at: AtomicU64,
}

#[derive(Default)]
struct Files {
    /// What was read last; `None` before that, or if it was not whole.
    read: Option<Found>,
    /// What the last look found.
    seen: Option<Found>,
}

impl Watched {
    /// Reads what is there when the process begins. One that was written in place just now is waited for, `QUIET` at
    /// the most; one that is written on and on is none: `None`. One that did not change all the while is whole, whatever its
    /// times say: they may be in the future.
    pub fn first<T>(&self, path: &str, read: impl Fn() -> T) -> Option<T> {
        let at_first = Found(Stamp::of(path));
        let mut same = true;
        for look in 1..=FIRST_LOOKS {
            let found = Found(Stamp::of(path));
            same &= found == at_first;
            let still = same && look == FIRST_LOOKS;
            let whole = |stamp: &Stamp| still || stamp.renamed_since(None) || stamp.quiet();
            if found.0.as_ref().is_none_or(whole) {
                let content = read();
                if self.took(found, path) {
                    return Some(content);
                }
            }
            std::thread::sleep(QUIET / (FIRST_LOOKS - 1));
        }
        None
    }

    /// Is it time to look? True for one of those who ask at once.
    pub fn due(&self) -> bool {
        let (now, last) = (now_ns(), self.looked_at.load(Ordering::Relaxed));
        let due = now.saturating_sub(last) >= LOOK_EVERY.as_nanos() as u64 * 9 / 10;
        let looks = |last| {
            let order = Ordering::Relaxed;
            self.looked_at.compare_exchange(last, now, order, order)
        };
        due && looks(last).is_ok()
    }

    /// Looks at the file: another one that is to be read now. At looks that are `LOOK_EVERY` apart what did not change
    /// in between is quiet, whatever the clock of another host says that keeps the file.
    pub fn changed(&self, path: &str) -> Option<Found> {
        let found = Found(Stamp::of(path));
        let mut files = lock(&self.files);
        let seen = files.seen.replace(found) == Some(found);
        if files.read == Some(found) {
            return None;
        }
        let before = files.read.and_then(|read| read.0);
        let whole = |stamp: &Stamp| stamp.quiet() || stamp.renamed_since(before.as_ref());
        (seen || found.0.as_ref().is_some_and(whole)).then_some(found)
    }

    /// What was found has been read: false if it changed meanwhile, and is not to be used.
    pub fn took(&self, found: Found, path: &str) -> bool {
        let after = Found(Stamp::of(path));
        let mut files = lock(&self.files);
        files.seen = Some(after);
        files.read = (after == found).then_some(found);
        after == found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{rename, write};

    struct Dir(std::path::PathBuf);

    impl Dir {
        fn new(name: &str) -> Dir {
            let name = format!("cmshim-test-{}-{name}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&dir).expect("made");
            Dir(dir)
        }

        fn at(&self, name: &str) -> String {
            self.0.join(name).to_string_lossy().into_owned()
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn put(dir: &Dir, text: &str) {
        write(dir.at("new"), text).expect("written");
        // The kernel's clock of files goes on in steps.
        std::thread::sleep(Duration::from_millis(20));
        rename(dir.at("new"), dir.at("policy")).expect("renamed");
    }

    #[test]
    fn a_file_that_was_renamed_is_read_at_once_and_once() {
        let dir = Dir::new("renamed");
        let path = dir.at("policy");
        let watched = Watched::default();
        put(&dir, "one");
        let begin = std::time::Instant::now();
        assert_eq!(watched.first(&path, || 1), Some(1));
        assert!(begin.elapsed() < QUIET);
        assert_eq!(watched.changed(&path), None);
        put(&dir, "two");
        let found = watched.changed(&path).expect("to be read");
        assert!(watched.took(found, &path));
        assert_eq!(watched.changed(&path), None);
    }

    #[test]
    fn a_file_of_the_future_is_read_if_nobody_changes_it() {
        let dir = Dir::new("future");
        let path = dir.at("policy");
        write(&path, "one").expect("written");
        let file = std::fs::File::options().write(true).open(&path);
        let later = SystemTime::now() + Duration::from_secs(3_600);
        file.and_then(|file| file.set_modified(later)).expect("set");
        assert_eq!(Watched::default().first(&path, || 1), Some(1));
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone() {
        let dir = Dir::new("written");
        let path = dir.at("policy");
        let watched = Watched::default();
        put(&dir, "one");
        watched.first(&path, || ());
        for piece in ["a", "ab", "abc"] {
            write(&path, piece).expect("written");
            assert_eq!(watched.changed(&path), None, "{piece}");
        }
        let found = watched.changed(&path).expect("the same at two looks");
        write(&path, "abcd").expect("written");
        assert!(!watched.took(found, &path), "written while it was read");
    }

    #[test]
    fn a_file_that_is_never_whole_is_none() {
        let dir = Dir::new("never");
        let path = dir.at("policy");
        let watched = Watched::default();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    write(&path, "x").expect("written");
                }
            });
            while Stamp::of(&path).is_none() {}
            assert_eq!(watched.first(&path, || ()), None);
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(watched.first(&path, || ()), Some(()), "waited for");
    }
}
