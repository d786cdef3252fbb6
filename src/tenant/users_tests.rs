//! Processes of several users who count together, of which one may mean harm. Only root can become another user, in a child;
//! for others these tests say that they did not look.

use super::share::{Share, Short};
use cmshim_core::tenant::Rate;
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const GROUP: u32 = 64_000;
const OTHER: u32 = 64_001;
const POLICY: &str = "/etc/policy";
const KEY: u64 = 7;

/// A directory that a group counts in; `None` if only root could have it.
struct Shared(PathBuf);

impl Shared {
    fn new(name: &str) -> Option<Shared> {
        let name = format!("cmshim-test-{}-users-{name}", std::process::id());
        let path = PathBuf::from("/dev/shm").join(name);
        fs::create_dir(&path).expect("/dev/shm can be written");
        let shared = Shared(path);
        let given = std::os::unix::fs::chown(&shared.0, None, Some(GROUP));
        fs::set_permissions(&shared.0, Permissions::from_mode(0o3770)).expect("it is ours");
        match given {
            Ok(()) => Some(shared),
            Err(_) => {
                eprintln!("not looked at: only root can become several users");
                None
            }
        }
    }

    fn share(&self) -> (Share, usize) {
        let share = Share::open(self.0.to_str(), POLICY).expect("a table");
        let row = share.row(KEY, "t").expect("a row");
        (share, row)
    }

    fn files(&self) -> Vec<CString> {
        let entries = fs::read_dir(&self.0).expect("there").flatten();
        let names = entries.map(|e| CString::new(e.path().as_os_str().as_bytes()).expect("name"));
        names.collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Memory that children have too.
fn common<T>() -> &'static T {
    let (kind, access) = (
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        libc::PROT_READ | libc::PROT_WRITE,
    );
    // SAFETY: a fresh mapping of that size, which is all zero: a valid value of the atomics that are kept in it.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, kind, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        &*at.cast()
    }
}

/// A child that is this user and in the group; it ends with the test, or before.
struct Child(libc::pid_t);

impl Child {
    fn of(user: u32, work: impl FnOnce() -> bool) -> Child {
        // SAFETY: the child has one thread, does its work and ends without going back into the test's frames.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let became = libc::setgroups(1, &GROUP) == 0
                    && libc::setgid(GROUP) == 0
                    && libc::setuid(user) == 0;
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                libc::_exit(i32::from(!(became && done.unwrap_or(false))));
            }
            assert!(pid > 0);
            Child(pid)
        }
    }

    fn ended_well(mut self) -> bool {
        let mut status = 0;
        // SAFETY: our own child, and a place for its status.
        unsafe { libc::waitpid(self.0, &mut status, 0) };
        self.0 = 0;
        status == 0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.0 > 0 {
            // SAFETY: our own child, which was not waited for.
            unsafe {
                libc::kill(self.0, libc::SIGKILL);
                libc::waitpid(self.0, std::ptr::null_mut(), 0);
            }
        }
    }
}

fn wait_for(what: &AtomicU32, value: u32) {
    for _ in 0..6_000 {
        if what.load(Ordering::SeqCst) >= value {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited for {value}");
}

/// Opens a file of another one, and does to it what can be done.
fn harm(name: &CString) -> bool {
    // SAFETY: a NUL-terminated name, descriptors of our own, and plain structures.
    unsafe {
        let cut = libc::truncate(name.as_ptr(), 0) == 0;
        let write = libc::open(name.as_ptr(), libc::O_RDWR) >= 0;
        let read = libc::open(name.as_ptr(), libc::O_RDONLY);
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_RDLCK as libc::c_short;
        for byte in 0..1_024 {
            (lock.l_start, lock.l_len) = (byte, 1);
            libc::fcntl(read, libc::F_OFD_SETLK, &lock);
        }
        !cut && !write && read >= 0
    }
}

#[test]
fn users_of_a_group_add_up_and_the_dead_do_not_count() {
    let Some(dir) = Shared::new("add") else {
        return;
    };
    let (share, row) = dir.share();
    share.acquire(row, Some(3), false).expect("a place");
    let ready: &AtomicU32 = common();
    let child = Child::of(OTHER, || {
        let (share, row) = dir.share();
        let two = (0..2).all(|_| share.acquire(row, Some(3), false).is_ok());
        let full = share.acquire(row, Some(3), false) == Err(Short::Full(3));
        ready.store(if two && full { 1 } else { 2 }, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    });
    wait_for(ready, 1);
    assert_eq!(ready.load(Ordering::SeqCst), 1);
    assert_eq!(dir.files().len(), 2, "one of each user");
    assert_eq!(share.acquire(row, Some(3), false), Err(Short::Full(3)));
    drop(child);
    for _ in 0..2 {
        share.acquire(row, Some(3), false).expect("given back");
    }
    assert_eq!(share.acquire(row, Some(3), false), Err(Short::Full(3)));
}

#[test]
fn a_rate_is_one_for_all_users() {
    let Some(dir) = Shared::new("rate") else {
        return;
    };
    let rate = Rate {
        per_s: 0.001,
        burst: 3,
    };
    let (share, row) = dir.share();
    share.token(row, &rate, false).expect("the first");
    let child = Child::of(OTHER, || {
        let (share, row) = dir.share();
        (0..2).all(|_| share.token(row, &rate, false).is_ok())
            && matches!(share.token(row, &rate, false), Err(Short::Late(_)))
    });
    assert!(child.ended_well());
    assert!(matches!(
        share.token(row, &rate, false),
        Err(Short::Late(_))
    ));
}

/// Two processes of each of two users reach for three places, all the time.
#[test]
fn the_last_place_is_given_to_one_only() {
    let Some(dir) = Shared::new("race") else {
        return;
    };
    let taken: &AtomicU32 = common();
    let most: &AtomicU32 = common();
    let got: &AtomicU64 = common();
    let work = || {
        let (share, row) = dir.share();
        for _ in 0..2_000 {
            if share.acquire(row, Some(3), false).is_ok() {
                most.fetch_max(taken.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                got.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                taken.fetch_sub(1, Ordering::SeqCst);
                share.release(row);
            }
        }
        true
    };
    let children: Vec<Child> = [0, 0, OTHER, OTHER]
        .into_iter()
        .map(|user| Child::of(user, work))
        .collect();
    for child in children {
        assert!(child.ended_well());
    }
    let (most, got) = (most.load(Ordering::SeqCst), got.load(Ordering::SeqCst));
    assert!((1..=3).contains(&most), "{most} at once");
    assert!(got > 0);
}

#[test]
fn who_may_read_a_file_can_neither_cut_nor_write_nor_fill_it() {
    let Some(dir) = Shared::new("harm") else {
        return;
    };
    let (share, row) = dir.share();
    share.acquire(row, Some(2), false).expect("a place");
    let ready: &AtomicU32 = common();
    let files = dir.files();
    let _harmful = Child::of(OTHER, || {
        let none = files.iter().all(harm);
        ready.store(if none { 1 } else { 2 }, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    });
    wait_for(ready, 1);
    assert_eq!(ready.load(Ordering::SeqCst), 1, "something could be done");
    // Whoever comes while all bytes are locked counts with the others, and when he dies is not counted.
    let came: &AtomicU32 = common();
    let later = Child::of(0, || {
        let (share, row) = dir.share();
        let one = share.acquire(row, Some(2), false).is_ok();
        let full = share.acquire(row, Some(2), false) == Err(Short::Full(2));
        came.store(if one && full { 1 } else { 2 }, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    });
    wait_for(came, 1);
    assert_eq!(came.load(Ordering::SeqCst), 1);
    assert_eq!(share.acquire(row, Some(2), false), Err(Short::Full(2)));
    drop(later);
    share.acquire(row, Some(2), false).expect("given back");
    // And so it goes on, without a file for each that ever came.
    for _ in 0..5 {
        let next = Child::of(0, || {
            let (share, row) = dir.share();
            share.acquire(row, Some(2), false) == Err(Short::Full(2))
        });
        assert!(next.ended_well());
    }
    assert!(dir.files().len() <= 3, "{:?}", dir.files());
}

/// What stands in a file of another one is a claim: of as much as he likes, and never of less than others have.
#[test]
fn absurd_counts_lift_no_limit_and_end_nobody() {
    let Some(dir) = Shared::new("absurd") else {
        return;
    };
    let (share, row) = dir.share();
    share.acquire(row, Some(2), false).expect("a place");
    for fill in [0xff_u8, 0x80, 0] {
        let child = Child::of(OTHER, || {
            let (theirs, _) = dir.share();
            let own = dir.files().into_iter().find(|name| {
                // SAFETY: a NUL-terminated name.
                unsafe { libc::access(name.as_ptr(), libc::W_OK) == 0 }
            });
            let path = own.expect("his own").into_string().expect("text");
            let mut bytes = fs::read(&path).expect("read");
            let from = bytes.len() / 2;
            bytes[from..].fill(fill);
            fs::write(&path, &bytes[..bytes.len() - usize::from(fill)]).expect("written");
            std::mem::forget(theirs);
            true
        });
        assert!(child.ended_well());
        share
            .acquire(row, Some(2), false)
            .expect("of the dead nothing counts");
        assert_eq!(share.acquire(row, Some(2), false), Err(Short::Full(2)));
        share.release(row);
    }
}

/// Who has so many files that reading them all would take long is believed to have everything; where tenant.on_error allows
/// it, he does not count.
#[test]
fn more_files_than_can_be_read_refuse_and_do_not_lift() {
    too_many("many", |dir| {
        let own = dir.files().into_iter().find(|name| {
            // SAFETY: a NUL-terminated name.
            unsafe { libc::access(name.as_ptr(), libc::W_OK) == 0 }
        });
        let own = own.expect("his own").into_string().expect("text");
        let beginning = own.rsplit_once('-').expect("a number").0.to_owned();
        let length = fs::metadata(&own).expect("there").len();
        (1..600).all(|n| {
            // Names of one file are one file.
            let link = fs::hard_link(&own, format!("{beginning}-f{n:015x}"));
            let file = fs::File::create(format!("{beginning}-{n:016x}")).expect("made");
            link.is_ok() && file.set_len(length).is_ok()
        })
    });
}

/// The same for names that are no table's at all: they make each look into the directory long.
#[test]
fn more_names_than_can_be_listed_refuse_and_do_not_lift() {
    too_many("others", |dir| {
        let one = dir.0.join("one");
        fs::File::create(&one).is_ok()
            && (1..16_500).all(|n| fs::hard_link(&one, dir.0.join(n.to_string())).is_ok())
    });
}

/// Another user makes so much that limits cannot be counted.
fn too_many(name: &str, make: impl FnOnce(&Shared) -> bool) {
    let Some(dir) = Shared::new(name) else {
        return;
    };
    let (share, row) = dir.share();
    let child = Child::of(OTHER, || {
        let _share = dir.share();
        make(&dir)
    });
    assert!(child.ended_well());
    assert_eq!(share.acquire(row, Some(2), false), Err(Short::Uncounted));
    share
        .acquire(row, Some(2), true)
        .expect("on_error allows it");
    share
        .acquire(row, Some(2), true)
        .expect("on_error allows it");
    assert_eq!(share.acquire(row, Some(2), true), Err(Short::Full(2)));
}

/// Takes all descriptors that the process may have, but so many.
fn leave_free(number: usize) {
    // SAFETY: plain structures, and descriptors of this process, which is a child of the test's own.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_cur.min(512);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
        let taken: Vec<i32> = std::iter::repeat_with(|| libc::dup(0))
            .take_while(|fd| *fd >= 0)
            .collect();
        assert!(taken.len() > number);
        for fd in taken.iter().rev().take(number) {
            libc::close(*fd);
        }
    }
}

/// Who has no descriptor left to look into the files of others does not take their places.
#[test]
fn few_descriptors_lift_no_limit() {
    let Some(dir) = Shared::new("few") else {
        return;
    };
    let (share, row) = dir.share();
    for _ in 0..2 {
        share.acquire(row, Some(2), false).expect("a place");
    }
    for free in 0..4 {
        let child = Child::of(OTHER, || {
            let (share, row) = dir.share();
            leave_free(free);
            let first = share.acquire(row, Some(2), false);
            let second = share.acquire(row, Some(2), false);
            let whole = free < 2 || (first, second) == (Err(Short::Full(2)), Err(Short::Full(2)));
            first.is_err() && second.is_err() && whole
        });
        assert!(child.ended_well(), "{free} descriptors");
    }
    // The same for what was listed before.
    for free in 0..4 {
        let child = Child::of(OTHER, || {
            let (share, row) = dir.share();
            std::thread::sleep(std::time::Duration::from_millis(150));
            let before = share.acquire(row, Some(2), false) == Err(Short::Full(2));
            leave_free(free);
            before && share.acquire(row, Some(2), false).is_err()
        });
        assert!(child.ended_well(), "{free} descriptors, listed before");
    }
}

/// A second name of the own file is no second file.
#[test]
fn another_name_of_the_own_file_counts_nothing_more() {
    let Some(dir) = Shared::new("names") else {
        return;
    };
    let (share, row) = dir.share();
    let own = dir.files().remove(0).into_string().expect("text");
    let beginning = own.rsplit_once('-').expect("a number").0;
    fs::hard_link(&own, format!("{beginning}-{:016x}", 77)).expect("linked");
    for _ in 0..2 {
        share.acquire(row, Some(2), false).expect("a place");
    }
    assert_eq!(share.acquire(row, Some(2), false), Err(Short::Full(2)));
}
