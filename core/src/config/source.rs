//! Finds and reads what the configuration depends on.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use super::input::{may_name_policy, Input};
use crate::codes::errno;
use crate::text::printable;

/// Read when `CMSHIM_CONFIG` names no other file. It need not exist.
pub const DEFAULT_PATH: &str = "/etc/cmshim.toml";
/// The variable that names another file.
pub const CONFIG_VARIABLE: &str = "CMSHIM_CONFIG";
/// The variable that tells `cmshim run` which library to preload.
pub const LIBRARY_VARIABLE: &str = "CMSHIM_LIBRARY";
/// The variable that tells the library to which `cmshim run --report` its process belongs: a number, see
/// [`crate::stats::Header::family`].
pub const FAMILY_VARIABLE: &str = "CMSHIM_FAMILY";
/// A larger file is refused: it is no configuration, and it is read in every program.
pub const MAX_BYTES: u64 = 1 << 20;

/// Collects the input of [`load`](super::load) for this environment and program.
///
/// `secure` is secure-execution mode (setuid, setgid, file capabilities: `AT_SECURE`). The
/// environment then belongs to somebody else, so no variable counts, `CMSHIM_CONFIG` neither, and
/// only [`DEFAULT_PATH`] is read.
pub fn gather(vars: Vec<(OsString, OsString)>, program: Vec<String>, secure: bool) -> Input {
    let vars = if secure { Vec::new() } else { vars };
    let named = vars
        .iter()
        .find(|(name, _)| name == CONFIG_VARIABLE)
        .map(|(_, path)| path.clone())
        .filter(|path| !path.is_empty());
    let path = named.clone().unwrap_or_else(|| DEFAULT_PATH.into());
    let file = match named {
        Some(path) => Some((
            printable(&path.to_string_lossy()),
            read_file(Path::new(&path)),
        )),
        None => read_default(Path::new(DEFAULT_PATH)).map(|text| (DEFAULT_PATH.to_owned(), text)),
    };
    let unusable = matches!(&file, Some((_, Err(_))));
    Input {
        policy_in_doubt: unusable && bytes_may_name_policy(Path::new(&path)),
        file,
        vars,
        program,
    }
}

/// A file that is no text can still be seen to name a policy.
fn bytes_may_name_policy(path: &Path) -> bool {
    let bytes = read_bytes(path, MAX_BYTES).unwrap_or_default();
    may_name_policy(&String::from_utf8_lossy(&bytes))
}

/// `None` when there is no such file.
fn read_default(path: &Path) -> Option<Result<String, String>> {
    match fs::metadata(path) {
        Err(error) if is_absent(error.kind()) => None,
        _ => Some(read_file(path)),
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads a whole configuration file of at most [`MAX_BYTES`], by [`read_bytes`]; the error is a phrase for a
/// message.
pub fn read_file(path: &Path) -> Result<String, String> {
    String::from_utf8(read_bytes(path, MAX_BYTES)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&b| b == b'\n').count() + 1;
        format!("line {line} is not UTF-8")
    })
}

/// Reads a whole regular file of at most `most` bytes; the error is a phrase for a message.
///
/// `/dev/null` counts as an empty file. Other devices, FIFOs, sockets and directories are refused
/// without opening them: an open can block, or do something.
pub fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    if path == Path::new("/dev/null") {
        return Ok(Vec::new());
    }
    refuse_special(&fs::metadata(path).map_err(|e| cannot_read(&e))?)?;
    let file = OpenOptions::new()
        .read(true)
        // The name may have come to mean a FIFO since we looked.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|e| cannot_read(&e))?;
    refuse_special(&file.metadata().map_err(|e| cannot_read(&e))?)?;
    read_bounded(file, most)
}

fn read_bounded(file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| cannot_read(&e))?;
    match bytes.len() as u64 > most {
        true => Err(format!("larger than {most} bytes")),
        false => Ok(bytes),
    }
}

fn refuse_special(metadata: &fs::Metadata) -> Result<(), String> {
    let kind = metadata.file_type();
    let name = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(format!("this is {name}, not a file"))
}

fn cannot_read(error: &std::io::Error) -> String {
    if is_absent(error.kind()) {
        return "no such file".to_owned();
    }
    format!("cannot be read: {}", reason(error))
}

/// What the system says, as strerror does and without the number that Rust puts behind it.
pub fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error().and_then(errno::by_number) {
        Some(errno) => errno.text.to_owned(),
        None => error.to_string(),
    }
}
