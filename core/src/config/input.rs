//! What the configuration is made from.

use std::ffi::OsString;

/// Everything that the configuration depends on.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// Path and contents of the file, or why it could not be read. `None`: no file.
    pub file: Option<(String, Result<String, String>)>,
    /// The environment. Only names that start with `CMSHIM_` are looked at.
    ///
    /// In secure-execution mode (a setuid program) leave it empty, as [`gather`](super::gather) does.
    pub vars: Vec<(OsString, OsString)>,
    /// The names of this program: /proc/self/comm and the file name of the executable.
    /// Where sections for both exist, the earlier name is stronger.
    pub program: Vec<String>,
}
