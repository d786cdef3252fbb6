//! The flood guard: nothing is lost, nothing floods.

use cmshim_core::flood::{Flood, MAX_DATA};
use cmshim_core::model::{Explanation, Role, Severity, Stage, Who};
use cmshim_core::report::Report;
use cmshim_core::tenant::reason::{encode, Code, Reason};
use proptest::prelude::*;
use std::time::Duration;

fn incident(peer: u8, port: u16, code: &str) -> Report {
    let e = Explanation::new(Who::PeerKernel, Severity::Error, "refused", code, "no");
    let mut r = Report::new("connect", Stage::Connect, e);
    r.dst = Some(([10, 0, 0, peer], port).into());
    r
}

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

#[test]
fn the_first_passes_and_the_rest_is_counted() {
    let mut f = Flood::new(secs(10));
    assert!(f.offer(secs(0), incident(1, 7000, "A")).is_some());
    for _ in 0..100 {
        assert!(f.offer(secs(1), incident(1, 7000, "A")).is_none());
    }
    assert_eq!(f.next_due(), Some(secs(10)));
    assert!(f.due(secs(9)).is_empty());
    let told = f.due(secs(10));
    assert_eq!(told.len(), 1);
    let repeats = told[0].repeats.unwrap();
    assert_eq!((repeats.count, repeats.over), (100, secs(10)));
    // The storm goes on: still no single line.
    assert!(f.offer(secs(11), incident(1, 7000, "A")).is_none());
    assert_eq!(f.due(secs(20))[0].repeats.unwrap().count, 1);
    // A quiet window closes, and then the next one is news again.
    assert!(f.due(secs(30)).is_empty());
    assert_eq!(f.next_due(), None);
    assert!(f.offer(secs(31), incident(1, 7000, "A")).is_some());
}

#[test]
fn different_news_are_told_apart() {
    let mut f = Flood::new(secs(10));
    assert!(f.offer(secs(0), incident(1, 1, "A")).is_some());
    assert!(f.offer(secs(0), incident(2, 1, "A")).is_some());
    assert!(f.offer(secs(0), incident(1, 1, "B")).is_some());
    assert!(
        f.offer(secs(0), incident(1, 2, "B")).is_some(),
        "another listener"
    );
    let mut link = incident(0, 0, "A");
    link.dst = Some("[fe80::1%2]:1".parse().unwrap());
    let mut other_link = link.clone();
    other_link.dst = Some("[fe80::1%3]:1".parse().unwrap());
    assert!(f.offer(secs(0), link).is_some());
    assert!(f.offer(secs(0), other_link).is_some());
}

/// Each client of a listener has a port of its own; a host without an answer has none of interest.
#[test]
fn ports_of_clients_and_of_silent_hosts_are_the_same_news() {
    let mut f = Flood::new(secs(10));
    let server = |client, listener| {
        let mut r = incident(1, client, "REJECTED 28");
        (r.stage, r.role) = (Stage::Accept, Role::Server);
        r.src = Some(([10, 0, 0, 9], listener).into());
        r
    };
    assert!(f.offer(secs(0), server(40_000, 7)).is_some());
    assert!(f.offer(secs(0), server(40_001, 7)).is_none());
    assert!(f.offer(secs(0), server(40_002, 8)).is_some());
    let silent = |port| {
        let mut r = incident(1, port, "ADDR_ERROR -110");
        r.stage = Stage::Address;
        r
    };
    assert!(f.offer(secs(0), silent(1)).is_some());
    assert!(f.offer(secs(0), silent(2)).is_none());
}

#[test]
fn refusals_with_another_reason_in_their_private_data_are_told_apart() {
    let mut f = Flood::new(secs(10));
    let refused = |data: &[u8]| {
        let mut r = incident(1, 7, "REJECTED 28");
        r.explanation.who = Who::PeerProgram;
        r.private_data = Some(data.to_vec());
        r
    };
    let mut shown = |data: &[u8]| f.offer(secs(0), refused(data)).is_some();
    assert!(shown(b""), "a refusal without");
    assert!(shown(b"busy\0\0"));
    assert!(!shown(b"busy\0\0\0"), "only the padding differs");
    assert!(!shown(b"\0\0"), "nothing but padding");
    assert!(shown(b"wrong version"));
    // The peer chooses what it sends: at some number the rest is counted together.
    let more = (0..100u8).filter(|n| shown(&[b'n', *n + 1])).count();
    assert_eq!(more, MAX_DATA - 2 + 1, "the others have a first, too");
    assert!(!shown(b"busy"));
    let told = f.drain(secs(1));
    let counted: u64 = told.iter().map(|r| r.repeats.unwrap().count).sum();
    let mixed = |r: &&Report| {
        r.details
            .iter()
            .any(|d| d.contains("whatever the private data"))
    };
    assert_eq!(told.iter().filter(mixed).count(), 1);
    assert_eq!(counted, 1 + 1 + 1 + 100 - (MAX_DATA as u64 - 1));
}

#[test]
fn why_a_policy_refuses_is_told_apart() {
    let mut f = Flood::new(secs(10));
    let refused = |code, tenant| {
        let mut r = incident(1, 1, "REJECTED 28");
        r.explanation.who = Who::PeerPolicy;
        r.private_data = Some(encode(&Reason {
            code,
            retry_after_ms: None,
            used: 0,
            limit: 0,
            tenant,
        }));
        r
    };
    assert!(f.offer(secs(0), refused(Code::Denied, "a")).is_some());
    assert!(f.offer(secs(0), refused(Code::Rate, "a")).is_some());
    // What the peer chooses freely makes no lines.
    assert!(f.offer(secs(0), refused(Code::Rate, "b")).is_none());
    let mut unknown = refused(Code::Rate, "a");
    for code in 100..=101 {
        unknown.private_data.as_mut().unwrap()[5] = code;
        assert_eq!(f.offer(secs(0), unknown.clone()).is_some(), code == 100);
    }
}

#[test]
fn a_window_of_zero_shows_all() {
    let mut f = Flood::new(Duration::ZERO);
    assert!((0..5).all(|_| f.offer(secs(0), incident(1, 1, "A")).is_some()));
    assert!(f.drain(secs(1)).is_empty());
}

#[test]
fn too_many_kinds_share_one_bucket() {
    let mut f = Flood::with_max(secs(10), 2);
    let shown = (0..10)
        .filter(|n| f.offer(secs(0), incident(*n, 1, "A")).is_some())
        .count();
    assert_eq!(shown, 3, "two kinds, and the first of the overflow");
    let told = f.due(secs(10));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].repeats.unwrap().count, 7);
    assert!(told[0].details[0].contains("other kinds"));
}

#[derive(Debug, Clone)]
enum Step {
    Offer(u8, u8),
    Wait(u16),
    Due,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..6, 0u8..3).prop_map(|(peer, code)| Step::Offer(peer, code)),
        2 => (0u16..5_000).prop_map(Step::Wait),
        1 => Just(Step::Due),
    ]
}

proptest! {
    #[test]
    fn every_incident_is_shown_or_counted(
        steps in prop::collection::vec(step(), 0..400),
        window_ms in 0u64..4_000,
        max in 0usize..8,
    ) {
        let mut f = Flood::with_max(Duration::from_millis(window_ms), max);
        let mut now = Duration::ZERO;
        let (mut offered, mut shown, mut counted) = (0u64, 0u64, 0u64);
        let tell = |reports: Vec<Report>, counted: &mut u64| {
            for r in reports {
                let n = r.repeats.unwrap().count;
                assert!(n > 0, "a summary of nothing");
                *counted += n;
            }
        };
        for s in steps {
            match s {
                Step::Offer(peer, code) => {
                    offered += 1;
                    let r = incident(peer, 1, &format!("C{code}"));
                    if let Some(r) = f.offer(now, r) {
                        prop_assert!(r.repeats.is_none());
                        shown += 1;
                    }
                }
                Step::Wait(ms) => now += Duration::from_millis(u64::from(ms)),
                Step::Due => {
                    tell(f.due(now), &mut counted);
                    // Whatever is still open ends later.
                    prop_assert!(f.next_due().is_none_or(|d| d > now));
                }
            }
        }
        tell(f.drain(now), &mut counted);
        prop_assert_eq!(offered, shown + counted);
        prop_assert!(f.next_due().is_none());
        prop_assert!(f.drain(now).is_empty());
    }
}

#[test]
fn an_accept_is_of_the_listener_even_where_the_request_was_not_seen() {
    let mut f = Flood::new(secs(10));
    let accept = |client: u16, listener: u16| {
        let mut r = incident(1, client, "A");
        (r.stage, r.role) = (Stage::Accept, Role::None);
        r.src = Some(([10, 0, 0, 9], listener).into());
        r
    };
    assert!(f.offer(secs(0), accept(40_000, 7000)).is_some());
    assert!(f.offer(secs(0), accept(40_001, 7000)).is_none());
    assert!(f.offer(secs(0), accept(40_002, 7001)).is_some());
}
