//! What tells two kinds apart: each member of the key alone does, wherever the ready ones lie.

mod common;

use cmshim_core::pool::{Book, ChannelPtr, Front, Job, Key, Miss, Scope, Settings, Taken, QPT_UC};
use common::{bundle, key, CONTEXT, CQ, PD};
use std::sync::Arc;
use std::time::Instant;

const OTHER: usize = 0x1000;

/// The kinds that differ from this one in one thing alone, each with the name of that.
fn others(of: Key) -> Vec<(&'static str, Key)> {
    let changed = |change: &dyn Fn(&mut Key)| {
        let mut key = of;
        change(&mut key);
        key
    };
    vec![
        ("context", changed(&|k| k.context += OTHER)),
        ("pd", changed(&|k| k.pd += OTHER)),
        ("send_cq", changed(&|k| k.send_cq += OTHER)),
        ("recv_cq", changed(&|k| k.recv_cq += OTHER)),
        ("srq", changed(&|k| k.srq += OTHER)),
        ("qp_type", changed(&|k| k.qp_type = QPT_UC)),
        ("send_wr", changed(&|k| k.caps.send_wr += 1)),
        ("recv_wr", changed(&|k| k.caps.recv_wr += 1)),
        ("send_sge", changed(&|k| k.caps.send_sge += 1)),
        ("recv_sge", changed(&|k| k.caps.recv_sge += 1)),
        ("inline_data", changed(&|k| k.caps.inline_data += 1)),
        ("sq_sig_all", changed(&|k| k.sq_sig_all += 1)),
    ]
}

/// A book that knows all objects of these kinds.
fn book(recycle: bool) -> (Book<u32>, Arc<Front>) {
    let front = Arc::new(Front::default());
    let settings = Settings {
        recycle,
        ..common::settings()
    };
    let mut book = Book::new(settings, front.clone());
    for context in [CONTEXT, CONTEXT + OTHER] {
        book.opened(context);
    }
    for pd in [PD, PD + OTHER] {
        book.pd(pd, CONTEXT);
    }
    for cq in [CQ, CQ + OTHER, OTHER] {
        book.cq(cq);
    }
    book.srq(OTHER);
    (book, front)
}

/// Has some of this kind made, and tells their numbers.
fn fill(book: &mut Book<u32>, wanted: &Key, now: Instant, next: &mut u32) -> Vec<u32> {
    for _ in 0..2 {
        book.created(wanted, now);
    }
    if book.lacks_pairs(wanted, now) > 0 {
        book.add_pairs(
            wanted,
            now,
            vec![[1, 2].map(ChannelPtr), [3, 4].map(ChannelPtr)],
        );
    }
    let mut made = Vec::new();
    loop {
        match book.next(now) {
            Job::Wait(_) => return made,
            Job::Drop { flight, .. } | Job::Close { flight, .. } | Job::Probe { flight, .. } => {
                book.end(flight);
            }
            Job::Make {
                flight,
                key,
                measure,
                ..
            } => {
                assert_eq!(key, *wanted);
                assert!(!measure || book.measured(&key, 1000, 1000));
                *next += 1;
                made.push(*next);
                assert_eq!(book.finish(flight, *next), None);
            }
        }
    }
}

/// Takes all of a kind that lie ready: without the lock first, as a creation does.
fn all(book: &mut Book<u32>, front: &Front, key: &Key, now: Instant) -> Vec<u32> {
    let mut taken = Vec::new();
    while let Some((item, _)) = front.take::<u32>(key) {
        taken.push(item);
    }
    while let Taken::Hit { item, .. } = book.take(key, now) {
        taken.push(item);
    }
    taken.sort_unstable();
    taken
}

fn never_serve_each_other(of: Key, recycle: bool) {
    let now = Instant::now();
    for (what, other) in others(of) {
        let (mut book, front) = book(recycle);
        let mut n = 0;
        let ours = fill(&mut book, &of, now, &mut n);
        assert!(!ours.is_empty());
        // Nothing for the other one.
        assert!(front.take::<u32>(&other).is_none(), "{what}");
        let lack = book.take(&other, now);
        if what == "context" {
            // This protection domain is of another device: there is no such kind.
            assert_eq!(lack, Taken::Miss(Miss::Unknown));
        } else {
            assert_eq!(lack, Taken::Miss(Miss::First), "{what}");
            // Both lie ready: each gets its own.
            let theirs = fill(&mut book, &other, now, &mut n);
            assert!(!theirs.is_empty(), "{what}");
            assert_eq!(all(&mut book, &front, &other, now), theirs, "{what}");
        }
        assert_eq!(all(&mut book, &front, &of, now), ours, "{what}");
    }
}

#[test]
fn kinds_that_differ_in_one_thing_never_serve_each_other() {
    never_serve_each_other(key(), false);
}

/// Recycling keeps all on the shelves, and none in front.
#[test]
fn nor_do_they_on_the_shelves() {
    never_serve_each_other(key(), true);
}

#[test]
fn nor_do_those_that_come_with_their_own_queues() {
    let now = Instant::now();
    for (what, other) in others(bundle()) {
        if matches!(what, "context" | "send_cq" | "recv_cq") {
            continue; // no such kind
        }
        let (mut book, front) = book(false);
        let mut n = 0;
        let ours = fill(&mut book, &bundle(), now, &mut n);
        let theirs = fill(&mut book, &other, now, &mut n);
        assert!(!ours.is_empty() && !theirs.is_empty(), "{what}");
        assert_eq!(all(&mut book, &front, &other, now), theirs, "{what}");
        assert_eq!(all(&mut book, &front, &bundle(), now), ours, "{what}");
    }
}

/// A provider without locks: nothing is made ahead, and a creation says why.
#[test]
fn nothing_lies_ready_where_only_the_programs_threads_may() {
    let now = Instant::now();
    let (mut book, front) = book(false);
    let mut n = 0;
    assert!(!fill(&mut book, &key(), now, &mut n).is_empty());
    book.no_threads();
    let evicted = book.evict(Scope::All);
    book.end(evicted.flight);
    assert!(front.take::<u32>(&key()).is_none());
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::Threads));
    assert!(fill(&mut book, &key(), now, &mut n).is_empty());
}

/// The same for one device of several, until it is closed.
#[test]
fn nothing_lies_ready_on_a_device_that_only_the_programs_threads_may_use() {
    let now = Instant::now();
    let (mut book, _front) = book(false);
    let mut n = 0;
    book.no_threads_on(key().context + 1);
    assert!(
        !fill(&mut book, &key(), now, &mut n).is_empty(),
        "another device"
    );
    book.no_threads_on(key().context);
    let evicted = book.evict(Scope::Context(key().context));
    book.end(evicted.flight);
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::Threads));
    assert!(fill(&mut book, &key(), now, &mut n).is_empty());
    book.closed(key().context);
    book.opened(key().context);
    book.pd(key().pd, key().context);
    assert!(
        !fill(&mut book, &key(), now, &mut n).is_empty(),
        "opened again"
    );
}
