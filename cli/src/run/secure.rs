//! Whether a file starts in secure-execution mode, in which the loader ignores our LD_PRELOAD.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getgid, getuid};

/// No user's and no group's number: -1 is how system calls say "unchanged" (chown(2)).
const NOBODY: u32 = u32::MAX;
const SETUID: u32 = 0o4000;
/// Without the group's x bit, S_ISGID does not mean setgid.
const SETGID: u32 = 0o2010;

/// Who starts the program, and what its file says.
struct Facts {
    mode: u32,
    owner: u32,
    group: u32,
    capabilities: bool,
    uid: u32,
    gid: u32,
}

/// Why the program is secure, as the end of "it is ..."; `None` when it is not.
pub fn reason(path: &Path) -> Option<&'static str> {
    reason_of(&facts(path, getuid().as_raw(), getgid().as_raw())?)
}

/// The same for everybody but its owner and root.
pub fn for_others(path: &Path) -> Option<&'static str> {
    reason_of(&facts(path, NOBODY, NOBODY)?)
}

fn facts(path: &Path, uid: u32, gid: u32) -> Option<Facts> {
    let metadata = fs::metadata(path).ok()?;
    let capabilities = xattr::get_deref(path, "security.capability");
    Some(Facts {
        mode: metadata.mode(),
        owner: metadata.uid(),
        group: metadata.gid(),
        capabilities: matches!(capabilities, Ok(Some(_))),
        uid,
        gid,
    })
}

/// The kernel's rule (cap_bprm_creds_from_file in security/commoncap.c): secure is who gets
/// another uid or gid than its real one, and who is not root and gains capabilities.
fn reason_of(facts: &Facts) -> Option<&'static str> {
    if facts.mode & SETUID != 0 && facts.owner != facts.uid {
        Some("setuid")
    } else if facts.mode & SETGID == SETGID && facts.group != facts.gid {
        Some("setgid")
    } else if facts.capabilities && facts.uid != 0 {
        Some("given file capabilities")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: u32, capabilities: bool, uid: u32, gid: u32) -> Option<&'static str> {
        reason_of(&Facts {
            mode,
            owner: 5,
            group: 6,
            capabilities,
            uid,
            gid,
        })
    }

    #[test]
    fn another_identity_is_secure() {
        assert_eq!(of(0o755, false, 1, 1), None);
        assert_eq!(of(0o4755, false, 1, 1), Some("setuid"));
        assert_eq!(of(0o4755, false, 5, 1), None);
        assert_eq!(of(0o2755, false, 1, 1), Some("setgid"));
        assert_eq!(of(0o2755, false, 1, 6), None);
        assert_eq!(of(0o2745, false, 1, 1), None);
    }

    #[test]
    fn capabilities_are_secure_unless_for_root() {
        assert_eq!(of(0o755, true, 1, 1), Some("given file capabilities"));
        assert_eq!(of(0o755, true, 0, 0), None);
    }
}
