//! `cmshim top` on made-up files: without a terminal, and on one that python makes.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use cmshim_core::stats::{Counter, Phase};
use common::stats_file::StatsFile;
use common::{clean, cmshim, told, Scratch};

/// Two live processes and a dead one; the values are the locks.
fn host(dir: &Scratch) -> Vec<std::fs::File> {
    let path = |pid: u32| dir.path(&format!("{pid}.cmstats"));
    StatsFile::new(9, "dead").fresh().write(&path(9));
    let busy = StatsFile::new(4711, "busy-server-with-a-long-name")
        .counter(Counter::ConnectionsMade, 123_456)
        .counter(Counter::ConnectionsOpen, 12)
        .counter(Counter::RequestsRefused, 2)
        .counter(Counter::TenantsRefused, 1)
        .counter(Counter::PoolHits, 3)
        .counter(Counter::PoolMisses, 1)
        .counter(Counter::Batches, 2)
        .counter(Counter::EventsBatched, 5)
        .times(Phase::Connect, &[1_000_000; 50])
        .times(Phase::AcceptToEstablished, &[40_000_000; 50]);
    let idle = StatsFile::new(12, "idle").counter(Counter::ConnectionsFailed, 7);
    vec![busy.write_alive(&path(4711)), idle.write_alive(&path(12))]
}

fn top(dir: &Scratch, args: &[&str]) -> (i32, String, String) {
    let mut command = cmshim();
    command.env("CMSHIM_STATS_DIR", dir.path(""));
    told(command.arg("top").args(args).output().unwrap())
}

#[test]
fn once_prints_one_table_of_the_live_processes() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let (status, out, err) = top(&dir, &["--once"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0].ends_with(": 2 live processes"), "{out}");
    assert_eq!(
        lines[1],
        "    PID PROGRAM       OPEN   RATE   MADE FAILED REFUSED POOL BATCH    P50    P99"
    );
    // Made long ago, so the rate of its life is nearly nothing.
    assert_eq!(
        lines[2],
        "   4711 busy-server-    12    0.0   123k      0       3  75%   2.5   1 ms  40 ms"
    );
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(
        words,
        ["12", "idle", "0", "0.0", "0", "7", "0", "-", "-", "-", "-"]
    );
}

#[test]
fn a_column_sorts() {
    let dir = Scratch::new();
    let _held = host(&dir);
    for (column, first) in [
        ("failed", "idle"),
        ("made", "busy"),
        ("pid", "idle"),
        ("program", "busy"),
        ("p99", "busy"),
    ] {
        let (status, out, _) = top(&dir, &["--once", "--sort", column]);
        assert_eq!(status, 0);
        let line = out.lines().nth(2).unwrap();
        assert!(line.contains(first), "{column}: {out}");
    }
    for wrong in [
        "--sort=lunch",
        "--interval=0",
        "--interval=x",
        "--interval=1e9",
    ] {
        assert_eq!(top(&dir, &["--once", wrong]).0, 2, "{wrong}");
    }
}

#[test]
fn nothing_there_is_told_by_the_status() {
    let dir = Scratch::new();
    let (status, out, err) = top(&dir, &["--once"]);
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(
        out.lines().next().unwrap().ends_with(": 0 live processes"),
        "{out}"
    );
}

/// A rate is what came since the table before; a reader that has gone ends it.
#[test]
fn tables_follow_one_another_with_rates() {
    let dir = Scratch::new();
    let path = dir.path("5.cmstats");
    let file = StatsFile::new(5, "grows").counter(Counter::ConnectionsMade, 1000);
    let _held = file.write_alive(&path);
    let mut child = cmshim()
        .env("CMSHIM_STATS_DIR", dir.path(""))
        .args(["top", "--interval", "0.5"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut rate = || -> f64 {
        let line = lines.find(|line| line.as_ref().unwrap().contains("grows"));
        let line = line.unwrap().unwrap();
        line.split_whitespace().nth(3).unwrap().parse().unwrap()
    };
    assert!(rate() < 1.0);
    // The same file, so the lock stays; a look may fall before or after the change.
    std::fs::write(&path, file.counter(Counter::ConnectionsMade, 1100).bytes()).unwrap();
    let rates = [rate(), rate()];
    let most = rates[0].max(rates[1]);
    assert!(most > 1.0 && most <= 200.0, "{rates:?}");
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// On a terminal: sorted by another column, one process shown, back, stopped, ended; and the terminal is as before.
#[test]
fn keys_work_on_a_terminal() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let script = dir.file("drive.py", DRIVE);
    let drive: &mut Command = &mut clean("python3");
    drive
        .env("CMSHIM_STATS_DIR", dir.path(""))
        .env("TERM", "xterm");
    let (status, out, err) = told(
        drive
            .arg(script)
            .arg(env!("CARGO_BIN_EXE_cmshim"))
            .output()
            .unwrap(),
    );
    assert_eq!(
        (status, out.as_str()),
        (0, "ended 0, as before True\n"),
        "{err}"
    );
}

/// SIGTERM puts the terminal back; a terminal that goes away ends it, also where nothing sends SIGHUP.
#[test]
fn it_ends_cleanly_by_signals_and_without_a_terminal() {
    let dir = Scratch::new();
    let script = dir.file("end.py", END);
    let python: &mut Command = &mut clean("python3");
    let output = python
        .env("CMSHIM_STATS_DIR", dir.path(""))
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_cmshim"))
        .output();
    let told = told(output.unwrap());
    let expected =
        "terminated -15, as before True\nhung up 1\ndumb: escapes False, as before True\n";
    assert_eq!((told.0, told.1.as_str()), (0, expected), "{}", told.2);
}

const END: &str = r#"
import fcntl, os, struct, subprocess, sys, termios
def top(term="xterm"):
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(its)
    top = subprocess.Popen([sys.argv[1], "top", "--interval", "60"], stdin=its, stdout=its, start_new_session=True,
        env={**os.environ, "TERM": term})
    seen = b""
    while b"live" not in seen:
        seen += os.read(ours, 4096)
    return top, ours, its, before, seen
top_, ours, its, before, seen = top()
top_.terminate()
print(f"terminated {top_.wait(30)}, as before {termios.tcgetattr(its) == before}")
top_, ours, its, before, seen = top()
os.close(its)
os.close(ours)
print(f"hung up {top_.wait(30)}")
top_, ours, its, before, seen = top("dumb")
top_.kill()
print(f"dumb: escapes {27 in seen}, as before {termios.tcgetattr(its) == before}")
"#;

/// Types each key only when the text before it was drawn.
const DRIVE: &str = r#"
import os, pty, select, struct, fcntl, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.2)
    os.execv(sys.argv[1], [sys.argv[1], "top", "--interval", "0.2", "--sort", "made"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
before = termios.tcgetattr(fd)[:4]
seen = b""
def until(text):
    global seen
    end = time.time() + 30
    while text not in seen:
        if time.time() > end:
            sys.exit(f"never drawn: {text}, but {seen!r}")
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
    seen = b""
for text, key in [
    (b"busy-server-", b"\r"),
    (b"connections_made", b"\x1b"),
    (b"busy-server-", b" "),
    (b"stopped", b"q"),
]:
    until(text)
    os.write(fd, key)
end = time.time() + 30
while True:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done or time.time() > end:
        break
    try:
        if select.select([fd], [], [], 0.1)[0]:
            os.read(fd, 65536)
    except OSError:
        time.sleep(0.05)
try:
    after = termios.tcgetattr(fd)[:4]
except termios.error:
    after = before
print(f"ended {os.waitstatus_to_exitcode(status) if done else 'never'}, as before {before == after}")
"#;
