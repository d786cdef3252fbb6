//! Limits and mappings of this process that decide about ibv_reg_mr.

use cmshim_core::explain::Descriptors;
use std::fs;
use std::io::{BufRead, BufReader};

/// Soft limit of locked memory in bytes; `u64::MAX` is unlimited.
pub fn memlock() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    let rc = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (rc == 0).then_some(limit.rlim_cur)
}

/// Open descriptors and their soft limit.
pub fn descriptors() -> Option<Descriptors> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return None;
    }
    let open = match super::list::names("/proc/thread-self/fd") {
        // One of them is that of the directory.
        Ok(all) => (all.len() as u64).saturating_sub(1),
        Err(e) if e.raw_os_error() == Some(libc::EMFILE) => limit.rlim_cur,
        Err(_) => return None,
    };
    Some(Descriptors {
        open,
        limit: limit.rlim_cur,
    })
}

/// The name of the program, in it, may end with half a character.
fn status() -> Option<String> {
    let status = fs::read("/proc/self/status").ok()?;
    Some(String::from_utf8_lossy(&status).into_owned())
}

/// Bytes that count against the limit already: VmPin, what verbs have pinned (proc_pid_status(5)).
pub fn pinned() -> Option<u64> {
    let status = status()?;
    let line = status.lines().find(|l| l.starts_with("VmPin:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// May this process lock more than the limit (CAP_IPC_LOCK, bit 14)?
pub fn may_exceed_memlock() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    capability(CAP_IPC_LOCK).unwrap_or(false)
}

/// Is the capability of this number in effect (capabilities(7))?
pub fn capability(number: u32) -> Option<bool> {
    let status = status()?;
    let hex = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    let caps = u64::from_str_radix(hex.trim(), 16).ok()?;
    Some(caps >> number & 1 == 1)
}

/// Page size in bytes of the mapping at `address`, if it is of huge pages. Read line by line from
/// maps, up to the mapping, and not from smaps, which walks the page tables of a whole database.
pub fn huge_page(address: u64) -> Option<u64> {
    let maps = BufReader::new(fs::File::open("/proc/self/maps").ok()?);
    let line = maps.lines().map_while(Result::ok).find(|line| {
        let range = line.split_whitespace().next().and_then(parse_range);
        range.is_some_and(|(from, to)| from <= address && address < to)
    })?;
    // Anonymous ones are called /anon_hugepage, files lie on a hugetlbfs mount (/dev/hugepages).
    line.contains("huge").then(default_huge_page).flatten()
}

/// "Hugepagesize: 2048 kB" of /proc/meminfo, in bytes.
fn default_huge_page() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|l| l.strip_prefix("Hugepagesize:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn parse_range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once('-')?;
    Some((
        u64::from_str_radix(from, 16).ok()?,
        u64::from_str_radix(to, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_mapping_has_no_huge_pages() {
        let data = [0u8; 16];
        assert_eq!(huge_page(data.as_ptr() as u64), None);
        assert!(memlock().is_some());
    }

    #[test]
    fn ranges_of_smaps_are_read() {
        assert_eq!(parse_range("7f00-7f10"), Some((0x7f00, 0x7f10)));
        assert_eq!(parse_range("Rss:"), None);
    }
}
