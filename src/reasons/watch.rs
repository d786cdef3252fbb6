//! Calls and connects that wait: told after a while, and not only when they end.

use super::state::{IdPtr, State, UnAcked};
use super::subject::Subject;
use crate::keeper::Running;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The keeper never sleeps longer, and ends when it had nothing to do for so long.
const NAP: Duration = Duration::from_secs(1);

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

/// All that wait, and the bell for the keeper.
#[derive(Default)]
pub struct Watch {
    inner: Mutex<Inner>,
    bell: Condvar,
}

#[derive(Default)]
struct Inner {
    waiting: HashMap<Key, Waiting>,
    /// Up to when the keeper sleeps; `None`: not known.
    asleep_until: Option<Instant>,
    /// The flood book's next summary.
    summary: Option<Instant>,
    /// When the pool is to be looked after.
    pool: Option<Instant>,
    /// When the tenant policy, or an access check of the program, is.
    tenants: Option<Instant>,
}

impl Watch {
    /// Adds one; rings only if the keeper would sleep past it.
    pub fn add(&self, key: Key, waiting: Waiting) {
        let mut inner = lock(&self.inner);
        let late = inner
            .asleep_until
            .is_none_or(|until| until > waiting.deadline);
        inner.waiting.insert(key, waiting);
        drop(inner);
        if late {
            self.bell.notify_one();
        }
    }

    /// The wait is over. True if it had not been told yet.
    pub fn remove(&self, key: Key) -> bool {
        lock(&self.inner).waiting.remove(&key).is_some()
    }

    /// The keeper is to look at the flood book at that time.
    pub fn summary_at(&self, when: Instant) {
        self.at(when, |inner| &mut inner.summary);
    }

    /// The keeper is to look after the pool at that time.
    pub fn pool_at(&self, when: Instant) {
        self.at(when, |inner| &mut inner.pool);
    }

    /// The keeper is to look after the tenant checks at that time.
    pub fn tenants_at(&self, when: Instant) {
        self.at(when, |inner| &mut inner.tenants);
    }

    fn at(&self, when: Instant, which: impl FnOnce(&mut Inner) -> &mut Option<Instant>) {
        let mut inner = lock(&self.inner);
        let planned = which(&mut inner);
        *planned = Some(planned.map_or(when, |p| p.min(when)));
        let late = inner.asleep_until.is_none_or(|until| until > when);
        drop(inner);
        if late {
            self.bell.notify_one();
        }
    }

    /// Takes out those whose time has come.
    pub fn take_due(&self, now: Instant) -> Vec<(Key, Waiting)> {
        let mut inner = lock(&self.inner);
        if inner.summary.is_some_and(|s| s <= now) {
            inner.summary = None;
        }
        if inner.pool.is_some_and(|p| p <= now) {
            inner.pool = None;
        }
        if inner.tenants.is_some_and(|t| t <= now) {
            inner.tenants = None;
        }
        let due: Vec<Key> = inner
            .waiting
            .iter()
            .filter(|(_, w)| w.deadline <= now)
            .map(|(k, _)| *k)
            .collect();
        due.into_iter()
            .filter_map(|k| inner.waiting.remove(&k).map(|w| (k, w)))
            .collect()
    }

    /// Sleeps until something is due, the bell rings, or `NAP` is over. False when there was nothing
    /// to do all the time: `keeper` is cleared then, and the thread is to end.
    pub fn sleep(&self, keeper: &Running) -> bool {
        let mut inner = lock(&self.inner);
        let next = inner.next();
        let now = Instant::now();
        let pause = next.map_or(NAP, |next| {
            next.saturating_duration_since(now)
                .clamp(Duration::from_millis(1), NAP)
        });
        inner.asleep_until = Some(now + pause);
        let mut inner = self
            .bell
            .wait_timeout(inner, pause)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        // Awake, and not asleep until a later time than that: whoever adds from now on need not ring, the next sleep looks at everything.
        inner.asleep_until = Some(now);
        let idle = next.is_none() && inner.next().is_none();
        if idle {
            // Under the lock: whoever adds later finds the flag cleared and starts another keeper.
            keeper.ends();
        }
        !idle
    }
}

impl Inner {
    /// When the next one is due.
    fn next(&self) -> Option<Instant> {
        let deadlines = self.waiting.values().map(|w| w.deadline);
        deadlines
            .chain(self.summary)
            .chain(self.pool)
            .chain(self.tenants)
            .min()
    }
}

/// A number for one watched call.
pub fn token(state: &State) -> Key {
    Key::Call(state.tokens.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(watch.remove(Key::Call(2)));
    }

    #[test]
    fn the_keeper_ends_only_when_nothing_waits() {
        let watch = Watch::default();
        let running = Running::default();
        assert!(running.claim());
        watch.add(
            Key::Call(1),
            waiting(Instant::now() + Duration::from_secs(60)),
        );
        assert!(watch.sleep(&running), "one waits");
        assert!(!running.claim());
        watch.remove(Key::Call(1));
        assert!(!watch.sleep(&running));
        assert!(running.claim(), "the next one that waits starts another");
    }

    #[test]
    fn the_bell_wakes_a_sleeper_for_an_earlier_deadline() {
        let watch = std::sync::Arc::new(Watch::default());
        let sleeper = {
            let watch = watch.clone();
            std::thread::spawn(move || loop {
                watch.sleep(&Running::default());
                if !watch.take_due(Instant::now()).is_empty() {
                    return;
                }
            })
        };
        watch.add(
            Key::Call(1),
            waiting(Instant::now() + Duration::from_secs(3600)),
        );
        watch.add(
            Key::Call(2),
            waiting(Instant::now() + Duration::from_millis(5)),
        );
        sleeper.join().unwrap();
    }
}
