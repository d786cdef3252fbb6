//! How much memory this user may lock, which is what registering does to it.

use super::check::{Check, Verdict};
use super::host::Host;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The kernel's default before 5.16 (MLOCK_LIMIT, include/uapi/linux/resource.h): the rings of a few
/// queues already need more.
const NOTHING: u64 = 64 * KIB;
/// Our judgement, no rule: buffers of RDMA programs have hundreds of MiB, and the 8 MiB that kernel and
/// systemd give by default do not hold them.
const SMALL: u64 = 1 << 30;

pub fn check(host: &Host) -> Check {
    let check = Check::new(
        "memlock",
        "locked memory",
        "Queues and registered memory are pinned and count against RLIMIT_MEMLOCK; beyond it ibv_reg_mr and \
         ibv_create_cq end with ENOMEM. This is the limit of this shell: a service has its own \
         (systemctl edit NAME: [Service] LimitMEMLOCK=infinity), and users have theirs in \
         /etc/security/limits.d/.",
    );
    let (soft, hard) = host.memlock;
    let value = match hard {
        _ if soft == hard => size(soft),
        _ => format!("{}, of at most {}", size(soft), size(hard)),
    };
    if host.may_lock_all() && soft.is_some() {
        let value = format!("{value}; does not hold for this user (CAP_IPC_LOCK)");
        return check.is(Verdict::Ok, value);
    }
    let verdict = match soft {
        Some(limit) if limit <= NOTHING => Verdict::Fail,
        Some(limit) if limit < SMALL => Verdict::Warn,
        _ => return check.is(Verdict::Ok, value),
    };
    check.is(verdict, value).by(
        "printf '* - memlock unlimited\\n' > /etc/security/limits.d/rdma.conf  # and log in again",
    )
}

fn size(limit: Option<u64>) -> String {
    match limit {
        None => "unlimited".to_owned(),
        Some(bytes) if bytes >= MIB && bytes % MIB == 0 => format!("{} MiB", bytes / MIB),
        Some(bytes) if bytes % KIB == 0 => format!("{} KiB", bytes / KIB),
        Some(bytes) => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    fn of(soft: Option<u64>, hard: Option<u64>, capabilities: &str) -> (Verdict, String) {
        let tree = Tree::new();
        let status = format!("Name:\tx\nCapEff:\t{capabilities}\n");
        tree.file("proc/self/status", &status);
        let mut host = tree.host();
        host.memlock = (soft, hard);
        let check = check(&host);
        (check.verdict, check.value)
    }

    #[test]
    fn small_limits_are_told() {
        let none = "0000000000000000";
        let limit = Some(64 * KIB);
        assert_eq!(of(limit, limit, none), (Verdict::Fail, "64 KiB".to_owned()));
        let limit = Some(8 * MIB);
        assert_eq!(of(limit, limit, none).0, Verdict::Warn);
        let both = of(limit, None, none);
        assert_eq!(
            both,
            (Verdict::Warn, "8 MiB, of at most unlimited".to_owned())
        );
        assert_eq!(of(None, None, none), (Verdict::Ok, "unlimited".to_owned()));
    }

    #[test]
    fn a_capability_overrides_them() {
        let limit = Some(64 * KIB);
        let (verdict, value) = of(limit, limit, "0000000000004000");
        assert_eq!(verdict, Verdict::Ok);
        assert!(value.contains("CAP_IPC_LOCK"), "{value}");
        assert_eq!(of(limit, limit, "no number").0, Verdict::Fail);
    }
}
