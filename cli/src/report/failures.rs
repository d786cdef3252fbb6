//! What failed, and why, and what only looked like it would: the most frequent first.

use cmshim_core::codes::event;
use cmshim_core::explain::{self, EventQuery, WARNINGS};
use cmshim_core::model::{Role, Who};

use super::sum::Sum;

/// Lines of them; the rest is counted.
const MOST: usize = 4;

/// One code of one culprit, from all peers and processes.
struct Failure {
    count: u64,
    code: String,
    who: Option<Who>,
    peers: Vec<std::net::IpAddr>,
}

pub fn lines(sum: &Sum) -> Vec<String> {
    shown(&gathered(sum, |code| !WARNINGS.contains(&code)))
}

pub fn warnings(sum: &Sum) -> Vec<String> {
    shown(&gathered(sum, |code| WARNINGS.contains(&code)))
}

fn shown(all: &[Failure]) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(MOST).map(failure_text).collect();
    if all.len() > MOST {
        let rest = all[MOST..]
            .iter()
            .map(|f| f.count)
            .fold(0, u64::saturating_add);
        lines.push(format!("{rest} more of {} other kinds", all.len() - MOST));
    }
    lines
}

fn gathered(sum: &Sum, wanted: impl Fn(&str) -> bool) -> Vec<Failure> {
    let mut all: Vec<Failure> = Vec::new();
    let reasons = sum.files.iter().flat_map(|f| &f.stats.reasons);
    for reason in reasons.filter(|reason| wanted(&reason.code)) {
        let known = all
            .iter_mut()
            .find(|f| f.code == reason.code && f.who == reason.who);
        let peer = reason.peer.address().map(|peer| peer.ip());
        match known {
            Some(known) => {
                known.count = known.count.saturating_add(reason.count);
                known.peers.extend(peer);
            }
            None => all.push(Failure {
                count: reason.count,
                code: reason.code.clone(),
                who: reason.who,
                peers: peer.into_iter().collect(),
            }),
        }
    }
    for failure in &mut all {
        failure.peers.sort_unstable();
        failure.peers.dedup();
    }
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.code.cmp(&b.code)));
    all
}

fn failure_text(failure: &Failure) -> String {
    let mut line = format!("{} x {}", failure.count, failure.code);
    if let Some(why) = why(&failure.code, failure.who) {
        line.push_str(&format!(": {why}"));
    }
    if let Some(who) = failure.who {
        line.push_str(&format!(" (by {})", who.phrase()));
    }
    match failure.peers.as_slice() {
        [] => {}
        [peer] => line.push_str(&format!(", peer {peer}")),
        [peer, rest @ ..] => line.push_str(&format!(", peer {peer} and {} more", rest.len())),
    }
    line
}

/// What an event's code means: "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID".
fn why(code: &str, who: Option<Who>) -> Option<String> {
    // What an event says is seen from the other end.
    if who == Some(Who::ThisProcess) && code.starts_with("REJECTED ") {
        return Some("refused here".to_owned());
    }
    let code = code.split(',').next()?;
    let (name, status) = code.split_once(' ').unwrap_or((code, "0"));
    let told = explain::event(&EventQuery {
        event: event::by_name(name)?.number,
        status: status.parse().ok()?,
        role: Role::None,
        ..EventQuery::default()
    });
    Some(told.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_events_are_explained() {
        let told = why("REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID", None);
        assert_eq!(told.as_deref(), Some("nobody listens there"));
        assert!(why("UNREACHABLE -110, ETIMEDOUT", None).is_some());
        assert_eq!(why("rdma_bind_addr errno 98, EADDRINUSE", None), None);
        assert_eq!(why("", None), None);
    }

    #[test]
    fn who_refuses_is_not_told_that_the_peer_did() {
        let here = Some(Who::ThisProcess);
        let told = why("REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED", here);
        assert_eq!(told.as_deref(), Some("refused here"));
    }
}
