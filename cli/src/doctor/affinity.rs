//! Which CPUs the device's interrupts and the CM's work run on, against the device's NUMA node.

use std::collections::BTreeSet;

use super::check::{Check, Verdict};
use super::cpus;
use super::fabric::Device;
use super::host::Host;

const NODES: &str = "/sys/devices/system/node";
/// Work of the CM that is bound to no CPU (rdma_cm, ib_addr, iw_cm_wq) runs on these; that of ib_cm runs
/// where the interrupt came (alloc_workqueue in drivers/infiniband/core/cm.c and cma.c).
const WORK: &str = "/sys/devices/virtual/workqueue/cpumask";

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "affinity",
        "NUMA affinity",
        "An interrupt on another node than the device's costs each completion and each CM message the way \
         between the nodes. The CM's own work follows the workqueues' CPU mask.",
    );
    let nodes = host.names(NODES);
    let nodes = nodes.iter().filter(|name| is_node(name)).count();
    if nodes < 2 {
        return check.is(Verdict::NotApplicable, "one NUMA node");
    }
    for device in devices {
        look_at(host, device, &mut check);
    }
    check.value = match check.verdict {
        Verdict::NotApplicable => "no device says which node it is on",
        Verdict::Ok => "interrupts and CM work are on their device's node",
        _ => "interrupts or CM work run far from the device",
    }
    .to_owned();
    check
}

fn is_node(name: &str) -> bool {
    name.strip_prefix("node")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

fn look_at(host: &Host, device: &Device, check: &mut Check) {
    let name = &device.name;
    let dir = format!("/sys/class/infiniband/{name}/device");
    // -1 where the platform does not say.
    let Some(node) = host.number::<u32>(&format!("{dir}/numa_node")) else {
        return;
    };
    let near = host.text(&format!("{NODES}/node{node}/cpulist"));
    let Some((text, near)) = near.and_then(|text| Some((text.clone(), cpus::list(&text)?))) else {
        return;
    };
    if near.is_empty() {
        check.found(Verdict::Ok, format!("{name}: node {node} has no CPUs"));
        return;
    }
    interrupts(host, device, (node, &text, &near), check);
    let work = host.text(WORK).and_then(|mask| cpus::mask(&mask));
    if work.is_some_and(|work| work.is_disjoint(&near)) {
        let detail = format!("{name}: CM work is kept away from node {node} (CPUs {text})");
        check.found(Verdict::Warn, detail);
        check.mend(format!(
            "echo MASK > {WORK}  # a mask with CPUs {text} in it"
        ));
    }
}

fn interrupts(
    host: &Host,
    device: &Device,
    (node, text, near): (u32, &str, &BTreeSet<u32>),
    check: &mut Check,
) {
    let name = &device.name;
    let irqs = host.names(&format!("/sys/class/infiniband/{name}/device/msi_irqs"));
    let known: Vec<(&String, BTreeSet<u32>)> = irqs
        .iter()
        .filter_map(|irq| Some((irq, cpus_of(host, irq)?)))
        .collect();
    let far: Vec<&String> = known
        .iter()
        .filter(|(_, cpus)| cpus.is_disjoint(near))
        .map(|(irq, _)| *irq)
        .collect();
    let all = known.len();
    let place = format!("node {node} (CPUs {text})");
    if far.is_empty() {
        let detail = format!("{name}: all of {all} interrupts on {place}");
        check.found(Verdict::Ok, detail);
        return;
    }
    let count = far.len();
    let detail = format!("{name}: {count} of {all} interrupts away from {place}");
    check.found(Verdict::Warn, detail);
    let far: Vec<&str> = far.into_iter().map(String::as_str).collect();
    check.mend(format!(
        "for i in {}; do echo {text} > /proc/irq/$i/smp_affinity_list; done",
        far.join(" ")
    ));
}

/// Where it really goes; older kernels show only where it may go.
fn cpus_of(host: &Host, irq: &str) -> Option<BTreeSet<u32>> {
    let files = ["effective_affinity_list", "smp_affinity_list"];
    let set = |file: &&str| {
        let text = host.text(&format!("/proc/irq/{irq}/{file}"))?;
        cpus::list(&text).filter(|cpus| !cpus.is_empty())
    };
    files.iter().find_map(set)
}

#[cfg(test)]
mod tests {
    use super::super::fabric;
    use super::super::fixture::Tree;
    use super::*;

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        tree.file("sys/devices/system/node/node0/cpulist", "0-3\n");
        tree.file("sys/devices/system/node/node1/cpulist", "4-7\n");
        tree.file("sys/devices/system/node/possible", "0-1\n");
        for (irq, cpus) in [(40, "4"), (41, "5-6")] {
            tree.file(
                &format!("sys/devices/pci/0000:03:00.0/msi_irqs/{irq}"),
                "msix",
            );
            let file = format!("proc/irq/{irq}/effective_affinity_list");
            tree.file(&file, &format!("{cpus}\n"));
        }
        tree
    }

    fn checked(tree: &Tree) -> Check {
        let host = tree.host();
        check(&host, &fabric::devices(&host))
    }

    #[test]
    fn near_interrupts_are_fine() {
        let check = checked(&tree());
        assert_eq!(check.verdict, Verdict::Ok);
        let expected = ["mlx5_0: all of 2 interrupts on node 1 (CPUs 4-7)"];
        assert_eq!(check.details, expected);
    }

    #[test]
    fn far_interrupts_are_named() {
        let tree = tree();
        tree.file("proc/irq/41/effective_affinity_list", "0\n");
        let check = checked(&tree);
        assert_eq!(check.verdict, Verdict::Warn);
        assert_eq!(
            check.mend,
            ["for i in 41; do echo 4-7 > /proc/irq/$i/smp_affinity_list; done"]
        );
    }

    #[test]
    fn the_mask_of_the_workqueues_counts() {
        let tree = tree();
        tree.file("sys/devices/virtual/workqueue/cpumask", "ff\n");
        assert_eq!(checked(&tree).verdict, Verdict::Ok);
        tree.file("sys/devices/virtual/workqueue/cpumask", "0f\n");
        assert_eq!(checked(&tree).verdict, Verdict::Warn);
    }

    #[test]
    fn one_node_is_not_looked_at() {
        let tree = tree();
        std::fs::remove_dir_all(tree.path("sys/devices/system/node/node0")).unwrap();
        assert_eq!(checked(&tree).verdict, Verdict::NotApplicable);
        let tree = Tree::new();
        assert_eq!(checked(&tree).value, "one NUMA node");
    }
}
