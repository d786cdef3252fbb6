//! Used queue pairs that come back: which ones, when, and where they go.

mod common;

use cmshim_core::pool::{Book, Caps, Job, Scope, Settings, Taken, Verdict};
use common::{key, CONTEXT, CQ, PD};
use std::time::{Duration, Instant};

const PEER: u128 = 77;
const REST: Duration = Duration::from_secs(3);

fn settings(recycle: bool) -> Settings {
    Settings {
        min: 1,
        max: 4,
        warm: 0,
        idle: Duration::from_secs(600),
        share: 50,
        recycle,
        quarantine: REST,
    }
}

/// A book in which the program has the queue pairs 1 and 2, and one of the keeper's lies ready.
fn book(recycle: bool, verdict: Verdict, now: Instant) -> Book<u32> {
    let mut book = common::book(settings(recycle));
    for number in 1..=2 {
        // Far apart, so that one ready is enough.
        book.created(&key(), now - Duration::from_secs(2 - number as u64));
        book.lives(&key(), number, Caps::default());
    }
    let mut probed = false;
    loop {
        match book.next(now) {
            Job::Probe { flight, context } => {
                probed = true;
                book.probed(context, verdict);
                book.end(flight);
            }
            Job::Make { flight, key, .. } => {
                book.measured(&key, 1000, 1000);
                assert_eq!(book.finish(flight, 100), None);
            }
            Job::Wait(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(probed, recycle, "one probe for each device, if wanted");
    book
}

fn sound(now: Instant) -> Book<u32> {
    book(true, Verdict::Sound, now)
}

fn park(book: &mut Book<u32>, number: usize, id: usize, now: Instant) -> bool {
    book.leaves(number, true)
        .is_some_and(|leaving| book.park(leaving, id, now))
}

fn take(book: &mut Book<u32>, now: Instant) -> Option<u32> {
    match book.take(&key(), now) {
        Taken::Hit { item, .. } => {
            book.lives(&key(), item as usize, Caps::default());
            Some(item)
        }
        Taken::Miss(_) => None,
    }
}

#[test]
fn one_comes_back_after_its_quarantine_and_not_before() {
    let now = Instant::now();
    let mut book = sound(now);
    book.over(1, PEER);
    assert!(park(&mut book, 1, 0, now));
    assert_eq!(book.parked(), 1);
    assert_eq!(take(&mut book, now), Some(100));
    let early = now + REST - Duration::from_millis(1);
    assert_eq!(take(&mut book, early), None);
    assert_eq!(take(&mut book, now + REST), Some(1));
    assert!(book.recycled(1) && !book.recycled(100));
    assert_eq!(book.parked(), 0);
}

#[test]
fn the_keeper_wakes_when_a_quarantine_is_over() {
    let now = Instant::now();
    let mut book = sound(now);
    book.over(1, PEER);
    assert!(park(&mut book, 1, 0, now));
    assert_eq!(book.next(now), Job::Wait(Some(now + REST)));
    let Job::Wait(Some(later)) = book.next(now + REST) else {
        panic!("nothing is to be made or destroyed");
    };
    assert!(later > now + REST);
    assert_eq!(book.ready(), 2);
}

#[test]
fn only_what_ended_well_is_parked() {
    let now = Instant::now();
    let mut book = sound(now);
    assert!(!park(&mut book, 1, 0, now), "the peer may believe in it");
    let unasked = book.leaves(2, false);
    assert!(unasked.is_some_and(|l| book.park(l, 0, now)));
    assert_eq!(
        take(&mut book, now),
        Some(2),
        "no peer knows it: no quarantine"
    );
    assert!(!park(&mut book, 99, 0, now), "not created through us");
}

#[test]
fn an_address_that_is_another_one_s_says_nothing() {
    let now = Instant::now();
    let mut book = sound(now);
    book.is_no_more(1);
    assert_eq!(book.leaves(1, false), None);
}

#[test]
fn one_that_was_given_back_has_no_later_life() {
    let now = Instant::now();
    let mut book = sound(now);
    book.over(1, PEER);
    assert!(park(&mut book, 1, 0, now));
    let mut now = now + REST;
    for _ in 0..2 {
        // Nobody wants any of them.
        now += Duration::from_secs(601);
        while let Job::Drop { flight, .. } = book.next(now) {
            book.end(flight);
        }
    }
    assert_eq!(book.ready(), 0);
    book.lives(&key(), 1, Caps::default());
    assert!(!book.recycled(1), "another one at its address");
}

#[test]
fn nothing_is_parked_unless_asked_for_or_on_a_device_that_failed() {
    let now = Instant::now();
    for mut book in [
        book(false, Verdict::Sound, now),
        book(true, Verdict::Unsound, now),
        book(true, Verdict::Asked, now),
    ] {
        book.over(1, PEER);
        assert!(!park(&mut book, 1, 0, now));
    }
}

#[test]
fn a_device_that_is_closed_is_not_tried_out_any_more() {
    let now = Instant::now();
    let mut book: Book<u32> = Book::new(settings(true), Default::default());
    book.opened(CONTEXT);
    assert!(book.lives(&key(), 1, Caps::default()));
    let evicted = book.evict(Scope::Context(CONTEXT));
    book.end(evicted.flight);
    book.closed(CONTEXT);
    assert!(!matches!(book.next(now), Job::Probe { .. }));
}

#[test]
fn the_end_of_timewait_ends_the_quarantine() {
    let now = Instant::now();
    let mut book = sound(now);
    let (one, two) = (0x5000, 0x6000);
    book.over(1, PEER);
    book.over(2, PEER);
    assert!(park(&mut book, 1, one, now));
    assert!(park(&mut book, 2, two, now));
    assert!(book.rested(one, 0, now));
    book.id_gone(two);
    assert!(!book.rested(two, 0, now), "that is another id by now");
    assert_eq!(
        (book.parked(), book.next(now)),
        (2, Job::Wait(Some(now + REST)))
    );
    assert_eq!(book.parked(), 1);
    // Seen before the destruction.
    assert_eq!(take(&mut book, now), Some(1));
    book.over(1, PEER);
    book.rested(one, 1, now);
    assert!(park(&mut book, 1, one, now));
    assert_eq!(take(&mut book, now), Some(1));
}

#[test]
fn a_stale_one_is_taken_out_with_all_of_that_peer() {
    let now = Instant::now();
    let mut book = sound(now);
    book.over(1, PEER);
    assert!(park(&mut book, 1, 0, now));
    let later = now + REST;
    assert_eq!(take(&mut book, later), Some(1));
    book.over(2, PEER);
    assert!(park(&mut book, 2, 0, later));
    assert!(!book.stale(100, PEER), "a fresh one says nothing of ours");
    assert!(book.stale(1, PEER));
    assert!(book.recycled(1), "still to be named");
    let Job::Drop { flight, item: 2 } = book.next(later) else {
        panic!("the other one of that peer is to go");
    };
    book.end(flight);
    assert!(!park(&mut book, 1, 0, later));
    // Another peer's are used as before.
    assert_eq!(take(&mut book, later), Some(100));
    book.over(100, PEER + 1);
    assert!(park(&mut book, 100, 0, later));
}

#[test]
fn a_stale_one_takes_those_along_that_lie_ready() {
    let now = Instant::now();
    let mut book = sound(now);
    for number in [1, 2] {
        book.over(number, PEER);
        assert!(park(&mut book, number, 0, now));
    }
    let later = now + REST;
    let Some(refused @ (1 | 2)) = take(&mut book, later) else {
        panic!("one of the two that have rested");
    };
    assert!(book.stale(refused as usize, PEER));
    let other = 3 - refused;
    let Job::Drop { flight, item } = book.next(later) else {
        panic!("the other one is to go, although it lay ready");
    };
    assert_eq!(item, other);
    book.end(flight);
    assert_eq!(take(&mut book, later), Some(100), "never connected");
}

#[test]
fn one_that_knew_a_peer_is_not_fresh_again_in_reset() {
    let now = Instant::now();
    let mut book = sound(now);
    book.used(1);
    assert_eq!(book.leaves(1, false), None);
    assert!(book.leaves(2, false).is_some());
}

#[test]
fn parked_ones_go_before_what_they_stand_on() {
    let now = Instant::now();
    for scope in [
        Scope::Cq(CQ),
        Scope::Pd(PD),
        Scope::Context(CONTEXT),
        Scope::All,
    ] {
        let mut book = sound(now);
        book.over(1, PEER);
        assert!(park(&mut book, 1, 0, now));
        book.over(2, PEER);
        let halfway = book.leaves(2, true).unwrap();
        let mut evicted = book.evict(scope);
        evicted.items.sort_unstable();
        assert_eq!(evicted.items, [1, 100]);
        book.end(evicted.flight);
        assert!(book.busy(scope), "one is being moved to RESET");
        assert!(!book.park(halfway, 0, now), "it is destroyed after all");
        assert!(!book.busy(scope) && !book.holds_any());
    }
}

#[test]
fn no_more_are_parked_than_may_lie_ready() {
    let now = Instant::now();
    let mut book = sound(now);
    for number in 10..20 {
        book.lives(&key(), number, Caps::default());
        book.over(number, PEER);
    }
    let parked = (10..20).filter(|n| park(&mut book, *n, 0, now)).count();
    assert_eq!(parked, 4);
    assert!(book.any(|n| *n == 10), "its events are dropped");
}
