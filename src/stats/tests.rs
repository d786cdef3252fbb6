//! Files, records and reasons as a reader finds them.

use super::count::measure;
use super::events::{read_ahead_at, waited};
use super::place::{Dead, Place, UNSAFE};
use super::process_local::Words;
use super::{file, reasons, recorder, Entry, Phase};
use crate::process::thread::Mark;
use crate::symbols::SYMBOLS;
use cmshim_core::config::Readers;
use cmshim_core::model::{Stage, Who};
use cmshim_core::stats::layout::{PHASES, WORDS};
use cmshim_core::stats::{Header, Peer, Record, Snapshot, What, REASONS, RECORDS, RUNNING};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

fn header() -> Header {
    Header {
        pid: std::process::id(),
        start_time: crate::sys::start_time().expect("start time"),
        // SAFETY: no argument, never fails.
        uid: unsafe { libc::geteuid() },
        boot_id: crate::sys::boot_id().expect("boot id"),
        realtime_ns: 0,
        monotonic_ns: 0,
        family: 77,
        library: "test".into(),
        program: "test".into(),
    }
}

/// Words of a file that has only a header.
fn words() -> Box<Words> {
    let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
    let words: Box<Words> = words.into_boxed_slice().try_into().expect("length");
    for (to, from) in words.iter().zip(header().encode()) {
        to.store(from, Ordering::Relaxed);
    }
    words
}

fn read(words: &Words) -> Snapshot {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| w.load(Ordering::Relaxed).to_ne_bytes())
        .collect();
    Snapshot::parse(&bytes).expect("a whole file")
}

fn record(id: u64) -> Record {
    Record {
        number: 0,
        at_ns: id,
        id,
        what: What::Call(Entry::rdma_connect),
        status: RUNNING,
        peer: Peer::default(),
        qp_num: 0,
        extra: 0,
    }
}

/// A directory of this test's own in a tmpfs.
fn directory(name: &str) -> PathBuf {
    let dir = PathBuf::from(format!(
        "/dev/shm/cmshim-test-{}-{name}",
        std::process::id()
    ));
    fs::create_dir(&dir).expect("/dev/shm");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("mode");
    dir
}

#[test]
fn the_table_of_entries_is_the_table_of_symbols() {
    let entries: BTreeSet<&str> = Entry::ALL.iter().map(|e| e.name()).collect();
    let symbols: BTreeSet<&str> = SYMBOLS.iter().map(|s| s.name).collect();
    assert_eq!(entries, symbols);
}

#[test]
fn a_file_is_whole_locked_and_the_user_s_only() {
    let dir = directory("whole");
    let place = || Place::open(&dir).expect("a tmpfs");
    let made = file::make(place(), &header(), Readers::User).expect("a file");
    let path = dir.join(format!("{}.cmstats", std::process::id()));
    let found = Snapshot::parse(&fs::read(&path).expect("readable by its owner")).expect("whole");
    assert_eq!(found.header, header());
    let metadata = fs::metadata(&path).expect("file");
    assert_eq!(metadata.mode() & 0o7777, 0o400);
    assert_eq!(
        metadata.blocks() * 512,
        metadata.len(),
        "all its memory is there"
    );

    measure(made.words(), Phase::Connect, 1_000_000);
    let again = Snapshot::parse(&fs::read(&path).expect("readable")).expect("whole");
    assert_eq!(again.phase(Phase::Connect).count(), 1);

    // No descriptor is open, and still the file is locked; a second one takes the next name.
    let open = fs::read_dir("/proc/self/fd").expect("proc").flatten();
    assert!(!open
        .filter_map(|fd| fs::read_link(fd.path()).ok())
        .any(|name| name.parent() == Some(&dir)));
    let other = dir.join(format!("{}-1.cmstats", std::process::id()));
    for (readers, mode) in [(Readers::All, 0o444), (Readers::Group, 0o440)] {
        let second = file::make(place(), &header(), readers).expect("a second file");
        let metadata = fs::metadata(&other).expect("the next name");
        assert_eq!(metadata.mode() & 0o7777, mode);
        // SAFETY: nobody uses the words any more.
        unsafe { second.discard() };
    }
    assert_eq!(fs::read_dir(&dir).expect("dir").count(), 1);

    // What a dead process left is replaced.
    // SAFETY: nobody uses the words any more.
    unsafe { made.discard() };
    fs::write(&path, "left behind").expect("written");
    let third = file::make(place(), &header(), Readers::User).expect("a file");
    // SAFETY: nobody uses the words any more.
    unsafe { third.discard() };
    fs::remove_dir(&dir).expect("empty");
}

#[test]
fn what_the_process_itself_left_before_an_exec_is_kept() {
    let dir = directory("exec");
    let name = |n| dir.join(cmshim_core::stats::places::file_name(std::process::id(), n));
    let left: Vec<u8> = words()
        .iter()
        .flat_map(|w| w.load(Ordering::Relaxed).to_ne_bytes())
        .collect();
    for n in 0..10 {
        fs::write(name(n), &left).expect("written");
    }
    let made = file::make(
        Place::open(&dir).expect("a tmpfs"),
        &header(),
        Readers::User,
    );
    let is_left = |n| fs::metadata(name(n)).expect("file").mode() & 0o200 != 0;
    // But not without end.
    let kept: Vec<bool> = (0..10).map(is_left).collect();
    assert_eq!(kept.iter().position(|kept| !kept), Some(8), "{kept:?}");
    // SAFETY: nobody uses the words any more.
    unsafe { made.expect("a file").discard() };
    fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn names_that_are_all_taken_keep_nobody_from_counting() {
    let dir = directory("taken");
    for n in 0..cmshim_core::stats::places::SAME_PID {
        // A directory can no more be removed than somebody else's file.
        let name = cmshim_core::stats::places::file_name(std::process::id(), n);
        fs::create_dir(dir.join(name)).expect("made");
    }
    let place = Place::open(&dir).expect("a tmpfs");
    let made = file::make(place, &header(), Readers::User).expect("a file");
    let files = fs::read_dir(&dir).expect("dir").flatten();
    let files: Vec<_> = files.filter(|e| e.path().is_file()).collect();
    let name = files[0].file_name().into_string().expect("text");
    assert_eq!(
        cmshim_core::stats::places::pid_of(&name),
        Some(std::process::id())
    );
    // SAFETY: nobody uses the words any more.
    unsafe { made.discard() };
    fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn a_file_that_took_a_dead_one_s_name_stays() {
    let dir = directory("name");
    let path = dir.join("4711.cmstats");
    fs::write(&path, "dead").expect("written");
    let place = Place::open(&dir).expect("a tmpfs");
    let dead = place.dead(c"4711.cmstats").expect("nobody holds it");
    assert!(place.dead(c"4711.cmstats").is_none(), "one at a time");
    fs::remove_file(&path).expect("removed");
    fs::write(&path, "new").expect("written");
    assert!(!dead.remove());
    assert!(place.dead(c"4711.cmstats").is_some_and(Dead::remove));
    assert!(place.dead(c"4711.cmstats").is_none());
    fs::remove_dir(&dir).expect("empty");
}

#[test]
fn a_place_has_to_be_in_memory_and_safe() {
    let open = |path: &str| Place::open(path.as_ref()).map(drop);
    assert_eq!(open("/proc"), Err(libc::EMEDIUMTYPE));
    assert_eq!(open("/dev/shm/no/such"), Err(libc::ENOENT));
    assert_eq!(open("/dev/null"), Err(libc::ENOTDIR));
    let dir = directory("safe");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("mode");
    assert_eq!(Place::open(&dir).map(drop), Err(UNSAFE));
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o1777)).expect("mode");
    assert_eq!(Place::open(&dir).map(drop), Ok(()));
    let link = dir.join("link");
    std::os::unix::fs::symlink("/dev/shm", &link).expect("link");
    assert_eq!(Place::open(&link).map(drop), Err(libc::ENOTDIR));
    fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn many_dead_files_make_room() {
    let dir = directory("many");
    for pid in 0..300 {
        fs::write(dir.join(format!("{}.cmstats", 4_000_000 + pid)), "dead").expect("written");
    }
    fs::write(dir.join("other"), "not ours").expect("written");
    Place::open(&dir).expect("a tmpfs").thin_out();
    assert_eq!(fs::read_dir(&dir).expect("dir").count(), 301 - 64);
    assert!(dir.join("other").exists());
    fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn the_last_records_are_kept_and_can_be_added_to() {
    let words = words();
    let first = recorder::write(&words, record(1));
    recorder::change(&words, first, |r| r.status = 111);
    recorder::change(&words, Mark::NONE, |r| r.status = 222);
    let found = read(&words);
    assert_eq!(found.records.len(), 1);
    assert_eq!((found.records[0].number, found.records[0].status), (1, 111));
    for id in 2..=RECORDS as u64 + 1 {
        recorder::write(&words, record(id));
    }
    recorder::change(&words, first, |r| r.status = 333);
    let found = read(&words);
    assert_eq!(found.records.len(), RECORDS);
    assert!(found
        .records
        .iter()
        .all(|r| r.id == r.number && r.status == RUNNING));
}

#[test]
fn racing_writers_leave_only_whole_records() {
    let words = words();
    std::thread::scope(|threads| {
        for thread in 1..=4u64 {
            let words = &words;
            threads.spawn(move || {
                for n in 0..20_000 {
                    let id = thread << 32 | n;
                    let mark = recorder::write(words, record(id));
                    recorder::end(words, mark, 0, 0);
                }
            });
        }
        for _ in 0..50 {
            let found = read(&words);
            assert!(found.records.iter().all(|r| r.at_ns == r.id));
            assert!(found.records.windows(2).all(|w| w[0].number < w[1].number));
        }
    });
    let found = read(&words);
    assert_eq!(found.begun, 80_000);
    assert!(
        found.records.len() >= RECORDS - 8,
        "{}",
        found.records.len()
    );
}

#[test]
fn the_frequent_reasons_stay() {
    let words = words();
    let count = |code: &str, peer: &str, n: u64| {
        for _ in 0..n {
            let kind = reasons::Kind {
                code,
                peer: peer.parse().ok(),
                who: Who::PeerKernel,
                stage: Stage::Connect,
            };
            reasons::count(&words, &kind, 5);
        }
    };
    count("REJECTED 8", "10.0.0.1", 1000);
    count("REJECTED 8", "10.0.0.2", 500);
    for n in 0..200 {
        count(&format!("rare {n}"), "10.0.0.3", 1);
    }
    count("REJECTED 8", "10.0.0.1", 1);
    let found = read(&words).reasons;
    assert_eq!(found.len(), REASONS);
    assert_eq!((found[0].count, found[0].over), (1001, 0));
    assert_eq!(
        found[0]
            .peer
            .address()
            .map(|a| a.ip().to_string())
            .as_deref(),
        Some("10.0.0.1")
    );
    assert_eq!(found[1].count, 500);
    let total: u64 = found.iter().map(|r| r.count).sum();
    assert_eq!(total, 1701, "no count is lost, only the names of rare ones");
    assert!(found[2..].iter().all(|r| r.count - r.over <= 1));
}

#[test]
fn an_event_s_wait_is_measured_once_and_only_where_it_was_read_ahead() {
    let words = words();
    read_ahead_at(1_000_000);
    waited(&words, 6_000_000);
    waited(&words, 9_000_000);
    read_ahead_at(0);
    waited(&words, 9_000_000);
    let at = PHASES.item(Phase::EventWait as usize);
    assert_eq!(words[at].load(Ordering::Relaxed), 5_000_000, "sum");
    let buckets = words[at + 2..].iter().take(cmshim_core::stats::BUCKETS);
    let times: u64 = buckets.map(|b| b.load(Ordering::Relaxed)).sum();
    assert_eq!(times, 1);
}
