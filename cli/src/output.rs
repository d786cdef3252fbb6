//! Standard output, whose reader may be gone, and messages on standard error.

use std::io::{stderr, stdout, ErrorKind, Write};

use crate::failure::{Failure, FOUND};

/// Writes all of `text`. A reader that has seen enough (`| head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(FOUND, format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// A message of the program. There is nobody to tell when standard error is closed.
pub fn complain(message: &str) {
    let _ = writeln!(stderr().lock(), "cmshim: {message}");
}
