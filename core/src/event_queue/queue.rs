//! The events read ahead of one channel: a ring that is taken from without a lock, and what did not fit.

use super::event::{Event, Gone, GroupHandle, IdHandle};
use super::ring::Ring;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// What stands behind the ring, and which events the listeners may have read ahead. Kept by the caller under
/// the channel's lock.
#[derive(Default)]
pub struct QueueState {
    waiting: VecDeque<Event>,
    listeners: Vec<Listener>,
}

/// An id that listens on the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    pub uid: u64,
    /// What the kernel keeps for it.
    pub backlog: u32,
    /// Requests that were refused beneath the program: the kernel counts them as events of the listener.
    pub never_seen: u32,
}

impl QueueState {
    /// The channel ends. Frees no memory: it may end in a signal handler.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.listeners.clear();
    }

    /// A listener and the backlog that the kernel keeps for it.
    pub fn listens(&mut self, uid: u64, backlog: u32) {
        match self.listener(uid) {
            Some(known) => known.backlog = backlog,
            None => self.listeners.push(Listener {
                uid,
                backlog,
                never_seen: 0,
            }),
        }
    }

    /// A listener, if it is known.
    pub fn listener(&mut self, uid: u64) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|known| known.uid == uid)
    }

    /// A listener has come from another channel.
    pub fn moves_in(&mut self, listener: Listener) {
        self.listeners.retain(|known| known.uid != listener.uid);
        self.listeners.push(listener);
    }

    /// The listener is gone, or has moved.
    pub fn listens_no_more(&mut self, uid: u64) -> Option<Listener> {
        let at = self.listeners.iter().position(|known| known.uid == uid)?;
        Some(self.listeners.swap_remove(at))
    }
}

/// How many events may be read ahead now.
pub type Room = usize;

/// The events read ahead of one channel.
pub struct Queue {
    ring: OnceLock<Ring>,
    capacity: usize,
    /// Does anything stand behind the ring?
    more: AtomicBool,
}

impl Queue {
    /// A queue whose ring, made when it is first needed, holds `capacity` events.
    pub const fn new(capacity: usize) -> Queue {
        Queue {
            ring: OnceLock::new(),
            capacity,
            more: AtomicBool::new(false),
        }
    }

    /// Has this queue ever held an event?
    pub fn used(&self) -> bool {
        self.ring.get().is_some()
    }

    /// Takes the next event. `None` may also mean that some stand behind the ring: see [`Queue::more`].
    pub fn pop(&self) -> Option<Event> {
        self.ring.get()?.pop()
    }

    /// Does anything stand behind the ring, for [`Queue::refill`]?
    pub fn more(&self) -> bool {
        self.more.load(Ordering::Acquire)
    }

    pub fn is_empty(&self) -> bool {
        !self.more() && self.ring.get().is_none_or(Ring::is_empty)
    }

    /// Puts events at the end.
    pub fn put(&self, behind: &mut QueueState, events: impl IntoIterator<Item = Event>) {
        let ring = self.ring.get_or_init(|| Ring::new(self.capacity));
        for event in events {
            if !behind.waiting.is_empty() || !ring.push(&event) {
                behind.waiting.push_back(event);
            }
        }
        self.more
            .store(!behind.waiting.is_empty(), Ordering::Release);
    }

    /// Moves what stands behind the ring into it, as far as there is room.
    pub fn refill(&self, behind: &mut QueueState) {
        if let Some(ring) = self.ring.get() {
            while behind.waiting.front().is_some_and(|event| ring.push(event)) {
                behind.waiting.pop_front();
            }
        }
        self.more
            .store(!behind.waiting.is_empty(), Ordering::Release);
    }

    /// Takes all events of what is gone, in order: they are the caller's to undo. Those that another thread
    /// has taken meanwhile are the program's.
    pub fn void(
        &self,
        behind: &mut QueueState,
        gone: Gone,
        owner: impl Fn(GroupHandle) -> Option<IdHandle>,
    ) -> Vec<Event> {
        self.take(behind, |event| gone.owns(event, &owner))
    }

    fn take(&self, behind: &mut QueueState, mut wanted: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let mut taken = self
            .ring
            .get()
            .map(|ring| ring.take(&mut wanted))
            .unwrap_or_default();
        let (mut gone, kept): (Vec<_>, Vec<_>) =
            behind.waiting.drain(..).partition(|event| wanted(event));
        taken.append(&mut gone);
        behind.waiting = kept.into();
        self.refill(behind);
        taken
    }

    /// How many events may be read ahead, at most `batch`. A connect request that is read gives its place in
    /// the listen backlog back, so no more may wait here than the smallest backlog of the channel's listeners
    /// has places.
    pub fn room(&self, behind: &QueueState, batch: usize) -> Room {
        let waiting = behind.waiting.len();
        let Some(ring) = self.ring.get() else {
            return self.bounded(behind, batch, 0);
        };
        let held = waiting + ring.count(|_| true);
        let free = self.capacity.saturating_sub(held);
        let requests = match behind.listeners.is_empty() {
            true => 0,
            false => {
                ring.count(Event::is_connect_request)
                    + behind
                        .waiting
                        .iter()
                        .filter(|e| e.is_connect_request())
                        .count()
            }
        };
        self.bounded(behind, batch.min(free), requests)
    }

    fn bounded(&self, behind: &QueueState, batch: usize, requests: usize) -> Room {
        match behind.listeners.iter().map(|l| l.backlog).min() {
            Some(backlog) => batch.min((backlog as usize).saturating_sub(requests)),
            None => batch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::event as number;

    fn event(mark: u64) -> Event {
        Event::made(1, 1, number::ESTABLISHED, mark)
    }

    fn request(mark: u64) -> Event {
        Event::made(50, mark as u32, number::CONNECT_REQUEST, mark)
    }

    fn marks(queue: &Queue, behind: &mut QueueState) -> Vec<u64> {
        let mut marks = Vec::new();
        loop {
            while let Some(event) = queue.pop() {
                marks.push(event.words[2]);
            }
            if !queue.more() {
                return marks;
            }
            queue.refill(behind);
        }
    }

    #[test]
    fn what_does_not_fit_keeps_its_place() {
        let (queue, mut behind) = (Queue::new(4), QueueState::default());
        queue.put(&mut behind, (0..10).map(event));
        assert!(queue.more());
        queue.put(&mut behind, [event(10)]);
        assert_eq!(marks(&queue, &mut behind), (0..=10).collect::<Vec<_>>());
        assert!(queue.is_empty());
    }

    #[test]
    fn voided_events_leave_ring_and_rest() {
        let (queue, mut behind) = (Queue::new(4), QueueState::default());
        queue.put(
            &mut behind,
            (0..12).map(|m| Event::made(m % 2 + 1, m as u32 % 2 + 1, number::ESTABLISHED, m)),
        );
        let gone = queue.void(
            &mut behind,
            Gone::Id {
                handle: IdHandle(2),
                uid: 2,
            },
            |_| None,
        );
        assert_eq!(
            gone.iter().map(|e| e.words[2]).collect::<Vec<_>>(),
            [1, 3, 5, 7, 9, 11]
        );
        assert_eq!(marks(&queue, &mut behind), [0, 2, 4, 6, 8, 10]);
    }

    #[test]
    fn requests_are_read_ahead_up_to_the_backlog() {
        let (queue, mut behind) = (Queue::new(64), QueueState::default());
        assert_eq!(queue.room(&behind, 16), 16);
        behind.listens(50, 4);
        behind.listens(60, 100);
        assert_eq!(queue.room(&behind, 16), 4);
        queue.put(&mut behind, (0..3).map(request));
        assert_eq!(queue.room(&behind, 16), 1);
        queue.put(&mut behind, [request(3), request(4)]);
        assert_eq!(queue.room(&behind, 16), 0);
        let gone = behind.listens_no_more(50);
        assert_eq!(gone.map(|l| (l.backlog, l.never_seen)), Some((4, 0)));
        assert_eq!(queue.room(&behind, 16), 16);
    }

    #[test]
    fn a_full_ring_has_no_room() {
        let (queue, mut behind) = (Queue::new(20), QueueState::default());
        queue.put(&mut behind, (0..18).map(event));
        assert_eq!(queue.room(&behind, 16), 2);
    }
}
