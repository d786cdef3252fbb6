//! Bundles in the pool's book: nothing is made without a pair of channels, and none is left behind.

mod common;

use cmshim_core::pool::{Book, ChannelPtr, Job, Pair, Scope, Settings, Taken};
use common::{book, bundle, CONTEXT};
use std::time::{Duration, Instant};

fn settings() -> Settings {
    Settings {
        max: 4,
        ..common::settings()
    }
}

fn pair(receive: usize, send: usize) -> Pair {
    [ChannelPtr(receive), ChannelPtr(send)]
}

/// The pairs that bundles were made on, and those that were closed.
fn keep(book: &mut Book<u32>, now: Instant) -> (Vec<usize>, Vec<usize>) {
    let (mut made, mut closed) = (Vec::new(), Vec::new());
    loop {
        match book.next(now) {
            Job::Wait(_) => return (made, closed),
            Job::Drop { flight, .. } | Job::Probe { flight, .. } => book.end(flight),
            Job::Close { flight, pairs } => {
                closed.extend(pairs.iter().map(|p| p[0].0));
                book.end(flight);
            }
            Job::Make {
                flight,
                key,
                measure,
                pair,
            } => {
                let pair = pair.expect("a bundle has channels");
                if measure && !book.measured(&key, 100, 100) {
                    book.failed(flight, now);
                    continue;
                }
                made.push(pair[0].0);
                assert_eq!(book.finish(flight, 1), None);
            }
        }
    }
}

#[test]
fn a_bundle_is_made_once_its_channels_are_open() {
    let (mut book, now) = (book(settings()), Instant::now());
    assert!(!book.created(&bundle(), now));
    assert_eq!(book.lacks_pairs(&bundle(), now), 0);
    assert!(!book.created(&bundle(), now));
    assert_eq!(keep(&mut book, now).0.len(), 0, "no channel, no bundle");
    assert_eq!(book.lacks_pairs(&bundle(), now), 2);
    assert!(!book.add_pairs(&bundle(), now, Vec::new()));
    assert!(book.add_pairs(&bundle(), now, vec![pair(1, 2), pair(3, 4)]));
    assert_eq!(keep(&mut book, now).0.len(), 2);
    assert_eq!(book.lacks_pairs(&bundle(), now), 0, "nothing taken yet");
    assert!(matches!(book.take(&bundle(), now), Taken::Hit { .. }));
    assert_eq!(
        book.lacks_pairs(&bundle(), now),
        2,
        "the third in a tenth of a second"
    );
}

#[test]
fn channels_go_with_their_device_and_when_nobody_wants_them() {
    for scope in [Scope::All, Scope::Context(CONTEXT)] {
        let (mut book, now) = (book(settings()), Instant::now());
        book.created(&bundle(), now);
        book.created(&bundle(), now);
        book.add_pairs(&bundle(), now, vec![pair(1, 2)]);
        let evicted = book.evict(scope);
        assert_eq!(evicted.pairs, [pair(1, 2)]);
        assert!(book.busy(Scope::Context(CONTEXT)), "until they are closed");
        book.end(evicted.flight);
        assert!(!book.holds_any());
    }
    let (mut book, now) = (book(settings()), Instant::now());
    book.created(&bundle(), now);
    book.created(&bundle(), now);
    book.add_pairs(&bundle(), now, vec![pair(1, 2), pair(3, 4), pair(5, 6)]);
    assert_eq!(keep(&mut book, now).0.len(), 2);
    let mut closed = Vec::new();
    for period in 1..3 {
        closed.extend(keep(&mut book, now + settings().idle * period).1);
    }
    assert_eq!(closed.len(), 1, "the third pair found no bundle");
    assert!(!book.holds_any());
}

#[test]
fn completion_queues_count_against_the_device_too() {
    let tight = Settings {
        share: 4,
        recycle: false,
        quarantine: Duration::from_secs(2),
        max: 50,
        warm: 50,
        ..settings()
    };
    let (mut book, now) = (book(tight), Instant::now());
    book.created(&bundle(), now);
    book.add_pairs(&bundle(), now, (0..10).map(|n| pair(n, n)).collect());
    assert_eq!(keep(&mut book, now).0.len(), 2, "4 % of 100 are four");
}
