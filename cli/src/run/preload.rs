//! The value of LD_PRELOAD.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use super::sanitizers;

pub const VARIABLE: &str = "LD_PRELOAD";

/// What the dynamic loader splits LD_PRELOAD at (ld.so(8)). There is no way to quote them.
pub fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b':'
}

/// `library` before all that was there, without a second mention of it. Sanitizers that stood first still do: AddressSanitizer
/// ends a program in which another library comes before it.
pub fn with_first(library: &OsStr, there: Option<OsString>) -> OsString {
    let there = there.unwrap_or_default();
    let library = library.as_encoded_bytes();
    let mut names: Vec<&[u8]> = there
        .as_encoded_bytes()
        .split(|&b| is_separator(b))
        .filter(|name| !name.is_empty() && *name != library)
        .collect();
    let sanitizers = names.iter().take_while(|name| sanitizers::is_one(name));
    names.insert(sanitizers.count(), library);
    OsString::from_vec(names.join(&b':'))
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
    fn sanitizers_that_stand_first_stay_first() {
        let ours = "/l/libcmshim.so.0";
        for first in [
            "libasan.so.8",
            "/usr/lib/gcc/libasan.so",
            "/l/libclang_rt.asan-x86_64.so",
            "liblsan.so.0:libubsan.so.1",
        ] {
            assert_eq!(with(first), format!("{first}:{ours}"));
            assert_eq!(
                with(&format!("{first} x.so")),
                format!("{first}:{ours}:x.so")
            );
            assert_eq!(
                with(&format!("x.so {first}")),
                format!("{ours}:x.so:{first}")
            );
        }
        assert_eq!(with("libasanything.so"), format!("{ours}:libasanything.so"));
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
