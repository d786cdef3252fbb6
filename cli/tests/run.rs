//! `cmshim run`: what the program inherits, and what it is after the start.

mod common;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{clean, cmshim, told, Scratch};

/// `cmshim run --library LIBRARY`, to be continued with options or the program.
fn run_with(library: &Path) -> Command {
    let mut command = cmshim();
    command.args(["run", "--library"]).arg(library);
    command
}

/// What a shell under `cmshim run` says to `script`.
fn shell(command: &mut Command, script: &str) -> String {
    let (status, out, err) = told(command.args(["--", "sh", "-c", script]).output().unwrap());
    assert_eq!((status, err.as_str()), (0, ""));
    out.trim_end().to_owned()
}

#[test]
fn the_exit_status_is_the_programs() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for status in [0, 1, 2, 42, 125, 255] {
        let script = format!("exit {status}");
        let output = run_with(&library)
            .args(["--", "sh", "-c", &script])
            .output();
        assert_eq!(
            told(output.unwrap()),
            (status, String::new(), String::new())
        );
    }
}

#[test]
fn a_signal_ends_it_as_it_would_without_us() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let status = run_with(&library)
        .args(["--", "sh", "-c", "kill -TERM $$"])
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(15));
    // And as a shell tells it: 128 and the number.
    let line = "\"$0\" run --library \"$1\" -- sh -c 'kill -KILL $$'; exit $?";
    let outer = clean("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_cmshim")])
        .arg(&library)
        .output()
        .unwrap();
    assert_eq!(outer.status.code(), Some(128 + 9));
}

#[test]
fn the_program_takes_our_place() {
    let dir = Scratch::new();
    let mut child = run_with(&dir.library("libx.so", 1))
        .args(["--", "sh", "-c", "echo $$; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{pid}\nthrough\n")
    );
}

#[test]
fn arguments_are_handed_on_as_they_are() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for dashes in [&["--"][..], &[]] {
        let output = run_with(&library)
            .args(dashes)
            .args(["printf", "%s|", "--quiet", "-x", "a b", "", "--", "--help"])
            .output();
        let (status, out, err) = told(output.unwrap());
        assert_eq!(
            (status, out.as_str(), err.as_str()),
            (0, "--quiet|-x|a b||--|--help|", "")
        );
    }
}

#[test]
fn the_library_comes_first_and_the_rest_is_kept() {
    let dir = Scratch::new();
    let first = dir.library("libfirst.so", 4711);
    let there = dir.library("libthere.so", 4712);
    let other = dir.library("libother.so", 4713);
    let (first, there, other) = (first.display(), there.display(), other.display());
    for separator in [" ", ":"] {
        let mut command = run_with(Path::new(&first.to_string()));
        command.env("LD_PRELOAD", format!("{there}{separator}{other}"));
        let out = shell(&mut command, "id -u; echo $LD_PRELOAD");
        assert_eq!(out, format!("4711\n{first}:{there}:{other}"));
    }
    let bare = clean("id")
        .arg("-u")
        .env("LD_PRELOAD", there.to_string())
        .output();
    assert_eq!(
        told(bare.unwrap()).1,
        "4712\n",
        "the test's libraries have an effect"
    );
}

#[test]
fn a_relative_library_becomes_absolute() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 4711);
    let mut command = run_with(Path::new("libx.so"));
    command.current_dir(library.parent().unwrap());
    assert_eq!(shell(&mut command, "cd /; id -u"), "4711");
}

#[test]
fn the_library_is_found_where_it_belongs() {
    let preload = |bin: &Path| shell(clean(bin).arg("run"), "echo $LD_PRELOAD");
    for place in [
        "bin/libcmshim.so",
        "lib/libcmshim.so.0",
        "lib64/libcmshim.so.0",
    ] {
        let dir = Scratch::new();
        let bin = dir.program("bin/cmshim");
        dir.file("lib/keep", "");
        dir.file("lib64/keep", "");
        let library = dir.library(place, 1);
        assert_eq!(Path::new(&preload(&bin)), library);
    }
}

#[test]
fn the_variable_names_the_library() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 4711);
    let mut command = cmshim();
    command.arg("run").env("CMSHIM_LIBRARY", &library);
    assert_eq!(shell(&mut command, "id -u"), "4711");
}

#[test]
fn options_become_variables() {
    let dir = Scratch::new();
    let config = dir.file("c.toml", "");
    let mut command = run_with(&dir.library("libx.so", 1));
    command
        .args([
            "--log-file",
            "/tmp/x.%p",
            "--log-level",
            "debug",
            "--log-format",
            "json",
        ])
        .args([
            "--set",
            "listen.min_backlog=7",
            "--set",
            "skip=a,b",
            "--config",
            "c.toml",
        ])
        .current_dir(config.parent().unwrap());
    let out = shell(&mut command, "env | grep ^CMSHIM_ | sort");
    let expected = format!(
        "CMSHIM_CONFIG={}\nCMSHIM_LISTEN_MIN_BACKLOG=7\nCMSHIM_LOG_FILE=/tmp/x.%p\n\
         CMSHIM_LOG_FORMAT=json\nCMSHIM_LOG_LEVEL=debug\nCMSHIM_SKIP=a,b",
        config.display()
    );
    assert_eq!(out, expected);
}

#[test]
fn wrong_options_start_nothing() {
    let table = [
        (
            &["--set", "listen.min_backlog=70000"][..],
            "cmshim: --set: listen.min_backlog: 70000 is out of range; allowed: a whole number from 0 to 65535\n",
        ),
        (&["--set", "log.levle=off"], "cmshim: --set: log.levle: no such key; did you mean log.level?\n"),
        (&["--set", "disable"], "cmshim: --set disable: write KEY=VALUE, for example log.level=debug\n"),
        (&["--config", "/nowhere/c.toml"], "cmshim: --config /nowhere/c.toml: no such file\n"),
        (&["--config", "/"], "cmshim: --config /: this is a directory, not a file\n"),
    ];
    for (options, message) in table {
        let output = cmshim()
            .arg("run")
            .args(options)
            .args(["--", "echo", "started"])
            .output();
        assert_eq!(
            told(output.unwrap()),
            (2, String::new(), message.to_owned())
        );
    }
    let output = cmshim()
        .args(["run", "--log-level", "loud", "--", "echo"])
        .output();
    let (status, out, err) = told(output.unwrap());
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(
        err.starts_with("cmshim: invalid value 'loud'") && err.contains("debug"),
        "{err}"
    );
}

#[test]
fn a_program_that_is_not_there() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for name in ["no-such-program-at-all", "/no/such/program"] {
        let (status, out, err) = told(run_with(&library).args(["--", name]).output().unwrap());
        assert_eq!((status, out.as_str()), (127, ""));
        let place = if name.contains('/') { "" } else { " in PATH" };
        assert_eq!(err, format!("cmshim: {name}: no such program{place}\n"));
    }
    let orphan = dir.executable("orphan", "#!/no/such/interpreter\n", 0o755);
    let (status, _, err) = told(run_with(&library).arg(&orphan).output().unwrap());
    assert_eq!(status, 127);
    let expected = "orphan: its interpreter /no/such/interpreter (the #! line) does not exist\n";
    assert!(err.ends_with(expected), "{err}");
}

#[test]
fn a_program_that_cannot_be_executed() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let plain = dir.executable("plain", "#!/bin/sh\n", 0o644);
    for (path, why) in [
        (plain.as_path(), "cannot be executed: Permission denied"),
        (Path::new("/"), "is a directory, not a program"),
    ] {
        let (status, out, err) = told(run_with(&library).arg(path).output().unwrap());
        assert_eq!((status, out.as_str()), (126, ""));
        let expected = format!("cmshim: {}: {why}\n", path.display());
        assert_eq!(err, expected);
    }
}

/// A program that says that it ran, and then writes past a buffer when it has an argument.
fn sanitized(dir: &Scratch, kind: &str) -> PathBuf {
    let code = "#include <stdio.h>\n#include <stdlib.h>\n\
        int main(int n, char **args) { char *p = malloc(7); volatile int at = n > 1 ? 7 : 6; p[at] = 'x';\n\
        puts(\"ran\"); free(p); return 0; }\n";
    dir.compile(kind, code, &["-g", &format!("-fsanitize={kind}")])
}

#[test]
fn programs_built_with_a_sanitizer_start() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for kind in ["address", "thread", "leak", "undefined"] {
        let program = sanitized(&dir, kind);
        let bare = told(clean(&program).output().unwrap());
        let run = told(run_with(&library).arg("--").arg(&program).output().unwrap());
        assert_eq!(bare, (0, "ran\n".to_owned(), String::new()), "{kind}");
        assert_eq!(run, bare, "{kind}");
    }
}

#[test]
fn address_sanitizer_still_finds_what_it_is_for() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let program = sanitized(&dir, "address");
    for options in ["", "exitcode=3"] {
        let mut bare = clean(&program);
        let mut run = run_with(&library);
        run.arg("--").arg(&program);
        for command in [&mut bare, &mut run] {
            command.arg("x").env("ASAN_OPTIONS", options);
        }
        let (bare, run) = (told(bare.output().unwrap()), told(run.output().unwrap()));
        assert_eq!((run.0, &run.1), (bare.0, &bare.1));
        assert!(run.2.contains("heap-buffer-overflow"), "{}", run.2);
    }
}

#[test]
fn a_preloaded_address_sanitizer_stays_first() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 4711);
    let mut command = run_with(&library);
    command.env("LD_PRELOAD", "libasan.so.8:libasan.so.6:libasan.so.5");
    let out = command
        .args(["--", "sh", "-c", "echo $LD_PRELOAD"])
        .output();
    let (status, out, _) = told(out.unwrap());
    let all = format!(
        "libasan.so.8:libasan.so.6:libasan.so.5:{}\n",
        library.display()
    );
    assert_eq!((status, out), (0, all));
}
