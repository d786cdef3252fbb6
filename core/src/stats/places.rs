//! Where files are, and what they are called.

use std::path::PathBuf;
use std::time::Duration;

/// The directory for the whole host, where root's processes (and others, if it lets them) put theirs.
pub const HOST: &str = "/run/cmshim";

/// Runtime directories of the users who are logged in.
const RUNTIME: &str = "/run/user";
const SHARED: &str = "/dev/shm";
const OWN: &str = "cmshim";

/// Ending of the files' names.
pub const ENDING: &str = ".cmstats";

/// How many files one process id may have: processes in other pid namespaces may share a directory.
pub const SAME_PID: u32 = 64;

/// How many of them are kept of one process, from before it executed another program or itself again.
pub const BEFORE_EXEC: u32 = 8;

/// How long the file of a dead process is kept for those who want to know why it died, counted from the last
/// thing that it recorded. Who lists files removes older ones.
pub const KEEP_DEAD: Duration = Duration::from_secs(3600);

/// Where a process of this user puts its file, best first. The user's runtime directory is taken by its usual
/// name: a variable of the environment could be anybody's.
pub fn for_writing(dir: Option<&str>, uid: u32) -> Vec<PathBuf> {
    match dir {
        Some(dir) => vec![dir.into()],
        None => vec![
            HOST.into(),
            format!("{RUNTIME}/{uid}/{OWN}").into(),
            format!("{SHARED}/{OWN}-{uid}").into(),
        ],
    }
}

/// Directories of this host that may hold files: the configured one, or of the built-in places all that exist,
/// of all users.
pub fn for_reading(dir: Option<&str>) -> Vec<PathBuf> {
    if let Some(dir) = dir {
        return vec![dir.into()];
    }
    let below = |dir: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).collect();
        paths.sort();
        paths
    };
    let of_users = below(RUNTIME).into_iter().map(|user| user.join(OWN));
    let shared = below(SHARED).into_iter().filter(|path| {
        let name = path.file_name().and_then(|n| n.to_str());
        name.is_some_and(|n| n.starts_with("cmshim-"))
    });
    let all = [HOST.into()].into_iter().chain(of_users).chain(shared);
    all.filter(|path: &PathBuf| path.is_dir()).collect()
}

/// Name of a process's file; `attempt` counts from 0.
pub fn file_name(pid: u32, attempt: u32) -> String {
    match attempt {
        0 => format!("{pid}{ENDING}"),
        n => format!("{pid}-{n}{ENDING}"),
    }
}

/// The process id in a file's name; `None` for other files.
pub fn pid_of(name: &str) -> Option<u32> {
    let stem = name.strip_suffix(ENDING)?;
    let pid = stem.split_once('-').map_or(stem, |(pid, _)| pid);
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_directory_is_the_only_one() {
        assert_eq!(for_writing(Some("/x"), 1), [PathBuf::from("/x")]);
        assert_eq!(for_reading(Some("/x")), [PathBuf::from("/x")]);
        let usual = for_writing(None, 1);
        let wanted = ["/run/cmshim", "/run/user/1/cmshim", "/dev/shm/cmshim-1"];
        assert_eq!(usual, wanted.map(PathBuf::from));
        assert!(for_reading(None).iter().all(|path| path.is_dir()));
    }

    #[test]
    fn names_tell_the_process() {
        assert_eq!(pid_of(&file_name(4711, 0)), Some(4711));
        assert_eq!(pid_of(&file_name(4711, 3)), Some(4711));
        assert_eq!(pid_of("4711"), None);
        assert_eq!(pid_of("x.cmstats"), None);
    }
}
