//! `cmshim policy qos`: commands that give each type of service of a policy a queue.

use std::collections::BTreeMap;

use cmshim_core::tenant::Policy;
use cmshim_core::text::printable;

use super::args::QosArgs;
use super::words;
use crate::failure::{Failure, FOUND};
use crate::output;

pub fn qos(args: &QosArgs) -> Result<u8, Failure> {
    match super::read(&args.file) {
        Ok(policy) => {
            let file = args.file.display().to_string();
            output::print(&commands(&policy, &file, &args.dev))?;
            Ok(0)
        }
        Err(problems) => {
            output::print_lines(&problems)?;
            Ok(FOUND)
        }
    }
}

/// DSCP to the tenants and egress rules that have it, and whether one has lower bits too.
fn classes(policy: &Policy) -> BTreeMap<u8, Vec<String>> {
    let mut classes: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    let subjects = policy.subjects();
    for (place, subject) in subjects.iter().enumerate() {
        if let Some(tos) = subject.tos {
            let who = words::subject(subjects, place);
            classes.entry(tos >> 2).or_default().push(who);
        }
    }
    classes
}

/// The class selector of a DSCP (RFC 2474), which is what network cards take for its priority before they are told
/// otherwise.
fn priority(dscp: u8) -> u8 {
    dscp >> 3
}

fn commands(policy: &Policy, file: &str, dev: &str) -> String {
    let classes = classes(policy);
    let mut out = format!(
        "# Queues on {dev} for the types of service in {}.\n",
        printable(file)
    );
    if classes.is_empty() {
        out.push_str("# No tenant has tos or dscp: there is nothing to do.\n");
        return out;
    }
    out.push_str("#\n");
    for (dscp, who) in &classes {
        let who = who.join(", ");
        out.push_str(&format!(
            "# DSCP {dscp}, priority {}: {}\n",
            priority(*dscp),
            printable(&who)
        ));
    }
    out.push_str(HEAD);
    out.push_str(&hardware(&classes, dev));
    out.push_str(&software(&classes, dev));
    out
}

const HEAD: &str = "\
#
# The priority is the upper three bits of the DSCP, as most network cards and switches have it by themselves.
# RoCE v2 goes over UDP port 4791. RoCE v1 and InfiniBand have no IP header, and these commands no effect on them.
# Each end marks what it sends itself: set the same on both. Switches on the way have to trust the DSCP too.
# Nothing here makes a priority lossless (PFC); see the documentation of card and switches.
";

/// A card that does RDMA itself sends past the kernel.
fn hardware(classes: &BTreeMap<u8, Vec<String>>, dev: &str) -> String {
    let mut out = String::from(
        "\n# 1. Hardware. RDMA by-passes the kernel, and so tc; the card's own table of priorities decides.\n\
         #    With iproute2 (drivers that have DCB):\n",
    );
    for dscp in classes.keys() {
        let priority = priority(*dscp);
        out.push_str(&format!(
            "dcb app replace dev {dev} dscp-prio {dscp}:{priority}\n"
        ));
    }
    out.push_str("#    Or with NVIDIA's tools:\n");
    out.push_str(&format!("mlnx_qos -i {dev} --trust dscp\n"));
    for dscp in classes.keys() {
        let priority = priority(*dscp);
        out.push_str(&format!(
            "mlnx_qos -i {dev} --dscp2prio set,{dscp},{priority}\n"
        ));
    }
    out
}

/// Soft-RoCE sends through the kernel's queues.
fn software(classes: &BTreeMap<u8, Vec<String>>, dev: &str) -> String {
    let mut out = format!(
        "\n# 2. Soft-RoCE (rdma_rxe): packets go through the kernel, and tc sees them. The priority of a packet\n\
         #    chooses its band in the queueing discipline of {dev} (prio and mqprio have several).\n\
         tc qdisc replace dev {dev} clsact\n"
    );
    for (number, dscp) in classes.keys().enumerate() {
        let (tos, priority) = (dscp << 2, priority(*dscp));
        for (protocol, pref) in [("ip", 2 * number + 1), ("ipv6", 2 * number + 2)] {
            // The two lower bits are those of congestion notification, which packets change on the way.
            out.push_str(&format!(
                "tc filter replace dev {dev} egress protocol {protocol} pref {pref} handle 1 flower \
                 ip_proto udp dst_port 4791 ip_tos {tos:#04x}/0xfc action skbedit priority {priority}\n"
            ));
        }
    }
    out
}
