//! Before the program is executed: the reporter is started, through a starter that ends at once.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, IsTerminal, PipeWriter, Result, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use cmshim_core::config::{reason, FAMILY_VARIABLE};
use rustix::process::{getpid, pidfd_open, setsid, PidfdFlags};

use super::{Subject, REPORTER, STARTER};
use crate::failure::{Failure, NO_LIBRARY, USAGE};
use crate::output;
use crate::run::regular;

/// The reporter waits.
pub struct Started {
    /// Holds the time of the start. Closed by the program's execution.
    pipe: PipeWriter,
    /// The variable that the program and its children get.
    pub variable: (String, OsString),
}

impl Started {
    /// The program was not executed: there will be nothing to report.
    pub fn cancel(mut self) {
        let _ = self.pipe.write_all(b"x");
    }
}

/// `None`, with one line, where a report cannot outlive the program.
pub fn start(
    program: &str,
    variables: &[(String, OsString)],
    to: Option<&Path>,
) -> std::result::Result<Option<Started>, Failure> {
    let target = to.map(open).transpose()?;
    if getpid().is_init() {
        output::complain("--report: there will be none, since all processes of a container end with its first one");
        return Ok(None);
    }
    if to.is_none() && leads_its_terminal() {
        output::complain("--report: this terminal is closed when the program ends, perhaps before the report; see --report-file");
    }
    let fail = |e: Error| Failure::new(NO_LIBRARY, format!("--report: {}", reason(&e)));
    started(program, variables, target).map(Some).map_err(fail)
}

/// The kernel hangs a terminal up when the first process of its session ends: `ssh -t HOST cmshim run ...`.
fn leads_its_terminal() -> bool {
    // In a container its first process may be outside, and has the number 0 then: not one of rustix's numbers.
    let session = nix::unistd::getsid(None).map(nix::unistd::Pid::as_raw);
    session == Ok(getpid().as_raw_pid()) && std::io::stderr().is_terminal()
}

fn open(path: &Path) -> std::result::Result<File, Failure> {
    let fail = |why: String| {
        let message = format!("--report-file {}: {why}", path.display());
        Failure::new(USAGE, message)
    };
    if let Some(other) = std::fs::metadata(path)
        .ok()
        .and_then(|m| regular::other(m.file_type()))
    {
        return Err(fail(format!("is {other}")));
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // The name may have come to mean a FIFO since we looked.
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.open(path).map_err(|e| fail(reason(&e)))
}

fn started(
    program: &str,
    variables: &[(String, OsString)],
    target: Option<File>,
) -> Result<Started> {
    let subject = Subject {
        pid: std::process::id(),
        start_time: own_start_time()?,
        program: program.to_owned(),
        family: RandomState::new().build_hasher().finish().max(1),
    };
    let family = OsString::from(subject.family.to_string());
    let ended = pidfd_open(getpid(), PidfdFlags::empty())?;
    let (reading, mut pipe) = std::io::pipe()?;
    let status = Command::new(std::env::current_exe()?)
        .args(subject.arguments(STARTER))
        // It looks for statistics where the program has its own.
        .envs(variables.iter().map(|(name, value)| (name, value)))
        // Arguments everybody can read.
        .env(FAMILY_VARIABLE, &family)
        .stdin(ended)
        .stdout(reading)
        .stderr(target.map_or_else(Stdio::inherit, Stdio::from))
        .status()?;
    if !status.success() {
        return Err(Error::other("the reporter could not be started"));
    }
    pipe.write_all(&super::now().to_ne_bytes())?;
    Ok(Started {
        pipe,
        variable: (FAMILY_VARIABLE.into(), family),
    })
}

fn own_start_time() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name may hold spaces and brackets; the state behind it is field 3.
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest);
    let field = rest.and_then(|rest| rest.split_whitespace().nth(22 - 3));
    let number = field.and_then(|field| field.parse().ok());
    number.ok_or_else(|| Error::other("/proc/self/stat has no start time"))
}

/// The starter: leaves the program's terminal and directory, and everything that it has open.
pub fn reporter(subject: &Subject) -> Result<()> {
    close_others()?;
    setsid()?;
    std::env::set_current_dir("/")?;
    Command::new(std::env::current_exe()?)
        .args(subject.arguments(REPORTER))
        .spawn()
        .map(|_| ())
}

/// What the program's caller waits to see closed must not be held open by us. Nothing of this process itself is open yet.
fn close_others() -> Result<()> {
    let names = std::fs::read_dir("/proc/self/fd")?.flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others: Vec<RawFd> = numbers.filter(|fd| *fd > 2).collect();
    for fd in others {
        // The one of the listing is closed already.
        let _ = nix::unistd::close(fd);
    }
    Ok(())
}
