//! A running `cmshim export`, and a host for it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use cmshim_core::stats::{Bypass, Counter, Entry, Phase};
use rustix::process::{kill_process, Pid, Signal};

use super::stats_file::StatsFile;
use super::{cmshim, Scratch};

/// The server, on a port that the kernel chose.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    pub fn of(dir: &Scratch, args: &[&str]) -> Server {
        let mut child = cmshim()
            .env("CMSHIM_STATS_DIR", dir.path(""))
            .args(["export", "--listen", "127.0.0.1:0"])
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("cmshim: serving http://");
        let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
        let address = address
            .unwrap_or_else(|| panic!("it says {line:?}"))
            .to_owned();
        Server { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Head and body of the answer.
    pub fn ask(&self, head: &str) -> (String, String) {
        let mut stream = self.connect();
        stream
            .write_all(format!("{head}\r\nHost: x\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    /// Resident memory in KiB.
    pub fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file in which nothing is zero.
pub fn full(pid: u32) -> StatsFile {
    let mut file = StatsFile::new(pid, "ser\"v\\er").fresh();
    for (n, counter) in Counter::ALL.iter().enumerate() {
        file = file.counter(*counter, n as u64 + 1);
    }
    for entry in Entry::ALL {
        file = file.entry(*entry, [3, 2, 1]);
    }
    for bypass in Bypass::ALL {
        file = file.bypass(*bypass, 4);
    }
    for phase in Phase::ALL {
        file = file.times(*phase, &[900, 1_000_000, 80_000_000]);
    }
    for number in 0..=20 {
        file = file.event(number, 2);
    }
    for size in 0..18 {
        file = file.batch(size, 1);
    }
    file.reason(2, 1, "REJECTED 8", "10.77.0.1")
}

/// One that lives and one that is dead; the value is the lock.
pub fn host(dir: &Scratch) -> File {
    let path = |pid: u32| dir.path(&format!("{pid}.cmstats"));
    full(9).write(&path(9));
    full(4711).write_alive(&path(4711))
}

/// Prometheus's own tool, which `tools/setup` brings.
pub fn promtool() -> Option<&'static str> {
    let promtool = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../.lab/prometheus/usr/bin/promtool"
    );
    let there = std::path::Path::new(promtool).exists();
    if !there {
        println!("not checked: no promtool (tools/setup brings it)");
    }
    there.then_some(promtool)
}
