//! The kernel's modules for the RDMA CM.

use super::check::{Check, Verdict};
use super::host::Host;

const NEEDED: &[&str] = &["rdma_cm", "rdma_ucm", "ib_uverbs"];

pub fn check(host: &Host) -> Check {
    let check = Check::new(
        "modules",
        "kernel modules",
        "librdmacm talks to rdma_ucm, libibverbs to ib_uverbs; without them rdma_create_event_channel \
         ends with ENODEV and ibv_get_device_list with ENOSYS. \
         They are loaded for good by a line each in /etc/modules-load.d/.",
    );
    let missing: Vec<&str> = NEEDED.iter().filter(|m| !there(host, m)).copied().collect();
    if missing.is_empty() {
        return check.is(Verdict::Ok, NEEDED.join(", "));
    }
    let missing_names = missing.join(", ");
    let check = check.is(Verdict::Fail, format!("not loaded: {missing_names}"));
    let nowhere: Vec<&str> = missing
        .iter()
        .filter(|m| not_installed(host, m))
        .copied()
        .collect();
    match nowhere.is_empty() {
        true => check.by(format!("modprobe -a {}", missing.join(" "))),
        false => check.by(format!(
            "install the package with the modules of kernel {} (there is no {})",
            release(host),
            nowhere.join(", ")
        )),
    }
}

fn release(host: &Host) -> String {
    host.text("/proc/sys/kernel/osrelease")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Is there a list of the running kernel's modules without this one? Without a list, as in a container, nothing is known.
fn not_installed(host: &Host, module: &str) -> bool {
    let list = host.text(&format!("/lib/modules/{}/modules.dep", release(host)));
    let file = format!("/{module}.ko");
    list.is_some_and(|list| {
        !list.lines().any(|line| {
            line.split(':')
                .next()
                .is_some_and(|path| path.contains(&file))
        })
    })
}

/// A module that is built into the kernel may have no directory, but stands in modules.builtin.
pub fn there(host: &Host, module: &str) -> bool {
    host.exists(&format!("/sys/module/{module}")) || built_in(host, module)
}

fn built_in(host: &Host, module: &str) -> bool {
    let list = host.text(&format!("/lib/modules/{}/modules.builtin", release(host)));
    let end = format!("/{module}.ko");
    list.is_some_and(|list| list.lines().any(|line| line.trim().ends_with(&end)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn what_is_not_loaded_is_named() {
        let tree = Tree::new();
        tree.file("sys/module/ib_uverbs/refcnt", "1");
        let check = check(&tree.host());
        assert_eq!(check.verdict, Verdict::Fail);
        assert_eq!(check.value, "not loaded: rdma_cm, rdma_ucm");
        assert_eq!(check.mend, ["modprobe -a rdma_cm rdma_ucm"]);
    }

    #[test]
    fn what_is_not_installed_cannot_be_loaded() {
        let tree = Tree::new();
        tree.file("proc/sys/kernel/osrelease", "6.1.0-x\n");
        let list = "kernel/drivers/infiniband/core/rdma_cm.ko.zst: kernel/drivers/infiniband/core/ib_core.ko.zst\n\
                    kernel/drivers/infiniband/core/ib_uverbs.ko: kernel/x/rdma_ucm.ko\n";
        tree.file("lib/modules/6.1.0-x/modules.dep", list);
        let mend = "install the package with the modules of kernel 6.1.0-x (there is no rdma_ucm)";
        assert_eq!(check(&tree.host()).mend, [mend]);
    }

    #[test]
    fn what_is_built_in_is_there() {
        let tree = Tree::new();
        tree.file("proc/sys/kernel/osrelease", "6.1.0-x\n");
        let name = |module: &str| format!("kernel/drivers/infiniband/core/{module}.ko\n");
        let list: String = NEEDED.iter().map(|module| name(module)).collect();
        tree.file("lib/modules/6.1.0-x/modules.builtin", &list);
        assert_eq!(check(&tree.host()).verdict, Verdict::Ok);
    }
}
