//! `cmshim run` checks the library before it starts anything.

mod common;

use std::fs;
use std::path::Path;

use common::{clean, cmshim, told, Scratch};

/// What is said about this library; the program must not have started.
fn refused(library: &Path) -> String {
    let mut command = cmshim();
    command.args(["run", "--library"]).arg(library);
    let (status, out, err) = told(command.args(["--", "echo", "started"]).output().unwrap());
    assert_eq!((status, out.as_str()), (125, ""), "{err}");
    let start = format!("cmshim: --library: {}: ", library.display());
    match err.strip_prefix(&start) {
        Some(why) => why.trim_end().to_owned(),
        None => panic!("{err}"),
    }
}

#[test]
fn what_is_no_file_is_named() {
    let dir = Scratch::new();
    assert_eq!(refused(&dir.path("absent.so")), "no such file");
    assert_eq!(refused(Path::new("/")), "is a directory");
    assert_eq!(refused(Path::new("/dev/zero")), "is a device");
    let fifo = dir.path("fifo");
    assert!(clean("mkfifo").arg(&fifo).status().unwrap().success());
    assert_eq!(refused(&fifo), "is a FIFO");
}

#[test]
fn what_is_no_library_of_ours_is_named() {
    let dir = Scratch::new();
    let no_library = "is no shared library (not an ELF file, or a damaged one)";
    assert_eq!(refused(Path::new("/etc/passwd")), no_library);
    assert_eq!(refused(&dir.file("empty.so", "")), no_library);
    let object = dir.compile("o.o", "int x;\n", &["-c"]);
    assert_eq!(refused(&object), "is no shared library");
    let foreign = dir.compile("foreign.so", "int x;\n", &["-shared", "-fPIC"]);
    assert_eq!(
        refused(&foreign),
        "is not cmshim's library (it has no symbol cmshim_version)"
    );
    // Only used, not defined.
    let user =
        "const char *cmshim_version(void);\nconst char *f(void) { return cmshim_version(); }\n";
    let user = dir.compile("user.so", user, &["-shared", "-fPIC"]);
    assert!(refused(&user).starts_with("is not cmshim's library"));
}

#[test]
fn a_damaged_library_is_named() {
    let dir = Scratch::new();
    let whole = fs::read(dir.library("libx.so", 1)).unwrap();
    for keep in [10, 100, 1000, 5000, whole.len() - 1] {
        let cut = dir.path("cut.so");
        fs::write(&cut, &whole[..keep]).unwrap();
        let why = refused(&cut);
        assert!(why.starts_with("is "), "{keep}: {why}");
    }
}

#[test]
fn a_library_for_another_machine_is_named() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 1);
    let mut bytes = fs::read(&library).unwrap();
    // e_machine (ELF-64 object file format, figure 2): 22 is S/390.
    bytes[18..20].copy_from_slice(&[22, 0]);
    fs::write(&library, bytes).unwrap();
    let why = refused(&library);
    assert!(
        why.starts_with("is built for S/390, 64 bits, and this program for "),
        "{why}"
    );
}

#[test]
fn a_path_that_ld_preload_cannot_hold_is_named() {
    let dir = Scratch::new();
    let spaced = dir.library("a b.so", 1);
    assert!(refused(&spaced).contains("a space or a colon"));
}

/// Looks for the library of a program that stands alone.
fn alone(dir: &Scratch, path: &Path) -> (i32, String, String) {
    let bin = dir.program("bin/cmshim");
    let mut command = clean(&bin);
    command.env("LD_LIBRARY_PATH", path);
    command.args(["run", "--", "printenv", "LD_PRELOAD"]);
    told(command.output().unwrap())
}

#[test]
fn the_loaders_directories_come_last() {
    let dir = Scratch::new();
    let library = dir.library("libcmshim.so.0", 1);
    let (status, out, err) = alone(&dir, library.parent().unwrap());
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(out, format!("{}\n", library.display()));
}

#[test]
fn without_any_library_nothing_is_started() {
    let dir = Scratch::new();
    let (status, out, err) = alone(&dir, &dir.path("empty"));
    if status == 0 {
        // It is installed on this machine.
        assert!(Path::new(out.trim_end()).is_absolute(), "{out}");
        return;
    }
    assert_eq!((status, out.as_str()), (125, ""));
    assert!(
        err.starts_with("cmshim: no library: libcmshim.so.0 is neither beside this program"),
        "{err}"
    );
    assert!(err.contains("--library or CMSHIM_LIBRARY"), "{err}");
}

/// A chroot often has no /proc, which says where this program is.
#[test]
fn the_library_beside_this_program_is_found_without_proc() {
    let dir = Scratch::new();
    let library = dir.library("libx.so", 4711);
    let program = dir.file("bin/cmshim", "");
    fs::copy(env!("CARGO_BIN_EXE_cmshim"), &program).unwrap();
    fs::create_dir(dir.path("lib")).unwrap();
    fs::rename(library, dir.path("lib/libcmshim.so.0")).unwrap();
    for name in ["bin/cmshim", "./cmshim"] {
        let script = "umount -l /proc || exit 77; exec \"$0\" run -- id -u";
        let mut unshare = clean("unshare");
        unshare.args(["-m", "sh", "-c", script, name]);
        unshare.current_dir(match name {
            "./cmshim" => dir.path("bin"),
            _ => dir.path("."),
        });
        let (status, out, err) = told(unshare.output().unwrap());
        if status == 77 || err.contains("unshare") {
            return eprintln!("not looked at: {err}");
        }
        assert_eq!((status, out.as_str(), err.as_str()), (0, "4711\n", ""));
    }
}
