//! What sysfs says of a device, asked only when a line is written.

use super::list::names;
use cmshim_core::explain::Port;
use cmshim_core::model::Transport;
use std::fs;
use std::path::Path;

const DEVICES: &str = "/sys/class/infiniband";

fn port_file(device: &str, port: u8, file: &str) -> Option<String> {
    let path = format!("/sys/class/infiniband/{device}/ports/{port}/{file}");
    fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}

/// How the device's transport carries a connection on this port. `iwarp` comes from the verbs
/// structure (`ibv_device.transport_type`).
pub fn transport(device: &str, port: u8, iwarp: bool) -> Transport {
    if iwarp {
        return Transport::Iwarp;
    }
    match port_file(device, port.max(1), "link_layer").as_deref() {
        Some("Ethernet") => Transport::Roce,
        Some("InfiniBand") => Transport::Ib,
        _ => Transport::Unknown,
    }
}

/// State of a port in words: "ACTIVE", "DOWN".
fn port_state(device: &str, port: u8) -> Option<String> {
    // "4: ACTIVE"
    port_file(device, port, "state").map(|s| s.rsplit(' ').next().unwrap_or("?").to_owned())
}

/// Name of the network device below a port: that of its first GID. InfiniBand has none there.
pub fn netdev(device: &str, port: u8) -> Option<String> {
    port_file(device, port, "gid_attrs/ndevs/0").filter(|name| !name.is_empty())
}

/// A port with its state and network device, as they are now; none where sysfs is not there.
pub fn port(device: &str, port: u8) -> Option<Port> {
    let state = port_state(device, port);
    if state.is_none() && fs::metadata(DEVICES).is_err() {
        return None;
    }
    Some(Port {
        name: format!("{device}/{port}"),
        state,
        netdev: netdev(device, port),
    })
}

/// All ports of this host, where it has only a few: before a device is chosen, each may be meant.
pub fn few_ports() -> Vec<Port> {
    const FEW: usize = 4;
    let list = |dir: String| -> Vec<String> {
        let names = names(dir).unwrap_or_default();
        let mut names: Vec<String> = names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let mut found = Vec::new();
    for device in list(DEVICES.to_owned()) {
        for number in list(format!("/sys/class/infiniband/{device}/ports")) {
            if found.len() == FEW {
                return Vec::new();
            }
            found.extend(number.parse().ok().and_then(|n| port(&device, n)));
        }
    }
    found
}

/// Does the host have an iWARP device? On those a listen backlog means something else.
pub fn any_iwarp() -> bool {
    names(DEVICES).is_ok_and(|devices| {
        devices.iter().any(|device| {
            // "4: RNIC"
            let node_type = Path::new(DEVICES).join(device).join("node_type");
            fs::read_to_string(node_type).is_ok_and(|t| t.starts_with("4"))
        })
    })
}

/// Most connect requests that a listener may hold back, in requests (`ucma_listen`,
/// drivers/infiniband/core/ucma.c).
pub fn max_backlog() -> u32 {
    fs::read_to_string("/proc/sys/net/rdma_ucm/max_backlog")
        .ok()
        .and_then(|s| s.trim().parse().ok())
        .unwrap_or(1024)
}

/// Is there a complete neighbour entry for this IPv4 address? `None` where the kernel does not say.
pub fn neighbour_known(address: std::net::IpAddr) -> Option<bool> {
    let std::net::IpAddr::V4(v4) = address else {
        return None;
    };
    let table = fs::read_to_string("/proc/net/arp").ok()?;
    let wanted = v4.to_string();
    // IP address, HW type, flags (0x2: complete), HW address, mask, device
    let line = table
        .lines()
        .skip(1)
        .find(|l| l.split_whitespace().next() == Some(&wanted))?;
    Some(line.split_whitespace().nth(2) == Some("0x2"))
}

/// CPUs of the NUMA node of the first device that tells one.
pub fn numa_cpus() -> Result<Vec<usize>, String> {
    let mut devices = names(DEVICES).map_err(|e| format!("{DEVICES}: {e}"))?;
    devices.sort();
    let node = devices.iter().find_map(|device| {
        let file = Path::new(DEVICES).join(device).join("device/numa_node");
        let text = fs::read_to_string(file).ok()?;
        // -1 where there is none.
        text.trim().parse::<u32>().ok()
    });
    let node = node.ok_or("no RDMA device tells its NUMA node")?;
    let file = format!("/sys/devices/system/node/node{node}/cpulist");
    let list = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    cmshim_core::config::cpus::list_of(&list).map_err(|e| format!("{file}: {e}"))
}
