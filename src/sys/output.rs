//! Writing into descriptors and files of somebody else's process, without harm.

use super::load::{status, was_stderr};
use crate::sys::guard::{block_signals, errno, restore_signals};
use libc::{c_int, stat};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const STDERR: RawFd = 2;

/// Why a line could not be written.
pub type Errno = c_int;

/// Appends a line to a file. It is opened for each line and closed again: a descriptor that we kept
/// could be closed by the program (closefrom) and lead to one of its own files by the next line.
///
/// A link is followed only if it is this user's or root's: somebody else's, in a directory that he may write, could lead
/// to any file. As fs.protected_symlinks has it, where that is on.
pub fn to_file(path: &str, line: &str) -> Result<(), Errno> {
    put(through_links(path)?.as_raw_fd(), line)
}

/// As many links in a row as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const LINKS: usize = 40;

/// Each link is read through the descriptor by which its owner was asked: another one may have its name meanwhile.
fn through_links(path: &str) -> Result<File, Errno> {
    let mut path = PathBuf::from(path);
    for _ in 0..LINKS {
        match opened(&path, libc::O_NOFOLLOW) {
            Err(libc::ELOOP) => {}
            other => return other,
        }
        match trusted_target(&path)? {
            // From the directory of the link, if it is relative.
            Some(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            None => return opened(&path, 0),
        }
    }
    Err(libc::ELOOP)
}

fn opened(path: &Path, links: c_int) -> Result<File, Errno> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY | links)
        .open(path)
        .map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
}

/// Where a link leads; `None` for one of /proc (/dev/stderr leads to it), where nobody makes links and whose text is no path. ELOOP for
/// a link of somebody else.
fn trusted_target(path: &Path) -> Result<Option<PathBuf>, Errno> {
    let link = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
    // SAFETY: no argument, never fails.
    let uid = unsafe { libc::geteuid() };
    if !link.metadata().is_ok_and(|l| [0, uid].contains(&l.uid())) {
        return Err(libc::ELOOP);
    }
    let mut text = [0u8; libc::PATH_MAX as usize];
    // SAFETY: zeroed is a valid value of the plain structure; our own open descriptor, an empty NUL-terminated name, and a
    // buffer of that length.
    let length = unsafe {
        let mut system: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(link.as_raw_fd(), &mut system) != 0 {
            return Err(errno());
        }
        if system.f_type == libc::PROC_SUPER_MAGIC {
            return Ok(None);
        }
        let at = text.as_mut_ptr().cast();
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), at, text.len())
    };
    let length = usize::try_from(length).map_err(|_| errno())?;
    Ok(Some(OsStr::from_bytes(&text[..length]).into()))
}

/// Writes a line to stderr, if descriptor 2 is still a place for messages.
pub fn to_stderr(line: &str) -> bool {
    let Some(s) = status(STDERR).filter(takes_messages) else {
        return false;
    };
    match s.st_mode & libc::S_IFMT {
        libc::S_IFIFO | libc::S_IFCHR => match reopened() {
            Some(file) => put(file.as_raw_fd(), line),
            None => put(STDERR, line),
        },
        _ => put(STDERR, line),
    }
    .is_ok()
}

/// stderr once more, as an open file of our own that never blocks: between our look at it and the
/// write, others may fill the pipe, and the program's own flags are not ours to change.
fn reopened() -> Option<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(super::descriptor_path(2))
        .ok()
}

/// A daemon may have closed descriptor 2 and opened a data file, a device or a pipe that got the number.
/// What was stderr from the start is one; so is a terminal, a pipe to somebody else, or a log opened
/// for appending.
fn takes_messages(s: &stat) -> bool {
    was_stderr(s)
        || match s.st_mode & libc::S_IFMT {
            libc::S_IFCHR => is_terminal_or_null(s),
            libc::S_IFIFO => !read_by_ourselves(s),
            libc::S_IFREG => flags(STDERR) & libc::O_APPEND != 0,
            _ => false,
        }
}

/// Numbers from the kernel's Documentation/admin-guide/devices.txt: terminals are 4, 5 and 136 to 143,
/// /dev/null is 1:3. An event channel of RDMA is a character device too.
fn is_terminal_or_null(s: &stat) -> bool {
    let (major, minor) = (libc::major(s.st_rdev), libc::minor(s.st_rdev));
    matches!(major, 4 | 5 | 136..=143) || (major, minor) == (1, 3)
}

/// Does this process hold the reading end? Then the pipe is one by which its threads talk.
fn read_by_ourselves(pipe: &stat) -> bool {
    let Ok(all) = super::list::names("/proc/thread-self/fd") else {
        return true;
    };
    all.iter()
        .filter_map(|name| name.to_str()?.parse::<RawFd>().ok())
        .any(|fd| {
            let same =
                status(fd).is_some_and(|s| s.st_ino == pipe.st_ino && s.st_dev == pipe.st_dev);
            same && flags(fd) & libc::O_ACCMODE != libc::O_WRONLY
        })
}

fn flags(fd: RawFd) -> c_int {
    // SAFETY: only asks for the flags.
    unsafe { libc::fcntl(fd, libc::F_GETFL) }
}

/// One write, if it cannot block, and without the signals that a write can raise.
fn put(fd: RawFd, line: &str) -> Result<(), Errno> {
    let mut ready = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one pollfd, no waiting. A pipe is ready when PIPE_BUF bytes fit, and a line is shorter.
    let n = unsafe { libc::poll(&mut ready, 1, 0) };
    if ready.revents & libc::POLLERR != 0 {
        return Err(libc::EPIPE);
    }
    if n != 1 || ready.revents & libc::POLLOUT == 0 {
        return Err(libc::EAGAIN);
    }
    without_write_signals(|| {
        let (at, length) = (line.as_ptr().cast(), line.len());
        // SAFETY: the pointer and the length are those of the line. A socket (journald's) takes it
        // without waiting for room, which poll does not promise for a whole line.
        let n = unsafe {
            match libc::send(fd, at, length, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) {
                -1 if errno() == libc::ENOTSOCK => libc::write(fd, at, length),
                n => n,
            }
        };
        match n {
            -1 => Err(errno()),
            n if n == length as isize => Ok(()),
            // The rest found no room.
            _ => Err(libc::ENOSPC),
        }
    })
}

/// SIGPIPE (no reader) and SIGXFSZ (file size limit) would end the program. All signals are blocked;
/// one that this write raised is taken back before they are let in again.
fn without_write_signals<T>(write: impl FnOnce() -> T) -> T {
    let mask = block_signals();
    let raised = [libc::SIGPIPE, libc::SIGXFSZ];
    let before = raised.map(pending);
    let written = write();
    for (signal, was_pending) in raised.into_iter().zip(before) {
        if !was_pending && pending(signal) {
            take(signal);
        }
    }
    restore_signals(&mask);
    written
}

fn pending(signal: c_int) -> bool {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is writable.
    unsafe {
        libc::sigpending(set.as_mut_ptr());
        libc::sigismember(set.as_ptr(), signal) == 1
    }
}

fn take(signal: c_int) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    let now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `set` is writable; the call does not wait.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::sigtimedwait(set.as_ptr(), std::ptr::null_mut(), &now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn pipe() -> (std::fs::File, std::fs::File) {
        let mut fds = [0; 2];
        // SAFETY: two descriptors are written, and each is owned once.
        unsafe {
            assert_eq!(libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC), 0);
            (
                std::fs::File::from_raw_fd(fds[0]),
                std::fs::File::from_raw_fd(fds[1]),
            )
        }
    }

    #[test]
    fn a_full_pipe_does_not_block_and_a_closed_one_does_not_kill() {
        let (reader, writer) = pipe();
        let fd = writer.as_raw_fd();
        crate::sys::guard::run(|| {
            let mut lines = 0;
            while put(fd, &"x".repeat(1000)).is_ok() {
                lines += 1;
            }
            assert!(lines > 3);
            drop(reader);
            assert_eq!(put(fd, "nobody reads\n"), Err(libc::EPIPE));
        })
        .unwrap();
    }

    #[test]
    fn a_file_is_appended_to_and_a_missing_directory_is_no_harm() {
        let dir = std::env::temp_dir().join(format!("cmshim-sink-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("log").to_str().unwrap().to_owned();
        assert!(to_file(&path, "one\n").is_ok() && to_file(&path, "two\n").is_ok());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(to_file("/nonexistent/log", "lost\n"), Err(libc::ENOENT));
        assert_eq!(to_file("/dev/full", "lost\n"), Err(libc::ENOSPC));
        assert_eq!(to_file("/tmp", "lost\n"), Err(libc::EISDIR));
        let link = dir.join("link").to_str().unwrap().to_owned();
        std::os::unix::fs::symlink("log", &link).unwrap();
        assert!(to_file(&link, "three\n").is_ok(), "our own link");
        // Only root can make a link somebody else's.
        if std::os::unix::fs::lchown(&link, Some(65534), None).is_ok() {
            assert_eq!(to_file(&link, "lost\n"), Err(libc::ELOOP));
            let second = dir.join("second").to_str().unwrap().to_owned();
            std::os::unix::fs::symlink("link", &second).unwrap();
            assert_eq!(
                to_file(&second, "lost\n"),
                Err(libc::ELOOP),
                "our link to it"
            );
        }
        let missing = dir.join("missing").to_str().unwrap().to_owned();
        std::os::unix::fs::symlink(dir.join("made"), &missing).unwrap();
        assert!(
            to_file(&missing, "four\n").is_ok(),
            "a link to a file that is to be made"
        );
        assert_eq!(std::fs::read_to_string(dir.join("made")).unwrap(), "four\n");
        let circle = dir.join("circle").to_str().unwrap().to_owned();
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert_eq!(to_file(&circle, "lost\n"), Err(libc::ELOOP));
        let (reader, writer) = pipe();
        let number = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let kernels = dir.join("kernels").to_str().unwrap().to_owned();
        std::os::unix::fs::symlink(&number, &kernels).unwrap();
        assert!(to_file(&kernels, "five\n").is_ok(), "as /dev/stderr");
        drop(writer);
        assert_eq!(std::io::read_to_string(reader).unwrap(), "five\n");
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("three\n"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
