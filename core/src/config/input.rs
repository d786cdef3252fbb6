//! What the configuration is made from.

use std::ffi::OsString;

/// Everything that the configuration depends on.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// Path and contents of the file, or why it could not be read. `None`: no file.
    pub file: Option<(String, Result<String, String>)>,
    /// The file is there and is no text, and a line of it that is no comment seems to name a tenant policy.
    pub policy_in_doubt: bool,
    /// The environment. Only names that start with `CMSHIM_` are looked at.
    ///
    /// In secure-execution mode (a setuid program) leave it empty, as [`gather`](super::gather) does.
    pub vars: Vec<(OsString, OsString)>,
    /// The names of this program: /proc/self/comm and the file name of the executable.
    /// Where sections for both exist, the earlier name is stronger.
    pub program: Vec<String>,
}

/// Does a line that is no comment speak of a policy? Asked of text that is no TOML.
pub(super) fn may_name_policy(text: &str) -> bool {
    text.lines()
        .map(str::trim_start)
        .any(|line| !line.starts_with('#') && line.contains("policy"))
}
