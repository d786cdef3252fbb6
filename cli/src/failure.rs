//! What ends the program early, and the exit statuses.

use std::fmt::Display;

/// Something to look at was found, or the output could not be written.
pub const FOUND: u8 = 1;
/// Wrong arguments.
pub const USAGE: u8 = 2;
/// `run` has no library that it could preload. 125 to 127 are as in env(1) and the shells.
pub const NO_LIBRARY: u8 = 125;
/// `run` found the program but cannot execute it.
pub const NOT_EXECUTABLE: u8 = 126;
/// `run` did not find the program.
pub const NOT_FOUND: u8 = 127;

/// All commands, for the main help text and the main page.
pub const EXIT_STATUS: &str = "\
Exit status:
  0    success
  1    config, doctor: a problem or a warning; stat, events, hist, top --once, policy: nothing found, or refused; export: the address cannot be had; any command: output could not be written
  2    wrong arguments; explain: a code that is not known; doctor: a failure
  125  run: there is no library to preload, it is not usable, LD_PRELOAD cannot hold its path, or --report is not possible
  126  run: the program cannot be executed
  127  run: there is no such program
A closed standard output is /dev/null. After a start, run's exit status is the program's own.";

pub const RUN_STATUS: &str = "\
Exit status:
  2    wrong arguments
  125  there is no library to preload, it is not usable, LD_PRELOAD cannot hold its path, or --report is not possible
  126  the program cannot be executed
  127  there is no such program
After a start, the exit status is the program's own.";

pub const CONFIG_STATUS: &str = "\
Exit status:
  0    nothing is wrong
  1    the configuration has a problem, or output could not be written
  2    wrong arguments";

pub const DOCTOR_STATUS: &str = "\
The JSON object:
  version  the version of cmshim
  status   the worst of all checks: ok, warn or fail
  checks   a list of objects with the keys below
  id       the name of the check, for programs
  title    the name of the check, for people
  status   ok, warn, fail or not-applicable
  value    what was found
  details  a list of texts: its parts
  why      why it matters
  mend     a list of texts: commands that mend it

Exit status:
  0    nothing is wrong
  1    a warning, and no failure; or output could not be written
  2    a failure, or wrong arguments";

#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub message: String,
}

impl Failure {
    pub fn new(status: u8, message: impl Display) -> Failure {
        Failure {
            status,
            message: message.to_string(),
        }
    }
}
