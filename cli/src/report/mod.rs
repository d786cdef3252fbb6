//! `cmshim run --report`: what the program did, told when it has ended.
//!
//! `cmshim run` becomes the program, so it cannot tell anything afterwards, and the program must not find a child that
//! it did not make. So a process waits that is nobody's child here: `cmshim run` starts a *starter*, which starts the
//! *reporter* and ends, and is waited for; the reporter now belongs to init. It lives in a session of its own, where no
//! key of the terminal and no job control reaches it, and keeps no descriptor but these three:
//!
//! - 0: a pidfd of the process that becomes the program, readable when that has ended, also by SIGKILL;
//! - 1: the reading end of a pipe with the time of the start, which a late reporter could not know. Its other end closes
//!   when the program is executed; one byte more says that this failed;
//! - 2: standard error of `cmshim run`, or the file for the report.

mod failures;
mod remaining;
mod saved;
mod start;
mod sum;
mod text;
mod unanswered;
mod wait;

pub use start::{start, Started};

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use cmshim_core::config::FAMILY_VARIABLE;

/// First arguments of the two helpers. They are no commands: nobody but us gives them.
const STARTER: &str = "__report";
const REPORTER: &str = "__report-wait";

/// Which process is reported on.
pub struct Subject {
    pub pid: u32,
    /// Field 22 of its /proc/PID/stat. It stays the same when the process executes another program.
    pub start_time: u64,
    pub program: String,
    /// Shared by the process and all its descendants; in CMSHIM_FAMILY and in the header of their files. Nobody else can
    /// foresee it, or read it: who knows it could have a file of his own reported.
    pub family: u64,
}

impl Subject {
    fn arguments(&self, helper: &str) -> [OsString; 4] {
        [
            helper.into(),
            self.pid.to_string().into(),
            self.start_time.to_string().into(),
            self.program.clone().into(),
        ]
    }

    fn from_arguments(arguments: &[String]) -> Option<Subject> {
        let [pid, start_time, program] = arguments else {
            return None;
        };
        Some(Subject {
            pid: pid.parse().ok()?,
            start_time: start_time.parse().ok()?,
            program: program.clone(),
            family: std::env::var(FAMILY_VARIABLE).ok()?.parse().ok()?,
        })
    }
}

/// Nanoseconds of a clock that both ends of the pipe have.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(now).map_or(0, |now| now.as_nanos() as u64)
}

/// Does the work of a helper, if this process is one.
pub fn helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let helper = arguments.next()?;
    if helper != STARTER && helper != REPORTER {
        return None;
    }
    let rest: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let subject = Subject::from_arguments(&rest)?;
    let done = match helper == STARTER {
        true => start::reporter(&subject),
        false => wait::wait(&subject),
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}
