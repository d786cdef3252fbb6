//! A ring of events: one producer at a time, any number of takers, none of which ever waits.
//!
//! A slot's state is its index and whether its event is there or gone. A taker copies the event first and
//! then claims it; the copy counts only if the claim succeeds, and the producer writes a slot again only
//! after `head` has passed it, which is after the claim.

use super::event::{Event, WORDS};
use std::sync::atomic::{AtomicU64, Ordering};

const THERE: u64 = 1;
const GONE: u64 = 2;

struct Slot {
    state: AtomicU64,
    words: [AtomicU64; WORDS],
}

pub struct Ring {
    slots: Box<[Slot]>,
    head: AtomicU64,
    tail: AtomicU64,
}

impl Ring {
    pub fn new(capacity: usize) -> Ring {
        let slot = || Slot {
            state: AtomicU64::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        Ring {
            slots: (0..capacity.max(1)).map(|_| slot()).collect(),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
        }
    }

    fn slot(&self, index: u64) -> &Slot {
        &self.slots[(index % self.slots.len() as u64) as usize]
    }

    fn there(index: u64) -> u64 {
        index << 2 | THERE
    }

    fn gone(index: u64) -> u64 {
        index << 2 | GONE
    }

    /// Puts an event at the end; false if the ring is full. One producer at a time.
    pub fn push(&self, event: &Event) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.pass_gone() >= self.slots.len() as u64 {
            return false;
        }
        let slot = self.slot(tail);
        for (to, from) in slot.words.iter().zip(&event.words) {
            to.store(*from, Ordering::Relaxed);
        }
        slot.state.store(Self::there(tail), Ordering::Release);
        self.tail.store(tail + 1, Ordering::Release);
        true
    }

    /// Takes the first event.
    pub fn pop(&self) -> Option<Event> {
        loop {
            let head = self.pass_gone();
            if head >= self.tail.load(Ordering::Acquire) {
                return None;
            }
            if let Some(event) = self.claim(head, |_| true) {
                self.pass_gone();
                return Some(event);
            }
        }
    }

    /// Copies the event at `index` and claims it, if it is there and wanted.
    fn claim(&self, index: u64, wanted: impl FnOnce(&Event) -> bool) -> Option<Event> {
        let slot = self.slot(index);
        if slot.state.load(Ordering::Acquire) != Self::there(index) {
            return None;
        }
        let event = Event {
            words: std::array::from_fn(|i| slot.words[i].load(Ordering::Relaxed)),
        };
        if !wanted(&event) {
            return None;
        }
        slot.state
            .compare_exchange(
                Self::there(index),
                Self::gone(index),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .ok()
            .map(|_| event)
    }

    /// Moves `head` past slots whose event is gone, and returns it. Anybody may do this for anybody: a
    /// thread that claimed an event may never come back.
    fn pass_gone(&self) -> u64 {
        loop {
            let head = self.head.load(Ordering::Acquire);
            if head >= self.tail.load(Ordering::Acquire)
                || self.slot(head).state.load(Ordering::Acquire) != Self::gone(head)
            {
                return head;
            }
            let _ = self
                .head
                .compare_exchange(head, head + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Takes every event that is wanted, wherever it stands, in order.
    pub fn take(&self, mut wanted: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        let taken = (head..tail)
            .filter_map(|index| self.claim(index, &mut wanted))
            .collect();
        self.pass_gone();
        taken
    }

    /// Number of events that are there and wanted.
    pub fn count(&self, mut wanted: impl FnMut(&Event) -> bool) -> usize {
        let mut count = 0;
        self.take(|event| {
            count += usize::from(wanted(event));
            false
        });
        count
    }

    pub fn is_empty(&self) -> bool {
        self.pass_gone() >= self.tail.load(Ordering::Acquire)
    }
}
