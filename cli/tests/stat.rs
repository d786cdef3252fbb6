//! `cmshim stat` on made-up files.

mod common;

use std::fs;
use std::path::PathBuf;

use cmshim_core::stats::{Bypass, Counter, Entry, Phase};
use common::stats_file::StatsFile;
use common::{ask, cmshim, told, Scratch};
use serde_json::Value;

/// One of everything.
fn example() -> StatsFile {
    StatsFile::new(4711, "ser\"v\\er")
        .counter(Counter::ConnectionsMade, 12)
        .counter(Counter::EventsUnacked, 1u64.wrapping_neg())
        .counter(Counter::EventsBatched, 23)
        .entry(Entry::rdma_connect, [12, 1, 2])
        .bypass(Bypass::TapBlocking, 5)
        .event(8, 2)
        .event(20, 3)
        .batch(1, 4)
        .batch(17, 1)
        .times(Phase::Connect, &[1_000_000; 99])
        .times(Phase::Connect, &[80_000_000])
        .reason(
            2,
            1,
            "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID",
            "10.77.0.1",
        )
}

/// The program in a directory of files.
fn ask_in(dir: &Scratch, args: &[&str]) -> (i32, String, String) {
    let mut command = cmshim();
    command.env("CMSHIM_STATS_DIR", dir.path(""));
    told(command.args(args).output().unwrap())
}

fn file_of(dir: &Scratch, name: &str) -> PathBuf {
    dir.path(&format!("{name}.cmstats"))
}

#[test]
fn a_file_is_shown_without_what_is_zero() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("copy"));
    let (status, out, err) = ask(&["stat", path.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (0, ""));
    let words: Vec<String> = out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for expected in [
        "ser\"v\\er 4711, dead, user 0, library 0.1.0, since 2026-01-02T03:04:05.000Z",
        "connections_made 12 Connections whose ESTABLISHED the program took, on either side",
        "rdma_connect 12 1 2",
        "tap_blocking 5 A blocking read was left to the kernel",
        "REJECTED 2",
        "unknown 3",
        "1 4",
        "17 or more 1",
        "connect 100 1 ms 1 ms 80 ms From rdma_connect to ESTABLISHED (or to the end of rdma_establish)",
        "1 to 2 x REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID, by the peer's kernel, at stage connect, \
         peer 10.77.0.1; last 2026-01-02T03:04:07.000Z",
    ] {
        let expected = expected.replace("user 0", &format!("user {}", example().header.uid));
        assert!(words.contains(&expected), "{expected}\n{out}");
    }
    // Below zero is a copy between two additions.
    for absent in [
        "events_unacked",
        "pool_hits",
        "resolve_addr",
        "rdma_bind_addr",
    ] {
        assert!(!out.contains(absent), "{absent}\n{out}");
    }
}

#[test]
fn the_json_object_has_the_documented_keys() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("copy"));
    let (status, out, _) = ask(&["stat", "--json", path.to_str().unwrap()]);
    assert_eq!(status, 0);
    let object: Value = serde_json::from_str(&out).unwrap();
    let help = ask(&["stat", "--help"]).1;
    let documented = help.split("The JSON object:").nth(1).unwrap();
    let documented = documented.split("\n\n").next().unwrap();
    let mut documented: Vec<&str> = documented
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    documented.sort_unstable();
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, documented);
    assert_eq!(object["alive"], false);
    assert_eq!(object["program"], "ser\"v\\er");
    assert_eq!(object["counters"]["connections_made"], 12);
    assert_eq!(object["counters"]["events_unacked"], 0);
    assert_eq!(object["events"]["unknown"], 3);
    assert_eq!(object["batches"][17]["count"], 1);
    assert_eq!(object["phases"]["connect"]["max_s"], 0.08);
    assert_eq!(object["failures"][0]["who"], "peer-kernel");
    assert_eq!(object["failures"][0]["peer"], "10.77.0.1");
    assert_eq!(object["last"], "2026-01-02T03:04:07.000Z");
}

#[test]
fn open_metrics_have_native_names_and_escaped_labels() {
    let dir = Scratch::new();
    let alive = example().counter(Counter::ConnectionsOpen, 7);
    let _held = alive.write_alive(&file_of(&dir, "4711"));
    let (status, out, err) = ask_in(&dir, &["stat", "4711", "--prometheus"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let own = "pid=\"4711\",program=\"ser\\\"v\\\\er\"";
    for expected in [
        format!("cmshim_process_alive{{{own}}} 1"),
        format!("cmshim_since_timestamp_seconds{{{own}}} 1767323045"),
        format!("cmshim_connections_made_total{{{own}}} 12"),
        format!("cmshim_connections_open{{{own}}} 7"),
        format!("cmshim_calls_total{{{own},call=\"rdma_connect\",by=\"librdmacm\"}} 1"),
        format!("cmshim_calls_failed_total{{{own},call=\"rdma_connect\"}} 2"),
        format!("cmshim_bypassed_total{{{own},reason=\"tap_blocking\"}} 5"),
        format!("cmshim_events_total{{{own},event=\"REJECTED\"}} 2"),
        format!("cmshim_batch_events_bucket{{{own},le=\"1.0\"}} 4"),
        format!("cmshim_batch_events_bucket{{{own},le=\"+Inf\"}} 5"),
        format!("cmshim_batch_events_sum{{{own}}} 23"),
        format!("cmshim_phase_seconds_bucket{{{own},phase=\"connect\",le=\"0.000524288\"}} 0"),
        format!("cmshim_phase_seconds_bucket{{{own},phase=\"connect\",le=\"0.001048576\"}} 99"),
        format!("cmshim_phase_seconds_bucket{{{own},phase=\"connect\",le=\"+Inf\"}} 100"),
        format!("cmshim_phase_seconds_count{{{own},phase=\"connect\"}} 100"),
        format!("cmshim_phase_seconds_sum{{{own},phase=\"connect\"}} 0.179"),
        format!(
            "cmshim_failures_total{{{own},code=\"REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID\",\
             peer=\"10.77.0.1\",who=\"peer-kernel\",stage=\"connect\"}} 2"
        ),
        "# TYPE cmshim_phase_seconds histogram".into(),
        "# UNIT cmshim_phase_seconds seconds".into(),
    ] {
        assert!(
            out.lines().any(|line| line == expected),
            "{expected}\n{out}"
        );
    }
    assert!(out.ends_with("\n# EOF\n"));
}

/// In the text of all files, no series and no family stands twice, and a family's samples stand together.
#[test]
fn open_metrics_of_many_files_are_one_text() {
    let dir = Scratch::new();
    let _held = example().fresh().write_alive(&file_of(&dir, "4711"));
    example()
        .fresh()
        .counter(Counter::PoolIdle, 3)
        .write(&file_of(&dir, "4711-1"));
    StatsFile::new(4712, "client")
        .fresh()
        .write(&file_of(&dir, "4712"));
    let (status, out, err) = ask_in(&dir, &["stat", "--all", "--prometheus"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let (mut family, mut families, mut series) = ("", Vec::new(), Vec::new());
    for line in out.lines().filter(|line| *line != "# EOF") {
        if let Some(named) = line.strip_prefix("# TYPE ") {
            family = named.split(' ').next().unwrap();
            families.push(family);
        } else if !line.starts_with('#') {
            assert!(line.starts_with(family), "{line} in {family}");
            series.push(line.rsplit_once(' ').unwrap().0);
        }
    }
    for mut names in [families, series] {
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
    assert!(out.contains("4711-1.cmstats\"} "), "{out}");
    assert!(out.contains("cmshim_connections_made_total{pid=\"4712\",program=\"client\"} 0\n"));
    // What a dead process had open is not there any more.
    assert!(!out.contains("cmshim_pool_idle{pid=\"4712\""), "{out}");
}

#[test]
fn damaged_and_foreign_files_are_refused_with_the_reason() {
    let dir = Scratch::new();
    let bytes = example().bytes();
    let mut section = bytes.clone();
    section[24 * 8..25 * 8].copy_from_slice(&u64::MAX.to_ne_bytes());
    let mut version = bytes.clone();
    version[8] = 99;
    for (name, content, why) in [
        (
            "text",
            b"hello".to_vec(),
            "this is not a statistics file of cmshim",
        ),
        (
            "empty",
            Vec::new(),
            "this is not a statistics file of cmshim",
        ),
        (
            "short",
            bytes[..4096].to_vec(),
            "damaged: it says that it has",
        ),
        ("section", section, "damaged: section 0 cannot be right"),
        ("version", version, "its layout has version 99"),
        (
            "large",
            vec![0; (4 << 20) + 1],
            "it is larger than 4194304 bytes",
        ),
    ] {
        let path = dir.path(name);
        fs::write(&path, content).unwrap();
        let (status, out, err) = ask(&["stat", path.to_str().unwrap()]);
        assert_eq!((status, out.as_str()), (1, ""), "{name}");
        let start = format!("cmshim: {}: {why}", path.display());
        assert!(err.starts_with(&start) && err.lines().count() == 1, "{err}");
    }
    let (status, _, err) = ask(&["stat", "/proc/no"]);
    assert_eq!(
        (status, err.as_str()),
        (1, "cmshim: /proc/no: No such file or directory\n")
    );
    let directory = dir.path("");
    let (status, _, err) = ask(&["stat", directory.to_str().unwrap()]);
    assert_eq!(status, 1);
    assert!(err.ends_with("this is no file\n"), "{err}");
}

#[test]
fn all_skips_what_is_wrong_and_removes_what_is_stale() {
    let dir = Scratch::new();
    let _held = StatsFile::new(1, "old-but-alive").write_alive(&file_of(&dir, "1"));
    StatsFile::new(2, "just-dead")
        .fresh()
        .write(&file_of(&dir, "2"));
    let stale = StatsFile::new(3, "stale").write(&file_of(&dir, "3"));
    let damaged = dir.file("4.cmstats", "CMSHSTAT");
    let other = StatsFile::new(5, "other-name").write(&dir.path("5"));
    let target = StatsFile::new(6, "elsewhere")
        .fresh()
        .write(&dir.path("hidden"));
    std::os::unix::fs::symlink(&target, file_of(&dir, "6")).unwrap();
    let mut foreign = StatsFile::new(7, "foreign").fresh();
    foreign.header.uid += 1;
    foreign.write(&file_of(&dir, "7"));

    let (status, out, err) = ask_in(&dir, &["stat", "--all", "--json"]);
    // Some were refused.
    assert_eq!(status, 1);
    let list: Value = serde_json::from_str(&out).unwrap();
    let shown: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|o| {
            (
                o["program"].as_str().unwrap(),
                o["alive"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, [("old-but-alive", true), ("just-dead", false)]);
    let mut lines: Vec<&str> = err.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 3, "{err}");
    assert!(
        lines[0].ends_with("4.cmstats: this is not a statistics file of cmshim"),
        "{err}"
    );
    assert!(
        lines[1].ends_with("6.cmstats: this is a symbolic link"),
        "{err}"
    );
    assert!(
        lines[2].contains("7.cmstats: it says that it is of user"),
        "{err}"
    );
    assert!(!stale.exists());
    assert!(damaged.exists() && other.exists() && target.exists());
    assert!(file_of(&dir, "2").exists());
}

#[test]
fn a_stale_file_that_is_named_is_shown_and_stays() {
    let dir = Scratch::new();
    let stale = StatsFile::new(3, "stale").write(&file_of(&dir, "3"));
    let (status, out, _) = ask_in(&dir, &["stat", "3"]);
    assert_eq!(status, 0);
    assert!(out.starts_with("stale 3, dead, "), "{out}");
    assert!(stale.exists());
}

#[test]
fn of_two_processes_with_one_id_the_live_one_is_shown() {
    let dir = Scratch::new();
    let _held = StatsFile::new(1, "alive").write_alive(&file_of(&dir, "1-1"));
    StatsFile::new(1, "dead").fresh().write(&file_of(&dir, "1"));
    let (status, out, err) = ask_in(&dir, &["stat", "1"]);
    assert_eq!(status, 0);
    assert!(out.starts_with("alive 1, alive, "), "{out}");
    assert!(
        err.ends_with("1.cmstats: another one with this process id\n"),
        "{err}"
    );
}

#[test]
fn nothing_found_says_where_it_was_looked_for() {
    let dir = Scratch::new();
    for args in [["stat", "77"], ["stat", "--all"]] {
        let (status, out, err) = ask_in(&dir, &args);
        assert_eq!((status, out.as_str()), (1, ""));
        let place = format!("looked in {}", dir.path("").display());
        assert!(
            err.starts_with("cmshim: no statistics of ") && err.contains(&place),
            "{err}"
        );
    }
    for wrong in [
        &["stat"][..],
        &["stat", "1", "--all"],
        &["stat", "1", "--json", "--prometheus"],
    ] {
        assert_eq!(ask(wrong).0, 2, "{wrong:?}");
    }
}

#[test]
fn a_refused_file_beside_good_ones_gives_status_1() {
    let dir = Scratch::new();
    example().fresh().write(&file_of(&dir, "4711"));
    fs::write(file_of(&dir, "4712"), "damaged").unwrap();
    let (status, out, err) = ask_in(&dir, &["stat", "--all"]);
    assert_eq!((status, err.lines().count()), (1, 1), "{err}");
    assert!(out.contains(" 4711, dead, "), "{out}");
}

#[test]
fn files_that_may_not_be_read_are_told_in_one_line() {
    let dir = Scratch::new();
    common::set_mode(&dir.path(""), 0o755);
    example().fresh().write(&file_of(&dir, "4711"));
    common::set_mode(&file_of(&dir, "4711"), 0);
    let Some(mut command) = common::unprivileged() else {
        return;
    };
    command.env("CMSHIM_STATS_DIR", dir.path(""));
    let (status, _, err) = told(command.args(["stat", "--all"]).output().unwrap());
    let hidden =
        "; 1 file is there that only its user may read (see stats.readers). A file is there";
    assert!(
        status == 1 && err.contains(hidden) && err.lines().count() == 1,
        "{err}"
    );
}

/// A file of later than the process's own, from somebody else.
#[test]
fn a_file_of_somebody_else_is_not_taken_for_the_process_s() {
    let dir = Scratch::new();
    let pid = std::process::id();
    let write = |program: &str, uid, name: &str| {
        let mut file = StatsFile::new(pid, program);
        file.header.uid = uid;
        file.header.realtime_ns += u64::from(uid) * 1_000_000_000;
        let path = file_of(&dir, name);
        let held = file.write_alive(&path);
        (
            std::os::unix::fs::chown(&path, Some(uid), None).is_ok(),
            held,
        )
    };
    let (given, _false) = write("false", 64001, &format!("{pid}-1"));
    if !given {
        eprintln!("not looked at: only root can give a file away");
        return;
    }
    let stat = || ask_in(&dir, &["stat", &pid.to_string()]);
    let (status, out, err) = stat();
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.contains("it belongs to user 64001, and process"),
        "{err}"
    );
    let (_, _true) = write("true", 0, &pid.to_string());
    let (status, out, err) = stat();
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.starts_with("true "), "{out}");
}

/// One file under many names, and many files of one user: neither is read without end.
#[test]
fn of_one_user_not_more_is_read_than_anybody_needs() {
    let dir = Scratch::new();
    let path = file_of(&dir, "4711");
    let _held = example().write_alive(&path);
    for n in 1..200 {
        fs::hard_link(&path, file_of(&dir, &format!("4711-{n}"))).unwrap();
    }
    let (status, out, err) = ask_in(&dir, &["stat", "--all", "--json"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let all: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{out}");
    for n in 0..1030 {
        fs::write(file_of(&dir, &format!("5000-{n:x}")), "no such thing").unwrap();
    }
    let (_, _, err) = ask_in(&dir, &["stat", "--all"]);
    let line = "no more than 1024 of one user are looked at";
    assert!(err.contains(line), "{err}");
    assert!(err.lines().count() < 1030, "{} lines", err.lines().count());
}
