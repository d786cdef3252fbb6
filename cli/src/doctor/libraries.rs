//! librdmacm and libibverbs: which files the loader takes, and where they come from.

use std::path::{Path, PathBuf};

use super::check::{Check, Verdict};
use super::host::Host;
use super::packages;
use crate::run::elf::{self, Target};
use crate::run::places;

pub const RDMACM: &str = "librdmacm.so.1";
pub const VERBS: &str = "libibverbs.so.1";

struct Found {
    /// "44.0", of rdma-core.
    release: Option<String>,
    shown: String,
    path: PathBuf,
}

pub fn check(host: &Host) -> Check {
    let mut check = Check::new(
        "libraries",
        "RDMA libraries",
        "The program calls librdmacm, and that libibverbs, which loads a driver library for the device. All \
         of them come from one release of rdma-core; a mixture, or a second copy in LD_LIBRARY_PATH, does \
         not work together.",
    );
    let rdmacm = find(host, RDMACM, "librdmacm");
    let verbs = find(host, VERBS, "libibverbs");
    for (name, found) in [(RDMACM, &rdmacm), (VERBS, &verbs)] {
        match found {
            Some(found) => check.found(Verdict::Ok, format!("{name}: {}", found.shown)),
            None => check.found(Verdict::Fail, format!("{name}: not found")),
        }
    }
    let (Some(rdmacm), Some(verbs)) = (rdmacm, verbs) else {
        check.mend(install(
            host,
            "librdmacm1 ibverbs-providers",
            "librdmacm libibverbs",
        ));
        check.value = "not installed".to_owned();
        return check;
    };
    if !has_drivers(&verbs.path) {
        check.found(Verdict::Fail, "no driver libraries beside libibverbs");
        check.mend(install(host, "ibverbs-providers", "libibverbs"));
    }
    check.value = release(&rdmacm, &verbs, &mut check);
    check
}

fn release(rdmacm: &Found, verbs: &Found, check: &mut Check) -> String {
    match (&rdmacm.release, &verbs.release) {
        (Some(one), Some(other)) if one != other => {
            check.raise(Verdict::Warn);
            check.mend(format!(
                "ls -l {} {}",
                rdmacm.path.display(),
                verbs.path.display()
            ));
            format!("of two releases of rdma-core: {one} and {other}")
        }
        (Some(release), _) | (None, Some(release)) => format!("rdma-core {release}"),
        (None, None) => "of an unknown release".to_owned(),
    }
}

fn find(host: &Host, soname: &str, stem: &str) -> Option<Found> {
    let dirs = places::loader(&host.root, &host.library_path);
    let path = in_dirs(&dirs, soname, own_target())?;
    let path = host.own_name(&std::fs::canonicalize(&path).unwrap_or(path));
    let package = packages::of(host, &path, stem);
    let package = package.unwrap_or_else(|| "of no package that is known here".to_owned());
    Some(Found {
        release: release_of(&path),
        shown: format!("{} ({package})", path.display()),
        path,
    })
}

/// As the loader does, files for other machines are passed over.
pub fn in_dirs(dirs: &[PathBuf], name: &str, target: Option<Target>) -> Option<PathBuf> {
    let fits = |path: &PathBuf| match (elf::read(path), target) {
        (Some(elf), Some(target)) => elf.target == target,
        (found, _) => found.is_some(),
    };
    dirs.iter().map(|dir| dir.join(name)).find(fits)
}

/// What this program is built for.
pub fn own_target() -> Option<Target> {
    let own = std::env::current_exe().ok()?;
    Some(elf::read(&own)?.target)
}

/// rdma-core names its files NAME.so.ABI.MINOR.RELEASE (rdma_library in buildlib/rdma_functions.cmake).
fn release_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (_, numbers) = name.split_once(".so.")?;
    let release = numbers.splitn(3, '.').nth(2)?;
    Some(release.to_owned())
}

/// Libraries like libmlx5-rdmav34.so (VERBS_PROVIDER_DIR, CMakeLists.txt of rdma-core).
fn has_drivers(verbs: &Path) -> bool {
    let dir = verbs.with_file_name("libibverbs");
    let driver = |name: &std::ffi::OsStr| name.to_string_lossy().contains("-rdmav");
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| driver(&entry.file_name()))
}

fn install(host: &Host, debian: &str, red_hat: &str) -> String {
    match host.exists("/usr/bin/dnf") {
        true => format!("dnf install {red_hat}"),
        false => format!("apt-get install {debian}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn the_release_stands_in_the_files_name() {
        let release = |name: &str| release_of(Path::new(name));
        assert_eq!(release("/x/librdmacm.so.1.3.44.0"), Some("44.0".to_owned()));
        assert_eq!(
            release("/x/libibverbs.so.1.14.56.1"),
            Some("56.1".to_owned())
        );
        assert_eq!(release("/x/librdmacm.so.1"), None);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let tree = Tree::new();
        // No ELF file: the loader would not take it either.
        tree.file("usr/lib/librdmacm.so.1", "text");
        let checked = check(&tree.host());
        assert_eq!(checked.verdict, Verdict::Fail);
        assert_eq!(checked.details[0], "librdmacm.so.1: not found");
        let debian = ["apt-get install librdmacm1 ibverbs-providers"];
        assert_eq!(checked.mend, debian);
        tree.file("usr/bin/dnf", "");
        assert_eq!(
            check(&tree.host()).mend,
            ["dnf install librdmacm libibverbs"]
        );
    }

    #[test]
    fn two_releases_are_named() {
        let tree = Tree::new();
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // Any ELF file of this machine does.
        for name in ["librdmacm.so.1.3.44.0", "libibverbs.so.1.14.56.0"] {
            tree.file(&format!("usr/lib/{name}"), "");
            std::fs::write(tree.path(&format!("usr/lib/{name}")), &own).unwrap();
        }
        tree.link("usr/lib/librdmacm.so.1", "librdmacm.so.1.3.44.0");
        tree.link("usr/lib/libibverbs.so.1", "libibverbs.so.1.14.56.0");
        let check = check(&tree.host());
        assert_eq!(check.value, "of two releases of rdma-core: 44.0 and 56.0");
    }
}
