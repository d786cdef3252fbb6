//! Which RoCE a GID stands for. A port has up to 1024 GIDs, each in a file of its own: they are read once for many lines.

use super::list::names;
use crate::sys::lock::lock;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Result};
use std::net::Ipv6Addr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// So long a table is believed: addresses seldom come and go.
const FRESH: Duration = Duration::from_secs(60);
/// So often one is read again for a GID that it does not have.
const AGAIN: Duration = Duration::from_secs(1);
/// Tables that are kept.
const PORTS: usize = 16;

/// The kernel lists a GID once for each version that the device can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Versions {
    v1: bool,
    v2: bool,
}

struct Table {
    device: String,
    port: u8,
    read_at: Instant,
    gids: HashMap<Ipv6Addr, Versions>,
}

/// What is known of the GIDs of this host's ports.
#[derive(Default)]
pub struct Gids(Mutex<Vec<Table>>);

impl Gids {
    /// "RoCE v2" or "RoCE v1" of the GID in use.
    pub fn roce(&self, device: &str, port: u8, wanted: Ipv6Addr) -> Option<&'static str> {
        let now = Instant::now();
        let versions = match self.known(device, port, wanted, now) {
            Some(known) => known,
            // Not under the lock: reading takes a while.
            None => {
                let (gids, whole) = read(&format!("/sys/class/infiniband/{device}/ports/{port}"));
                match whole {
                    true => self.learn(device, port, now, gids, wanted),
                    // For this line, and not for a minute.
                    false => gids.get(&wanted).copied(),
                }
            }
        }?;
        match versions {
            Versions { v1: true, v2: true } => Some(configured(device, port)),
            Versions { v1: true, .. } => Some("RoCE v1"),
            _ => Some("RoCE v2"),
        }
    }

    /// `None`: the table has to be read for it.
    fn known(
        &self,
        device: &str,
        port: u8,
        wanted: Ipv6Addr,
        now: Instant,
    ) -> Option<Option<Versions>> {
        let tables = lock(&self.0);
        let table = tables
            .iter()
            .find(|t| t.port == port && t.device == device)?;
        let found = table.gids.get(&wanted).copied();
        let believed = if found.is_some() { FRESH } else { AGAIN };
        (now.saturating_duration_since(table.read_at) < believed).then_some(found)
    }

    fn learn(
        &self,
        device: &str,
        port: u8,
        now: Instant,
        gids: HashMap<Ipv6Addr, Versions>,
        wanted: Ipv6Addr,
    ) -> Option<Versions> {
        let found = gids.get(&wanted).copied();
        let mut tables = lock(&self.0);
        tables.retain(|t| t.port != port || t.device != device);
        tables.truncate(PORTS - 1);
        let table = Table {
            device: device.to_owned(),
            port,
            read_at: now,
            gids,
        };
        tables.insert(0, table);
        found
    }
}

/// A small file's text, in as few system calls as can be.
fn text(path: &str) -> Result<String> {
    let mut buffer = [0; 64];
    let length = File::open(path)?.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).trim().to_owned())
}

/// The GIDs of a port's directory; false if not all could be read, perhaps because the program has no descriptor left.
fn read(dir: &str) -> (HashMap<Ipv6Addr, Versions>, bool) {
    let mut gids: HashMap<Ipv6Addr, Versions> = HashMap::new();
    let Ok(names) = names(format!("{dir}/gids")) else {
        return (gids, false);
    };
    let mut whole = true;
    for name in names {
        let index = name.to_string_lossy();
        let gid = text(&format!("{dir}/gids/{index}"));
        whole &= gid.is_ok();
        let gid = gid.ok().and_then(|t| t.parse::<Ipv6Addr>().ok());
        let Some(gid) = gid.filter(|gid| !gid.is_unspecified()) else {
            continue;
        };
        match text(&format!("{dir}/gid_attrs/types/{index}")) {
            Ok(kind) => {
                let versions = gids.entry(gid).or_default();
                match kind.contains("v2") {
                    true => versions.v2 = true,
                    false => versions.v1 = true,
                }
            }
            // So an empty slot answers.
            Err(e) => whole &= e.raw_os_error() == Some(libc::EINVAL),
        }
    }
    (gids, whole)
}

/// Where a GID has both, rdma_cm takes its default (configfs), which is v2 where the device can
/// (`CMA_PREFERRED_ROCE_GID_TYPE`, drivers/infiniband/core/cma.c).
fn configured(device: &str, port: u8) -> &'static str {
    let file = format!("/sys/kernel/config/rdma_cm/{device}/ports/{port}/default_roce_mode");
    match fs::read_to_string(file) {
        Ok(mode) if mode.contains("v1") => "RoCE v1",
        _ => "RoCE v2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GID: Ipv6Addr = Ipv6Addr::LOCALHOST;
    const V2: Versions = Versions {
        v1: false,
        v2: true,
    };

    #[test]
    fn a_table_is_believed_for_a_minute_and_an_unknown_gid_makes_it_read_again() {
        let (gids, start) = (Gids::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(gids.known("rxe0", 1, GID, at(0)), None, "never read");
        let found = gids.learn("rxe0", 1, at(0), HashMap::from([(GID, V2)]), GID);
        assert_eq!(found, Some(V2));
        assert_eq!(gids.known("rxe0", 1, GID, at(59_999)), Some(Some(V2)));
        assert_eq!(gids.known("rxe0", 1, GID, at(60_000)), None);
        assert_eq!(gids.known("rxe0", 2, GID, at(0)), None, "another port");
        let other = Ipv6Addr::UNSPECIFIED;
        assert_eq!(gids.known("rxe0", 1, other, at(999)), Some(None));
        assert_eq!(gids.known("rxe0", 1, other, at(1_000)), None);
    }

    #[test]
    fn only_so_many_tables_are_kept() {
        let (gids, now) = (Gids::default(), Instant::now());
        for port in 0..100 {
            gids.learn("rxe0", port, now, HashMap::new(), GID);
        }
        assert_eq!(lock(&gids.0).len(), PORTS);
        assert_eq!(gids.known("rxe0", 99, GID, now), Some(None));
        assert_eq!(gids.roce("no-such-device", 1, GID), None);
    }

    #[test]
    fn what_could_not_be_read_makes_a_table_that_is_not_kept() {
        let dir = std::env::temp_dir().join(format!("cmshim-test-{}-gids", std::process::id()));
        let (gids, types) = (dir.join("gids"), dir.join("gid_attrs/types"));
        for dir in [&gids, &types] {
            fs::create_dir_all(dir).expect("made");
        }
        for (index, kind) in [("0", "IB/RoCE v1\n"), ("1", "RoCE v2\n")] {
            fs::write(gids.join(index), "::1\n").expect("written");
            fs::write(types.join(index), kind).expect("written");
        }
        let path = dir.to_string_lossy().into_owned();
        let all = read(&path);
        fs::remove_file(types.join("1")).expect("removed");
        let part = read(&path);
        fs::remove_dir_all(&dir).expect("removed");
        let none = read(&path);
        let both = Versions { v1: true, v2: true };
        assert_eq!(all, (HashMap::from([(GID, both)]), true));
        assert!(!part.1, "{part:?}");
        assert!(!none.1, "{none:?}");
    }
}
