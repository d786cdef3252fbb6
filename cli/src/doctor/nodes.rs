//! The device files, and whether this user may use them.

use super::check::{Check, Verdict};
use super::host::Host;
use super::modules;

const CM: &str = "/dev/infiniband/rdma_cm";
const VERBS: &str = "/sys/class/infiniband_verbs";

pub fn check(host: &Host) -> Check {
    let mut check = Check::new(
        "device-files",
        "device files",
        "librdmacm opens /dev/infiniband/rdma_cm and libibverbs /dev/infiniband/uverbsN, both for reading \
         and writing. The kernel makes them with mode 0666; in a container they must be handed in \
         (--device=/dev/infiniband).",
    );
    let mut paths = Vec::new();
    // Without its module there is no file, which is told once, there.
    if modules::there(host, "rdma_ucm") {
        paths.push(CM.to_owned());
    }
    let verbs = host.names(VERBS);
    let verbs = verbs.iter().filter(|name| name.starts_with("uverbs"));
    paths.extend(verbs.map(|name| format!("/dev/infiniband/{name}")));
    for path in &paths {
        look_at(host, path, &mut check);
    }
    check.value = match check.verdict {
        Verdict::NotApplicable => "the modules that make them are not loaded".to_owned(),
        Verdict::Ok => format!("{} can be opened by this user", paths.len()),
        _ => format!("{} of {} cannot be used", check.mend.len(), paths.len()),
    };
    check
}

fn look_at(host: &Host, path: &str, check: &mut Check) {
    if !host.exists(path) {
        check.found(Verdict::Fail, format!("{path}: is not there"));
        check.mend(made_by_hand(host, path));
    } else if !host.accessible(path) {
        let detail = format!("{path}: this user may not read and write it");
        check.found(Verdict::Fail, detail);
        check.mend(format!("chmod 0666 {path}"));
    } else {
        check.found(Verdict::Ok, path);
    }
}

/// The kernel's numbers stand in sysfs. udev does not make the file: devtmpfs does, or nobody.
fn made_by_hand(host: &Host, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let classes = ["/sys/class/misc", VERBS];
    let numbers = classes
        .iter()
        .find_map(|class| host.text(&format!("{class}/{name}/dev")));
    let numbers = numbers.unwrap_or_else(|| "MAJOR:MINOR".to_owned());
    let numbers = numbers.replace(':', " ");
    format!("mkdir -p /dev/infiniband && mknod -m 0666 {path} c {numbers}")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn a_missing_file_is_made_with_the_kernels_numbers() {
        let tree = Tree::new();
        tree.file("sys/module/rdma_ucm/refcnt", "0");
        tree.file("sys/class/misc/rdma_cm/dev", "10:122\n");
        tree.file("sys/class/infiniband_verbs/abi_version", "6\n");
        tree.file("sys/class/infiniband_verbs/uverbs0/dev", "231:192\n");
        tree.file("dev/infiniband/uverbs0", "");
        let check = check(&tree.host());
        assert_eq!(check.verdict, Verdict::Fail);
        assert_eq!(check.value, "1 of 2 cannot be used");
        assert_eq!(
            check.mend,
            ["mkdir -p /dev/infiniband && mknod -m 0666 /dev/infiniband/rdma_cm c 10 122"]
        );
        tree.file("dev/infiniband/rdma_cm", "");
        assert_eq!(super::check(&tree.host()).verdict, Verdict::Ok);
    }

    #[test]
    fn without_modules_nothing_is_missed() {
        assert_eq!(check(&Tree::new().host()).verdict, Verdict::NotApplicable);
    }
}
