//! The first RDMA call of a process: where it counts from now on, or why it does not.

use super::file;
use super::place::{Place, EVERYBODY_S, UNSAFE};
use super::process_local::{self, Own};
use crate::process::shim::{self, Shim};
use crate::sys;
use crate::sys::clock;
use crate::sys::guard;
use cmshim_core::codes::errno;
use cmshim_core::config::FAMILY_VARIABLE;
use cmshim_core::stats::{places, Header};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Begins to count, unless that is off, or was tried before.
#[cold]
pub fn begin(shim: &'static Shim) {
    /// Not even memory of our own: an old kernel, without MADV_WIPEONFORK (before 4.14).
    static HOPELESS: AtomicBool = AtomicBool::new(false);
    if process_local::get().is_some_and(Own::off) || HOPELESS.load(Ordering::Relaxed) {
        return;
    }
    if process_local::get().is_some() {
        // It was wiped.
        guard::run(shim::first_call_of_process);
    }
    guard::run(|| match process_local::get_or_make() {
        Err(number) => {
            if !HOPELESS.swap(true, Ordering::Relaxed) {
                log::warn!(
                    "statistics are off in this process: {}",
                    errno::describe(number)
                );
            }
        }
        Ok(own) if !shim.config.stats.enable => {
            own.turn_off();
        }
        Ok(own) => make(shim, own),
    });
}

fn make(shim: &Shim, own: &Own) {
    match made(shim) {
        Ok(made) => {
            if !own.adopt(made.words()) {
                // SAFETY: `adopt` has not taken the words, and nobody else has seen them.
                unsafe { made.discard() };
            }
        }
        Err(why) => {
            if own.words().is_none() && own.turn_off() {
                log::warn!("statistics are off in this process: {why}");
            }
        }
    }
}

/// In the first place that takes it; else, what the last one said.
fn made(shim: &Shim) -> Result<file::Made, String> {
    let settings = &shim.config.stats;
    let header = header(&shim.program);
    let candidates = places::for_writing(settings.dir.as_deref(), header.uid);
    let mut why = String::new();
    for path in candidates {
        let tried = Place::open(&path).and_then(|place| {
            place.thin_out();
            file::make(place, &header, settings.readers)
        });
        match tried {
            Ok(made) => return Ok(made),
            Err(number) => why = describe_failure(&path, number),
        }
    }
    Err(why)
}

pub fn describe_failure(path: &Path, number: i32) -> String {
    let why = match number {
        libc::EMEDIUMTYPE => "it is not in a tmpfs".to_owned(),
        EVERYBODY_S => "everybody may write in it, and no user counts there".to_owned(),
        UNSAFE => "others could change it (it has to be this user's or root's, and sticky if others may write)".to_owned(),
        libc::EFBIG => "the limit of file sizes (ulimit -f) is too low".to_owned(),
        other => errno::describe(other),
    };
    format!("{}: {why}", path.display())
}

/// The number that `cmshim run --report` has given to this process and its relatives.
fn family() -> u64 {
    let number = sys::load::variable(FAMILY_VARIABLE).and_then(|text| text.to_str());
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn header(program: &str) -> Header {
    Header {
        pid: std::process::id(),
        start_time: sys::start_time().unwrap_or(0),
        // SAFETY: no argument, never fails.
        uid: unsafe { libc::geteuid() },
        boot_id: sys::boot_id().unwrap_or_default(),
        realtime_ns: clock::realtime_ns(),
        monotonic_ns: clock::now_ns(),
        family: family(),
        library: env!("CARGO_PKG_VERSION").to_owned(),
        program: program.to_owned(),
    }
}
