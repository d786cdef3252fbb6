//! Huge pages.

use super::check::{Check, Verdict};
use super::host::Host;

const MEMINFO: &str = "/proc/meminfo";

pub fn check(host: &Host) -> Check {
    let check = Check::new(
        "huge-pages",
        "huge pages",
        "A buffer on huge pages needs fewer entries in the device's translation tables. Programs that ask \
         for them (SPDK, DPDK and others) fail when none is free; all others do without.",
    );
    let number = |key: &str| -> Option<u64> {
        let text = host.field(MEMINFO, key)?;
        text.split_whitespace().next()?.parse().ok()
    };
    let Some((total, free)) = number("HugePages_Total").zip(number("HugePages_Free")) else {
        return check.is(Verdict::NotApplicable, "this kernel has none");
    };
    let kib = number("Hugepagesize").unwrap_or(0);
    if total == 0 {
        return check.is(Verdict::Ok, "none reserved, which only some programs need");
    }
    let value = format!("{free} of {total} free, {kib} KiB each");
    if free == 0 {
        let more = total.saturating_mul(2);
        return check
            .is(Verdict::Warn, value)
            .by(format!("sysctl -w vm.nr_hugepages={more}"));
    }
    check.is(Verdict::Ok, value)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn reads_meminfo() {
        let tree = Tree::new();
        assert_eq!(check(&tree.host()).verdict, Verdict::NotApplicable);
        let with = |total: u64, free: u64| {
            let text = format!(
                "MemTotal: 9 kB\nHugePages_Total: {total}\nHugePages_Free: {free}\nHugepagesize: 2048 kB\n"
            );
            tree.file("proc/meminfo", &text);
            check(&tree.host())
        };
        assert_eq!(with(0, 0).verdict, Verdict::Ok);
        assert_eq!(with(8, 3).value, "3 of 8 free, 2048 KiB each");
        let check = with(8, 0);
        assert_eq!(check.verdict, Verdict::Warn);
        assert_eq!(check.mend, ["sysctl -w vm.nr_hugepages=16"]);
    }
}
