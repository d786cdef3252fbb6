//! Standard output, whose reader may be gone, and messages on standard error.

use std::io::{stderr, stdout, ErrorKind, Write};

use cmshim_core::config::reason;
use cmshim_core::text::escaped;

use crate::failure::{Failure, FOUND};

/// Writes all of `text`. A reader that has seen enough (`| head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_while_read(text).map(|_| ())
}

/// The same; false if the reader is gone.
pub fn print_while_read(text: &str) -> Result<bool, Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::new(
            FOUND,
            format!("standard output: {}", reason(&e)),
        )),
    }
}

/// Lines of output, each one line whatever stands in a file's name.
pub fn print_lines(lines: &[String]) -> Result<(), Failure> {
    let all: Vec<String> = lines.iter().map(|line| escaped(line) + "\n").collect();
    print(&all.concat())
}

/// A message of the program, which is one line whatever stands in a file's name.
pub fn complain(message: &str) {
    complain_in_lines(&escaped(message));
}

/// A message with line breaks of its own. There is nobody to tell when standard error is closed.
pub fn complain_in_lines(message: &str) {
    let _ = writeln!(stderr().lock(), "cmshim: {message}");
}
