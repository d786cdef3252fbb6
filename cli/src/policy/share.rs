//! The sharing files of this host: found, opened, checked. Nothing of them is trusted.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cmshim_core::stats::places;
use cmshim_core::tenant::share::{self, Row, Share, Slot};
use rustix::fs::{fstat, open, openat, statat, AtFlags, Mode, OFlags};

use super::locks;
use crate::failure::{Failure, FOUND};
use crate::output;
use crate::settings;
use crate::stats::open::Refused;
use crate::stats::owner::Process;

/// So many files of one user are looked at.
const MOST_OF_ONE: usize = 64;

/// A file, and the slots of processes that live.
pub struct Counted {
    pub share: Share,
    pub live: Vec<Slot>,
    owner: u32,
    group: u32,
}

/// A sharing file with a live process of the id that was asked for.
pub struct Found {
    pub file: PathBuf,
    pub share: Share,
    /// The slot of the process.
    pub slot: Slot,
    /// All files that count together, this one too.
    together: Vec<Counted>,
}

impl Found {
    /// What all files together have of a key.
    pub fn sum(&self, key: u64) -> Sum {
        let mut sum = Sum::default();
        for counted in &self.together {
            let Some(row) = counted.share.rows.iter().find(|row| row.key == key) else {
                continue;
            };
            sum.add(counted, row);
        }
        sum
    }

    /// The rows of all files of the process's user, each key once, as its own file has it if it does. (Names that other
    /// users have given are not shown, only what they count under the same keys.)
    pub fn rows(&self) -> Vec<&Row> {
        let of_user =
            |counted: &&Counted| Some(counted.owner) == self.together.first().map(|own| own.owner);
        let others = self
            .together
            .iter()
            .filter(of_user)
            .flat_map(|counted| &counted.share.rows);
        let mut rows: Vec<&Row> = Vec::new();
        for row in self.share.rows.iter().chain(others) {
            if !rows.iter().any(|other| other.key == row.key) {
                rows.push(row);
            }
        }
        rows
    }
}

/// What is counted of a tenant or egress rule on the host.
#[derive(Default)]
pub struct Sum {
    pub live: u64,
    pub allowed: u64,
    pub denied: u64,
    pub over_limit: u64,
    pub rate: u64,
    pub would_refuse: u64,
}

impl Sum {
    fn add(&mut self, counted: &Counted, row: &Row) {
        let live = counted.live.iter();
        let live = live.map(|slot| u64::from(counted.share.live(slot.number, row.number)));
        for (sum, more) in [
            (&mut self.live, live.sum()),
            (&mut self.allowed, row.allowed),
            (&mut self.denied, row.denied),
            (&mut self.over_limit, row.over_limit),
            (&mut self.rate, row.rate),
            (&mut self.would_refuse, row.would_refuse),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The live process with this id. Only files are looked at that it can have made, if it is there.
pub fn of_process(pid: u32) -> Result<Found, Failure> {
    let directories = directories();
    let process = Process::with_id(pid);
    let (mut found, mut not_ours) = (Vec::new(), 0);
    for candidate in directories.iter().flat_map(|directory| files(directory)) {
        if process
            .as_ref()
            .is_some_and(|p| !p.may_have_made(candidate.owner))
        {
            continue;
        }
        match candidate.read() {
            Ok(counted) => {
                let slot = counted.live.iter().find(|slot| slot.pid == pid).cloned();
                found.extend(slot.map(|slot| (candidate, counted, slot)));
            }
            // Other users' files are of interest only if the process is in none of ours.
            Err(Refused::NotOurs) => not_ours += 1,
            Err(Refused::Gone) => {}
            Err(why) => output::complain(&format!("{}: {}", candidate.path.display(), why.words())),
        }
    }
    // Processes in other pid namespaces may have the same id.
    let started = process.and_then(|process| process.start_time);
    found.sort_by_key(|(_, _, slot)| (Some(slot.start_time) == started, slot.loaded_ns));
    let Some((candidate, counted, slot)) = found.pop() else {
        return Err(nothing(pid, &directories, not_ours));
    };
    Ok(Found {
        slot,
        share: counted.share.clone(),
        together: together(&candidate, counted),
        file: candidate.path,
    })
}

/// The file, and those that the library adds up with it: of the same user, and of all users where a group counts.
fn together(own: &Candidate, counted: Counted) -> Vec<Counted> {
    let of_group = fstat(&*own.directory)
        .ok()
        .and_then(|about| (about.st_mode & 0o022 == 0o020).then_some(about.st_gid));
    let beginning = own.name.to_str().and_then(share::beginning_of);
    let directory = own.path.parent().unwrap_or(Path::new("/"));
    let others = files(directory).into_iter().filter(|other| {
        other.name != own.name && other.name.to_str().and_then(share::beginning_of) == beginning
    });
    let user = counted.owner;
    let read = others.filter_map(|other| other.read().ok());
    let counts = read.filter(|other| other.owner == user || of_group == Some(other.group));
    let counts: Vec<Counted> = counts.collect();
    [vec![counted], counts].into_iter().flatten().collect()
}

fn nothing(pid: u32, directories: &[PathBuf], not_ours: usize) -> Failure {
    let names: Vec<String> = directories
        .iter()
        .map(|d| d.display().to_string())
        .collect();
    let places = match names.is_empty() {
        true => "no directory for them exists".to_owned(),
        false => format!("looked in {}", names.join(", ")),
    };
    let hidden = match not_ours {
        0 => String::new(),
        1 => ", where you may not read 1 file".to_owned(),
        n => format!(", where you may not read {n} files"),
    };
    let message = format!(
        "no live process {pid} uses a policy: {places}{hidden}. See tenant.policy and tenant.dir (cmshim config)"
    );
    Failure::new(FOUND, message)
}

/// As the library would choose them in this environment.
fn directories() -> Vec<PathBuf> {
    let config = settings::with_warnings(Vec::new(), "tenant");
    places::for_reading(config.tenant.dir.as_deref())
}

/// A name that may be such a file's.
struct Candidate {
    directory: Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
    owner: u32,
}

/// In a directory that is no link: somebody else's could lead anywhere. Of each user not more than a few.
fn files(directory: &Path) -> Vec<Candidate> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Ok(opened), Ok(entries)) = (open(directory, flags, Mode::empty()), directory.read_dir())
    else {
        return Vec::new();
    };
    let opened = Rc::new(opened);
    let named = entries.flatten().map(|entry| entry.file_name());
    let named = named.filter(|name| {
        name.to_str()
            .is_some_and(|n| share::beginning_of(n).is_some())
    });
    let mut names: Vec<OsString> = named.collect();
    names.sort();
    let mut of_each: HashMap<u32, usize> = HashMap::new();
    let candidate = |name: OsString| {
        let about = statat(&*opened, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let number = of_each.entry(about.st_uid).or_default();
        *number += 1;
        (*number <= MOST_OF_ONE).then(|| Candidate {
            directory: opened.clone(),
            path: directory.join(&name),
            name,
            owner: about.st_uid,
        })
    };
    names.into_iter().filter_map(candidate).collect()
}

impl Candidate {
    /// The file's contents, and the slots whose processes live.
    fn read(&self) -> Result<Counted, Refused> {
        // No link of somebody else's leads us elsewhere, and a FIFO is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(&*self.directory, &self.name, flags, Mode::empty());
        let mut file = File::from(opened.map_err(|e| Refused::by(&e.into()))?);
        let about = file.metadata().map_err(|e| Refused::by(&e))?;
        if !about.is_file() {
            return Err(Refused::Because("this is no file".into()));
        }
        if about.uid() != self.owner {
            return Err(Refused::Gone);
        }
        let mut bytes = Vec::new();
        let most = share::BYTES as u64 + 1;
        let size = (&mut file).take(most).read_to_end(&mut bytes);
        size.map_err(|e| Refused::by(&e))?;
        let share = Share::parse(&bytes).map_err(|e| Refused::Because(e.to_string()))?;
        let taken = share.slots.iter();
        let taken = taken.filter(|slot| locks::held(&file, slot.number));
        Ok(Counted {
            live: taken.cloned().collect(),
            share,
            owner: about.uid(),
            group: about.gid(),
        })
    }
}
