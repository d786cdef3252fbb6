//! ibacm, the cache of addresses and routes that librdmacm asks on InfiniBand.

use super::check::{Check, Verdict};
use super::fabric::{self, Device, Fabric};
use super::host::Host;

/// Where the daemon is installed, or is configured (ibacm(8)).
const SIGNS: &[&str] = &["/usr/sbin/ibacm", "/etc/rdma/ibacm_opts.cfg"];
/// Where librdmacm looks for it (IBACM_SERVER_PATH and IBACM_PORT_FILE, rdma-core buildlib/config.h.in).
const SOCKETS: &[&str] = &["/run/ibacm.sock", "/run/ibacm.port"];
const PID: &str = "/run/ibacm.pid";

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let check = Check::new(
        "ib-acm",
        "ib_acm",
        "Where ibacm is set up, librdmacm asks it for routes on InfiniBand, and falls back to the subnet \
         manager when it does not run, which is slow in a storm of connections. RoCE and iWARP do without.",
    );
    if !SIGNS.iter().any(|path| host.exists(path)) {
        return check.is(Verdict::NotApplicable, "ibacm is not installed");
    }
    let running = SOCKETS.iter().any(|path| host.exists(path));
    if running && !has_died(host) {
        return check.is(Verdict::Ok, "ibacm is running");
    }
    let value = match running {
        true => "ibacm has died and left its socket behind",
        false => "ibacm is installed and not running",
    };
    if fabric::ports(devices).any(|port| port.fabric == Fabric::InfiniBand) {
        return check
            .is(Verdict::Warn, value)
            .by("systemctl enable --now ibacm");
    }
    check.is(
        Verdict::NotApplicable,
        format!("{value}; no InfiniBand port needs it"),
    )
}

fn has_died(host: &Host) -> bool {
    let pid: Option<u32> = host.number(PID);
    pid.is_some_and(|pid| !host.exists(&format!("/proc/{pid}")))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn matters_on_infiniband_where_it_is_set_up() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ib0", "0000:03:00.0");
        let checked = || {
            let host = tree.host();
            check(&host, &fabric::devices(&host)).verdict
        };
        assert_eq!(checked(), Verdict::NotApplicable);
        tree.file("etc/rdma/ibacm_opts.cfg", "");
        assert_eq!(checked(), Verdict::NotApplicable, "RoCE");
        tree.file(
            "sys/class/infiniband/mlx5_0/ports/1/link_layer",
            "InfiniBand\n",
        );
        assert_eq!(checked(), Verdict::Warn);
        tree.file("run/ibacm.sock", "");
        assert_eq!(checked(), Verdict::Ok);
        tree.file("run/ibacm.pid", "123\n");
        assert_eq!(checked(), Verdict::Warn, "its process is gone");
        tree.file("proc/123/comm", "ibacm\n");
        assert_eq!(checked(), Verdict::Ok);
    }
}
