//! Man page, completions, help, and an output that nobody reads.

mod common;

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use cmshim_core::config::KEYS;
use common::{ask, clean, cmshim, told, Scratch};

#[test]
fn the_man_pages_have_every_key_and_function() {
    let (status, page, err) = ask(&["man"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let dir = Scratch::new();
    let target = dir.path("man");
    ask(&["man", "--dir", target.to_str().unwrap()]);
    // roff writes - as \-.
    let read = |name: &str| {
        let text = std::fs::read_to_string(target.join(name)).unwrap();
        text.replace("\\-", "-")
    };
    let keys = read("cmshim.toml.5");
    for key in KEYS {
        assert!(keys.contains(key.name), "{}", key.name);
        assert!(keys.contains(&key.variable()), "{}", key.variable());
        assert!(keys.contains(key.help), "{}", key.help);
    }
    let header = include_str!("../../include/cmshim.h");
    let mut pages = 0;
    for (at, _) in header.match_indices("cmshim_") {
        let Some((name, _)) = header[at..].split_once('(') else {
            continue;
        };
        if name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            assert!(read(&format!("{name}.3")).contains(&format!("{name}(")));
            pages += 1;
        }
    }
    assert!(pages >= 7);
    for title in ["NAME", "SYNOPSIS", "ENVIRONMENT", "FILES", "EXIT STATUS"] {
        assert!(
            page.contains(&format!(".SH {title}")) || page.contains(&format!(".SH \"{title}\"")),
            "{title}"
        );
    }
}

#[test]
fn a_file_takes_no_pages() {
    let dir = Scratch::new();
    let file = dir.file("file", "");
    let expected = format!("cmshim: {}: not a directory\n", file.display());
    let (status, out, err) = ask(&["man", "--dir", file.to_str().unwrap()]);
    assert_eq!((status, out.as_str(), err), (1, "", expected));
}

#[test]
fn all_pages_go_into_a_directory() {
    let dir = Scratch::new();
    let target = dir.path("man/man1");
    let (status, out, err) = ask(&["man", "--dir", target.to_str().unwrap()]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", ""));
    let read = |name: &str| std::fs::read_to_string(target.join(name)).unwrap();
    assert_eq!(read("cmshim.1"), ask(&["man"]).1);
    for name in [
        "run",
        "explain",
        "config",
        "doctor",
        "stat",
        "events",
        "hist",
        "top",
        "completions",
        "man",
    ] {
        assert!(
            read(&format!("cmshim-{name}.1")).contains(".SH OPTIONS"),
            "{name}"
        );
    }
    let (status, _, err) = ask(&["man", "--dir", "/proc/no"]);
    assert_eq!(status, 1);
    assert_eq!(err, "cmshim: /proc/no: No such file or directory\n");
}

#[test]
fn a_synopsis_shows_the_values_of_options() {
    let dir = Scratch::new();
    let target = dir.path("man");
    ask(&["man", "--dir", target.to_str().unwrap()]);
    let page = |name: &str| {
        let file = target.join(format!("cmshim-{name}.1"));
        let roff = std::fs::read_to_string(file).unwrap();
        // Without the marks of fonts and the escaped hyphens.
        let plain = [("\\-", "-"), ("\\fB", ""), ("\\fI", ""), ("\\fR", "")];
        plain
            .iter()
            .fold(roff, |text, (mark, with)| text.replace(mark, with))
    };
    let explain = page("explain");
    assert!(
        explain.contains("cmshim explain [--event EVENT] [--async EVENT] [--call FUNCTION]"),
        "{explain}"
    );
    let doctor = page("doctor");
    for part in [
        "cmshim doctor [--program PROGRAM] [--json] [--verbose]",
        "THE JSON OBJECT",
        "details",
    ] {
        assert!(doctor.contains(part), "{doctor}");
    }
    for title in ["EXAMPLES", "EXIT STATUS"] {
        assert!(explain.contains(title), "{explain}");
    }
    assert!(
        page("run").contains("[--quiet] PROGRAM [ARGUMENT]..."),
        "{}",
        page("run")
    );
    let config = page("config");
    assert!(
        !config.contains("EXTRA") && !config.contains("127"),
        "{config}"
    );
    assert!(!target.join("cmshim-help.1").exists());
}

#[test]
fn each_command_tells_its_own_exit_statuses() {
    let config = ask(&["config", "--help"]).1;
    assert!(
        config.contains("the configuration has a problem"),
        "{config}"
    );
    assert!(!config.contains("125"), "{config}");
    assert!(ask(&["run", "--help"]).1.contains("125"));
}

#[test]
fn completion_offers_the_names_of_events() {
    let dir = Scratch::new();
    let script = dir.file("cmshim.bash", &ask(&["completions", "bash"]).1);
    let offered = |words: &str| {
        let line = format!(
            ". {}; COMP_WORDS=(cmshim {words}); COMP_CWORD=3; \
             _cmshim cmshim \"${{COMP_WORDS[3]}}\" \"${{COMP_WORDS[2]}}\"; echo \"${{COMPREPLY[*]}}\"",
            script.display()
        );
        told(clean("bash").args(["-c", &line]).output().unwrap()).1
    };
    assert_eq!(offered("explain --event un"), "unreachable\n");
    assert!(offered("explain --async qp").starts_with("qp_fatal qp_req_err "));
    assert_eq!(offered("explain --call rdma_b"), "rdma_bind_addr\n");
    assert_eq!(offered("hist 4711 reso"), "resolve_addr resolve_route\n");
}

#[test]
fn completions_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (status, script, err) = ask(&["completions", shell]);
        assert_eq!((status, err.as_str()), (0, ""));
        assert!(
            script.contains("log-level") && script.contains("explain"),
            "{shell}"
        );
    }
    let dir = Scratch::new();
    let script = dir.file("cmshim.bash", &ask(&["completions", "bash"]).1);
    let checked = Command::new("bash")
        .arg("-n")
        .arg(&script)
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    assert_eq!(ask(&["completions", "tcsh"]).0, 2);
}

#[test]
fn help_and_version_are_no_mistakes() {
    let (status, out, err) = ask(&["--help"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("Exit status:") && out.contains("127"), "{out}");
    let (status, out, _) = ask(&["--version"]);
    assert_eq!(status, 0);
    assert_eq!(out, format!("cmshim {}\n", env!("CARGO_PKG_VERSION")));
    let (status, out, err) = ask(&["frobnicate"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.starts_with("cmshim: unrecognized subcommand"), "{err}");
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    for args in [
        "explain --list",
        "config --default",
        "man",
        "completions bash",
        "--help",
    ] {
        // The reader goes before the first byte is written.
        let script = format!("sleep 0.2; exec \"$0\" {args}");
        let mut child = clean("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_cmshim")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{args}");
    }
}

#[test]
fn an_output_that_is_full_is_a_failure() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = cmshim()
        .args(["explain", "28"])
        .stdout(full)
        .output()
        .unwrap();
    let (status, _, err) = told(output);
    assert_eq!(status, 1);
    assert!(
        err == "cmshim: standard output: No space left on device\n",
        "{err}"
    );
}

#[test]
fn help_and_version_that_cannot_be_written_say_so() {
    for args in [&["--version"][..], &["stat", "--help"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = cmshim().args(args).stdout(full).output().unwrap();
        let err = "cmshim: standard output: No space left on device\n";
        assert_eq!(told(output), (1, String::new(), err.into()));
    }
}
