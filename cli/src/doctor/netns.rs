//! Whether network namespaces share the devices.

use super::check::{Check, Verdict};
use super::host::Host;

/// The variable that `rdma system set netns` changes (ib_devices_shared_netns in
/// drivers/infiniband/core/device.c) is also this parameter, so no netlink is needed.
const FILE: &str = "/sys/module/ib_core/parameters/netns_mode";

pub fn check(host: &Host) -> Check {
    let check = Check::new(
        "netns",
        "namespace mode",
        "shared: each network namespace sees every device, and connects where an interface of the device is \
         in it. exclusive: a device is seen in one namespace only, and a container needs its own \
         (rdma dev set DEVICE netns NAME). To change it: rdma system set netns shared|exclusive.",
    );
    match host.text(FILE).as_deref() {
        Some("Y" | "1") => check.is(Verdict::Ok, "shared"),
        Some("N" | "0") => check.is(Verdict::Ok, "exclusive"),
        _ => check.is(
            Verdict::NotApplicable,
            "cannot be seen: ib_core is not loaded, or is old",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn reads_the_modules_parameter() {
        let tree = Tree::new();
        assert_eq!(check(&tree.host()).verdict, Verdict::NotApplicable);
        for (text, value) in [("Y\n", "shared"), ("N\n", "exclusive")] {
            tree.file("sys/module/ib_core/parameters/netns_mode", text);
            assert_eq!(check(&tree.host()).value, value);
        }
    }
}
