//! `cmshim run --report` on a terminal.

mod common;

use common::{clean, told, Scratch};

/// ^C goes to the program and not to the reporter, which writes to the same terminal. One that ends with the program
/// is told.
#[test]
fn a_terminal_shows_it() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let script = dir.file("drive.py", DRIVE);
    let mut drive = clean("python3");
    drive
        .env("CMSHIM_STATS_DIR", dir.path("stats"))
        .arg(script)
        .args([env!("CARGO_BIN_EXE_cmshim"), "run", "--report", "--library"])
        .arg(library)
        .args(["--", "cat"]);
    let (status, out, err) = told(drive.output().unwrap());
    assert_eq!((status, out.as_str()), (0, "reported\nwarned\n"), "{err}");
}

const DRIVE: &str = r#"
import os, pty, select, signal, subprocess, sys, time
def until(fd, *texts):
    seen, end = b"", time.time() + 30
    while not all(text in seen for text in texts):
        if time.time() > end:
            sys.exit(f"never came: {texts}, but {seen!r}")
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = subprocess.run(sys.argv[1:], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    print("ended by", done.returncode, flush=True)
    time.sleep(60)
os.write(fd, b"hello\n")
until(fd, b"hello\r\nhello\r\n")
os.write(fd, b"\x03")
until(fd, b"cmshim report: cat, process ", b"ended by -2")
print("reported")
os.kill(pid, signal.SIGKILL)
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
until(fd, b"cmshim: --report: this terminal is closed when the program ends")
print("warned")
os.kill(pid, signal.SIGKILL)
"#;
