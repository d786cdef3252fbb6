//! Parts of a policy in words.

use cmshim_core::tenant::{Rate, Subject};

/// "tenant 'olap'", "egress rule 2 of tenant 'olap'".
pub fn subject(subjects: &[Subject], place: usize) -> String {
    let this = &subjects[place];
    match ordinal(subjects, place) {
        Some(number) => format!("egress rule {number} of tenant '{}'", this.name),
        None => format!("tenant '{}'", this.name),
    }
}

/// The number of an egress rule among those of its tenant, from 1.
pub fn ordinal(subjects: &[Subject], place: usize) -> Option<usize> {
    let this = &subjects[place];
    let mut before = subjects[..=place].iter();
    this.egress.then(|| {
        let same = before.by_ref().filter(|s| s.egress && s.name == this.name);
        same.count()
    })
}

/// "100/s, burst 200".
pub fn rate(rate: &Rate) -> String {
    format!("{}/s, burst {}", rate.per_s, rate.burst)
}

/// "104 (DSCP 26)".
pub fn tos(tos: u8) -> String {
    format!("{tos} (DSCP {})", tos >> 2)
}

/// What is limited and marked: "at most 64 connections, 100/s, burst 200, ToS 104 (DSCP 26)". May be empty.
pub fn limits(subject: &Subject) -> String {
    let connections = subject
        .max_connections
        .map(|n| format!("at most {n} connections"));
    let rate = subject.rate.as_ref().map(rate);
    let tos = subject.tos.map(|t| format!("ToS {}", tos(t)));
    let all = [connections, rate, tos];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
