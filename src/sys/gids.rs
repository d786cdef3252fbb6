//! Which RoCE a GID stands for. A port has up to 1024 GIDs, each in a file of its own: they are read once for many lines.

use super::list::names;
use crate::lock::lock;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
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
            None => self.learn(device, port, now, read(device, port), wanted),
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
fn text(path: &str) -> Option<String> {
    let mut buffer = [0; 64];
    let length = File::open(path).ok()?.read(&mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..length]).ok()?;
    Some(text.trim().to_owned())
}

fn read(device: &str, port: u8) -> HashMap<Ipv6Addr, Versions> {
    let dir = format!("/sys/class/infiniband/{device}/ports/{port}");
    let mut gids: HashMap<Ipv6Addr, Versions> = HashMap::new();
    for name in names(format!("{dir}/gids")).unwrap_or_default() {
        let index = name.to_string_lossy();
        let gid = text(&format!("{dir}/gids/{index}")).and_then(|t| t.parse::<Ipv6Addr>().ok());
        let Some(gid) = gid.filter(|gid| !gid.is_unspecified()) else {
            continue;
        };
        // Reading the type of an empty slot fails with EINVAL.
        let Some(kind) = text(&format!("{dir}/gid_attrs/types/{index}")) else {
            continue;
        };
        let versions = gids.entry(gid).or_default();
        match kind.contains("v2") {
            true => versions.v2 = true,
            false => versions.v1 = true,
        }
    }
    gids
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
}
