//! Whether the interfaces under RDMA devices answer ARP as they should.

use std::collections::BTreeSet;

use super::check::{Check, Verdict};
use super::fabric::{self, Device};
use super::host::Host;

/// A line of /proc/net/route that needs no gateway: a network that the interface is in.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Attached {
    netdev: String,
    /// Destination and mask, as they stand there.
    network: (String, String),
}

pub fn check(host: &Host, devices: &[Device]) -> Check {
    let mut check = Check::new(
        "arp",
        "ARP and rp_filter",
        "rdma_resolve_addr asks by ARP. Strict rp_filter (1) drops questions that come in by another \
         interface than the answer would take, so no answer comes (ADDR_ERROR). With two interfaces in one \
         network and arp_ignore 0, each answers for the other's address, and packets reach the wrong device.",
    );
    let attached = attached(host);
    for netdev in fabric::netdevs(devices) {
        look_at(host, netdev, &attached, &mut check);
    }
    check.value = match check.verdict {
        Verdict::NotApplicable => "no interface under an RDMA device",
        Verdict::Ok => "fits the interfaces and networks that are here",
        _ => "questions may stay without an answer, or get a wrong one",
    }
    .to_owned();
    check
}

fn look_at(host: &Host, netdev: &str, attached: &BTreeSet<Attached>, check: &mut Check) {
    let (Some(filter), Some(ignore)) = (
        of(host, netdev, "rp_filter"),
        of(host, netdev, "arp_ignore"),
    ) else {
        return;
    };
    let shown = format!("{netdev}: rp_filter {filter}, arp_ignore {ignore}");
    check.found(Verdict::Ok, shown);
    let others = attached.iter().any(|a| a.netdev != netdev);
    if filter == 1 && others {
        let what = format!("{netdev}: rp_filter is strict, and there are other interfaces");
        check.found(Verdict::Warn, what);
        check.mend(format!("sysctl -w net.ipv4.conf.{netdev}.rp_filter=2"));
    }
    // 8: no answer for any address of this host (ip-sysctl.rst).
    if ignore == 8 {
        check.found(
            Verdict::Fail,
            format!("{netdev}: answers no ARP question at all"),
        );
        check.mend(format!("sysctl -w net.ipv4.conf.{netdev}.arp_ignore=1"));
    }
    if let Some(other) = neighbour(netdev, attached).filter(|_| ignore == 0) {
        let what = format!("{netdev}: in one network with {other}, and answers for its addresses");
        check.found(Verdict::Warn, what);
        check.mend(format!(
            "sysctl -w net.ipv4.conf.{netdev}.arp_ignore=1 net.ipv4.conf.{netdev}.arp_announce=2"
        ));
    }
}

/// The kernel takes the greater one of `all` and the interface's own
/// (Documentation/networking/ip-sysctl.rst).
fn of(host: &Host, netdev: &str, name: &str) -> Option<u32> {
    let one = |of: &str| host.number::<u32>(&format!("/proc/sys/net/ipv4/conf/{of}/{name}"));
    Some(one(netdev)?.max(one("all").unwrap_or(0)))
}

/// Another interface in the same network.
fn neighbour<'a>(netdev: &str, attached: &'a BTreeSet<Attached>) -> Option<&'a str> {
    let own = attached.iter().filter(|a| a.netdev == netdev);
    own.flat_map(|own| attached.iter().filter(|a| a.network == own.network))
        .find(|a| a.netdev != netdev)
        .map(|a| a.netdev.as_str())
}

/// Columns: Iface Destination Gateway Flags RefCnt Use Metric Mask (fib_route_seq_show,
/// net/ipv4/fib_trie.c). Only those that are up are there.
fn attached(host: &Host) -> BTreeSet<Attached> {
    let text = host.text("/proc/net/route").unwrap_or_default();
    let line = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        match columns[..] {
            [netdev, network, "00000000", _, _, _, _, mask, ..] if netdev != "lo" => {
                Some(Attached {
                    netdev: netdev.to_owned(),
                    network: (network.to_owned(), mask.to_owned()),
                })
            }
            _ => None,
        }
    };
    text.lines().skip(1).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    const HEAD: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";
    const FIRST: &str = "ens1f0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
    const OTHER_NET: &str = "eth0 00001FAC 00000000 0001 0 0 0 0000FFFF 0 0 0\n";
    const SAME_NET: &str = "ens1f1 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";

    fn tree(routes: &[&str], filter: u32, ignore: u32) -> Tree {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        tree.file("proc/net/route", &format!("{HEAD}{}", routes.concat()));
        for (of, value) in [("all", 0), ("ens1f0", filter)] {
            let file = format!("proc/sys/net/ipv4/conf/{of}/rp_filter");
            tree.file(&file, &format!("{value}\n"));
        }
        let file = "proc/sys/net/ipv4/conf/ens1f0/arp_ignore";
        tree.file(file, &format!("{ignore}\n"));
        tree
    }

    fn checked(tree: &Tree) -> Check {
        let host = tree.host();
        check(&host, &fabric::devices(&host))
    }

    #[test]
    fn strict_filtering_matters_beside_other_interfaces() {
        assert_eq!(checked(&tree(&[FIRST], 1, 0)).verdict, Verdict::Ok);
        assert_eq!(
            checked(&tree(&[FIRST, OTHER_NET], 0, 0)).verdict,
            Verdict::Ok
        );
        assert_eq!(
            checked(&tree(&[FIRST, OTHER_NET], 2, 0)).verdict,
            Verdict::Ok
        );
        let strict = checked(&tree(&[FIRST, OTHER_NET], 1, 0));
        assert_eq!(strict.verdict, Verdict::Warn);
        assert_eq!(strict.mend, ["sysctl -w net.ipv4.conf.ens1f0.rp_filter=2"]);
    }

    #[test]
    fn the_greater_of_all_and_own_counts() {
        let tree = tree(&[FIRST, OTHER_NET], 0, 0);
        tree.file("proc/sys/net/ipv4/conf/all/rp_filter", "1\n");
        assert_eq!(checked(&tree).verdict, Verdict::Warn);
        tree.file("proc/sys/net/ipv4/conf/ens1f0/rp_filter", "2\n");
        assert_eq!(checked(&tree).verdict, Verdict::Ok);
    }

    #[test]
    fn a_shared_network_needs_arp_ignore() {
        let flux = checked(&tree(&[FIRST, SAME_NET], 0, 0));
        assert_eq!(flux.verdict, Verdict::Warn);
        assert!(
            flux.details[1].contains("in one network with ens1f1"),
            "{flux:?}"
        );
        assert_eq!(
            checked(&tree(&[FIRST, SAME_NET], 0, 1)).verdict,
            Verdict::Ok
        );
        assert_eq!(checked(&tree(&[FIRST], 0, 8)).verdict, Verdict::Fail);
    }

    #[test]
    fn odd_routes_do_no_harm() {
        let tree = tree(&["x\n", "a b c d e f g\n", "\n"], 1, 0);
        assert_eq!(checked(&tree).verdict, Verdict::Ok);
    }
}
