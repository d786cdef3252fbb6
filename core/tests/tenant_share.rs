//! The file in which processes count together, as the library writes it, and as nobody should have written it.

use cmshim_core::tenant::key_of;
use cmshim_core::tenant::share::{self, header_words, row, slot, Damaged, RowCopy, Share};
use proptest::prelude::*;

/// A file with two rows and two slots in use.
fn file() -> Vec<u64> {
    let mut words = vec![0; share::WORDS];
    words[..share::HEADER_WORDS].copy_from_slice(&header_words("/etc/cmshim/policy.toml"));
    words[share::header::SLOTS_USED] = 8;
    let key = key_of("olap", None);
    let place = (key % share::ROWS as u64) as usize;
    let at = share::row_at(place);
    words[at + row::KEY] = key;
    words[at + row::NAME] = u64::from_ne_bytes(*b"olap\0\0\0\0");
    for (word, value) in [
        (row::LIMIT, 64),
        (row::ALLOWED, 100),
        (row::DENIED, 1),
        (row::OVER_LIMIT, 2),
        (row::RATE, 3),
        (row::WOULD_REFUSE, 4),
    ] {
        words[at + word] = value;
    }
    words[share::row_at(1) + row::KEY] = 1;
    for (number, pid, state) in [(0, 4711, 1), (7, 4712, 2 + slot::BROKEN)] {
        let at = share::slot_at(number);
        words[at + slot::PID] = pid;
        words[at + slot::STATE] = state;
        words[at + slot::FINGERPRINT] = 99;
        words[at + slot::COMM] = u64::from_ne_bytes(*b"ser\x1bver\0");
        let half = share::count_at(number, place);
        let count = (number as u64 + 5) << if half % 2 == 1 { 32 } else { 0 };
        words[half / 2] += if cfg!(target_endian = "little") {
            count
        } else {
            count.rotate_left(32)
        };
    }
    words
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

#[test]
fn what_was_written_is_read() {
    let share = Share::parse(&bytes(&file())).unwrap();
    assert_eq!(share.path, "/etc/cmshim/policy.toml");
    let olap = share.rows.iter().find(|r| r.name == "olap").unwrap();
    assert_eq!((olap.limit, olap.allowed, olap.denied), (Some(64), 100, 1));
    assert_eq!((olap.over_limit, olap.rate, olap.would_refuse), (2, 3, 4));
    assert_eq!(share.rows.len(), 2);
    assert_eq!(share.rows.iter().find(|r| r.key == 1).unwrap().limit, None);
    let slots: Vec<(usize, u32, u64, bool)> = share
        .slots
        .iter()
        .map(|s| (s.number, s.pid, s.state, s.broken))
        .collect();
    assert_eq!(
        slots,
        [
            (0, 4711, slot::ENFORCES, false),
            (7, 4712, slot::OBSERVES, true)
        ]
    );
    assert_eq!(share.slots[0].comm, "ser?ver");
    assert_eq!(
        (share.live(0, olap.number), share.live(7, olap.number)),
        (5, 12)
    );
    assert_eq!((share.live(1, olap.number), share.live(0, 1)), (0, 0));
    assert_eq!(
        (share.live(share::SLOTS, 0), share.live(0, share::ROWS)),
        (0, 0)
    );
}

#[test]
fn rows_are_the_last_part_of_the_file_and_counts_the_last_part_of_a_row() {
    let last = share::count_at(share::SLOTS - 1, share::ROWS - 1);
    assert_eq!((last + 1) * 4, share::BYTES);
    assert_eq!(
        share::count_at(0, 1) * 4,
        (share::row_at(1) + row::COUNTS) * 8
    );
    assert_eq!(share::slot_at(share::SLOTS), share::row_at(0));
    assert_eq!(share::row_at(share::ROWS) * 8, share::BYTES);
}

#[test]
fn a_row_alone_says_the_same() {
    let words = file();
    let place = (key_of("olap", None) % share::ROWS as u64) as usize;
    let bytes = bytes(&words[share::row_at(place)..][..share::ROW_WORDS]);
    let row = RowCopy::new(bytes.as_slice().try_into().unwrap());
    assert_eq!((row.key(), row.arrival_ns()), (key_of("olap", None), 0));
    assert_eq!(row.live().collect::<Vec<_>>(), [(0, 5), (7, 12)]);
}

#[test]
fn what_is_wrong_is_refused() {
    let refused = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut words = file();
        change(&mut words);
        Share::parse(&bytes(&words)).unwrap_err()
    };
    assert_eq!(refused(&|w| w[0] = 0), Damaged::Foreign);
    assert_eq!(refused(&|w| w.truncate(255)), Damaged::Foreign);
    assert_eq!(refused(&|w| w[1] += 1), Damaged::Version(3));
    assert_eq!(refused(&|w| w[1] = w[1].swap_bytes()), Damaged::ByteOrder);
    assert_eq!(refused(&|w| w[1] = 1), Damaged::Foreign);
    assert_eq!(refused(&|w| w[3] = 1), Damaged::Numbers);
    assert_eq!(refused(&|w| w[4] = u64::MAX), Damaged::Numbers);
    let is = share::BYTES as u64 - 8;
    let says = is + 8;
    assert_eq!(
        refused(&|w| w.truncate(share::WORDS - 1)),
        Damaged::Length { says, is }
    );
    assert_eq!(
        refused(&|w| {
            w.truncate(share::WORDS - 1);
            w[2] = is;
        }),
        Damaged::Length { says: is, is }
    );
    assert_eq!(Share::parse(b"").unwrap_err(), Damaged::Foreign);
}

proptest! {
    // The file is large.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_words_do_no_harm(changes in prop::collection::vec((0..share::WORDS, any::<u64>()), 0..50)) {
        let mut words = file();
        for (at, word) in changes {
            words[at] = word;
        }
        if let Ok(share) = Share::parse(&bytes(&words)) {
            let mut texts = share.rows.iter().map(|r| &r.name).chain(share.slots.iter().map(|s| &s.comm));
            prop_assert!(!texts.any(|text| text.chars().any(char::is_control)));
            prop_assert!(!share.path.chars().any(char::is_control));
        }
    }
}

#[test]
fn names_of_files() {
    let name = share::file_name(b"/etc/cmshim/policy.toml", 998);
    let beginning = share::beginning(b"/etc/cmshim/policy.toml");
    assert_eq!(share::beginning_of(&name), Some(beginning.as_str()));
    assert_ne!(beginning, share::beginning(b"/etc/cmshim/other.toml"));
    // FNV-1a of nothing.
    assert_eq!(
        share::file_name(b"", 998),
        "tenants-cbf29ce484222325-00000000000003e6"
    );
    for other in [
        "tenants-",
        "tenants-0123456789abcdef",
        "tenants-0123456789abcdef-",
        "tenants-0123456789abcdef-0123456789abcde",
        "tenants-0123456789abcdef-0123456789ABCDEF",
        "tenants-0123456789abcde-00123456789abcdef",
        "4711.cmstats",
    ] {
        assert_eq!(share::beginning_of(other), None, "{other}");
    }
}
