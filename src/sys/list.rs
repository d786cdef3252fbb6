//! The names in a directory.

use crate::sys::guard::errno;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{Error, Result};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// All names but "." and "..".
pub fn names(path: impl AsRef<Path>) -> Result<Vec<OsString>> {
    some(path, |_| true, usize::MAX).map(|listed| listed.names)
}

/// What was found in a directory.
pub struct Listed {
    pub names: Vec<OsString>,
    /// Was every name looked at?
    pub whole: bool,
}

/// The names that are wanted, among the first so many. A program may close descriptors that it does not know (another thread of it, just
/// now): std's way of reading a directory panics then, this one ends early.
pub fn some(
    path: impl AsRef<Path>,
    wanted: impl Fn(&OsStr) -> bool,
    most: usize,
) -> Result<Listed> {
    let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
    let mut names = Vec::new();
    let mut seen = 0;
    // SAFETY: NUL-terminated name. The stream is used by this thread only; an entry is valid, and its name ends with
    // NUL, until the next one is read.
    unsafe {
        let stream = libc::opendir(path.as_ptr());
        if stream.is_null() {
            return Err(Error::from_raw_os_error(errno()));
        }
        while let Some(entry) = libc::readdir64(stream).as_ref() {
            let name = CStr::from_ptr(entry.d_name.as_ptr()).to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            seen += 1;
            if seen > most {
                break;
            }
            if wanted(OsStr::from_bytes(name)) {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        libc::closedir(stream);
    }
    let whole = seen <= most;
    Ok(Listed { names, whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_std_finds() {
        let mut expected: Vec<OsString> = std::fs::read_dir("/usr")
            .expect("/usr")
            .flatten()
            .map(|e| e.file_name())
            .collect();
        let mut found = names("/usr").expect("/usr");
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(
            names("/no/such").map_err(|e| e.raw_os_error()),
            Err(Some(libc::ENOENT))
        );
        let few = some("/usr", |_| false, expected.len() - 1).expect("/usr");
        assert_eq!(
            (few.names.len(), few.whole),
            (0, false),
            "names that nobody wants are looked at too"
        );
        let all = some("/usr", |_| true, expected.len()).expect("/usr");
        assert_eq!((all.names.len(), all.whole), (expected.len(), true));
    }
}
