//! The pool's book, step by step: when there is one ready, how many, and when they go.

mod common;

use cmshim_core::pool::{Book, Job, Key, Miss, Scope, Settings, Taken};
use common::{book, key, settings, CONTEXT, CQ, PD};
use std::time::{Duration, Instant};

/// Does all that the keeper has to do; gives how many it made and what it destroyed.
fn keep(book: &mut Book<u32>, now: Instant, next: &mut u32) -> (u32, Vec<u32>) {
    let mut made = 0;
    let mut dropped = Vec::new();
    loop {
        match book.next(now) {
            Job::Wait(_) => return (made, dropped),
            Job::Drop { flight, item } => {
                dropped.push(item);
                book.end(flight);
            }
            Job::Close { flight, .. } | Job::Probe { flight, .. } => book.end(flight),
            Job::Make {
                flight,
                key,
                measure,
                ..
            } => {
                if measure && !book.measured(&key, 1000, 1000) {
                    book.failed(flight, now);
                    continue;
                }
                *next += 1;
                made += 1;
                assert_eq!(book.finish(flight, *next), None);
            }
        }
    }
}

#[test]
fn from_the_second_creation_on_there_is_one_ready() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::First));
    assert!(!book.created(&key(), now));
    assert_eq!(keep(&mut book, now, &mut n).0, 0, "one alone is no habit");
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::First));
    assert!(book.created(&key(), now));
    assert_eq!(keep(&mut book, now, &mut n).0, 2);
    assert!(matches!(book.take(&key(), now), Taken::Hit { .. }));
}

#[test]
fn another_size_is_another_kind() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    book.created(&key(), now);
    book.created(&key(), now);
    keep(&mut book, now, &mut n);
    let mut other = key();
    other.caps.send_wr = 1;
    assert_eq!(book.take(&other, now), Taken::Miss(Miss::First));
    let mut other = key();
    other.sq_sig_all = 1;
    assert_eq!(book.take(&other, now), Taken::Miss(Miss::First));
}

#[test]
fn what_did_not_come_through_us_is_not_used() {
    let (mut book, now) = (book(settings()), Instant::now());
    let refused = |book: &mut Book<u32>, change: &dyn Fn(&mut Key)| {
        let mut key = key();
        change(&mut key);
        assert!(!book.created(&key, now));
        assert!(!book.created(&key, now));
        match book.take(&key, now) {
            Taken::Miss(why) => why,
            hit => panic!("{hit:?}"),
        }
    };
    assert_eq!(refused(&mut book, &|k| k.pd = 1), Miss::Unknown);
    assert_eq!(refused(&mut book, &|k| k.send_cq = 1), Miss::Unknown);
    assert_eq!(refused(&mut book, &|k| k.recv_cq = 1), Miss::Unknown);
    assert_eq!(refused(&mut book, &|k| k.srq = 1), Miss::Unknown);
    assert_eq!(refused(&mut book, &|k| k.context = 1), Miss::Unknown);
    assert_eq!(refused(&mut book, &|k| k.qp_type = 4), Miss::Type);
    book.gone(CONTEXT);
    assert_eq!(refused(&mut book, &|_| {}), Miss::Device);
}

#[test]
fn a_faster_program_finds_more_ready_up_to_the_most() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    let mut hits = 0;
    for _ in 0..100 {
        match book.take(&key(), now) {
            Taken::Hit { .. } => hits += 1,
            Taken::Miss(_) => drop(book.created(&key(), now)),
        }
        keep(&mut book, now, &mut n);
    }
    assert!(hits >= 97, "{hits}");
    assert_eq!(book.ready(), 8);
}

#[test]
fn the_keeper_is_rung_only_when_half_is_taken() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    book.created(&key(), now);
    for _ in 0..20 {
        book.created(&key(), now);
    }
    keep(&mut book, now, &mut n);
    assert_eq!(book.ready(), 8);
    let rung = |taken| matches!(taken, Taken::Hit { ring: true, .. });
    let rings: Vec<bool> = (0..8).map(|_| rung(book.take(&key(), now))).collect();
    assert_eq!(
        rings,
        [false, false, false, true, false, false, false, false]
    );
}

#[test]
fn what_nobody_needs_is_given_back_and_the_keeper_may_end() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    for _ in 0..8 {
        book.created(&key(), now);
    }
    keep(&mut book, now, &mut n);
    assert_eq!(book.ready(), 8);
    let later = now + Duration::from_secs(9);
    assert_eq!(keep(&mut book, later, &mut n).1.len(), 0);
    let Job::Wait(Some(due)) = book.next(later) else {
        panic!("the keeper comes back for the review");
    };
    assert_eq!(due, now + settings().idle);
    // Half of what was never touched in the second period goes, and all after a third without use.
    let (made, dropped) = keep(&mut book, due, &mut n);
    assert_eq!((made, dropped.len()), (0, 0), "they came during the period");
    assert!(matches!(book.take(&key(), due), Taken::Hit { .. }));
    let second = due + settings().idle;
    assert_eq!(keep(&mut book, second, &mut n).1.len(), 3);
    assert_eq!(book.ready(), 4);
    let third = second + settings().idle;
    keep(&mut book, third, &mut n);
    assert_eq!(book.ready(), 0);
    assert_eq!(book.next(third), Job::Wait(None));
    assert!(!book.holds_any());
    // The habit is remembered: one more is enough.
    assert!(book.created(&key(), third));
}

#[test]
fn warm_ones_are_ready_after_the_first() {
    let warm = Settings {
        warm: 100,
        ..settings()
    };
    let (mut book, now, mut n) = (book(warm), Instant::now(), 0);
    assert!(book.created(&key(), now));
    assert_eq!(keep(&mut book, now, &mut n).0, 8, "never above the most");
}

#[test]
fn a_wish_is_granted_up_to_the_most() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    assert_eq!(book.request_minimum(&key(), now, 5), Ok(true));
    assert_eq!(keep(&mut book, now, &mut n).0, 5);
    let strange = Key { pd: 1, ..key() };
    assert_eq!(book.request_minimum(&strange, now, 5), Err(Miss::Unknown));
}

#[test]
fn the_device_s_share_is_kept() {
    let small = Settings {
        share: 1,
        recycle: false,
        quarantine: Duration::from_secs(2),
        max: 100,
        warm: 100,
        ..settings()
    };
    let (mut book, now, mut n) = (book(small), Instant::now(), 0);
    book.created(&key(), now);
    assert_eq!(keep(&mut book, now, &mut n).0, 10, "1 % of 1000");
    let none = Settings { share: 0, ..small };
    let (mut book, mut n) = (self::book(none), 0);
    book.created(&key(), now);
    assert_eq!(keep(&mut book, now, &mut n).0, 0);
    assert!(!book.holds_any());
}

#[test]
fn a_device_that_is_open_twice_has_one_share() {
    let second = CONTEXT + 1;
    let most = Settings {
        share: 1,
        max: 100,
        warm: 7,
        ..settings()
    };
    for (device, expected) in [(0x50, 10), (0, 14)] {
        let (mut book, now, mut n) = (book(most), Instant::now(), 0);
        book.belongs(CONTEXT, device);
        book.belongs(second, device);
        book.pd(PD + 1, second);
        book.created(&key(), now);
        book.created(
            &Key {
                context: second,
                pd: PD + 1,
                ..key()
            },
            now,
        );
        assert_eq!(
            keep(&mut book, now, &mut n).0,
            expected,
            "1 % of 1000, seven of each wanted"
        );
    }
}

#[test]
fn each_object_takes_what_stands_on_it() {
    let now = Instant::now();
    let srq = 0x400;
    for scope in [
        Scope::Pd(PD),
        Scope::Cq(CQ),
        Scope::Srq(srq),
        Scope::Context(CONTEXT),
        Scope::All,
    ] {
        let (mut book, mut n) = (book(settings()), 0);
        book.srq(srq);
        book.cq(0x301);
        let key = Key { srq, ..key() };
        book.created(&key, now);
        book.created(&key, now);
        keep(&mut book, now, &mut n);
        let other = book.evict(Scope::Cq(0x301));
        assert_eq!(other.items.len(), 0);
        book.end(other.flight);
        let evicted = book.evict(scope);
        assert_eq!(evicted.items.len(), 2, "{scope:?}");
        assert!(book.busy(scope), "until they are destroyed");
        book.end(evicted.flight);
        assert!(!book.busy(scope) && !book.holds_any());
        let single = !matches!(scope, Scope::Context(_) | Scope::All);
        assert_eq!(evicted.known, single, "{scope:?}");
        assert!(!book.evict(scope).known, "gone, or never heard of");
    }
}

#[test]
fn one_that_is_being_made_is_waited_for_and_discarded() {
    let (mut book, now) = (book(settings()), Instant::now());
    book.created(&key(), now);
    book.created(&key(), now);
    let Job::Make { flight, .. } = book.next(now) else {
        panic!("one is wanted");
    };
    let evicted = book.evict(Scope::Cq(CQ));
    assert!(evicted.items.is_empty());
    book.end(evicted.flight);
    assert!(book.busy(Scope::Cq(CQ)));
    assert!(!book.busy(Scope::Cq(0x301)), "others do not wait");
    assert_eq!(book.finish(flight, 7), Some(7));
    assert!(book.busy(Scope::Cq(CQ)), "it is still to be destroyed");
    book.end(flight);
    assert!(!book.busy(Scope::Cq(CQ)));
    assert!(
        matches!(book.next(now), Job::Wait(_)),
        "unknown from now on"
    );
}

#[test]
fn a_failure_leaves_the_key_alone_for_a_while() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    book.created(&key(), now);
    book.created(&key(), now);
    let Job::Make { flight, .. } = book.next(now) else {
        panic!("one is wanted");
    };
    book.failed(flight, now);
    assert!(!book.created(&key(), now));
    assert_eq!(keep(&mut book, now, &mut n).0, 0);
    assert!(book.created(&key(), now + settings().idle));
}

#[test]
fn short_of_memory_nothing_is_made_for_a_while() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    book.hold(now);
    book.created(&key(), now);
    book.created(&key(), now);
    assert_eq!(keep(&mut book, now, &mut n).0, 0);
    book.created(&key(), now + settings().idle);
    assert!(keep(&mut book, now + settings().idle, &mut n).0 > 0);
}

#[test]
fn thousands_of_kinds_that_were_seen_once_are_forgotten() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    book.created(&key(), now);
    book.created(&key(), now);
    for send_wr in 1..5000 {
        let mut other = key();
        other.caps.send_wr = send_wr;
        book.created(&other, now);
    }
    assert_eq!(keep(&mut book, now, &mut n).0, 2);
    assert!(matches!(book.take(&key(), now), Taken::Hit { .. }));
}

#[test]
fn a_closed_device_is_unknown_and_an_opened_one_is_new() {
    let (mut book, now) = (book(settings()), Instant::now());
    book.gone(CONTEXT);
    book.closed(CONTEXT);
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::Unknown));
    book.opened(CONTEXT);
    book.pd(PD, CONTEXT);
    assert_eq!(book.take(&key(), now), Taken::Miss(Miss::First));
}

#[test]
fn where_each_connection_has_its_own_queue_nothing_is_made_ahead_in_vain_for_long() {
    let (mut book, now, mut n) = (book(settings()), Instant::now(), 0);
    let mut made = Vec::new();
    for queue in 1..6usize {
        let cq = CQ + queue;
        let key = Key {
            send_cq: cq,
            recv_cq: cq,
            ..key()
        };
        book.cq(cq);
        for _ in 0..2 {
            assert!(matches!(book.take(&key, now), Taken::Miss(_)));
            book.created(&key, now);
        }
        made.push(keep(&mut book, now, &mut n).0);
        let evicted = book.evict(Scope::Cq(cq));
        book.end(evicted.flight);
    }
    assert_eq!(made, [2, 0, 0, 0, 0]);
    // A queue that lives longer is served, and with it those after it.
    book.cq(CQ + 9);
    let long = Key {
        send_cq: CQ + 9,
        recv_cq: CQ + 9,
        ..key()
    };
    for _ in 0..4 {
        book.created(&long, now);
    }
    assert!(keep(&mut book, now, &mut n).0 > 0);
    assert!(matches!(book.take(&long, now), Taken::Hit { .. }));
    let evicted = book.evict(Scope::Cq(CQ + 9));
    book.end(evicted.flight);
    book.created(&key(), now);
    book.created(&key(), now);
    assert!(keep(&mut book, now, &mut n).0 > 0);
}
