//! The kernel's upper limit for the backlog of RDMA listeners.

use super::check::{Check, Verdict};
use super::host::Host;

const FILE: &str = "/proc/sys/net/rdma_ucm/max_backlog";
/// The kernel's own (max_backlog in drivers/infiniband/core/ucma.c).
const DEFAULT: u64 = 1024;

/// `wanted` is what cmshim raises small backlogs to (listen.min_backlog).
pub fn check(host: &Host, wanted: u32) -> Check {
    let check = Check::new(
        "max-backlog",
        "listen backlog",
        "A listener gets at most so many unanswered requests, whatever it asks for. What comes while it is \
         full is dropped in silence, and the client tries again only after seconds. cmshim raises small \
         backlogs to listen.min_backlog, but not above this.",
    );
    let Some(limit) = host.number::<u64>(FILE) else {
        let value = "cannot be seen: rdma_ucm is not loaded, or this is a container";
        return check.is(Verdict::NotApplicable, value);
    };
    let value = format!("at most {limit} (the kernel's default is {DEFAULT})");
    if limit == 0 || limit < u64::from(wanted) {
        let value = format!("{value}; listen.min_backlog is {wanted}");
        return check
            .is(Verdict::Warn, value)
            .by(format!("sysctl -w net.rdma_ucm.max_backlog={DEFAULT}"));
    }
    check.is(Verdict::Ok, value)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn is_compared_with_what_cmshim_raises_to() {
        let tree = Tree::new();
        assert_eq!(check(&tree.host(), 128).verdict, Verdict::NotApplicable);
        let of = |limit: &str, wanted| {
            tree.file("proc/sys/net/rdma_ucm/max_backlog", limit);
            check(&tree.host(), wanted).verdict
        };
        assert_eq!(of("1024\n", 128), Verdict::Ok);
        assert_eq!(of("4\n", 128), Verdict::Warn);
        assert_eq!(of("4\n", 0), Verdict::Ok);
        assert_eq!(of("0\n", 0), Verdict::Warn);
        assert_eq!(of("four\n", 128), Verdict::NotApplicable);
    }
}
