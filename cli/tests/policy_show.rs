//! `cmshim policy show` on made-up files.

mod common;

use std::os::unix::fs::symlink;
use std::path::Path;

use cmshim_core::tenant::share::slot::{BROKEN, CLOSED, ENFORCES, OBSERVES, OPEN};
use common::share_file::{Counts, ShareFile};
use common::{ask, cmshim, set_mode, told, unprivileged, Scratch};
use serde_json::Value;

const POLICY: &str = r#"
version = 1
default = "deny"
[[tenant]]
name = "olap"
peers = ["10.1.0.0/16"]
max_connections = 64
rate = 100
burst = 200
dscp = 26
[[tenant.egress]]
max_connections = 8
[[tenant]]
name = "quiet"
peers = ["10.2.0.0/16"]
max_connections = 5
"#;

/// Two processes that live and one that is dead, with connections in the same rows.
fn example(policy: &Path, state: u64, text: &str) -> ShareFile {
    let olap = Counts {
        limit: 64,
        allowed: 100,
        denied: 1,
        over: 2,
        fast: 3,
        observed: 4,
    };
    let none = Counts {
        denied: 7,
        ..Counts::default()
    };
    ShareFile::new(policy)
        .slot(0, 4711, b"server\0\0", state, text)
        .slot(1, 4712, b"other\0\0\0", ENFORCES, text)
        .slot(2, 4713, b"dead\0\0\0\0", ENFORCES, text)
        .row("olap", None, olap, &[(0, 3), (1, 5), (2, 30)])
        .row(
            "olap",
            Some(0),
            Counts {
                limit: 8,
                ..Counts::default()
            },
            &[(1, 2)],
        )
        .row(
            "before",
            None,
            Counts {
                allowed: 9,
                ..Counts::default()
            },
            &[],
        )
        .row("", None, none, &[])
}

fn show(dir: &Scratch, args: &[&str]) -> (i32, String, String) {
    let mut command = cmshim();
    command.env("CMSHIM_TENANT_DIR", dir.path(""));
    told(
        command
            .args(["policy", "show"])
            .args(args)
            .output()
            .unwrap(),
    )
}

fn words(out: &str) -> Vec<String> {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    out.lines().map(line).collect()
}

#[test]
fn what_is_used_and_refused() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let (_, _held) = example(&policy, ENFORCES, POLICY).write(&dir.path(""), &[0, 1]);
    let (status, out, err) = show(&dir, &["4711"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let lines = words(&out);
    for expected in [
        &format!("server 4711: policy {}", policy.display()),
        "enforce, since 2026-01-02T03:04:05.000Z",
        "it is the file's present text",
        "tenant live host limit rate ToS allowed denied over fast observed",
        "olap 3 8 64 100/s, burst 200 104 (DSCP 26) 100 1 2 3 4",
        "olap egress 1 0 2 8 - - 0 0 0 0 0",
        "quiet 0 0 5 - - 0 0 0 0 0",
        "before 0 0 - - - 9 0 0 0 0",
        "(no tenant) 0 0 - - - 0 7 0 0 0",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected}\n{out}"
        );
    }
    assert!(show(&dir, &["4712"]).1.contains("reloaded once"));
}

#[test]
fn a_dead_process_has_nothing() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let (path, held) = example(&policy, ENFORCES, POLICY).write(&dir.path(""), &[0]);
    let (status, out, err) = show(&dir, &["4713"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.starts_with("cmshim: no live process 4713 uses a policy: looked in "),
        "{err}"
    );
    // One that is killed gives its share back: the kernel drops its lock.
    assert!(words(&show(&dir, &["4711"]).1)
        .iter()
        .any(|l| l.starts_with("olap 3 3 64")));
    drop(held);
    assert_eq!(show(&dir, &["4711"]).0, 1);
    assert!(path.exists());
}

#[test]
fn the_json_object_has_the_documented_keys() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let (_, _held) = example(&policy, OBSERVES, POLICY).write(&dir.path(""), &[0, 1]);
    let (status, out, _) = show(&dir, &["4711", "--json"]);
    assert_eq!(status, 0);
    let object: Value = serde_json::from_str(&out).unwrap();
    let help = ask(&["policy", "show", "--help"]).1;
    let documented = help.split("The JSON object:").nth(1).unwrap();
    let documented = documented.split("\n\n").next().unwrap();
    let mut documented: Vec<&str> = documented
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    documented.sort_unstable();
    let all = [&object, &object["tenants"][0], &object["tenants"][1]];
    let mut keys: Vec<&str> = all
        .iter()
        .flat_map(|object| object.as_object().unwrap().keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys, documented);
    assert_eq!(object["state"], "observe");
    assert_eq!(object["present"], true);
    assert_eq!(object["tenants"][0]["host"], 8);
    assert_eq!(object["tenants"][0]["rate"], 100.0);
    assert_eq!(object["tenants"][1]["egress"], 1);
}

#[test]
fn what_holds_when_the_file_is_not_the_policy() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let shown = |state, text: &str| {
        let (_, held) = example(&policy, state, text).write(&dir.path(""), &[0]);
        let out = show(&dir, &["4711"]).1;
        let object: Value = serde_json::from_str(&show(&dir, &["4711", "--json"]).1).unwrap();
        drop(held);
        (out, object)
    };
    let (out, object) = shown(ENFORCES, "older");
    assert!(
        out.contains("the file's present text is another one"),
        "{out}"
    );
    assert!(
        words(&out).iter().any(|l| l.starts_with("olap 3 3 64 ? ?")),
        "{out}"
    );
    assert!(
        words(&out)
            .iter()
            .any(|l| l.starts_with("olap egress 0 0 8")),
        "{out}"
    );
    assert_eq!(
        (&object["present"], &object["broken"]),
        (&false.into(), &false.into())
    );
    let (out, object) = shown(ENFORCES + BROKEN, "older");
    assert!(out.contains("is broken; an older one stays"), "{out}");
    assert_eq!(object["broken"], true);
    let (out, object) = shown(CLOSED, "");
    assert!(
        out.contains("no policy could be read: all connections are refused"),
        "{out}"
    );
    assert_eq!(object["state"], "closed");
    let (out, object) = shown(OPEN, "");
    assert!(
        out.contains("no policy could be read: all connections are allowed"),
        "{out}"
    );
    assert_eq!(object["state"], "open");
    assert!(words(&out).iter().any(|l| l.starts_with("olap 3 3 64 - -")));
    assert_eq!(object["known"], true);
}

/// Rates and types of service go on to be enforced while the file has lost them.
#[test]
fn what_only_the_file_knows_is_not_told_as_none() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let (_, _held) = example(&policy, ENFORCES + BROKEN, POLICY).write(&dir.path(""), &[0]);
    let check = |file: &str| {
        let out = words(&show(&dir, &["4711"]).1);
        for expected in [
            file,
            "?: what is in effect is not known, since only the file says it",
            "olap 3 3 64 ? ? 100 1 2 3 4",
            "(no tenant) 0 0 - - - 0 7 0 0 0",
        ] {
            assert!(out.iter().any(|l| l == expected), "{expected}\n{out:#?}");
        }
        let object: Value = serde_json::from_str(&show(&dir, &["4711", "--json"]).1).unwrap();
        assert_eq!(object["known"], false);
        let tenants = object["tenants"].as_array().unwrap();
        let find = |name: &str| {
            let incoming = |t: &&Value| t["name"] == name && t.get("egress").is_none();
            tenants.iter().find(incoming).unwrap()
        };
        for key in ["rate", "burst", "tos"] {
            assert_eq!(find("olap").get(key), Some(&Value::Null));
            assert_eq!(find("").get(key), None);
        }
        assert_eq!(find("olap")["limit"], 64);
        object["present"].clone()
    };
    std::fs::write(&policy, format!("{POLICY}x=\n")).unwrap();
    let broken =
        "the file's present text is broken; an older one stays in effect (cmshim policy check)";
    assert_eq!(check(broken), false);
    std::fs::remove_file(&policy).unwrap();
    let missing = "the file cannot be read here: no such file; an older one stays in effect";
    assert_eq!(check(missing), Value::Null);
    std::fs::create_dir(&policy).unwrap();
    let directory =
        "the file cannot be read here: this is a directory, not a file; an older one stays in effect";
    assert_eq!(check(directory), Value::Null);
    // It came back, and the process has not looked yet.
    std::fs::remove_dir(&policy).unwrap();
    std::fs::write(&policy, POLICY).unwrap();
    let out = words(&show(&dir, &["4711"]).1);
    assert!(out.contains(&"it is the file's present text".to_owned()));
    assert!(out
        .iter()
        .any(|l| l.starts_with("olap 3 3 64 100/s, burst 200")));
}

#[test]
fn files_that_are_not_what_they_seem() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let (path, held) = example(&policy, ENFORCES, POLICY).write(&dir.path(""), &[0]);
    // One good file does not hide behind bad ones.
    dir.file("tenants-0000000000000001-0000000000000000", "no such thing");
    symlink(&path, dir.path("tenants-0000000000000002-0000000000000000")).unwrap();
    std::fs::create_dir(dir.path("tenants-0000000000000003-0000000000000000")).unwrap();
    dir.file("tenants-short", "not looked at");
    let (status, _, err) = show(&dir, &["4711"]);
    assert_eq!(status, 0);
    let told: Vec<&str> = err
        .lines()
        .map(|line| line.rsplit(": ").next().unwrap())
        .collect();
    assert_eq!(
        told,
        [
            "this is not a file of cmshim for tenants",
            "this is a symbolic link",
            "this is no file"
        ]
    );
    drop(held);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
    let (status, _, err) = show(&dir, &["4711"]);
    assert_eq!(status, 1);
    assert!(err.contains("damaged: it says that it has"), "{err}");
}

/// Other users' files are told of only if the process is in none that may be read, and all in one line.
#[test]
fn files_of_others_are_counted_only_where_nothing_was_found() {
    let dir = Scratch::new();
    set_mode(&dir.path(""), 0o755);
    let policy = dir.file("policy.toml", POLICY);
    let (path, _held) = example(&policy, ENFORCES, POLICY).write(&dir.path(""), &[0]);
    set_mode(&path, 0o644);
    for name in [
        "tenants-0000000000000001-0000000000000000",
        "tenants-0000000000000002-0000000000000000",
    ] {
        set_mode(&dir.file(name, "of somebody else"), 0);
    }
    let Some(mut command) = unprivileged() else {
        return;
    };
    command
        .env("CMSHIM_TENANT_DIR", dir.path(""))
        .args(["policy", "show"]);
    let (status, out, err) = told(command.arg("4711").output().unwrap());
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let mut command = unprivileged().unwrap();
    command
        .env("CMSHIM_TENANT_DIR", dir.path(""))
        .args(["policy", "show"]);
    let (status, _, err) = told(command.arg("4712").output().unwrap());
    assert_eq!(status, 1);
    let hidden = ", where you may not read 2 files. See tenant.policy";
    assert!(err.contains(hidden) && err.lines().count() == 1, "{err}");
}

/// Gives a file to another user, as only root can.
fn give(path: &Path, user: u32) -> bool {
    std::os::unix::fs::chown(path, Some(user), None).is_ok()
}

/// Somebody else's file that says that it is of our process, of later than the process's own.
#[test]
fn a_file_of_somebody_else_is_not_believed() {
    let dir = Scratch::new();
    let policy = dir.file("policy.toml", POLICY);
    let own = std::process::id();
    let claim = |comm: &[u8; 8], which| {
        ShareFile::new(&policy)
            .slot(1, own.into(), comm, ENFORCES, POLICY)
            .which(which)
            .write(&dir.path(""), &[1])
    };
    let (own_file, _true) = claim(b"true\0\0\0\0", 1);
    let (path, _false) = claim(b"false\0\0\0", 2);
    if !give(&path, 65534) {
        eprintln!("not looked at: only root can give a file away");
        return;
    }
    let shown = || show(&dir, &[&own.to_string()]);
    let (status, out, err) = shown();
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.starts_with("true "), "{out}");
    // Nor where it is the only one.
    std::fs::remove_file(own_file).unwrap();
    let (status, out, _) = shown();
    assert_eq!((status, out.as_str()), (1, ""));
}

/// Files of other users are added up where a group counts together, and nowhere else.
#[test]
fn what_users_of_a_group_count_is_added_up() {
    let dir = Scratch::new();
    let shared = dir.path("shared");
    std::fs::create_dir(&shared).unwrap();
    let policy = dir.file("policy.toml", POLICY);
    let (_, _one) = example(&policy, ENFORCES, POLICY).write(&shared, &[0, 1]);
    let (path, _two) = example(&policy, ENFORCES, POLICY)
        .which(64001)
        .write(&shared, &[1]);
    let chown = std::os::unix::fs::chown::<&Path>;
    if !give(&path, 64001) || chown(&path, None, Some(64000)).is_err() {
        eprintln!("not looked at: only root can give a file away");
        return;
    }
    let olap = || {
        let mut command = cmshim();
        command.env("CMSHIM_TENANT_DIR", &shared);
        let args = ["policy", "show", "4711"];
        let (status, out, _) = told(command.args(args).output().unwrap());
        assert_eq!(status, 0);
        let line = words(&out).into_iter().find(|l| l.starts_with("olap "));
        line.unwrap_or_default()
    };
    let apart = "olap 3 8 64 100/s, burst 200 104 (DSCP 26) 100 1 2 3 4";
    let together = "olap 3 13 64 100/s, burst 200 104 (DSCP 26) 200 2 4 6 8";
    for (mode, group, expected) in [
        (0o1777, 64000, apart),
        (0o3770, 64000, together),
        (0o3770, 64002, apart),
    ] {
        chown(&shared, None, Some(group)).unwrap();
        set_mode(&shared, mode);
        assert_eq!(olap(), expected, "{mode:o} {group}");
    }
}

/// The name of a policy in a file is what the process's user says.
#[test]
fn a_policy_that_is_no_file_is_not_opened() {
    let dir = Scratch::new();
    let fifo = dir.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (_, _held) = example(&fifo, ENFORCES, POLICY).write(&dir.path(""), &[0]);
    let (status, out, _) = show(&dir, &["4711"]);
    assert_eq!(status, 0);
    let line = "the file cannot be read here: this is a FIFO, not a file";
    assert!(out.contains(line), "{out}");
}
