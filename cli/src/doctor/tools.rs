//! Other programs that know what no file shows. Each is optional, and is given a few seconds.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::host::Host;

/// A device that hangs must not hang its doctor.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than any of them prints.
const MAX_BYTES: u64 = 1 << 20;

/// What the program prints; `None` when it is not there, fails, or takes too long.
pub fn ask(host: &Host, program: &str, arguments: &[&str]) -> Option<String> {
    if !host.real {
        return None;
    }
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map(|_| bytes)
    });
    if !ended_well(&mut child) {
        return None;
    }
    let bytes = reader.join().ok()?.ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for it, and ends it when it takes too long. One that cannot be ended is left behind.
fn ended_well(child: &mut Child) -> bool {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(pause),
            Err(_) => return false,
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.try_wait();
    false
}
