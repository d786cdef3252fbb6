//! Files as the library writes them, and files that nobody should have written.

use cmshim_core::model::{Stage, Who};
use cmshim_core::stats::layout::{self, SECTIONS, SECTION_TABLE, WORDS};
use cmshim_core::stats::{
    Bypass, Counter, Damaged, Entry, Header, Peer, Phase, Reason, Record, Snapshot, What, RECORDS,
    RUNNING,
};
use proptest::prelude::*;
use std::hint::black_box;

fn header() -> Header {
    Header {
        pid: 4711,
        start_time: 99,
        uid: 1000,
        boot_id: *b"0123456789abcdef",
        realtime_ns: 1_700_000_000_000_000_000,
        monotonic_ns: 5_000,
        family: 77,
        library: "0.1.0".into(),
        program: "rping".into(),
    }
}

fn record(number: u64) -> Record {
    Record {
        number,
        at_ns: number * 10,
        id: 0x1000,
        what: What::Call(Entry::rdma_connect),
        status: RUNNING,
        peer: Peer::of("10.77.0.1:7174".parse().unwrap()),
        qp_num: 17,
        extra: 0,
    }
}

/// A file with something in each section.
fn file() -> Vec<u64> {
    let mut words = vec![0; WORDS];
    words[..layout::HEADER_WORDS].copy_from_slice(&header().encode());
    words[layout::COUNTERS.item(Counter::Batches as usize)] = 3;
    let connect = layout::ENTRIES.item(Entry::rdma_connect as usize);
    words[connect..connect + 3].copy_from_slice(&[5, 6, 7]);
    words[layout::BYPASSES.item(Bypass::MissingSymbol as usize)] = 8;
    words[layout::EVENTS.item(9)] = 9;
    words[layout::BATCHES.item(16)] = 10;
    let phase = layout::PHASES.item(Phase::Connect as usize);
    words[phase] = 2_000_000;
    words[phase + 1] = 2_000_000;
    words[phase + 2 + cmshim_core::stats::bucket_of(2_000_000)] = 1;
    let begun = RECORDS as u64 + 3;
    words[layout::HEAD] = begun;
    for number in 1..=begun {
        let at = layout::RECORDER.item((number as usize - 1) % RECORDS);
        words[at..at + 8].copy_from_slice(&record(number).encode());
    }
    let reason = Reason {
        count: 2,
        over: 0,
        last_ns: 1,
        code: "REJECTED 8".into(),
        peer: Peer::default(),
        who: Some(Who::PeerKernel),
        stage: Some(Stage::Connect),
    };
    let at = layout::REASON_TABLE.item(5);
    words[at..at + 16].copy_from_slice(&reason.encode());
    words
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

fn refused(words: &[u64]) -> Damaged {
    Snapshot::parse(&bytes(words)).expect_err("must be refused")
}

#[test]
fn everything_comes_back() {
    let s = Snapshot::parse(&bytes(&file())).unwrap();
    assert_eq!(s.header, header());
    assert_eq!(s.counter(Counter::Batches), 3);
    assert_eq!(s.counter(Counter::PoolHits), 0);
    let connect = s.entry(Entry::rdma_connect);
    assert_eq!((connect.calls, connect.inner, connect.failed), (5, 6, 7));
    assert_eq!(s.bypass(Bypass::MissingSymbol), 8);
    assert_eq!((s.event(9), s.event(8), s.event(1000)), (9, 0, 0));
    assert_eq!(s.batches(16), 10);
    let connect = s.phase(Phase::Connect);
    assert_eq!(connect.count(), 1);
    assert_eq!(connect.quantile_ns(0.5), Some(2_000_000));
    assert_eq!(s.phase(Phase::Destroy).count(), 0);
    assert_eq!(s.records.len(), RECORDS);
    assert_eq!(s.records[0].number, 4, "the oldest three were overwritten");
    assert_eq!(s.records[RECORDS - 1].number, RECORDS as u64 + 3);
    assert_eq!(s.reasons.len(), 1);
    assert_eq!(s.header.wall_ns(6_000), 1_700_000_000_000_001_000);
}

#[test]
fn a_record_that_is_being_written_is_left_out() {
    let mut words = file();
    words[layout::RECORDER.item(10) + 2] ^= 1;
    words[layout::RECORDER.item(11)] = 0;
    // Begun, and nothing written yet: the slot still holds its predecessor.
    words[layout::HEAD] += 1;
    let s = Snapshot::parse(&bytes(&words)).unwrap();
    assert_eq!(s.records.len(), RECORDS - 3);
    assert!(s.records.iter().all(|r| ![11, 12, 4].contains(&r.number)));
}

#[test]
fn foreign_files_are_refused() {
    assert_eq!(Snapshot::parse(b"").unwrap_err(), Damaged::Foreign);
    assert_eq!(
        Snapshot::parse(b"\x7fELF something").unwrap_err(),
        Damaged::Foreign
    );
    assert_eq!(Snapshot::parse(b"CMSHSTAT").unwrap_err(), Damaged::Foreign);
    let mut words = file();
    words[1] += 1;
    assert_eq!(refused(&words), Damaged::Version(layout::VERSION + 1));
    words[1] = file()[1].swap_bytes();
    assert_eq!(refused(&words), Damaged::ByteOrder);
    words[1] = 0;
    assert_eq!(refused(&words), Damaged::Foreign);
}

#[test]
fn sizes_are_never_trusted() {
    let cut = bytes(&file());
    let is = cut.len() as u64 - 8;
    assert_eq!(
        Snapshot::parse(&cut[..is as usize]).unwrap_err(),
        Damaged::Length { says: is + 8, is }
    );
    for number in 0..SECTIONS.len() {
        let row = SECTION_TABLE + 3 * number;
        for (at, value) in [
            (row, u64::MAX - 7),
            (row, 4),
            (row, 0),
            (row, (WORDS * 8) as u64),
            (row + 1, u64::MAX),
            (row + 1, u64::MAX / 2),
            (row + 1, 1 << 40),
            (row + 2, 0),
            (row + 2, 12),
        ] {
            let mut words = file();
            words[at] = value;
            assert_eq!(refused(&words), Damaged::Section(number), "{at} {value}");
        }
    }
}

/// Rows are only added at the end of a table.
#[test]
fn tables_of_other_lengths_are_read_as_far_as_both_know_them() {
    let mut words = file();
    words[SECTION_TABLE + 1] = 1;
    let s = Snapshot::parse(&bytes(&words)).unwrap();
    assert_eq!(s.counter(Counter::Batches), 0, "not in the shorter table");
    let mut words = file();
    words[SECTION_TABLE + 1] += 1; // one counter more: it overlaps the next section here
    let s = Snapshot::parse(&bytes(&words)).unwrap();
    assert_eq!(s.counter(Counter::Batches), 3);
    let mut empty = file();
    (0..SECTIONS.len()).for_each(|n| empty[SECTION_TABLE + 3 * n + 1] = 0);
    let s = Snapshot::parse(&bytes(&empty)).unwrap();
    assert!(s.records.is_empty() && s.reasons.is_empty());
    assert_eq!(s.phase(Phase::Connect).count(), 0);
}

/// Asks for everything: nothing may panic.
fn read_all(s: &Snapshot) {
    Counter::ALL.iter().for_each(|c| {
        s.counter(*c);
    });
    Entry::ALL.iter().for_each(|e| {
        s.entry(*e);
    });
    for phase in Phase::ALL {
        let mut h = s.phase(*phase);
        black_box((
            h.count(),
            h.mean_ns(),
            h.quantile_ns(0.99),
            h.below(1 << 20),
        ));
        h.merge(&s.phase(*phase));
        h.record(5);
        h.filled().count();
    }
    for record in &s.records {
        black_box((record.peer.address(), s.header.wall_ns(record.at_ns)));
    }
    for reason in &s.reasons {
        assert!(!reason.code.chars().any(char::is_control));
    }
}

/// The same damage in each run: single bits, bytes, words and copied pieces, most of them in the header.
#[test]
fn a_fixed_set_of_damaged_files_is_survived() {
    let whole = bytes(&file());
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..600 {
        let mut file = whole.clone();
        for _ in 0..=next(4) {
            let end = if next(3) == 0 {
                file.len()
            } else {
                layout::HEADER_WORDS * 8
            };
            let at = next(end - 8);
            match next(4) {
                0 => file[at] ^= 1 << next(8),
                1 => file[at] = next(256) as u8,
                2 => {
                    let wild = [0, u64::MAX, 1 << 63, (WORDS * 8) as u64, 1 << 32][next(5)];
                    let at = at / 8 * 8;
                    file[at..at + 8].copy_from_slice(&wild.to_ne_bytes());
                }
                _ => file.copy_within(at..at + 8, next(end - 8)),
            }
        }
        if round % 10 == 0 {
            file.truncate(next(file.len()));
        }
        match Snapshot::parse(&file) {
            Ok(s) => {
                read += 1;
                read_all(&s);
            }
            Err(why) => {
                refused += 1;
                assert!(!why.to_string().is_empty());
            }
        }
    }
    assert!(
        read > 50 && refused > 50,
        "{read} read, {refused} refused: the damage is too small or too large"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damage_anywhere_is_survived(
        changes in prop::collection::vec((0usize..WORDS * 8, any::<u8>()), 0..40),
        early in prop::collection::vec((8usize..layout::HEADER_WORDS * 8, any::<u8>()), 0..3),
        cut in prop::option::of(0usize..WORDS * 8),
    ) {
        let mut file = bytes(&file());
        for (at, value) in changes.into_iter().chain(early) {
            file[at] = value;
        }
        file.truncate(cut.unwrap_or(usize::MAX));
        if let Ok(s) = Snapshot::parse(&file) {
            read_all(&s);
        }
    }

    #[test]
    fn wild_words_in_a_right_frame_are_survived(seed in prop::collection::vec(any::<u64>(), 64)) {
        let mut words = file();
        for (at, word) in words.iter_mut().enumerate().skip(layout::HEADER_WORDS) {
            *word = seed[at % 64].rotate_left(at as u32);
        }
        words[layout::HEAD] = seed[0];
        read_all(&Snapshot::parse(&bytes(&words)).unwrap());
    }
}
