//! From what the user named to files; and the files of dead processes that nobody needs any more.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cmshim_core::stats::places;
use rustix::fs::{
    flock, fstat, open, openat, statat, unlinkat, AtFlags, FlockOperation, Mode, OFlags, Stat,
};

use super::age::{last_ns, Now};
use super::open::{self, Found, Refused};
use super::owner::Process;
use crate::failure::{Failure, FOUND};
use crate::output;
use crate::settings;

/// So many files of one user are looked at: each may have made any number, and all of them are read.
const MOST_OF_ONE: usize = 1_024;

/// The process or file with this name.
pub fn one(name: &OsStr) -> Result<Found, Failure> {
    match name.to_str().and_then(|text| text.parse().ok()) {
        Some(pid) => of_process(pid),
        None => {
            let path = Path::new(name);
            open::named(path).map_err(|why| Failure::new(FOUND, refusal_text(path, &why)))
        }
    }
}

fn refusal_text(path: &Path, why: &Refused) -> String {
    format!("{}: {}", path.display(), why.words())
}

/// All files. Those that are refused are told.
pub fn all() -> Result<Scan, Failure> {
    check_configuration();
    let scan = scan();
    if scan.found.is_empty() {
        complain(&scan.refused, 0);
        return Err(nothing("of any process", &scan.directories, scan.not_ours));
    }
    complain(&scan.refused, scan.not_ours);
    Ok(scan)
}

/// Tells what is wrong in the settings that say where files are: others are looked at then than was wanted.
pub fn check_configuration() {
    settings::with_warnings(Vec::new(), "stats");
}

/// What one look into the directories brought.
pub struct Scan {
    /// By process id.
    pub found: Vec<Found>,
    /// Files that were refused, and why.
    pub refused: Vec<String>,
    /// Files that only other users may read.
    pub not_ours: usize,
    directories: Vec<PathBuf>,
}

/// Looks at all files. Those of processes that died long ago go.
pub fn scan() -> Scan {
    scan_of(Vec::new(), |_| {})
}

/// The same, in the directories that the configuration has for a program with these names. `thin_out` may take
/// away what is not needed, after each file: any user may have made very many.
pub fn scan_of(program: Vec<String>, mut thin_out: impl FnMut(&mut Vec<Found>)) -> Scan {
    let directories = directories(program);
    let (now, mut found, mut not_ours) = (Now::here(), Vec::new(), 0);
    let (candidates, mut refused) = few(candidates(&directories));
    for candidate in candidates {
        match candidate.open() {
            Ok(file) if is_stale(&file, &now) => candidate.remove(&file),
            Ok(file) => {
                found.push(file);
                thin_out(&mut found);
            }
            Err(Refused::NotOurs) => not_ours += 1,
            Err(Refused::Gone) => {}
            Err(why) => refused.push(refusal_text(&candidate.path, &why)),
        }
    }
    found.sort_by_key(|f| (f.stats.header.pid, f.stats.header.realtime_ns));
    Scan {
        found,
        refused,
        not_ours,
        directories,
    }
}

/// Tells what is not shown.
pub fn complain(refused: &[String], not_ours: usize) {
    refused.iter().for_each(|line| output::complain(line));
    if not_ours > 0 {
        output::complain(&format!(
            "files of {not_ours} more processes are not shown: only their users may read them (see stats.readers)"
        ));
    }
}

/// Only files that the process can have made, if it is there. Processes in other pid namespaces may have the same id: a
/// live one goes before a dead one, then the latest.
fn of_process(pid: u32) -> Result<Found, Failure> {
    check_configuration();
    let directories = directories(Vec::new());
    let process = Process::with_id(pid);
    let (mut found, mut refused) = (Vec::new(), None);
    let with_id = candidates(&directories).filter(|c| c.pid == pid);
    for candidate in few(with_id).0 {
        let owner = candidate.owner;
        if process.as_ref().is_some_and(|p| !p.may_have_made(owner)) {
            refused = refused.or(Some(refusal_text(&candidate.path, &not_of(pid, owner))));
            continue;
        }
        match candidate.open() {
            Ok(file) if file.stats.header.pid == pid => found.push(file),
            Ok(file) => {
                let why = format!("it says that it is of process {}", file.stats.header.pid);
                refused = Some(refusal_text(&candidate.path, &Refused::Because(why)));
            }
            Err(why) => refused = Some(refusal_text(&candidate.path, &why)),
        }
    }
    found.sort_by_key(|f| (f.alive, f.stats.header.realtime_ns));
    let Some(best) = found.pop() else {
        return Err(match refused {
            Some(why) => Failure::new(FOUND, why),
            None => nothing(&format!("of process {pid}"), &directories, 0),
        });
    };
    for other in found {
        output::complain(&format!(
            "{}: another one with this process id",
            other.path.display()
        ));
    }
    Ok(best)
}

fn not_of(pid: u32, owner: u32) -> Refused {
    let why = format!("it belongs to user {owner}, and process {pid} does not");
    Refused::Because(why)
}

fn nothing(whose: &str, directories: &[PathBuf], not_ours: usize) -> Failure {
    let places: Vec<_> = directories
        .iter()
        .map(|d| d.display().to_string())
        .collect();
    let places = match places.is_empty() {
        true => "no directory for them exists".to_owned(),
        false => format!("looked in {}", places.join(", ")),
    };
    let hidden = match not_ours {
        0 => String::new(),
        1 => "; 1 file is there that only its user may read (see stats.readers)".to_owned(),
        n => format!("; {n} files are there that only their users may read (see stats.readers)"),
    };
    let message = format!(
        "no statistics {whose}: {places}{hidden}. A file is there from the first RDMA call under the library on"
    );
    Failure::new(FOUND, message)
}

/// As the library would choose them in this environment.
fn directories(program: Vec<String>) -> Vec<PathBuf> {
    places::for_reading(settings::silent(program).stats.dir.as_deref())
}

/// A name in a directory that may be a statistics file's.
struct Candidate {
    directory: std::rc::Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
    pid: u32,
    owner: u32,
    inode: (u64, u64),
    changed: (i64, i64),
}

/// Each file once, whatever number of names it has, and of each user only the latest. Then, whose are left out.
fn few(all: impl Iterator<Item = Candidate>) -> (Vec<Candidate>, Vec<String>) {
    let mut seen = HashSet::new();
    let mut all: Vec<Candidate> = all.filter(|c| seen.insert(c.inode)).collect();
    let mut of_each: HashMap<u32, usize> = HashMap::new();
    for candidate in &all {
        *of_each.entry(candidate.owner).or_default() += 1;
    }
    of_each.retain(|_, number| *number > MOST_OF_ONE);
    if of_each.is_empty() {
        return (all, Vec::new());
    }
    let mut left_out: Vec<String> = of_each
        .iter()
        .map(|(owner, number)| {
            let more = number - MOST_OF_ONE;
            format!("{more} more files of user {owner}: no more than {MOST_OF_ONE} of one user are looked at")
        })
        .collect();
    left_out.sort();
    all.sort_by_key(|c| std::cmp::Reverse(c.changed));
    let mut taken: HashMap<u32, usize> = HashMap::new();
    all.retain(|c| {
        let number = taken.entry(c.owner).or_default();
        *number += 1;
        *number <= MOST_OF_ONE
    });
    (all, left_out)
}

fn candidates(directories: &[PathBuf]) -> impl Iterator<Item = Candidate> + '_ {
    directories.iter().flat_map(|path| in_directory(path))
}

/// What cannot be listed has nothing for us. The directory itself may not be a link: somebody else's could
/// lead to files that are not statistics.
fn in_directory(path: &Path) -> Vec<Candidate> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Ok(directory), Ok(entries)) = (open(path, flags, Mode::empty()), path.read_dir()) else {
        return Vec::new();
    };
    let directory = std::rc::Rc::new(directory);
    let candidate = |name: OsString| {
        let pid = places::pid_of(name.to_str()?)?;
        let about = statat(&*directory, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let (directory, path) = (directory.clone(), path.join(&name));
        Some(Candidate {
            directory,
            name,
            path,
            pid,
            owner: about.st_uid,
            inode: (about.st_dev, about.st_ino),
            changed: (about.st_mtime, about.st_mtime_nsec as i64),
        })
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(candidate).collect()
}

impl Candidate {
    /// Nobody speaks for a process that is another user's. One that began at another time is of another pid namespace,
    /// or was before it.
    fn open(&self) -> Result<Found, Refused> {
        let found = open::listed(&self.directory, &self.name, &self.path)?;
        let (pid, uid) = (found.stats.header.pid, found.stats.header.uid);
        let same = |p: &Process| p.start_time == Some(found.stats.header.start_time);
        let process = Process::with_id(pid).filter(same);
        if process.is_some_and(|p| !p.may_have_made(uid)) {
            return Err(not_of(pid, uid));
        }
        Ok(found)
    }

    /// Unless a new process has put its own file there meanwhile: as in the library, who removes a file holds its
    /// lock. If we may not, somebody else will.
    fn remove(&self, file: &Found) {
        let inode = |a: Stat| (a.st_dev, a.st_ino);
        let directory = &*self.directory;
        let opened = openat(directory, &self.name, open::LISTED, Mode::empty());
        let locked = opened.and_then(|opened| {
            flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
            Ok(opened)
        });
        let Ok(locked) = locked else { return };
        let ours = fstat(&locked).map(inode);
        let named = statat(directory, &self.name, AtFlags::SYMLINK_NOFOLLOW).map(inode);
        if ours == Ok(file.inode) && named == ours {
            let _ = unlinkat(directory, &self.name, AtFlags::empty());
        }
    }
}

fn is_stale(file: &Found, now: &Now) -> bool {
    let last = last_ns(&file.stats);
    !file.alive && now.since(&file.stats.header, last) > places::KEEP_DEAD
}
