//! The RoCE version that the CM uses for connections.

use super::check::{Check, Verdict};
use super::fabric::{self, Device, Fabric, Port};
use super::host::Host;

const CONFIGFS: &str = "/sys/kernel/config/rdma_cm";

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "roce-mode",
        "default RoCE mode",
        "The CM makes each connection with this version. Both ends must have the same: a request of the \
         other version finds no listener, or gets no answer. RoCE v1 does not cross routers.",
    );
    for port in fabric::ports(devices).filter(|port| port.fabric == Fabric::Roce) {
        look_at(host, port, &mut check);
    }
    check.value = match check.verdict {
        Verdict::NotApplicable => "no RoCE port",
        Verdict::Ok => "RoCE v2",
        _ => "RoCE v1",
    }
    .to_owned();
    check
}

fn look_at(host: &Host, port: &Port, check: &mut Check) {
    let name = port.name();
    match mode(host, port) {
        // Chosen by cma_add_one in drivers/infiniband/core/cma.c, where the device can do it.
        None if port.gids.iter().any(|gid| gid.is_v2()) || port.gids.is_empty() => check.found(
            Verdict::Ok,
            format!("{name}: RoCE v2 (the kernel's default; configfs has no setting)"),
        ),
        None => check.found(
            Verdict::Warn,
            format!("{name}: RoCE v1 (the device has no v2)"),
        ),
        Some(mode) if mode == "RoCE v2" => {
            check.found(Verdict::Ok, format!("{name}: {mode} (configfs)"))
        }
        Some(mode) => {
            check.found(Verdict::Warn, format!("{name}: {mode} (configfs)"));
            check.mend(format!("echo 'RoCE v2' > {}", file(port)));
        }
    }
}

/// The setting is there only for devices for which somebody made a directory.
fn mode(host: &Host, port: &Port) -> Option<String> {
    host.text(&file(port)).filter(|mode| !mode.is_empty())
}

fn file(port: &Port) -> String {
    format!(
        "{CONFIGFS}/{}/ports/{}/default_roce_mode",
        port.device, port.number
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn configfs_counts_where_it_is_set() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        let checked = || {
            let host = tree.host();
            check(&host, &fabric::devices(&host))
        };
        assert_eq!(checked().verdict, Verdict::Ok);
        let file = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode";
        tree.file(file, "RoCE v2\n");
        assert_eq!(checked().details, ["mlx5_0 port 1: RoCE v2 (configfs)"]);
        tree.file(file, "IB/RoCE v1\n");
        assert_eq!(checked().verdict, Verdict::Warn);
        assert_eq!(checked().mend, [format!("echo 'RoCE v2' > /{file}")]);
    }
}
