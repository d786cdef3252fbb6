//! `cmshim run` warns about programs in which a preload has no effect, and starts them all the same.

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::{clean, cmshim, set_mode, told, Scratch};

/// The warnings; the program must have run.
fn warnings(library: &Path, options: &[&str], program: &Path) -> String {
    let (status, out, err) = told(
        cmshim()
            .args(["run", "--library"])
            .arg(library)
            .args(options)
            .arg("--")
            .arg(program)
            .output()
            .unwrap(),
    );
    assert_eq!((status, out.as_str()), (0, "ran\n"), "{err}");
    err
}

const PROGRAM: &str = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n";

#[test]
fn a_dynamic_program_is_fine() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for flags in [&["-pie", "-fPIE"][..], &["-no-pie"]] {
        let program = dir.compile("dynamic", PROGRAM, flags);
        assert_eq!(warnings(&library, &[], &program), "");
    }
}

#[test]
fn a_static_program_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    for flags in [&["-static"][..], &["-static-pie", "-fPIE"]] {
        let program = dir.compile("static", PROGRAM, flags);
        let warning = warnings(&library, &[], &program);
        let expected = format!(
            "cmshim: {}: it is statically linked, so the library has no effect in it\n",
            program.display()
        );
        assert_eq!(warning, expected);
        assert_eq!(warnings(&library, &["--quiet"], &program), "");
    }
}

#[test]
fn a_script_is_followed_to_its_interpreter() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let interpreter = dir.compile("static", PROGRAM, &["-static"]);
    let inner = dir.executable("inner", &format!("#!{} -x\n", interpreter.display()), 0o755);
    let outer = dir.executable("outer", &format!("#! {}\n", inner.display()), 0o755);
    for script in [inner, outer] {
        let warning = warnings(&library, &[], &script);
        let expected = format!(
            "(run by {}): it is statically linked",
            interpreter.display()
        );
        assert!(warning.contains(&expected), "{warning}");
    }
    let shell = dir.executable("shell", "#!/usr/bin/env sh\necho ran\n", 0o755);
    assert_eq!(warnings(&library, &[], &shell), "");
}

#[test]
fn a_script_through_env_is_followed_too() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let interpreter = dir.compile("static-interpreter", PROGRAM, &["-static"]);
    let script = dir.executable("script", "#!/usr/bin/env static-interpreter\n", 0o755);
    let path = format!(
        "{}:{}",
        interpreter.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = cmshim()
        .args(["run", "--library"])
        .args([&library, &script])
        .env("PATH", path)
        .output()
        .unwrap();
    let (_, out, err) = told(output);
    assert_eq!(out, "ran\n");
    assert!(
        err.contains("static-interpreter): it is statically linked"),
        "{err}"
    );
}

#[test]
fn a_program_for_another_machine_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let program = dir.compile("dynamic", PROGRAM, &[]);
    let mut bytes = fs::read(&program).unwrap();
    // e_machine (ELF-64 object file format, figure 2): 22 is S/390.
    bytes[18..20].copy_from_slice(&[22, 0]);
    fs::write(&program, bytes).unwrap();
    let mut command = cmshim();
    command
        .args(["run", "--library"])
        .args([&library, &program]);
    // execvp hands what the kernel does not know to the shell, so the status says nothing.
    let (_, _, err) = told(command.output().unwrap());
    let expected = "it is built for S/390, 64 bits, the library for ";
    assert!(err.contains(expected), "{err}");
}

#[test]
fn a_program_for_musl_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let program = dir.compile("musl", PROGRAM, &[loader]);
    let mut command = cmshim();
    command
        .args(["run", "--library"])
        .args([&library, &program]);
    // The loader is not here, so it does not start.
    let (_, _, err) = told(command.output().unwrap());
    assert!(
        err.contains("its loader is musl's, which cannot load"),
        "{err}"
    );
}

#[test]
fn a_setuid_program_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let program = dir.compile("setuid", PROGRAM, &[]);
    set_mode(&program, 0o4755);
    assert_eq!(
        warnings(&library, &[], &program),
        "",
        "our own identity is no other one"
    );
    if fs::metadata(&program).unwrap().uid() != 0 {
        return; // Only root can give a file away.
    }
    std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
    set_mode(&program, 0o4755);
    set_mode(program.parent().unwrap(), 0o755);
    let warning = warnings(&library, &[], &program);
    assert!(
        warning.contains("it is setuid, so the dynamic loader ignores the library"),
        "{warning}"
    );
}

/// CAP_NET_RAW permitted, as setcap writes it (struct vfs_cap_data, revision 2, in the kernel's
/// include/uapi/linux/capability.h).
const NET_RAW: [u8; 20] = [
    0, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn a_program_with_file_capabilities_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let program = dir.compile("capable", PROGRAM, &[]);
    if xattr::set(&program, "security.capability", &NET_RAW).is_err() {
        return; // Only root can, and not on every file system.
    }
    assert_eq!(
        warnings(&library, &[], &program),
        "",
        "root gains nothing by them"
    );
    set_mode(program.parent().unwrap(), 0o755);
    let output = clean("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(dir.program("cmshim"))
        .args(["run", "--library"])
        .args([&library, &program])
        .output()
        .unwrap();
    let (status, out, err) = told(output);
    assert_eq!((status, out.as_str()), (0, "ran\n"), "{err}");
    assert!(
        err.contains("it is given file capabilities, so the dynamic loader"),
        "{err}"
    );
}
