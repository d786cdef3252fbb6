//! The sharing files of this host: found, opened, checked. Nothing of them is trusted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use cmshim_core::stats::places;
use cmshim_core::tenant::share::{self, Share, Slot};
use rustix::fs::{open, Mode, OFlags};

use super::locks;
use crate::failure::{Failure, FOUND};
use crate::output;
use crate::settings;
use crate::stats::open::Refused;

/// A sharing file with a live process of the id that was asked for.
pub struct Found {
    pub file: PathBuf,
    pub share: Share,
    /// Slots of processes that live.
    pub live: Vec<Slot>,
    /// The slot of the process.
    pub slot: Slot,
}

/// The live process with this id.
pub fn of_process(pid: u32) -> Result<Found, Failure> {
    let directories = directories();
    let (mut found, mut not_ours) = (Vec::new(), 0);
    for path in directories.iter().flat_map(|directory| files(directory)) {
        match read(&path) {
            Ok((share, live)) => {
                let of_process = live.iter().filter(|slot| slot.pid == pid).cloned();
                found.extend(
                    of_process
                        .collect::<Vec<_>>()
                        .into_iter()
                        .map(|slot| Found {
                            file: path.clone(),
                            share: share.clone(),
                            live: live.clone(),
                            slot,
                        }),
                );
            }
            // Other users' files are of interest only if the process is in none of ours.
            Err(Refused::NotOurs) => not_ours += 1,
            Err(Refused::Gone) => {}
            Err(why) => output::complain(&format!("{}: {}", path.display(), why.words())),
        }
    }
    // Processes in other pid namespaces may have the same id.
    let started = start_time(pid);
    found.sort_by_key(|f| (Some(f.slot.start_time) == started, f.slot.loaded_ns));
    found
        .pop()
        .ok_or_else(|| nothing(pid, &directories, not_ours))
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
    let config = settings::told(Vec::new(), "tenant");
    places::for_reading(config.tenant.dir.as_deref())
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let named = entries.filter(|e| e.file_name().to_str().is_some_and(share::is_name));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A file's contents, and the slots whose processes live.
fn read(path: &Path) -> Result<(Share, Vec<Slot>), Refused> {
    // No link of somebody else's leads us elsewhere, and a FIFO is not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty()).map_err(|e| Refused::by(&e.into()))?;
    let mut file = File::from(opened);
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(Refused::Because("this is no file".into()));
    }
    let mut bytes = Vec::new();
    let most = share::BYTES as u64 + 1;
    let size = (&mut file).take(most).read_to_end(&mut bytes);
    size.map_err(|e| Refused::by(&e))?;
    let share = Share::parse(&bytes).map_err(|e| Refused::Because(e.to_string()))?;
    let taken = share
        .slots
        .iter()
        .filter(|slot| locks::held(&file, slot.number));
    let live = taken.cloned().collect();
    Ok((share, live))
}

/// Field 22 of /proc/PID/stat; the program's name in field 2 may hold anything.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(19)?.parse().ok()
}
