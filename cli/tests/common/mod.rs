//! Shared by the tests of the program.
#![allow(dead_code)] // Each test file uses a part of it.

pub mod server;
pub mod share_file;
pub mod stats_file;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, in an environment without anything of ours.
pub fn cmshim() -> Command {
    clean(env!("CARGO_BIN_EXE_cmshim"))
}

pub fn clean(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CMSHIM") {
            command.env_remove(name);
        }
    }
    command.env_remove("LD_PRELOAD");
    command
}

/// The program as a user who may not read everything: this one, or in place of root somebody else. `None` where such a
/// one cannot start it.
pub fn unprivileged() -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(cmshim());
    }
    let command = || {
        let mut command = clean("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(env!("CARGO_BIN_EXE_cmshim"));
        command
    };
    let output = command().arg("--version").output().ok();
    output.is_some_and(|o| o.status.success()).then(command)
}

/// Runs it with these arguments: exit status, standard output, standard error.
pub fn ask(args: &[&str]) -> (i32, String, String) {
    told(cmshim().args(args).output().unwrap())
}

pub fn told(output: Output) -> (i32, String, String) {
    (
        output.status.code().expect("killed by a signal"),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// A directory that goes away with the value.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A shared library in which geteuid answers `uid`, so that `id -u` tells which one comes first.
    pub fn library(&self, name: &str, uid: u32) -> PathBuf {
        let code = format!(
            "unsigned geteuid(void) {{ return {uid}; }}\n\
             const char *cmshim_version(void) {{ return \"test\"; }}\n"
        );
        self.compile(name, &code, &["-shared", "-fPIC"])
    }

    pub fn compile(&self, name: &str, code: &str, flags: &[&str]) -> PathBuf {
        let source = self.file(&format!("{name}.c"), code);
        let path = self.path(name);
        let gcc = Command::new("gcc")
            .args(flags)
            .arg("-o")
            .args([&path, &source])
            .output()
            .unwrap();
        assert!(
            gcc.status.success(),
            "{}",
            String::from_utf8_lossy(&gcc.stderr)
        );
        path
    }

    pub fn executable(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let source = self.file(&format!("{name}.text"), text);
        self.install(&source, name, mode)
    }

    /// Another process writes what will be executed: our own descriptor for it could live on for a
    /// moment in a child that another test thread forks, and the start would fail with ETXTBSY.
    pub fn install(&self, source: &Path, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        let mode = format!("{mode:o}");
        let install = Command::new("install")
            .args(["-D", "-m", &mode])
            .args([source, &path])
            .status()
            .unwrap();
        assert!(install.success());
        path
    }

    /// A copy of the program, as if installed here.
    pub fn program(&self, name: &str) -> PathBuf {
        self.install(Path::new(env!("CARGO_BIN_EXE_cmshim")), name, 0o755)
    }
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
