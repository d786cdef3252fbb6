//! Readers of the library's files tell a wrong configuration in the library's words, and go on.

mod common;

use common::stats_file::StatsFile;
use common::{cmshim, told, Scratch};

fn ask(variable: &str, value: &str, args: &[&str]) -> String {
    let output = cmshim().env(variable, value).args(args).output();
    told(output.unwrap()).2
}

#[test]
fn wrong_variables_are_named_once() {
    for (variable, value, args) in [
        ("CMSHIM_STATS_DIR", "rel", &["stat", "--all"][..]),
        ("CMSHIM_STATS_DIR", "rel", &["events", "1"]),
        ("CMSHIM_STATS_READERS", "x", &["top", "--once"]),
        ("CMSHIM_TENANT_DIR", "rel", &["policy", "show", "1"]),
    ] {
        let err = ask(variable, value, args);
        let begin = format!("cmshim: {variable}: ");
        let lines = err.lines().filter(|line| line.starts_with(&begin));
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), 1, "{err}");
        assert!(lines[0].contains("; allowed: "), "{err}");
    }
}

#[test]
fn what_has_nothing_to_do_with_it_is_left_to_others() {
    let dir = Scratch::new();
    StatsFile::new(1, "x").fresh().write(&dir.path("1.cmstats"));
    let mut command = cmshim();
    command.env("CMSHIM_STATS_DIR", dir.path(""));
    command
        .env("CMSHIM_POOL_MAX", "many")
        .args(["stat", "--all"]);
    let (status, _, err) = told(command.output().unwrap());
    assert_eq!((status, err.as_str()), (0, ""));
    let file = dir.file("broken.toml", "[stats\n");
    let err = ask("CMSHIM_CONFIG", file.to_str().unwrap(), &["stat", "1"]);
    assert!(err.contains("broken.toml:1:"), "{err}");
}
