//! Whether a preload can work in a given program.

use std::ffi::OsStr;
use std::path::Path;

use super::check::{Check, Verdict};
use super::host::Host;
use super::libraries::{RDMACM, VERBS};
use super::markers::{self, Own};
use super::needed::{self, Object};
use crate::run::{elf, program, secure, warn};

/// `library` is cmshim's, or any other file for this machine.
pub fn check(host: &Host, name: &OsStr, library: Option<&Path>) -> Check {
    let mut check = Check::new(
        "program",
        "preload",
        "A preloaded library is seen only where the dynamic loader runs, and only by calls that are looked \
         up by name.",
    );
    if name.is_empty() {
        return check.is(Verdict::Fail, "an empty name is no program".to_owned());
    }
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
    if let Some(why) = secure::for_others(&path) {
        let what = format!("it is {why}: started by another user, it ignores the library");
        check.found(Verdict::Warn, what);
        check.mend(mended_secure(&path, why));
    }
    linked(check, &needed::of(host, &path))
}

/// What makes a preload work in it.
fn mended(path: &Path) -> String {
    match secure::reason(path) {
        Some(why) => mended_secure(path, why),
        None if elf::read(path).is_some_and(|elf| !elf.dynamic) => {
            "build it without -static".to_owned()
        }
        None => "use a build of it, or of cmshim, for the machine and libc of the other".to_owned(),
    }
}

/// Capabilities that a service manager gives are no obstacle.
fn mended_secure(path: &Path, why: &str) -> String {
    let shown = path.display();
    match why {
        "setuid" => format!("chmod u-s {shown}  # and start it as its owner"),
        "setgid" => format!("chmod g-s {shown}  # and start it with its group"),
        _ => format!("setcap -r {shown}  # and give them by AmbientCapabilities= in its unit"),
    }
}

/// Where its RDMA calls go.
fn linked(mut check: Check, objects: &[Object]) -> Check {
    let mut opener = None;
    let mut bound = None;
    for object in objects {
        let path = object.path.display();
        match markers::look(&object.path) {
            // Linked with -lcmshim: it defines the functions, and is what a preload would be.
            _ if is_named(&object.path, &["libcmshim.so"]) => {}
            Some(inside) if is_rdma(&object.path) => {
                bound = bound.or((inside.own == Own::Bound).then_some(path));
            }
            Some(inside) if inside.copy || inside.own == Own::Bound => {
                let value =
                    format!("librdmacm is linked into {path}, whose calls go past every preload");
                return check
                    .is(Verdict::Fail, value)
                    .by("build it with -lrdmacm, not with librdmacm.a");
            }
            Some(inside) => opener = opener.or(inside.opens.then_some(path)),
            None => {}
        }
    }
    let rdmacm = users(objects, RDMACM, &mut check);
    let verbs = users(objects, VERBS, &mut check);
    if let Some(bound) = bound {
        let what = "calls its own functions directly (-Bsymbolic)";
        check.details.push(format!("{bound} {what}"));
        return check
            .is(
                Verdict::Warn,
                "works for the program's calls, not for librdmacm's own",
            )
            .by("use a librdmacm that is built without -Bsymbolic, as rdma-core builds it");
    }
    match (rdmacm, opener, verbs) {
        (true, _, _) => check.is(Verdict::Ok, "works: librdmacm is linked"),
        (false, Some(opener), _) => opens_itself(check, &opener.to_string()),
        (false, None, true) => {
            check.is(Verdict::Ok, "works: libibverbs is linked, librdmacm is not")
        }
        (false, None, false) => check.is(
            Verdict::Ok,
            "works, but links no RDMA library; what a plugin opens cannot be seen here",
        ),
    }
}

fn opens_itself(check: Check, path: &str) -> Check {
    let value =
        format!("{path} names librdmacm.so and is not linked with it: what is opened by dlopen and looked up by dlsym goes past every preload");
    check
        .is(Verdict::Warn, value)
        .by("build it with -lcmshim -lrdmacm instead of dlopen")
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
    is_named(path, &["librdmacm.so", "libibverbs.so"])
}

fn is_named(path: &Path, starts: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    starts.iter().any(|start| name.starts_with(start))
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
