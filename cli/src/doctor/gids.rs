//! Which interface stands behind which device, and under which GIDs.

use std::net::Ipv6Addr;

use super::check::{Check, Verdict};
use super::fabric::{self, Device, Fabric, Gid, Port};

pub fn check(devices: &[Device]) -> Check {
    let mut check = Check::new(
        "gids",
        "GID table",
        "On RoCE each IP address of the interface becomes a GID, and the CM finds the device by the GID of \
         the address. Without the GID of an own address rdma_resolve_addr does not find the device; without \
         a RoCE v2 GID nothing crosses a router.",
    );
    for port in fabric::ports(devices).filter(|port| port.active()) {
        match port.fabric {
            Fabric::Roce => look_at(port, &mut check),
            Fabric::InfiniBand => in_order(port, &mut check),
            Fabric::Iwarp => {}
        }
    }
    check.value = match (check.verdict, check.details.len()) {
        (Verdict::NotApplicable, _) => "no active RoCE or InfiniBand port".to_owned(),
        (Verdict::Ok, 1) => "1 GID".to_owned(),
        (Verdict::Ok, n) => format!("{n} GIDs"),
        _ => "a port lacks the GID that connections need".to_owned(),
    };
    check
}

fn look_at(port: &Port, check: &mut Check) {
    let netdev = port.netdevs.first().map_or("NETDEV", String::as_str);
    let name = port.name();
    in_order(port, check);
    if !port.gids.iter().any(Gid::is_routable) {
        let detail = format!("{name}: no GID of an IP address, since {netdev} has none");
        check.found(Verdict::Warn, detail);
        check.mend(format!("ip addr add ADDRESS/PREFIX dev {netdev}"));
    } else if !port.gids.iter().any(|gid| gid.is_v2() && gid.is_routable()) {
        let detail = format!("{name}: no RoCE v2 GID, so only RoCE v1 can be spoken");
        check.found(Verdict::Warn, detail);
        check.mend(format!("rdma dev show {}", port.device));
    }
}

/// The port's rows of the table; none at all is a failure.
fn in_order(port: &Port, check: &mut Check) {
    if port.gids.is_empty() {
        check.found(Verdict::Fail, format!("{}: no GID at all", port.name()));
        check.mend(format!("rdma link show {}/{}", port.device, port.number));
    }
    for gid in &port.gids {
        check.found(Verdict::Ok, row(port, gid));
    }
}

fn row(port: &Port, gid: &Gid) -> String {
    let on = gid.netdev.as_deref().unwrap_or("no interface");
    let kind = match port.fabric {
        Fabric::Roce => gid.kind.as_str(),
        _ => "InfiniBand",
    };
    format!(
        "{}/{} {on}: GID {} {kind} {}",
        port.device,
        port.number,
        gid.index,
        address(gid.address)
    )
}

/// As `ip addr` shows it.
fn address(gid: Ipv6Addr) -> String {
    match gid.to_ipv4_mapped() {
        Some(v4) => v4.to_string(),
        None => gid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    fn checked(tree: &Tree) -> Check {
        check(&fabric::devices(&tree.host()))
    }

    #[test]
    fn the_table_is_shown_without_its_free_entries() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        let check = checked(&tree);
        assert_eq!(
            (check.verdict, check.value.as_str()),
            (Verdict::Ok, "4 GIDs")
        );
        assert_eq!(check.details[3], "mlx5_0/1 ens1f0: GID 3 RoCE v2 10.0.0.1");
        assert_eq!(
            check.details[0],
            "mlx5_0/1 ens1f0: GID 0 IB/RoCE v1 fe80::e42:a1ff:fe00:1"
        );
    }

    #[test]
    fn an_interface_without_address_is_named() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        for index in [2, 3] {
            let gid = format!("sys/class/infiniband/mlx5_0/ports/1/gids/{index}");
            tree.file(&gid, "0000:0000:0000:0000:0000:0000:0000:0000\n");
        }
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Warn);
        assert_eq!(check.mend, ["ip addr add ADDRESS/PREFIX dev ens1f0"]);
    }

    #[test]
    fn version_1_alone_is_a_warning() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        let types = "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types";
        tree.file(&format!("{types}/3"), "IB/RoCE v1\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Warn);
        assert!(check.details[4].contains("no RoCE v2 GID"), "{check:?}");
    }

    #[test]
    fn an_empty_table_is_a_failure() {
        let tree = Tree::new();
        let port = "sys/class/infiniband/rxe0/ports/1";
        tree.file(&format!("{port}/state"), "4: ACTIVE\n");
        tree.file(&format!("{port}/link_layer"), "Ethernet\n");
        tree.file(&format!("{port}/gids/0"), "no gid\n");
        assert_eq!(checked(&tree).verdict, Verdict::Fail);
    }
}
