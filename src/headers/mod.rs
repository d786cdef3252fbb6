//! The declarations of `abi`, the functions that `real` calls and those of libc that `real/c_library.rs` calls,
//! against the installed C headers. One C source states all of them, with the numbers that the Rust compiler has;
//! a C compiler reads it after the headers. It needs a C compiler and the headers, and no libclang.

mod constants;
pub mod functions;
mod structures;

use std::io::Write;
use std::process::{Command, Stdio};

/// What programs include.
const LIBRARY: &str =
    "#include <rdma/rdma_cma.h>\n#include <rdma/rdma_verbs.h>\n#include <rdma/rsocket.h>\n#include <infiniband/mlx5dv.h>\n";
/// What librdmacm itself includes: the kernel's. (Both define the same names, so they are read apart.)
const KERNEL: &str = "#include <rdma/rdma_user_cm.h>\n#include <rdma/ib_user_verbs.h>\n";

const COMMON: &str = "#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#define COMMAND(type, member) (sizeof(struct rdma_ucm_cmd_hdr) + offsetof(struct type, member))
#define COMMAND_SIZE(type) (sizeof(struct rdma_ucm_cmd_hdr) + sizeof(struct type))
#define END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
";

/// What the C compiler says of these lines below the headers; it is CC, or `cc`.
fn compile(headers: &str, lines: &str, flags: &[&str]) -> Result<String, String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut child = Command::new(&compiler)
        .args(["-std=gnu11", "-x", "c", "-w"])
        .args(flags)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{compiler}: {error}"))?;
    let source = format!("{COMMON}{headers}{lines}");
    let mut input = child.stdin.take().expect("it is piped");
    // A compiler that stops reading says why itself.
    let writer = std::thread::spawn(move || drop(input.write_all(source.as_bytes())));
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let _ = writer.join();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Do the headers agree?
fn agree(headers: &str, lines: &str) -> Result<(), String> {
    compile(headers, lines, &["-fsyntax-only"]).map(drop)
}

/// A C assertion that names the Rust side when it fails.
fn assert_that(condition: &str, what: &str) -> String {
    format!("_Static_assert({condition}, \"{what}\");\n")
}

fn require(headers: &str, lines: &str) {
    if let Err(said) = agree(headers, lines) {
        panic!("the installed headers do not agree (or librdmacm-dev and libibverbs-dev are missing):\n{said}");
    }
}

#[test]
fn functions_have_the_types_of_the_headers() {
    require(LIBRARY, &functions::lines());
}

#[test]
fn structures_are_laid_out_as_in_the_headers() {
    require(LIBRARY, &structures::of_the_library());
    require(KERNEL, &structures::of_the_kernel());
}

#[test]
fn constants_have_the_values_of_the_headers() {
    require(LIBRARY, &constants::of_the_library());
    require(KERNEL, &constants::of_the_kernel());
    // Enumerators that a newer rdma-core has; the text of an older one does not name them.
    let text = compile(LIBRARY, "", &["-E"]).expect("the headers can be read");
    let newer = constants::newer(|name| text.contains(name));
    require(LIBRARY, &newer);
}

/// What the three files declare, as `file::NAME` or `file::module::NAME`.
fn declared(keyword: &str) -> Vec<String> {
    let files = [
        ("cm", include_str!("../abi/cm.rs")),
        ("ucm", include_str!("../abi/ucm.rs")),
        ("verbs", include_str!("../abi/verbs.rs")),
    ];
    let mut all = Vec::new();
    for (file, text) in files {
        let mut module = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("pub mod ") {
                module = format!("{}::", name.trim_end_matches([' ', '{']));
            } else if line == "}" {
                module.clear();
            } else if let Some(rest) = line.trim_start().strip_prefix(keyword) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                if !name.is_empty() && !rest.starts_with("fn ") {
                    all.push(format!("{file}::{module}{name}"));
                }
            }
        }
    }
    assert!(all.len() > 20, "found {all:?}");
    all
}

#[test]
fn nothing_is_left_out() {
    let compared = |text: &str, name: &str| {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        assert!(text.split(name).skip(1).any(ends), "{name} is not compared");
    };
    for name in declared("pub const ") {
        compared(include_str!("constants.rs"), &name);
    }
    for name in declared("pub struct ") {
        compared(include_str!("structures.rs"), &name);
    }
}

#[test]
fn a_wrong_declaration_is_noticed() {
    let good = functions::declaration::<
        unsafe extern "C-unwind" fn(*mut crate::abi::cm::RdmaCmId, i32) -> i32,
    >;
    let wide = functions::declaration::<
        unsafe extern "C-unwind" fn(*mut crate::abi::cm::RdmaCmId, i64) -> i32,
    >;
    assert_eq!(agree(LIBRARY, &good("rdma_listen")), Ok(()));
    assert!(agree(LIBRARY, &wide("rdma_listen")).is_err_and(|said| said.contains("rdma_listen")));
    assert!(agree(LIBRARY, &good("rdma_no_such_function")).is_err());
    let member = |at| structures::member("RdmaCmId.qp", "struct rdma_cm_id", "qp", "qp", at, 8);
    assert_eq!(agree(LIBRARY, &member(24)), Ok(()));
    assert!(agree(LIBRARY, &member(32)).is_err_and(|said| said.contains("RdmaCmId.qp")));
    let state = |value| constants::equal("verbs::RTR", value, "IBV_QPS_RTR");
    assert_eq!(agree(LIBRARY, &state(2)), Ok(()));
    assert!(agree(LIBRARY, &state(3)).is_err_and(|said| said.contains("verbs::RTR")));
}
