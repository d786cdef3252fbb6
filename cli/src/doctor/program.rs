//! Whether a preload can work in a given program.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use super::check::{Check, Verdict};
use super::closure::{self, Object};
use super::dynamic::{self, Own};
use super::host::Host;
use super::libraries::{RDMACM, VERBS};
use crate::run::{elf, program, regular, secure, warn};

/// What a file has in it that opens librdmacm itself.
const OPENS: &[u8] = b"librdmacm.so";
/// A file name that only librdmacm asks the kernel for (librdmacm/cma.c).
const INSIDE: &[u8] = b"rdma_cm/abi_version";

/// `library` is cmshim's, or any other file for this machine.
pub fn check(host: &Host, name: &OsStr, library: Option<&Path>) -> Check {
    let mut check = Check::new(
        "program",
        "preload",
        "A preloaded library is seen only where the dynamic loader runs, and only by calls that are looked \
         up by name.",
    );
    let shown = name.to_string_lossy();
    let Some(found) = program::find(name) else {
        return check
            .is(Verdict::Fail, format!("{shown}: no such program"))
            .by(format!("type -a {shown}"));
    };
    let path = warn::executed(found.clone());
    check.details.push(match path == found {
        true => format!("{}", path.display()),
        false => format!("{}, run by {}", found.display(), path.display()),
    });
    if elf::read(&path).is_none() {
        let value = format!(
            "{}: no program, nor a script with an interpreter",
            path.display()
        );
        return check
            .is(Verdict::Fail, value)
            .by(format!("file {}", path.display()));
    }
    let own = std::env::current_exe().unwrap_or_default();
    if let Some(why) = warn::reason(&path, library.unwrap_or(&own)) {
        return check.is(Verdict::Fail, why).by(mended(&path));
    }
    linked(check, &closure::of(host, &path))
}

/// What makes a preload work in it. Capabilities that a service manager gives are no obstacle.
fn mended(path: &Path) -> String {
    let shown = path.display();
    match secure::reason(path) {
        Some("setuid") => format!("chmod u-s {shown}  # and start it as its owner"),
        Some("setgid") => format!("chmod g-s {shown}  # and start it with its group"),
        Some(_) => {
            format!("setcap -r {shown}  # and give them by AmbientCapabilities= in its unit")
        }
        None if elf::read(path).is_some_and(|elf| !elf.dynamic) => {
            "build it without -static".to_owned()
        }
        None => "use a build of it, or of cmshim, for the machine and libc of the other".to_owned(),
    }
}

/// Where its RDMA calls go.
fn linked(mut check: Check, objects: &[Object]) -> Check {
    if let Some(inside) = objects.iter().find(|o| has_own_copy(o)) {
        let path = inside.path.display();
        let value = format!("librdmacm is linked into {path}, whose calls go past every preload");
        return check
            .is(Verdict::Fail, value)
            .by("build it with -lrdmacm, not with librdmacm.a");
    }
    let rdmacm = users(objects, RDMACM, &mut check);
    let verbs = users(objects, VERBS, &mut check);
    if let Some(bound) = objects.iter().find(|o| is_rdma(&o.path) && is_bound(o)) {
        let what = "calls its own functions directly (-Bsymbolic)";
        check
            .details
            .push(format!("{} {what}", bound.path.display()));
        return check
            .is(
                Verdict::Warn,
                "works for the program's calls, not for librdmacm's own",
            )
            .by("use a librdmacm that is built without -Bsymbolic, as rdma-core builds it");
    }
    if rdmacm {
        return check.is(Verdict::Ok, "works: librdmacm is linked");
    }
    if let Some(opener) = objects.iter().find(|o| opens_it(o)) {
        let path = opener.path.display();
        let value = format!(
            "{path} opens librdmacm itself: what it looks up by dlsym goes past every preload"
        );
        return check
            .is(Verdict::Warn, value)
            .by("build it with -lcmshim -lrdmacm instead of dlopen");
    }
    check.is(
        Verdict::Ok,
        match verbs {
            true => "works: libibverbs is linked, librdmacm is not",
            false => "works, but links no RDMA library; what a plugin opens cannot be seen here",
        },
    )
}

/// Whether something needs this library; a line says what.
fn users(objects: &[Object], name: &str, check: &mut Check) -> bool {
    let needs = |o: &Object| !is_rdma(&o.path) && o.needed.iter().any(|n| n == name);
    let user = objects.iter().position(needs);
    if let Some(user) = user {
        let by = chain(objects, user);
        check.details.push(format!("{name}: needed by {by}"));
    }
    user.is_some()
}

/// rdma-core's own libraries know each other's names.
fn is_rdma(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("librdmacm.so") || name.starts_with("libibverbs.so")
}

fn has_own_copy(object: &Object) -> bool {
    !is_rdma(&object.path) && (is_bound(object) || contains(&object.path, INSIDE))
}

fn opens_it(object: &Object) -> bool {
    !is_rdma(&object.path) && contains(&object.path, OPENS)
}

fn is_bound(object: &Object) -> bool {
    dynamic::own_functions(&object.path) == Some(Own::Bound)
}

/// "libfabric.so.1, needed by fi_pingpong".
fn chain(objects: &[Object], mut at: usize) -> String {
    let mut names = Vec::new();
    while let Some(object) = objects.get(at) {
        names.push(
            object
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        );
        match object.parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
    names.join(", needed by ")
}

/// Whether the bytes stand somewhere in the file, which may be large.
fn contains(path: &Path, wanted: &[u8]) -> bool {
    let Ok(mut file) = regular::open(path) else {
        return false;
    };
    let mut kept: Vec<u8> = Vec::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block) {
            Ok(0) | Err(_) => return false,
            Ok(n) => kept.extend_from_slice(&block[..n]),
        }
        if memchr::memmem::find(&kept, wanted).is_some() {
            return true;
        }
        // The end may be the beginning of it.
        let done = kept.len().saturating_sub(wanted.len());
        kept.drain(..done);
    }
}
