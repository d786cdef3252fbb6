//! The reporter: waits for the end of the program, then reports.

use std::io::{stderr, stdin, stdout, Result, Write};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use tokio::signal::unix::{signal, Signal, SignalKind};

use super::sum::Sum;
use super::{remaining, text, Subject};
use crate::stats::find::scan_of;

pub fn wait(subject: &Subject) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _caught = runtime.block_on(async { catch() })?;
    until_ended()?;
    let ended = super::now();
    let Some(began) = executed() else {
        return Ok(());
    };
    let took = Duration::from_nanos(ended.saturating_sub(began));
    let scan = scan_of(vec![subject.program.clone()], |_| {});
    let sum = Sum::of(&scan.found, subject);
    let left = remaining::remaining(subject.family);
    let report = text::report(subject, took, &sum, scan.not_ours, &left);
    stderr().write_all(report.as_bytes())
}

/// A service manager ends all processes of a service together. Ours ends with the program, a moment later, in any case.
fn catch() -> Result<[Signal; 2]> {
    Ok([
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ])
}

fn until_ended() -> Result<()> {
    let stdin = stdin();
    loop {
        let mut ended = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ended, None) {
            Ok(_) if ended[0].revents().contains(PollFlags::IN) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// When the program was executed, if it was: the pipe has ended after the time.
fn executed() -> Option<u64> {
    let mut bytes = [0; 9];
    match rustix::io::read(stdout(), &mut bytes) {
        Ok(8) => Some(u64::from_ne_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}
