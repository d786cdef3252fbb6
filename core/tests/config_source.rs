//! Which file is read, and which are refused.

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use cmshim_core::config::{gather, load, read_file, MAX_BYTES};

/// A directory of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("cmshim-config-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn var(name: &str, value: &Path) -> (OsString, OsString) {
    (name.into(), value.as_os_str().to_owned())
}

#[test]
fn reads_a_file_through_a_link() {
    let dir = Scratch::new("link");
    let path = dir.file("c.toml", b"disable = true\n");
    let link = dir.0.join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(read_file(&link), Ok("disable = true\n".into()));
}

#[test]
fn a_file_is_bounded() {
    let dir = Scratch::new("size");
    let most = vec![b'#'; MAX_BYTES as usize];
    assert!(read_file(&dir.file("most", &most)).is_ok());
    let more = vec![b'#'; MAX_BYTES as usize + 1];
    assert_eq!(
        read_file(&dir.file("more", &more)),
        Err("larger than 1048576 bytes".into())
    );
}

#[test]
fn what_is_no_text_is_refused() {
    let dir = Scratch::new("utf8");
    let path = dir.file("c.toml", b"a = 1\nb = \"\xff\"\n");
    assert_eq!(read_file(&path), Err("line 2 is not UTF-8".into()));
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let dir = Scratch::new("special");
    let fifo = dir.0.join("fifo");
    assert!(Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap()
        .success());
    let socket = dir.0.join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert_eq!(read_file(&fifo), Err("this is a FIFO, not a file".into()));
    assert_eq!(
        read_file(&socket),
        Err("this is a socket, not a file".into())
    );
    assert_eq!(
        read_file(&dir.0),
        Err("this is a directory, not a file".into())
    );
    assert_eq!(
        read_file(Path::new("/dev/zero")),
        Err("this is a device, not a file".into())
    );
    assert_eq!(read_file(Path::new("/dev/null")), Ok(String::new()));
    let absent = dir.0.join("absent");
    assert_eq!(read_file(&absent), Err("no such file".into()));
}

#[test]
fn the_variable_names_the_file() {
    let dir = Scratch::new("variable");
    let path = dir.file("c.toml", b"listen.min_backlog = 3\n");
    let loaded = load(&gather(vec![var("CMSHIM_CONFIG", &path)], vec![], false));
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.listen.min_backlog, 3);
}

#[test]
fn a_named_file_that_is_absent_is_a_problem() {
    let dir = Scratch::new("absent");
    let path = dir.0.join("absent.toml");
    let loaded = load(&gather(vec![var("CMSHIM_CONFIG", &path)], vec![], false));
    let line = loaded.problems[0].to_string();
    assert!(
        line.ends_with("absent.toml: no such file; nothing of this file is used"),
        "{line}"
    );
}

/// One comment in another encoding does not switch a policy off.
#[test]
fn a_file_that_is_no_text_and_names_a_policy_is_one_that_cannot_be_read() {
    let dir = Scratch::new("latin1");
    for (text, lost) in [
        (&b"# f\xfcr\ntenant.policy = \"/etc/p\"\n"[..], true),
        (b"# policy f\xfcr\nlisten.min_backlog = 3\n", false),
    ] {
        let path = dir.file("c.toml", text);
        let loaded = load(&gather(vec![var("CMSHIM_CONFIG", &path)], vec![], false));
        assert_eq!(loaded.problems.len(), 1);
        assert_eq!(loaded.config.tenant.policy.is_some(), lost);
    }
}

#[test]
fn secure_mode_listens_to_no_variable() {
    let dir = Scratch::new("secure");
    let path = dir.file("c.toml", b"listen.min_backlog = 3\n");
    let vars = vec![
        var("CMSHIM_CONFIG", &path),
        ("CMSHIM_LOG_FILE".into(), "/tmp/x".into()),
    ];
    let input = gather(vars, vec!["su".into()], true);
    assert!(input.vars.is_empty());
    assert!(input
        .file
        .is_none_or(|(read, _)| read == "/etc/cmshim.toml"));
    assert_eq!(input.program, ["su"]);
}
