//! Whether there is a device with a port that can be used.

use super::check::{Check, Verdict};
use super::fabric::{self, Device, Fabric, Port};
use super::host::Host;

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "devices",
        "RDMA devices",
        "Without an RDMA device whose port is ACTIVE nothing can be connected: rdma_resolve_addr ends with \
         ENODEV or ADDR_ERROR. On Ethernet a port is ACTIVE while its interface is up and has a carrier.",
    );
    if devices.is_empty() {
        return check
            .is(Verdict::Fail, "there is no RDMA device")
            .by(driver_or_soft_roce(host));
    }
    for port in fabric::ports(devices) {
        check.details.push(line(port));
    }
    let active = fabric::ports(devices).filter(|port| port.active()).count();
    let all = fabric::ports(devices).count();
    if active > 0 {
        return check.is(Verdict::Ok, format!("{active} of {all} ports ACTIVE"));
    }
    for port in fabric::ports(devices) {
        bring_up(host, port, &mut check);
    }
    check.is(Verdict::Fail, format!("none of {all} ports is ACTIVE"))
}

fn bring_up(host: &Host, port: &Port, check: &mut Check) {
    match (port.fabric, port.state.as_str()) {
        // Linked, and not yet set up by a subnet manager (IB_PORT_INIT, include/rdma/ib_verbs.h).
        (Fabric::InfiniBand, "INIT") => {
            check.mend(
                "systemctl enable --now opensm  # on one host, if no switch manages the subnet",
            );
        }
        (Fabric::InfiniBand, _) => {
            check.mend(format!("ibstat {}  # and look at the cable", port.device))
        }
        _ => {}
    }
    let ethernet = port
        .netdevs
        .iter()
        .filter(|_| port.fabric != Fabric::InfiniBand);
    for netdev in ethernet {
        // 0 only while the interface is up; else it cannot be read.
        match host
            .text(&format!("/sys/class/net/{netdev}/carrier"))
            .as_deref()
        {
            Some("0") => check.mend(format!(
                "ethtool {netdev}  # no carrier: cable, switch port, or peer"
            )),
            _ => check.mend(format!("ip link set {netdev} up")),
        }
    }
    if check.mend.is_empty() {
        check.mend(format!("rdma link show {}/{}", port.device, port.number));
    }
}

fn line(port: &Port) -> String {
    let fabric = match port.fabric {
        Fabric::InfiniBand => "InfiniBand",
        Fabric::Roce => "RoCE",
        Fabric::Iwarp => "iWARP",
    };
    let on = match port.netdevs.is_empty() {
        true => "no interface".to_owned(),
        false => port.netdevs.join(", "),
    };
    format!("{}: {}, {fabric}, {on}", port.name(), port.state)
}

/// Soft-RoCE on the first interface that is up, which works on every Ethernet.
fn driver_or_soft_roce(host: &Host) -> String {
    let up = |name: &String| {
        let state = host.text(&format!("/sys/class/net/{name}/operstate"));
        name != "lo" && state.is_some_and(|state| state == "up")
    };
    let netdev = host.names("/sys/class/net").into_iter().find(up);
    let netdev = netdev.unwrap_or_else(|| "NETDEV".to_owned());
    format!("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {netdev}")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    fn checked(tree: &Tree) -> Check {
        let host = tree.host();
        check(&host, &fabric::devices(&host))
    }

    #[test]
    fn no_device_is_said_plainly() {
        let tree = Tree::new();
        tree.file("sys/class/net/lo/operstate", "up\n");
        tree.file("sys/class/net/eth1/operstate", "down\n");
        tree.file("sys/class/net/eth2/operstate", "up\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Fail);
        assert_eq!(check.value, "there is no RDMA device");
        assert_eq!(
            check.mend,
            ["modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth2"]
        );
    }

    #[test]
    fn one_active_port_is_enough() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        tree.mlx5("mlx5_1", "ens1f1", "0000:03:00.1");
        tree.file("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Ok);
        assert_eq!(check.value, "1 of 2 ports ACTIVE");
        assert_eq!(
            check.details,
            [
                "mlx5_0 port 1: ACTIVE, RoCE, ens1f0",
                "mlx5_1 port 1: DOWN, RoCE, ens1f1"
            ]
        );
        tree.file("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Fail);
        assert_eq!(
            check.mend,
            ["ip link set ens1f0 up", "ip link set ens1f1 up"]
        );
        tree.file("sys/class/net/ens1f0/carrier", "0\n");
        let carrier = &checked(&tree).mend[0];
        assert!(
            carrier.starts_with("ethtool ens1f0  # no carrier"),
            "{carrier}"
        );
    }

    #[test]
    fn fabrics_are_told_apart() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ib0", "0000:03:00.0");
        tree.file(
            "sys/class/infiniband/mlx5_0/ports/1/link_layer",
            "InfiniBand\n",
        );
        tree.file("sys/class/infiniband/siw0/node_type", "4: RNIC\n");
        tree.file("sys/class/infiniband/siw0/ports/1/state", "garbage");
        let details = checked(&tree).details;
        assert_eq!(details[0], "mlx5_0 port 1: ACTIVE, InfiniBand, ib0");
        tree.file("sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT\n");
        let mend = checked(&tree).mend;
        assert!(
            mend[0].starts_with("systemctl enable --now opensm"),
            "{mend:?}"
        );
        assert_eq!(mend.len(), 1, "an IPoIB interface has no say: {mend:?}");
        assert_eq!(details[1], "siw0 port 1: unknown, iWARP, no interface");
    }
}
