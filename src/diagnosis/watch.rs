//! Calls and connects that wait: told after a while, and not only when they end.

use super::state::{State, UnAcked};
use super::subject::Subject;
use crate::abi::IdPtr;
use crate::process::keeper;
use crate::sys::lock::lock;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::Mutex;
use std::time::Instant;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// The answer to an id's connect request.
    Connect(IdPtr),
    /// The return of a call, by a number of its own.
    Call(u64),
}

/// One that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub since: Instant,
    pub deadline: Instant,
    pub call: &'static str,
    pub subject: Subject,
    /// CM events that block the call.
    pub unacked: Vec<UnAcked>,
    /// Asynchronous events that block the call.
    pub unacked_async: Vec<i32>,
}

/// All that wait.
#[derive(Default)]
pub struct Watch(Mutex<HashMap<Key, Waiting>>);

impl Watch {
    /// Adds one, for the keeper to look at in time.
    pub fn add(&self, key: Key, waiting: Waiting) {
        let deadline = waiting.deadline;
        lock(&self.0).insert(key, waiting);
        keeper::at(deadline);
    }

    /// The wait is over. True if it had not been told yet.
    pub fn remove(&self, key: Key) -> bool {
        lock(&self.0).remove(&key).is_some()
    }

    /// Takes out those whose time has come.
    pub fn take_due(&self, now: Instant) -> Vec<(Key, Waiting)> {
        let mut all = lock(&self.0);
        let due = all.iter().filter(|(_, w)| w.deadline <= now);
        let due: Vec<Key> = due.map(|(key, _)| *key).collect();
        due.into_iter()
            .filter_map(|key| all.remove(&key).map(|waiting| (key, waiting)))
            .collect()
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Instant> {
        lock(&self.0).values().map(|w| w.deadline).min()
    }
}

/// A number for one watched call.
pub fn token(state: &State) -> Key {
    Key::Call(state.tokens.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn waiting(deadline: Instant) -> Waiting {
        Waiting {
            since: Instant::now(),
            deadline,
            call: "rdma_connect",
            subject: Subject::default(),
            unacked: Vec::new(),
            unacked_async: Vec::new(),
        }
    }

    #[test]
    fn only_what_is_due_is_taken_and_only_once() {
        let watch = Watch::default();
        let now = Instant::now();
        watch.add(Key::Call(1), waiting(now));
        watch.add(Key::Call(2), waiting(now + Duration::from_secs(60)));
        assert_eq!(watch.take_due(now).len(), 1);
        assert!(watch.take_due(now).is_empty());
        assert!(!watch.remove(Key::Call(1)), "told already");
        assert_eq!(watch.next(), Some(now + Duration::from_secs(60)));
        assert!(watch.remove(Key::Call(2)));
        assert_eq!(watch.next(), None);
    }
}
