//! Which file a program's name means, and what runs it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::regular;

/// Where execvp looks when there is no PATH (glibc).
const NO_PATH: &str = "/bin:/usr/bin";
/// The kernel reads so much of a `#!` line (BINPRM_BUF_SIZE, include/uapi/linux/binfmts.h).
const LINE: u64 = 256;

/// As the shell and execvp do: a name with a slash is a path, others are looked up in PATH.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    let path = std::env::var_os("PATH").unwrap_or(NO_PATH.into());
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// What the `#!` line of a script names; `None` when the file is no script.
///
/// For `#!/usr/bin/env NAME` that is what NAME means, since env only becomes it.
pub fn interpreter(script: &Path) -> Option<PathBuf> {
    let (interpreter, argument) = first_line(script)?;
    if Path::new(&interpreter).file_name() == Some(OsStr::new("env")) {
        if let Some(found) = started_by_env(&argument).and_then(|name| find(&name)) {
            return Some(found);
        }
    }
    Some(interpreter.into())
}

/// The interpreter that the `#!` line itself names, as text for a message.
pub fn named_interpreter(script: &Path) -> Option<String> {
    let (interpreter, _) = first_line(script)?;
    Some(interpreter.to_string_lossy().into_owned())
}

fn first_line(script: &Path) -> Option<(OsString, Vec<u8>)> {
    let mut head = Vec::new();
    let file = regular::open(script).ok()?;
    file.take(LINE).read_to_end(&mut head).ok()?;
    parse(&head)
}

/// The interpreter of a `#!` line and the rest of the line. Only blanks and tabs part words, as in
/// the kernel (fs/binfmt_script.c): a carriage return belongs to the name.
fn parse(head: &[u8]) -> Option<(OsString, Vec<u8>)> {
    let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let start = line.iter().position(|b| !blank(b))?;
    let line = &line[start..];
    let end = line.iter().position(blank);
    let (name, argument) = line.split_at(end.unwrap_or(line.len()));
    Some((OsString::from_vec(name.to_vec()), argument.to_vec()))
}

/// The program among env's words: the first that is neither an option nor an assignment.
fn started_by_env(argument: &[u8]) -> Option<OsString> {
    argument
        .split(|b| b.is_ascii_whitespace())
        .find(|word| !word.is_empty() && word[0] != b'-' && !word.contains(&b'='))
        .map(|word| OsString::from_vec(word.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Option<(String, String)> {
        let (name, argument) = parse(head.as_bytes())?;
        Some((
            name.into_string().unwrap(),
            String::from_utf8(argument).unwrap(),
        ))
    }

    #[test]
    fn reads_the_first_line_of_a_script() {
        let both = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(parsed("#!/bin/sh\necho"), both("/bin/sh", ""));
        assert_eq!(parsed("#! /bin/sh -e \n"), both("/bin/sh", " -e "));
        assert_eq!(parsed("#!/bin/sh\r\n"), both("/bin/sh\r", ""));
        assert_eq!(parsed("#!  \n"), None);
        assert_eq!(parsed("#!/bin/sh"), both("/bin/sh", ""));
        assert_eq!(parsed("#!\n"), None);
        assert_eq!(parsed("echo"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn finds_the_program_that_env_starts() {
        let name = |line: &str| started_by_env(line.as_bytes());
        assert_eq!(name(" python3"), Some("python3".into()));
        assert_eq!(name(" -S A=1 perl -w"), Some("perl".into()));
        assert_eq!(name(""), None);
    }
}
