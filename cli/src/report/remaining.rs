//! Processes of the program's family that still run when it has ended: they went into the background.

use std::fs;
use std::path::Path;

use cmshim_core::config::FAMILY_VARIABLE;

use super::REPORTER;

/// "NAME PID" of each, by process id, as far as this user may look. One that dropped the variable is not known.
pub fn remaining(family: u64) -> Vec<String> {
    let variable = format!("{FAMILY_VARIABLE}={family}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut all: Vec<u32> = pids
        .filter(|pid| is_of(Path::new(&format!("/proc/{pid}")), variable.as_bytes()))
        .collect();
    all.sort_unstable();
    all.iter().filter_map(|pid| named(*pid)).collect()
}

/// Reporters of programs within the program end by themselves.
fn is_of(process: &Path, variable: &[u8]) -> bool {
    let has = |file: &str, wanted: &[u8]| {
        let bytes = fs::read(process.join(file)).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|part| part == wanted)
    };
    has("environ", variable) && !has("cmdline", REPORTER.as_bytes())
}

fn named(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(format!(
        "{} {pid}",
        String::from_utf8_lossy(&name).trim_end()
    ))
}
