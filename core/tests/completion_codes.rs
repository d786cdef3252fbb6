//! The table of completion statuses, and the codes that have a name but no table.

use std::collections::HashSet;

use cmshim_core::codes::wc_status;
use cmshim_core::explain;
use cmshim_core::model::{Role, Transport};

#[test]
fn completions_are_in_their_place() {
    for (number, status) in (0..).zip(wc_status::ALL) {
        assert_eq!(status.number, number);
        assert_eq!(wc_status::by_number(number), Some(status));
        assert_eq!(wc_status::by_name(status.symbol), Some(status));
    }
    assert_eq!(wc_status::ALL.len(), 24);
    assert_eq!(wc_status::by_number(24), None);
    assert_eq!(wc_status::by_number(-1), None);
    // Anchors from verbs.h.
    for (name, number) in [("wr-flush-err", 5), ("RETRY_EXC_ERR", 12), ("tm_err", 22)] {
        assert_eq!(wc_status::by_name(name).unwrap().number, number);
    }
}

#[test]
fn completions_have_words_of_their_own() {
    let mut seen = HashSet::new();
    for status in wc_status::ALL {
        assert!(seen.insert(status.meaning), "{}", status.symbol);
        assert!(!status.next.is_empty() && !status.next.ends_with('.'));
        assert!(status.cause.is_empty() || status.cause.ends_with('.'));
        let explanation = explain::completion(status.number).unwrap();
        assert_eq!(
            explanation.code,
            format!("completion {}, {}", status.number, status.symbol)
        );
    }
    assert!(explain::completion(99).is_none());
}

#[test]
fn codes_without_a_table_have_their_names() {
    let all = explain::named(Transport::Roce, Role::Client);
    let names: Vec<&str> = all.iter().map(|n| n.name.as_str()).collect();
    for name in [
        "NO_ANSWER_YET",
        "SLOW_CONNECT",
        "BACKLOG_FULL",
        "UNACKED_EVENTS",
        "IB_SIDR_UNSUPPORTED",
        "IB_SIDR_UNSUPPORTED_VERSION",
        "EAI_AGAIN",
        "EAI_SYSTEM",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for named in &all {
        let plain = |c: char| c.is_ascii_uppercase() || c == '_';
        assert!(named.name.chars().all(plain), "{}", named.name);
        assert!(!named.explanation.summary.is_empty(), "{}", named.name);
    }
}
