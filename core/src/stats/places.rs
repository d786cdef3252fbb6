//! Where files are, and what they are called.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory for the whole host, where root's processes (and others, if it lets them) put theirs.
pub const HOST: &str = "/run/cmshim";

/// Runtime directories of the users who are logged in.
const RUNTIME: &str = "/run/user";
const SHARED: &str = "/dev/shm";
const OWN: &str = "cmshim";

/// So many names of one user are tried before one that nobody can foresee.
const NUMBERS: u32 = 16;

/// So many directories of one user are looked at.
const MOST_OF_ONE: usize = 32;

/// Ending of the files' names.
pub const ENDING: &str = ".cmstats";

/// How many names are tried for one process id before one that nobody can foresee: processes in other pid namespaces may
/// share a directory, and somebody may have taken names on purpose.
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
        None => {
            let usual = [HOST.into(), format!("{RUNTIME}/{uid}/{OWN}").into()];
            let shared = for_writing_below(Path::new(SHARED), uid);
            usual.into_iter().chain(shared).collect()
        }
    }
}

/// The user's directory in one where everybody may make any name: the usual one, unless somebody else has taken it. Then
/// one that the user made before, another number, or in the end a name that nobody can foresee.
fn for_writing_below(shared: &Path, uid: u32) -> Vec<PathBuf> {
    let numbered = (0..NUMBERS).map(|n| shared.join(directory_name(uid, n)));
    let (there, missing): (Vec<_>, Vec<_>) = numbered.partition(|path| exists(path));
    let (mut own, taken): (Vec<_>, Vec<_>) = there.into_iter().partition(|path| is_of(path, uid));
    // Who has another one already stays there, when a name that somebody had taken is free again.
    let mut made_before = of_user(shared, uid);
    made_before.retain(|path| !own.contains(path));
    own.extend(made_before);
    // A process that cannot make its file in the user's own directory (no space, a limit of file sizes) cannot in another one:
    // each start would make one more.
    if own.iter().any(|path| belongs_to(path, uid)) {
        return own;
    }
    if taken.is_empty() {
        own.extend(missing.into_iter().next());
        return own;
    }
    let any = RandomState::new().build_hasher().finish();
    let last = shared.join(format!("{OWN}-{uid}-{any:016x}"));
    [own, missing, vec![last]].concat()
}

/// The user's directories in one where everybody may make any name.
fn of_user(shared: &Path, uid: u32) -> Vec<PathBuf> {
    let names = names_below(shared);
    let of_user = names.filter(|path| owner_in_name(path) == Some(uid) && is_of(path, uid));
    let mut paths: Vec<PathBuf> = of_user.collect();
    paths.sort();
    paths
}

/// A directory's name in one where everybody may make any name; `number` counts from 0.
fn directory_name(uid: u32, number: u32) -> String {
    match number {
        0 => format!("{OWN}-{uid}"),
        n => format!("{OWN}-{uid}-{n}"),
    }
}

/// The user in such a name.
fn owner_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let (uid, more) = match name.strip_prefix(OWN)?.strip_prefix('-')?.split_once('-') {
        Some((uid, more)) => (uid, more),
        None => (name.strip_prefix(OWN)?.strip_prefix('-')?, "0"),
    };
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let number = uid.bytes().all(|b| b.is_ascii_digit());
    uid.parse().ok().filter(|_| number && plain(more))
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Is it a directory of this user, or one that root has made for him, in which no others could put a file in place of
/// one that is there?
fn is_of(path: &Path, uid: u32) -> bool {
    let Ok(about) = path.symlink_metadata() else {
        return false;
    };
    let open_to_others = about.mode() & 0o022 != 0 && about.mode() & 0o1000 == 0;
    about.is_dir() && (about.uid() == uid || about.uid() == 0) && !open_to_others
}

fn belongs_to(path: &Path, uid: u32) -> bool {
    path.symlink_metadata()
        .is_ok_and(|about| about.uid() == uid)
}

fn names_below(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Directories of this host that may hold files: the configured one, or of the built-in places all that exist,
/// of all users. None of them is a link, or belongs to another user than its name says.
pub fn for_reading(dir: Option<&str>) -> Vec<PathBuf> {
    if let Some(dir) = dir {
        return vec![dir.into()];
    }
    let host = Some(PathBuf::from(HOST)).filter(|path| is_of(path, 0));
    let of_user = |user: PathBuf| {
        let uid = user.file_name()?.to_str()?.parse().ok()?;
        Some(user.join(OWN)).filter(|path| is_of(path, uid))
    };
    let mut of_users: Vec<PathBuf> = names_below(Path::new(RUNTIME))
        .filter_map(of_user)
        .collect();
    of_users.sort();
    let shared = for_reading_below(Path::new(SHARED));
    host.into_iter().chain(of_users).chain(shared).collect()
}

/// Those in a directory where everybody may make any name: of each user, not more than a few.
fn for_reading_below(shared: &Path) -> Vec<PathBuf> {
    let owned = |path: PathBuf| {
        let uid = owner_in_name(&path)?;
        is_of(&path, uid).then_some((uid, path))
    };
    let mut all: Vec<(u32, PathBuf)> = names_below(shared).filter_map(owned).collect();
    all.sort();
    let of_each = all.chunk_by(|a, b| a.0 == b.0);
    let few = of_each.flat_map(|of_user| of_user.iter().take(MOST_OF_ONE));
    few.map(|(_, path)| path.clone()).collect()
}

/// Name of a process's file; `attempt` counts from 0.
pub fn file_name(pid: u32, attempt: u32) -> String {
    match attempt {
        0 => format!("{pid}{ENDING}"),
        n => format!("{pid}-{n}{ENDING}"),
    }
}

/// The last resort where all others are taken: a name that nobody can foresee.
pub fn any_file_name(pid: u32) -> String {
    let any = RandomState::new().build_hasher().finish();
    format!("{pid}-{any:016x}{ENDING}")
}

/// The process id in a file's name; `None` for other files.
pub fn pid_of(name: &str) -> Option<u32> {
    let stem = name.strip_suffix(ENDING)?;
    let (pid, which) = stem.split_once('-').unwrap_or((stem, "0"));
    let plain = !which.is_empty() && which.bytes().all(|b| b.is_ascii_hexdigit());
    pid.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_configured_directory_is_the_only_one() {
        assert_eq!(for_writing(Some("/x"), 1), [PathBuf::from("/x")]);
        assert_eq!(for_reading(Some("/x")), [PathBuf::from("/x")]);
        let usual = for_writing(None, 4_000_000_001);
        let wanted = [
            "/run/cmshim",
            "/run/user/4000000001/cmshim",
            "/dev/shm/cmshim-4000000001",
        ];
        assert_eq!(usual, wanted.map(PathBuf::from));
        assert!(for_reading(None).iter().all(|path| path.is_dir()));
    }

    /// A directory of this test's own that goes with it.
    struct Shared(PathBuf);

    impl Shared {
        fn new(name: &str) -> Shared {
            let name = format!("cmshim-places-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir(&path).expect("made");
            Shared(path)
        }

        fn make(&self, name: &str) -> PathBuf {
            let path = self.0.join(name);
            std::fs::create_dir(&path).expect("made");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("mode");
            path
        }
    }

    impl Drop for Shared {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Ours, and a user who is somebody else.
    fn uids() -> (u32, u32) {
        let own = std::fs::metadata("/proc/self").expect("proc").uid();
        (own, if own == 1 { 2 } else { 1 })
    }

    #[test]
    fn names_that_somebody_else_has_taken_are_passed_by() {
        let (us, victim) = uids();
        if us != 0 {
            // What we make has to be somebody else's, and not root's.
            let shared = Shared::new("taken");
            for n in 0..NUMBERS {
                shared.make(&directory_name(victim, n));
            }
            let left = for_writing_below(&shared.0, victim);
            assert_eq!(left.len(), 1, "{left:?}");
            assert_eq!(owner_in_name(&left[0]), Some(victim));
            assert!(!left[0].exists());
        }
        let shared = Shared::new("links");
        for n in 0..3 {
            std::os::unix::fs::symlink("/", shared.0.join(directory_name(us, n))).expect("linked");
        }
        let next = for_writing_below(&shared.0, us);
        assert_eq!(next[0], shared.0.join(format!("cmshim-{us}-3")));
        assert_eq!(next.len() as u32, NUMBERS - 3 + 1);
        // The one that the user has is taken for as long as it is there.
        let had = shared.make(&format!("cmshim-{us}-00000000000000aa"));
        assert_eq!(for_writing_below(&shared.0, us)[0], had);
        // Also when the names are given back.
        for n in 0..3 {
            std::fs::remove_file(shared.0.join(directory_name(us, n))).expect("ours");
        }
        assert_eq!(for_writing_below(&shared.0, us)[0], had);
        let had = shared.make(&format!("cmshim-{us}-5"));
        assert_eq!(for_writing_below(&shared.0, us)[0], had);
    }

    /// However often a process cannot make its file there.
    #[test]
    fn a_user_who_has_a_directory_gets_no_other_one() {
        let (us, _) = uids();
        let shared = Shared::new("one");
        let usual = shared.0.join(format!("cmshim-{us}"));
        assert_eq!(
            for_writing_below(&shared.0, us),
            std::slice::from_ref(&usual)
        );
        shared.make(&format!("cmshim-{us}"));
        assert_eq!(
            for_writing_below(&shared.0, us),
            std::slice::from_ref(&usual)
        );
        // The next name taken by somebody else, and one that was made before.
        std::os::unix::fs::symlink("/", shared.0.join(format!("cmshim-{us}-1"))).expect("linked");
        let before = shared.make(&format!("cmshim-{us}-7"));
        assert_eq!(for_writing_below(&shared.0, us), [usual, before]);
    }

    #[test]
    fn directories_that_are_not_what_their_names_say_are_not_read() {
        let (us, other) = uids();
        let shared = Shared::new("read");
        let own = shared.make(&format!("cmshim-{us}"));
        let more = shared.make(&format!("cmshim-{us}-1"));
        for name in ["cmshim-", "cmshim-x", "cmshim-1-\u{1b}[2J", "cmshim-+1"] {
            shared.make(name);
        }
        std::os::unix::fs::symlink("/", shared.0.join(format!("cmshim-{us}-2"))).expect("linked");
        let open = shared.make(&format!("cmshim-{us}-3"));
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("mode");
        if us != 0 {
            shared.make(&format!("cmshim-{other}"));
        }
        assert_eq!(for_reading_below(&shared.0), [own, more]);
        for n in 100..200 {
            shared.make(&format!("cmshim-{us}-{n}"));
        }
        assert_eq!(for_reading_below(&shared.0).len(), MOST_OF_ONE);
    }

    #[test]
    fn names_tell_the_process() {
        assert_eq!(pid_of(&file_name(4711, 0)), Some(4711));
        assert_eq!(pid_of(&file_name(4711, 3)), Some(4711));
        assert_eq!(pid_of("4711"), None);
        assert_eq!(pid_of(&any_file_name(4711)), Some(4711));
        for other in [
            "x.cmstats",
            "1-.cmstats",
            "1-\u{1b}[2J.cmstats",
            "1-a-b.cmstats",
        ] {
            assert_eq!(pid_of(other), None, "{other}");
        }
    }
}
