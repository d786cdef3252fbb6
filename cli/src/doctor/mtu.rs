//! The MTU of the interface, and what is left of it for RDMA.

use super::check::{Check, Verdict};
use super::fabric::{self, Device, Fabric, Port};
use super::host::Host;
use super::tools;

/// What RoCE v2 may put before and behind the data: GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28 and
/// ICRC 4 bytes (iboe_get_mtu, include/rdma/ib_addr.h). The CM gives this path MTU to a connection.
const HEADERS: u32 = 96;
/// The MTUs of InfiniBand (enum ib_mtu, include/rdma/ib_verbs.h).
const SIZES: [u32; 5] = [4096, 2048, 1024, 512, 256];
/// The next round number above 4096 + HEADERS.
const ENOUGH: u32 = 4200;

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "mtu",
        "MTU",
        "RoCE headers take 96 bytes, and RDMA knows only 256, 512, 1024, 2048 and 4096: an interface of \
         1500 gives 1024, one of 4200 or more gives 4096. Smaller packets cost bandwidth. Both ends, and \
         each switch between them, must carry the size.",
    );
    let mut least: Option<u32> = None;
    for port in fabric::ports(devices).filter(|port| port.fabric == Fabric::Roce && port.active()) {
        let active = active(host, port);
        for netdev in &port.netdevs {
            if let Some(size) = look_at(host, port, netdev, active, &mut check) {
                least = Some(least.map_or(size, |least| least.min(size)));
            }
        }
    }
    check.value = match (check.verdict, least) {
        (Verdict::NotApplicable, _) | (_, None) => {
            "no active RoCE port with an interface".to_owned()
        }
        (Verdict::Ok, Some(size)) => format!("connections get {size}"),
        (_, Some(size)) => format!("connections get only {size} on a port"),
    };
    check
}

/// Adds a line, and says what a connection over this interface gets.
fn look_at(
    host: &Host,
    port: &Port,
    netdev: &str,
    active: Option<u32>,
    check: &mut Check,
) -> Option<u32> {
    let mtu: u32 = host.number(&format!("/sys/class/net/{netdev}/mtu"))?;
    let size = rdma_size(mtu);
    let told = match active {
        Some(active) => format!(", the device's active MTU is {active}"),
        None => String::new(),
    };
    let detail = format!("{}: {netdev} {mtu} gives {size}{told}", port.name());
    if size < SIZES[0] {
        check.found(Verdict::Warn, detail);
        check.mend(format!("ip link set {netdev} mtu {ENOUGH}"));
    } else if active.is_some_and(|active| active < size) {
        // The device did not follow the interface: taking it down and up makes the driver ask again.
        check.found(Verdict::Warn, detail);
        check.mend(format!(
            "ip link set {netdev} down && ip link set {netdev} up"
        ));
    } else {
        check.found(Verdict::Ok, detail);
    }
    Some(active.map_or(size, |active| active.min(size)))
}

fn rdma_size(mtu: u32) -> u32 {
    let left = mtu.saturating_sub(HEADERS);
    SIZES.into_iter().find(|&size| size <= left).unwrap_or(0)
}

/// No file shows the device's own; ibv_devinfo asks for it.
fn active(host: &Host, port: &Port) -> Option<u32> {
    let told = tools::ask(
        host,
        "ibv_devinfo",
        &["-d", &port.device, "-i", &port.number],
    )?;
    active_of(&told)
}

/// From a line "active_mtu: 1024 (3)".
fn active_of(told: &str) -> Option<u32> {
    let line = told
        .lines()
        .find_map(|line| line.trim().strip_prefix("active_mtu:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn follows_the_kernels_rule() {
        let of = [(0, 0), (300, 0), (352, 256), (1500, 1024), (2144, 2048)];
        for (mtu, size) in of
            .into_iter()
            .chain([(4191, 2048), (4192, 4096), (9000, 4096)])
        {
            assert_eq!(rdma_size(mtu), size, "{mtu}");
        }
    }

    #[test]
    fn a_small_interface_is_named() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        let checked = || {
            let host = tree.host();
            check(&host, &fabric::devices(&host))
        };
        assert_eq!(checked().verdict, Verdict::Ok);
        tree.file("sys/class/net/ens1f0/mtu", "1500\n");
        let check = checked();
        assert_eq!(check.verdict, Verdict::Warn);
        assert_eq!(check.details, ["mlx5_0 port 1: ens1f0 1500 gives 1024"]);
        assert_eq!(check.mend, ["ip link set ens1f0 mtu 4200"]);
        tree.file("sys/class/net/ens1f0/mtu", "many\n");
        assert_eq!(checked().verdict, Verdict::NotApplicable);
    }

    #[test]
    fn a_device_that_lags_behind_is_named() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        let host = tree.host();
        let devices = fabric::devices(&host);
        let mut check = Check::new("", "", "");
        let size = look_at(
            &host,
            &devices[0].ports[0],
            "ens1f0",
            Some(1024),
            &mut check,
        );
        assert_eq!((size, check.verdict), (Some(1024), Verdict::Warn));
    }

    #[test]
    fn reads_what_ibv_devinfo_prints() {
        let told = "hca_id:\trxe0\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n";
        assert_eq!(active_of(told), Some(1024));
        assert_eq!(active_of("active_mtu:"), None);
    }
}
