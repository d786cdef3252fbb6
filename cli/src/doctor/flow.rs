//! What keeps a RoCE network from losing packets: PFC, ECN and DCQCN, as far as the driver shows them.

use super::check::{Check, Verdict};
use super::fabric::{Device, Fabric, Port};
use super::host::Host;
use super::tools;

/// The parameters of the mlx5 driver that say most (mlx5_ib_dbg_cc_name, drivers/infiniband/hw/mlx5/cong.c).
const DCQCN: &[&str] = &[
    "np_cnp_dscp",
    "np_cnp_prio",
    "np_cnp_prio_mode",
    "np_min_time_between_cnps",
    "rp_max_rate",
    "rp_min_rate",
    "rp_ai_rate",
    "rp_time_reset",
    "rp_threshold",
];

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "flow-control",
        "PFC, ECN, DCQCN",
        "RoCE loses much bandwidth with each lost packet. Pause per priority (PFC) avoids loss; ECN with \
         DCQCN slows senders before it comes to that. The switches must be set up in the same way.",
    );
    for device in devices.iter().filter(|device| device.driver.is_some()) {
        let roce = |port: &&Port| port.fabric == Fabric::Roce && port.active();
        for port in device.ports.iter().filter(roce) {
            look_at(host, device, port, &mut check);
        }
    }
    check.value = match check.verdict {
        Verdict::NotApplicable if devices.is_empty() => "no RDMA device",
        Verdict::NotApplicable if !check.details.is_empty() => {
            "neither is shown by the drivers here"
        }
        Verdict::NotApplicable => "no active RoCE port of real hardware",
        Verdict::Ok => "at least one is on for each port that shows them",
        _ => "all off on a port",
    }
    .to_owned();
    check
}

fn look_at(host: &Host, device: &Device, port: &Port, check: &mut Check) {
    let name = port.name();
    for netdev in physical(host, port) {
        let pfc = pfc(host, netdev);
        let ecn = ecn(host, netdev);
        let shown = format!("{name}, {netdev}: PFC {}, ECN {}", words(&pfc), words(&ecn));
        let is_on = |which: &Option<Vec<usize>>| which.as_ref().map(|on| !on.is_empty());
        match (is_on(&pfc), is_on(&ecn)) {
            (Some(true), _) | (_, Some(true)) => check.found(Verdict::Ok, shown),
            (Some(false), Some(false)) => {
                check.found(Verdict::Warn, shown);
                check.mend(format!("dcb pfc set dev {netdev} prio-pfc 3:on"));
                for side in ["roce_np", "roce_rp"] {
                    check.mend(format!(
                        "echo 1 > /sys/class/net/{netdev}/ecn/{side}/enable/3"
                    ));
                }
            }
            _ => check.found(Verdict::NotApplicable, shown),
        }
    }
    let more = [dcqcn(host, device), service(host, port)];
    for (title, shown) in ["DCQCN", "traffic class"].iter().zip(more) {
        if !shown.is_empty() {
            check
                .details
                .push(format!("{name}: {title} {}", shown.join(", ")));
        }
    }
}

/// The interfaces of the card itself, not VLANs on it.
fn physical<'a>(host: &Host, port: &'a Port) -> Vec<&'a str> {
    let has_device = |name: &&str| host.exists(&format!("/sys/class/net/{name}/device"));
    let all = port.netdevs.iter().map(String::as_str);
    let physical: Vec<&str> = all.clone().filter(has_device).collect();
    match physical.is_empty() {
        true => all.take(1).collect(),
        false => physical,
    }
}

/// The priorities with PFC, which only netlink shows: the dcb program asks.
fn pfc(host: &Host, netdev: &str) -> Option<Vec<usize>> {
    priorities(&tools::ask(
        host,
        "dcb",
        &["-j", "pfc", "show", "dev", netdev],
    )?)
}

fn priorities(json: &str) -> Option<Vec<usize>> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let on = value.get("prio_pfc")?.as_array()?;
    let is_on = |value: &serde_json::Value| value.as_bool() == Some(true);
    Some((0..on.len()).filter(|&i| is_on(&on[i])).collect())
}

/// The priorities at which the card marks (np) or obeys (rp) congestion. The vendor's driver shows
/// them; the kernel's own does not.
fn ecn(host: &Host, netdev: &str) -> Option<Vec<usize>> {
    let mut seen = None;
    for side in ["roce_np", "roce_rp"] {
        for priority in 0..8 {
            let file = format!("/sys/class/net/{netdev}/ecn/{side}/enable/{priority}");
            if let Some(text) = host.text(&file) {
                let on: &mut Vec<usize> = seen.get_or_insert_default();
                if text == "1" && !on.contains(&priority) {
                    on.push(priority);
                }
            }
        }
    }
    seen
}

fn words(priorities: &Option<Vec<usize>>) -> String {
    match priorities.as_deref() {
        None => "not shown".to_owned(),
        Some([]) => "off".to_owned(),
        Some(on) => {
            let on: Vec<String> = on.iter().map(usize::to_string).collect();
            format!("on for priority {}", on.join(", "))
        }
    }
}

/// debugfs, which only root sees.
fn dcqcn(host: &Host, device: &Device) -> Vec<String> {
    let Some(bus) = &device.bus else {
        return Vec::new();
    };
    let dir = format!("/sys/kernel/debug/mlx5/{bus}/cc_params");
    let shown = |name: &&str| Some(format!("{name} {}", host.text(&format!("{dir}/{name}"))?));
    DCQCN.iter().filter_map(shown).collect()
}

/// What decides the priority of the packets.
fn service(host: &Host, port: &Port) -> Vec<String> {
    let (device, number) = (&port.device, &port.number);
    let netdev = port.netdevs.first().map_or("", String::as_str);
    let files = [
        (
            "default_roce_tos",
            format!("/sys/kernel/config/rdma_cm/{device}/ports/{number}/default_roce_tos"),
        ),
        (
            "traffic_class",
            format!("/sys/class/infiniband/{device}/tc/{number}/traffic_class"),
        ),
        ("trust", format!("/sys/class/net/{netdev}/qos/trust")),
    ];
    let shown = |(name, file): &(&str, String)| {
        let text = host.text(file).filter(|text| !text.is_empty())?;
        Some(format!("{name} {text}"))
    };
    files.iter().filter_map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fabric;
    use super::super::fixture::Tree;
    use super::*;

    fn checked(tree: &Tree) -> Check {
        let host = tree.host();
        check(&host, &fabric::devices(&host))
    }

    fn ecn_files(tree: &Tree, value: &str) {
        for side in ["roce_np", "roce_rp"] {
            for priority in 0..8 {
                let file = format!("sys/class/net/ens1f0/ecn/{side}/enable/{priority}");
                tree.file(&file, "0\n");
            }
            tree.file(&format!("sys/class/net/ens1f0/ecn/{side}/enable/3"), value);
        }
    }

    #[test]
    fn soft_devices_have_none() {
        let tree = Tree::new();
        let port = "sys/class/infiniband/rxe0/ports/1";
        tree.file(&format!("{port}/state"), "4: ACTIVE\n");
        tree.file(&format!("{port}/link_layer"), "Ethernet\n");
        assert_eq!(checked(&tree).verdict, Verdict::NotApplicable);
    }

    #[test]
    fn what_mlx5_shows_is_shown() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        assert_eq!(checked(&tree).verdict, Verdict::NotApplicable);
        ecn_files(&tree, "1\n");
        let params = "sys/kernel/debug/mlx5/0000:03:00.0/cc_params";
        tree.file(&format!("{params}/np_cnp_dscp"), "48\n");
        tree.file(&format!("{params}/rp_ai_rate"), "5\n");
        tree.file("sys/class/net/ens1f0/qos/trust", "dscp\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Ok);
        assert_eq!(
            check.details,
            [
                "mlx5_0 port 1, ens1f0: PFC not shown, ECN on for priority 3",
                "mlx5_0 port 1: DCQCN np_cnp_dscp 48, rp_ai_rate 5",
                "mlx5_0 port 1: traffic class trust dscp",
            ]
        );
    }

    #[test]
    fn off_and_unknown_are_two_things() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        ecn_files(&tree, "0\n");
        let check = checked(&tree);
        assert_eq!(
            check.verdict,
            Verdict::NotApplicable,
            "PFC is not known here"
        );
        assert!(
            check.details[0].ends_with("PFC not shown, ECN off"),
            "{check:?}"
        );
    }

    #[test]
    fn reads_what_dcb_prints() {
        let json = r#"{"pfc_cap":8,"delay":0,"prio_pfc":[false,false,false,true,false,false,false,false]}"#;
        assert_eq!(priorities(json), Some(vec![3]));
        assert_eq!(priorities("{}"), None);
        assert_eq!(priorities("Error"), None);
    }
}
