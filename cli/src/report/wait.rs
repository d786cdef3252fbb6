//! The reporter: waits for the end of the program, then reports.

use std::io::{stderr, stdin, stdout, Result, Write};
use std::time::Instant;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use tokio::signal::unix::{signal, Signal, SignalKind};

use super::sum::Sum;
use super::{text, Subject};
use crate::stats::find::scan_of;

pub fn wait(subject: &Subject) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _caught = runtime.block_on(async { catch() })?;
    let began = Instant::now();
    until_ended()?;
    if !was_executed() {
        return Ok(());
    }
    let took = began.elapsed();
    let scan = scan_of(vec![subject.program.clone()]);
    let sum = Sum::of(&scan.found, subject);
    let report = text::report(subject, took, &sum, scan.not_ours);
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

/// The pipe has ended without a byte.
fn was_executed() -> bool {
    let mut byte = [0];
    rustix::io::read(stdout(), &mut byte) == Ok(0)
}
