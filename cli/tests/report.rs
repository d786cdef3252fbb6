//! `cmshim run --report`: it tells what the program did, and the program does not notice it.

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cmshim_core::stats::{Bypass, Counter, Entry, Phase, What, RUNNING};
use common::stats_file::StatsFile;
use common::{clean, cmshim, told, Scratch};
use rustix::process::{kill_process, Pid, Signal};

const NOTHING: &str = "\
  nothing     no RDMA call was seen: the program made none, the library has no
              effect in it, or statistics are off
";

/// `cmshim run --report`, with statistics in this directory, to be continued with options or the program.
fn report(dir: &Scratch) -> Command {
    let mut command = cmshim();
    command
        .env("CMSHIM_STATS_DIR", dir.path("stats"))
        .args(["run", "--report", "--library"])
        .arg(dir.library("libx.so", 1));
    command
}

fn stat_field(pid: &str, number: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(')').unwrap().1;
    let field = rest.split_whitespace().nth(number - 3);
    field.unwrap().to_owned()
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let number = u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap();
    number.to_be_bytes()
}

/// A program that tells its family and then waits, until somebody has written statistics in its name.
struct Running {
    child: Child,
    family: u64,
}

impl Running {
    fn start(dir: &Scratch) -> Running {
        let mut child = report(dir)
            .args(["--", "sh", "-c", "echo $CMSHIM_FAMILY; read end; exit 7"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let family = line.trim().parse().unwrap();
        Running { child, family }
    }

    /// A file of a process of its family.
    fn file(&self, pid: u32, start_time: u64, name: &str) -> StatsFile {
        let mut file = StatsFile::new(pid, name);
        file.header.boot_id = boot_id();
        file.header.family = self.family;
        file.header.start_time = start_time;
        // Not stale.
        file.header.monotonic_ns = u64::MAX / 2;
        file
    }

    fn own_file(&self) -> StatsFile {
        let pid = self.child.id();
        let start_time = stat_field(&pid.to_string(), 22).parse().unwrap();
        self.file(pid, start_time, "server")
    }

    /// The reporter's process id.
    fn reporter(&self) -> String {
        let wanted = format!("__report-wait\0{}\0", self.child.id());
        let is_it = |pid: &String| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&wanted)
        };
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
        pids.find(is_it).unwrap()
    }

    /// What the report says, without its first line.
    fn end(mut self) -> String {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(7));
        let mut report = String::new();
        let mut err = self.child.stderr.take().unwrap();
        err.read_to_string(&mut report).unwrap();
        let begin = format!("cmshim report: sh, process {}, ran ", self.child.id());
        let (first, rest) = report.split_once('\n').unwrap();
        assert!(first.starts_with(&begin), "{first}");
        rest.to_owned()
    }
}

#[test]
fn all_that_was_measured_is_told_on_one_screen() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let file = running
        .own_file()
        .counter(Counter::ConnectionsMade, 100)
        .counter(Counter::ConnectionsFailed, 2)
        .counter(Counter::ConnectionsOpen, 1)
        .counter(Counter::RequestsTaken, 60)
        .counter(Counter::EventsBatched, 300)
        .batch(0, 5)
        .batch(3, 100)
        .times(Phase::Connect, &[1_000_000; 40])
        .times(Phase::CreateQpHit, &[50_000; 90])
        .times(Phase::CreateQpMiss, &[2_050_000; 10])
        .record(
            1,
            1,
            What::Call(Entry::rdma_connect),
            RUNNING,
            "10.77.0.1:7",
        )
        .reason(
            2,
            0,
            "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID",
            "10.77.0.1",
        )
        .reason(1, 0, "NO_ANSWER_YET", "10.77.0.3")
        .reason(1, 0, "rdma_bind_addr errno 98, EADDRINUSE", "10.77.0.2");
    let path = file.write(&dir.path(&format!("stats/{}.cmstats", running.child.id())));
    let report = running.end();
    let (told, more) = report.split_once("  more ").unwrap();
    assert!(more.trim_end().ends_with(path.to_str().unwrap()), "{more}");
    let expected = [
        "  connections 100 made, 2 failed, 1 open at the end, 1 connect without an",
        "              answer, 60 requests taken",
        "  failed      2 x REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: nobody listens there",
        "              (by the peer's kernel), peer 10.77.0.1",
        "              1 x rdma_bind_addr errno 98, EADDRINUSE (by the peer's kernel),",
        "              peer 10.77.0.2",
        "  warned      1 x NO_ANSWER_YET (by the peer's kernel), peer 10.77.0.3",
        "  ended       inside rdma_connect, peer 10.77.0.1:7",
        "  phases      create_qp_hit             90 x  p50  50 µs  p99  50 µs  max  50 µs",
        "              create_qp_miss            10 x  p50   2 ms  p99   2 ms  max 2.1 ms",
        "              connect                   40 x  p50   1 ms  p99   1 ms  max   1 ms",
        "  pool        90 of 100 queue pairs came from it, in 50 µs each instead of 2 ms",
        "              (medians of 90 and 10): 180 ms less waiting in all",
        "  batching    300 events came with 105 system calls (2.9 each), 195 fewer than",
        "              one for each; time is not measured",
    ];
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines, expected);
}

#[test]
fn what_was_not_measured_is_not_told() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let path = dir.path("stats/1.cmstats");
    let file = running.own_file().bypass(Bypass::TapBlocking, 9);
    file.times(Phase::CreateQpHit, &[50_000; 3]).write(&path);
    let report = running.end();
    for expected in [
        "  failed      nothing\n",
        "  pool        3 of 3 queue pairs came from it; what that saved is not measured,\n",
        "  batching    not used: 9 reads on blocking channels were left to the kernel\n",
    ] {
        assert!(report.contains(expected), "{report}");
    }
}

/// One that empties its environment forgets its family, and one that executes another program has a file for each.
#[test]
fn the_program_s_own_files_always_count() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let mut first = running.own_file().counter(Counter::ConnectionsMade, 10);
    first.header.family = 0;
    first.write(&dir.path("stats/9.cmstats"));
    let mut second = running.own_file().counter(Counter::ConnectionsMade, 1);
    second.header.family = 0;
    second.header.realtime_ns += 1;
    second.write(&dir.path("stats/9-1.cmstats"));
    let report = running.end();
    assert!(report.contains("connections 11 made, "), "{report}");
    let last = "  more        cmshim events ";
    let last = report.lines().find_map(|line| line.strip_prefix(last));
    assert!(
        last.is_some_and(|last| last.ends_with("/9-1.cmstats")),
        "{report}"
    );
}

#[test]
fn children_count_and_strangers_do_not() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let mut held = Vec::new();
    for pid in 1..=6 {
        let file = running.file(pid, 5, "worker");
        let path = dir.path(&format!("stats/{pid}.cmstats"));
        held.push(
            file.counter(Counter::ConnectionsMade, 10)
                .write_alive(&path),
        );
    }
    let mut stranger = running.file(7, 5, "stranger");
    stranger.header.family += 1;
    stranger
        .counter(Counter::ConnectionsMade, 1000)
        .write(&dir.path("stats/7.cmstats"));
    let mut of_another_boot = running.file(8, 5, "stranger").fresh();
    of_another_boot.header.boot_id = [3; 16];
    of_another_boot.write(&dir.path("stats/8.cmstats"));
    let report = running.end();
    assert!(report.contains("connections 60 made, "), "{report}");
    let who = "  processes   all of these together: worker 1, worker 2, worker 3, worker 4 and\n              \
               2 more; 6 of them still live, and go on counting\n";
    assert!(report.starts_with(who), "{report}");
}

/// Killed in the middle of a connect that had returned, or given up: neither made nor failed. An answer of any kind ends it.
#[test]
fn connects_without_an_answer_are_told() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let connect = What::Call(Entry::rdma_connect);
    let destroy = What::Call(Entry::rdma_destroy_id);
    let mut file = running.own_file();
    for (us, id, what, status) in [
        (1, 1, connect, 0),
        (2, 2, connect, RUNNING),
        (3, 3, connect, 0),
        (4, 3, destroy, 0),
        (5, 4, connect, 0),
        (6, 4, What::Event(9), 0),
        (7, 5, connect, 0),
        (8, 5, What::Event(8), 8),
        (9, 6, connect, 22),
        (10, 7, connect, 0),
        (11, 7, What::Event(8), 28),
        (12, 7, connect, 0),
    ] {
        file = file.record(us, id, what, status, "10.77.0.1:7");
    }
    file.write(&dir.path("stats/1.cmstats"));
    let report = running.end();
    let expected = "0 open at the end, 4 connects without an answer\n";
    assert!(report.contains(expected), "{report}");
}

#[test]
fn what_runs_on_in_the_background_is_named() {
    let dir = Scratch::new();
    let script = "sleep 600 >/dev/null 2>&1 & echo $!";
    let output = report(&dir).args(["--", "sh", "-c", script]).output();
    let (status, out, err) = told(output.unwrap());
    let pid: i32 = out.trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(status, 0);
    let words: Vec<&str> = err.split_whitespace().collect();
    let report = words.join(" ");
    let nothing = "nothing no RDMA call was seen before the program ended still run ";
    assert!(report.contains(nothing), "{err}");
    // Perhaps it is not yet what it will be.
    let told = |name| {
        format!("{name} {pid}; what they do from now on is not told here: cmshim stat --all")
    };
    assert!(
        ["sleep", "sh"]
            .into_iter()
            .any(|name| report.ends_with(&told(name))),
        "{err}"
    );
}

/// It belongs to init, is in no session of ours, holds nothing open, and stays when it is told to go.
#[test]
fn the_reporter_keeps_out_of_the_way() {
    let dir = Scratch::new();
    let marker = dir.file("marker", "");
    let script = format!("exec 7<{}; exec \"$@\"", marker.display());
    let mut outer = clean("sh");
    outer
        .env("CMSHIM_STATS_DIR", dir.path("stats"))
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_cmshim")])
        .args(["run", "--report", "--library"])
        .arg(dir.library("libx.so", 1))
        .args(["--", "sh", "-c", "read end"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = Running {
        child: outer.spawn().unwrap(),
        family: 0,
    };
    let program = running.child.id().to_string();
    let end = Instant::now() + Duration::from_secs(120);
    while fs::read_to_string(format!("/proc/{program}/comm")).unwrap() != "sh\n"
        || stat_field(&program, 3) != "S"
        || fs::read_to_string(format!("/proc/{program}/cmdline")).unwrap() != "sh\0-c\0read end\0"
    {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    let reporter = running.reporter();
    let [parent, session] = [4, 6].map(|field| stat_field(&reporter, field));
    assert_ne!(parent, program);
    assert_ne!(session, stat_field(&program, 6));
    let descriptors = fs::read_dir(format!("/proc/{reporter}/fd")).unwrap();
    for descriptor in descriptors.flatten() {
        let target = fs::read_link(descriptor.path()).unwrap();
        assert_ne!(target, marker);
    }
    kill_process(
        Pid::from_raw(reporter.parse().unwrap()).unwrap(),
        Signal::TERM,
    )
    .unwrap();
    running
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    running.child.wait().unwrap();
    let mut report = String::new();
    running
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut report)
        .unwrap();
    assert!(report.ends_with(NOTHING), "{report}");
}

#[test]
fn the_program_has_no_child_and_its_status_is_its_own() {
    let dir = Scratch::new();
    let script = "import os, sys\n\
        try: print(os.wait())\n\
        except ChildProcessError: sys.exit(42)\n";
    let output = report(&dir).args(["--", "python3", "-c", script]).output();
    let (status, out, err) = told(output.unwrap());
    assert_eq!((status, out.as_str()), (42, ""));
    assert!(err.starts_with("cmshim report: python3, process "), "{err}");
    assert!(err.ends_with(NOTHING), "{err}");
}

/// The reporter may come late; the time does not depend on that. Neither is a terminal fooled by a name.
#[test]
fn the_time_is_the_programs() {
    let dir = Scratch::new();
    let sleep = dir.path("sl\x1b[31mp");
    std::os::unix::fs::symlink("/bin/sleep", &sleep).unwrap();
    let output = report(&dir).arg("--").arg(sleep).arg("0.2").output();
    let (status, out, err) = told(output.unwrap());
    assert_eq!((status, out.as_str()), (0, ""));
    assert!(
        err.starts_with("cmshim report: sl\\u{1b}[31mp, process "),
        "{err}"
    );
    let (_, took) = err.lines().next().unwrap().rsplit_once(", ran ").unwrap();
    let (number, unit) = took.split_once(' ').unwrap();
    let at_least = if unit == "ms" { 200.0 } else { 0.2 };
    assert!(number.parse::<f64>().unwrap() >= at_least, "{err}");
}

#[test]
fn it_comes_after_kill_9_too() {
    let dir = Scratch::new();
    let output = report(&dir)
        .args(["--", "sh", "-c", "kill -KILL $$"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.signal(), Some(9));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.ends_with(NOTHING), "{err}");
}

/// As in a container that was entered from outside: the first process of its session has no number there.
#[test]
fn a_session_that_began_outside_is_nothing_special() {
    let dir = Scratch::new();
    let told_it = dir.path("report");
    let script = "\"$@\" 2>$told_it; status=$?; i=0\n\
        until grep -q ^cmshim $told_it || [ $((i += 1)) -gt 100 ]; do sleep 0.1; done; exit $status";
    let program = report(&dir);
    let mut inside = Command::new("unshare");
    inside.args([
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ]);
    inside
        .args(["sh", "-c", script, "sh"])
        .arg(program.get_program());
    inside
        .args(program.get_args())
        .args(["--", "sh", "-c", "exit 5"]);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    let (status, ..) = told(inside.env("told_it", &told_it).output().unwrap());
    let err = fs::read_to_string(&told_it).unwrap();
    assert_eq!(status, 5, "{err}");
    assert!(err.starts_with("cmshim report: sh, process "), "{err}");
}

#[test]
fn a_program_that_does_not_start_has_none() {
    let dir = Scratch::new();
    let output = report(&dir).args(["--", "/no/such"]).output().unwrap();
    let expected = "cmshim: /no/such: no such program\n";
    assert_eq!(told(output), (127, String::new(), expected.into()));
}

#[test]
fn it_goes_into_a_file() {
    let dir = Scratch::new();
    let path = dir.file(
        "report",
        "what was there before, and is longer than the report\n",
    );
    let mut command = report(&dir);
    command
        .arg("--report-file")
        .arg(&path)
        .args(["--", "sh", "-c", "exit 3"]);
    assert_eq!(
        told(command.output().unwrap()),
        (3, String::new(), String::new())
    );
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let text = fs::read_to_string(&path).unwrap();
        if text.ends_with(NOTHING) && text.starts_with("cmshim report: sh, ") {
            break;
        }
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_file_that_cannot_be_is_told_before_the_start() {
    let dir = Scratch::new();
    fs::create_dir(dir.path("d")).unwrap();
    File::create(dir.path("f")).unwrap();
    let fifo = clean("mkfifo").arg(dir.path("fifo")).status();
    assert!(fifo.unwrap().success());
    for (name, why) in [
        ("d", "is a directory"),
        ("fifo", "is a FIFO"),
        ("f/x", "Not a directory"),
        ("no/x", "No such file or directory"),
    ] {
        let mut command = report(&dir);
        command.arg("--report-file").arg(dir.path(name));
        let (status, out, err) = told(command.args(["--", "echo", "ran"]).output().unwrap());
        let path = dir.path(name);
        let expected = format!("cmshim: --report-file {}: {why}\n", path.display());
        assert_eq!((status, out, err), (2, String::new(), expected));
    }
}

/// Everybody can see the program's process id and when it began.
#[test]
fn a_file_of_somebody_else_is_not_reported() {
    let dir = Scratch::new();
    let running = Running::start(&dir);
    let path = dir.path("stats/1.cmstats");
    let mut file = running.own_file().counter(Counter::ConnectionsMade, 10);
    file.header.uid = 64001;
    file.header.family = file.header.start_time << 22 | u64::from(file.header.pid);
    assert_ne!(file.header.family, running.family, "it can be foreseen");
    file.write(&path);
    let given = std::os::unix::fs::chown(&path, Some(64001), None);
    let report = running.end();
    match given {
        Ok(()) => assert!(report.contains(NOTHING), "{report}"),
        Err(_) => eprintln!("not looked at: only root can give a file away"),
    }
}
