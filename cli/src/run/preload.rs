//! The value of LD_PRELOAD.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

pub const VARIABLE: &str = "LD_PRELOAD";

/// What the dynamic loader splits LD_PRELOAD at (ld.so(8)). There is no way to quote them.
pub fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b':'
}

/// `library`, then all that was there, without a second mention of `library`.
pub fn with_first(library: &OsStr, there: Option<OsString>) -> OsString {
    let there = there.unwrap_or_default();
    let mut all = library.as_encoded_bytes().to_vec();
    for name in there.as_encoded_bytes().split(|&b| is_separator(b)) {
        if !name.is_empty() && name != library.as_encoded_bytes() {
            all.push(b':');
            all.extend_from_slice(name);
        }
    }
    OsString::from_vec(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(there: &str) -> String {
        let all = with_first(OsStr::new("/l/libcmshim.so.0"), Some(there.into()));
        all.into_string().unwrap()
    }

    #[test]
    fn stands_first_and_keeps_the_rest() {
        let none = with_first(OsStr::new("a.so"), None);
        assert_eq!(none, "a.so");
        assert_eq!(with(""), "/l/libcmshim.so.0");
        assert_eq!(with("/x.so"), "/l/libcmshim.so.0:/x.so");
        assert_eq!(
            with("x.so:/y.so  z.so: "),
            "/l/libcmshim.so.0:x.so:/y.so:z.so"
        );
    }

    #[test]
    fn is_not_named_twice() {
        assert_eq!(with("/x.so:/l/libcmshim.so.0"), "/l/libcmshim.so.0:/x.so");
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let there = OsString::from_vec(b"/\xff.so".to_vec());
        let all = with_first(OsStr::new("a.so"), Some(there));
        assert_eq!(all.as_encoded_bytes(), b"a.so:/\xff.so");
    }
}
