//! What is asked of this process and its kernel: names, limits, sysfs.

pub mod addresses;
pub mod clock;
pub mod device;
pub mod epoll;
pub mod gids;
pub mod guard;
pub mod limits;
pub mod list;
pub mod load;
pub mod lock;
pub mod memory;
pub mod output;

use cmshim_core::config::{self, Input};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// The program's name as `ps` shows it.
pub fn program_name() -> String {
    std::fs::read("/proc/self/comm")
        .map_or_else(|_| "?".to_owned(), |name| readable(name.trim_ascii_end()))
}

/// The kernel cuts a name after 15 bytes, also within a character; what is left of that one goes.
fn readable(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Err(e) if e.error_len().is_none() => {
            String::from_utf8_lossy(&name[..e.valid_up_to()]).into_owned()
        }
        _ => String::from_utf8_lossy(name).into_owned(),
    }
}

/// The name of a descriptor in /proc. The thread's own: /proc/self is the main thread's, and shows no
/// descriptors any more once that has called pthread_exit.
pub fn descriptor_path(fd: libc::c_int) -> String {
    format!("/proc/thread-self/fd/{fd}")
}

/// When this process started, in clock ticks since boot (field 22 of /proc/PID/stat).
pub fn start_time() -> Option<u64> {
    start_time_in(&std::fs::read("/proc/self/stat").ok()?)
}

fn start_time_in(stat: &[u8]) -> Option<u64> {
    // The name may hold spaces, brackets and half a character; the state behind it is field 3.
    let stat = String::from_utf8_lossy(stat);
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(22 - 3)?.parse().ok()
}

/// The kernel's id of this boot.
pub fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let number = u128::from_str_radix(&text.trim().replace('-', ""), 16).ok()?;
    Some(number.to_be_bytes())
}

/// Name of the executable's file, which is not cut to 15 characters.
fn executable_name() -> Option<String> {
    let path = std::fs::read_link("/proc/self/exe").ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Where this process's configuration comes from.
pub fn configuration_input(program: &str) -> Input {
    let mut names = vec![program.to_owned()];
    names.extend(executable_name());
    config::gather(load::variables(), names, secure())
}

/// Is this a secure execution (ld.so(8))?
fn secure() -> bool {
    // SAFETY: getauxval only reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Has these run before fork, and then in the parent and in the child, before fork returns there.
pub fn around_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    // SAFETY: they are functions of this object, which is never unmapped (-z nodelete).
    unsafe { pthread_atfork(Some(before), Some(parent), Some(child)) };
}

/// Has `handler` run when the process exits.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { libc::atexit(handler) };
}

/// Bytes of a new thread's stack that glibc and the thread-local variables of all objects take.
pub fn thread_local_size() -> usize {
    type Get = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: NUL-terminated name. The function has this type in glibc (nptl/nptl-stack.c).
    unsafe {
        let get = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        if get.is_null() {
            libc::dlerror();
            return 0;
        }
        let mut attr = std::mem::MaybeUninit::<libc::pthread_attr_t>::zeroed();
        libc::pthread_attr_init(attr.as_mut_ptr());
        let size = std::mem::transmute::<*mut libc::c_void, Get>(get)(attr.as_ptr());
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        size
    }
}

/// Are all the program's threads gone, and only ours left? The main thread's is a zombie until the last one ends.
///
/// Asked by the keeper again and again, and so without opening anything: for the moment that a
/// descriptor of ours is open, the program does not get that number, on which it may count.
pub fn last_thread() -> bool {
    use std::os::unix::fs::MetadataExt;
    // Two, and one for each thread (`proc_task_getattr`, fs/proc/base.c).
    let links = std::fs::metadata("/proc/self/task").map_or(0, |task| task.nlink());
    links == 2 + 1 + OWN_THREADS.load(Ordering::Acquire) as u64 && main_thread_ended()
}

static OWN_THREADS: AtomicUsize = AtomicUsize::new(0);

/// A thread of ours, counted while this lives.
pub struct OwnThread(());

impl OwnThread {
    pub fn begin() -> OwnThread {
        OWN_THREADS.fetch_add(1, Ordering::AcqRel);
        OwnThread(())
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        OWN_THREADS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// In a forked child none of our threads runs.
pub fn no_own_threads() {
    OWN_THREADS.store(0, Ordering::Release);
}

/// Binds this thread to these CPUs.
pub fn run_on(cpus: &[usize]) -> std::io::Result<()> {
    // SAFETY: zeroed is an empty set; the numbers were checked to lie within it.
    unsafe {
        let mut set = std::mem::zeroed::<libc::cpu_set_t>();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        match libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// Has the main thread called pthread_exit? It stays as a zombie until all others end, without memory,
/// and so without a program file (`proc_exe_link`, fs/proc/base.c).
pub fn main_thread_ended() -> bool {
    let main = format!("/proc/self/task/{}", std::process::id());
    std::fs::metadata(&main).is_ok()
        && std::fs::read_link(main + "/exe").is_err_and(|e| e.raw_os_error() == Some(libc::ENOENT))
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Keeps a panic's message for the line that tells of it, instead of std's print to stderr. The
/// standard library in this object is our own copy: no Rust program above us is affected.
pub fn catch_panic_messages() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST_PANIC.try_lock() {
            *last = info.to_string().replace('\n', " ");
        }
    }));
}

/// Message of the last panic.
pub fn last_panic() -> String {
    LAST_PANIC.lock().map(|s| s.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_cut_within_a_character_loses_only_that_one() {
        let cut = "12345678901234é".as_bytes();
        assert_eq!(readable(&cut[..15]), "12345678901234");
        assert_eq!(readable(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn the_start_time_is_known_whatever_the_name() {
        let stat = std::fs::read("/proc/self/stat").expect("/proc is there");
        let end = stat.iter().rposition(|b| *b == b')').expect("a name");
        let odd = [b"7 (a) b\xc3".as_slice(), &stat[end..]].concat();
        assert!(start_time().is_some());
        assert_eq!(start_time_in(&odd), start_time());
    }

    #[test]
    fn threads_are_counted_by_links() {
        use std::os::unix::fs::MetadataExt;
        let links = || {
            let task = std::fs::metadata("/proc/self/task");
            task.expect("/proc is there").nlink()
        };
        let entries = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) as u64;
        // Other tests' threads come and go meanwhile.
        assert!((0..1000).any(|_| links() == 2 + entries()));
        assert!(!main_thread_ended() && !last_thread());
    }
}
