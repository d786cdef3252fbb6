//! Mistakes on the command line of `cmshim run`, and how they are told.

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use common::{ask, clean, cmshim, told, Scratch};

/// `cmshim run` of this program in a directory with a good library.
fn run(dir: &Scratch, program: impl AsRef<OsStr>) -> (i32, String, String) {
    let mut command = cmshim();
    command.args(["run", "--library"]);
    command.arg(dir.library("libx.so", 1));
    told(command.arg("--").arg(program).output().unwrap())
}

#[test]
fn an_unknown_option_is_not_the_program() {
    for option in ["--foo", "-V", "-x"] {
        let (status, out, err) = ask(&["run", option, "true"]);
        assert_eq!((status, out.as_str()), (2, ""));
        let expected = format!("cmshim: unexpected argument '{option}' found");
        assert!(err.starts_with(&expected), "{err}");
    }
    assert_eq!(ask(&["help", "run"]).1, ask(&["run", "--help"]).1);
    assert_eq!(ask(&["help"]).1, ask(&["--help"]).1);
}

#[test]
fn the_last_of_two_options_holds() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let level = |options: &[&str]| {
        let mut command = cmshim();
        command.args(["run", "--library"]).arg(&library);
        command.args(options);
        let output = command
            .args(["--", "printenv", "CMSHIM_LOG_LEVEL"])
            .output();
        told(output.unwrap()).1
    };
    let set = ["--set", "log.level=debug"];
    let special = ["--log-level", "INFO"];
    assert_eq!(level(&[set, special].concat()), "info\n");
    assert_eq!(level(&[special, set].concat()), "debug\n");
    let other = ["--log-level", "off"];
    assert_eq!(level(&[special, other].concat()), "off\n");
}

#[test]
fn a_fifo_does_not_block() {
    let dir = Scratch::new();
    let fifo = dir.path("fifo");
    assert!(clean("mkfifo")
        .args(["-m", "755"])
        .arg(&fifo)
        .status()
        .unwrap()
        .success());
    let (status, _, err) = run(&dir, &fifo);
    assert_eq!(status, 126);
    assert!(err.ends_with("fifo: is a FIFO, not a program\n"), "{err}");
}

#[test]
fn names_that_are_no_names() {
    let dir = Scratch::new();
    let (status, _, err) = run(&dir, "");
    assert_eq!(status, 127);
    assert!(
        err.starts_with("cmshim: the name of the program is empty"),
        "{err}"
    );
    let (status, _, err) = run(&dir, "a\nb\x1b[m");
    assert_eq!(status, 127);
    assert_eq!(err, "cmshim: a\\nb\\u{1b}[m: no such program in PATH\n");
    let (status, _, err) = run(&dir, OsStr::from_bytes(b"\xff"));
    assert_eq!(status, 127);
    assert!(err.ends_with(": no such program in PATH\n"), "{err}");
}

#[test]
fn line_ends_of_another_system_are_named() {
    let dir = Scratch::new();
    let script = dir.executable("script", "#!/bin/sh\r\necho\r\n", 0o755);
    let (status, _, err) = run(&dir, &script);
    assert_eq!(status, 127);
    assert!(
        err.contains("script: its #! line ends with a carriage return"),
        "{err}"
    );
}

#[test]
fn text_that_is_no_text() {
    let output = cmshim()
        .arg("explain")
        .arg(OsStr::from_bytes(b"\xff"))
        .output();
    let (status, _, err) = told(output.unwrap());
    assert_eq!(status, 2);
    assert!(err.starts_with("cmshim: \"\\xFF\" is not UTF-8"), "{err}");
    let bad = OsStr::from_bytes(b"--log-file=/tmp/\xff");
    let output = cmshim().arg("run").arg(bad).arg("true").output();
    let (status, _, err) = told(output.unwrap());
    assert_eq!(
        (status, err.as_str()),
        (2, "cmshim: --log-file: the value is not UTF-8\n")
    );
}

#[test]
fn odd_log_files_are_refused() {
    for (file, what) in [
        ("~/x", "~ is not expanded"),
        ("/tmp/%q", "%q means nothing"),
    ] {
        let option = format!("--log-file={file}");
        let (status, _, err) = ask(&["run", &option, "true"]);
        assert_eq!(status, 2);
        assert!(
            err.starts_with("cmshim: --log-file: log.file: ") && err.contains(what),
            "{err}"
        );
    }
}
