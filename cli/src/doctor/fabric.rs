//! RDMA devices, their ports and GIDs, as /sys/class/infiniband shows them
//! (Documentation/ABI/stable/sysfs-class-infiniband of the kernel).

use std::net::Ipv6Addr;

use super::host::Host;

const CLASS: &str = "/sys/class/infiniband";

#[derive(Debug)]
pub struct Device {
    pub name: String,
    /// "mlx5_core"; Soft-RoCE and siw stand on no bus device, and have none.
    pub driver: Option<String>,
    /// The name on its bus, for PCI "0000:03:00.0".
    pub bus: Option<String>,
    pub ports: Vec<Port>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fabric {
    InfiniBand,
    Roce,
    Iwarp,
}

#[derive(Debug)]
pub struct Port {
    pub device: String,
    pub number: String,
    pub fabric: Fabric,
    /// "ACTIVE", "DOWN", ...
    pub state: String,
    pub gids: Vec<Gid>,
    pub netdevs: Vec<String>,
}

#[derive(Debug)]
pub struct Gid {
    pub index: String,
    pub address: Ipv6Addr,
    /// "RoCE v2", or "IB/RoCE v1".
    pub kind: String,
    pub netdev: Option<String>,
}

impl Port {
    pub fn name(&self) -> String {
        format!("{} port {}", self.device, self.number)
    }

    pub fn active(&self) -> bool {
        self.state == "ACTIVE"
    }
}

impl Gid {
    pub fn is_v2(&self) -> bool {
        self.kind == "RoCE v2"
    }

    /// An address that the user gave the interface, not the kernel's own fe80::...
    pub fn is_routable(&self) -> bool {
        self.address.segments()[0] & 0xffc0 != 0xfe80
    }
}

pub fn devices(host: &Host) -> Vec<Device> {
    let names = host.names(CLASS);
    names.into_iter().map(|name| device(host, name)).collect()
}

/// All ports of all devices.
pub fn ports(devices: &[Device]) -> impl Iterator<Item = &Port> {
    devices.iter().flat_map(|device| &device.ports)
}

/// The network interfaces under RDMA devices, each once.
pub fn netdevs(devices: &[Device]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for netdev in ports(devices).flat_map(|port| &port.netdevs) {
        if !all.contains(&netdev.as_str()) {
            all.push(netdev);
        }
    }
    all
}

fn device(host: &Host, name: String) -> Device {
    let dir = format!("{CLASS}/{name}");
    let rnic = host
        .text(&format!("{dir}/node_type"))
        .is_some_and(|kind| kind.contains("RNIC"));
    let numbers = host.names(&format!("{dir}/ports"));
    let mut ports: Vec<Port> = numbers
        .into_iter()
        .map(|number| port(host, &name, number, rnic))
        .collect();
    let beneath = beneath(host, &dir);
    if let [only] = &mut ports[..] {
        if only.netdevs.is_empty() {
            only.netdevs = beneath;
        }
    }
    Device {
        driver: host.link(&format!("{dir}/device/driver")),
        bus: host.link(&format!("{dir}/device")),
        name,
        ports,
    }
}

/// The interfaces of the same bus device, or the one that Soft-RoCE was put on.
fn beneath(host: &Host, dir: &str) -> Vec<String> {
    match host.text(&format!("{dir}/parent")) {
        Some(parent) => vec![parent],
        None => host.names(&format!("{dir}/device/net")),
    }
}

fn port(host: &Host, device: &str, number: String, rnic: bool) -> Port {
    let dir = format!("{CLASS}/{device}/ports/{number}");
    let ethernet = host
        .text(&format!("{dir}/link_layer"))
        .is_some_and(|layer| layer == "Ethernet");
    let fabric = match (ethernet, rnic) {
        (_, true) => Fabric::Iwarp,
        (true, false) => Fabric::Roce,
        (false, false) => Fabric::InfiniBand,
    };
    let gids = gids(host, &dir);
    let mut netdevs: Vec<String> = Vec::new();
    for netdev in gids.iter().filter_map(|gid| gid.netdev.as_ref()) {
        if !netdevs.contains(netdev) {
            netdevs.push(netdev.clone());
        }
    }
    Port {
        device: device.to_owned(),
        number,
        fabric,
        state: state(host, &dir),
        gids,
        netdevs,
    }
}

/// The word of "4: ACTIVE".
fn state(host: &Host, dir: &str) -> String {
    let text = host.text(&format!("{dir}/state")).unwrap_or_default();
    match text.split_once(": ") {
        Some((_, word)) => word.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// The entries that hold a GID; the others are zero, or cannot be read.
fn gids(host: &Host, dir: &str) -> Vec<Gid> {
    let entry = |index: String| {
        let address: Ipv6Addr = host.value(&format!("{dir}/gids/{index}"))?.parse().ok()?;
        (!address.is_unspecified()).then(|| Gid {
            kind: host
                .value(&format!("{dir}/gid_attrs/types/{index}"))
                .unwrap_or_default(),
            netdev: host.value(&format!("{dir}/gid_attrs/ndevs/{index}")),
            index,
            address,
        })
    };
    let indices = host.names(&format!("{dir}/gids"));
    indices.into_iter().filter_map(entry).collect()
}
