//! `cmshim config`.

mod common;

use std::path::Path;

use common::{ask, cmshim, told, Scratch};
use serde_json::Value;

fn config(file: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = cmshim();
    command.arg("config").args(args).env("CMSHIM_CONFIG", file);
    told(command.output().unwrap())
}

#[test]
fn shows_values_and_where_they_come_from() {
    let dir = Scratch::new();
    let file = dir.file(
        "c.toml",
        "log.level = \"info\"\n[program.rping]\nlog.level = \"debug\"\n",
    );
    let (status, out, err) = config(&file, &[]);
    assert_eq!((status, err.as_str()), (0, ""));
    let line = |out: &str, key: &str| {
        let line = out.lines().find(|l| l.starts_with(key)).unwrap();
        line.split_once("  # ")
            .map(|(a, b)| (a.trim().to_owned(), b.to_owned()))
            .unwrap()
    };
    let file_name = file.display();
    assert_eq!(
        line(&out, "log.level"),
        ("log.level = \"info\"".into(), format!("{file_name}:1"))
    );
    assert_eq!(
        line(&out, "listen."),
        ("listen.min_backlog = 128".into(), "default".into())
    );

    let (_, out, _) = config(&file, &["--program", "/usr/bin/rping"]);
    let origin = format!("{file_name}:3 [program.rping]");
    assert_eq!(
        line(&out, "log.level"),
        ("log.level = \"debug\"".into(), origin)
    );
}

#[test]
fn what_it_prints_is_toml() {
    let dir = Scratch::new();
    let file = dir.file(
        "c.toml",
        "skip = [\"a \\\"b\\\"\"]\nlog.file = \"x\\\\y\"\n",
    );
    let (_, out, _) = config(&file, &[]);
    let again = dir.file("again.toml", &out);
    let (status, second, err) = config(&again, &[]);
    assert_eq!((status, err.as_str()), (0, ""));
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .map(|l| l.split("  # ").next().unwrap().trim_end().to_owned())
            .collect()
    };
    assert_eq!(values(&second), values(&out));
}

#[test]
fn problems_are_on_standard_error_and_in_the_status() {
    let dir = Scratch::new();
    let file = dir.file("c.toml", "[listen]\nmin_backlog = -1\n");
    let (status, out, err) = config(&file, &[]);
    assert_eq!(status, 1);
    assert!(out.contains("listen.min_backlog = 128"));
    let expected = format!(
        "cmshim: {}:2:15: listen.min_backlog: -1 is negative; \
         allowed: a whole number from 0 to 65535; used: 128 (default)\n",
        file.display()
    );
    assert_eq!(err, expected);
}

#[test]
fn json_holds_both() {
    let dir = Scratch::new();
    let file = dir.file("c.toml", "skip = [\"ls\"]\nlog.levle = 1\n");
    let (status, out, err) = config(&file, &["--json", "--program", "ls"]);
    assert_eq!((status, err.as_str()), (1, ""));
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["active"], false);
    assert_eq!(json["problems"][0]["line"], 2);
    assert_eq!(json["problems"][0]["key"], "log.levle");
    let skip = &json["settings"][1];
    assert_eq!(skip["key"], "skip");
    assert_eq!(skip["value"][0], "ls");
    assert_eq!(skip["origin"]["from"], "file");
    assert_eq!(skip["origin"]["line"], 1);
}

#[test]
fn a_file_can_be_tried_before_it_is_installed() {
    let dir = Scratch::new();
    let file = dir.file("new.toml", "disable = true\n");
    let (status, out, _) = ask(&["config", "--config", file.to_str().unwrap()]);
    assert_eq!(status, 0);
    assert!(
        out.starts_with("# The library does nothing here: see disable.\ndisable = true"),
        "{out}"
    );
    let (status, _, err) = ask(&["config", "--config", "/nowhere/x.toml"]);
    assert_eq!(status, 1);
    assert!(
        err.starts_with("cmshim: /nowhere/x.toml: no such file"),
        "{err}"
    );
}

#[test]
fn the_default_file_can_be_used() {
    let (status, text, err) = ask(&["config", "--default"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(text.contains("\n#min_backlog = 128\n"), "{text}");
    let dir = Scratch::new();
    let file = dir.file("c.toml", &text);
    let (status, _, err) = config(&file, &[]);
    assert_eq!((status, err.as_str()), (0, ""));
}
