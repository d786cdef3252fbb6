//! Which connections of this process hold a place in a limit, or have a traffic class.

use crate::lock::lock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// A connection: by the kernel's handle of its id where the tap sees it, else by the address of the id. Either is
/// given to another one only after it was destroyed, which ends the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Handle(u32),
    Id(usize),
}

/// What a connection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its row in the shared table, if its tenant is counted.
    pub row: Option<usize>,
    /// Type of service, and so traffic class, of its packets.
    pub tos: Option<u8>,
    /// It is held without right: the policy only observes.
    pub observed: bool,
}

#[derive(Default)]
pub struct Seats {
    held: Mutex<HashMap<Key, Seat>>,
    /// How many, so that a process without any pays nothing.
    number: AtomicUsize,
}

impl Seats {
    /// The connection has this seat from now on; gives one that it had before.
    pub fn put(&self, key: Key, seat: Seat) -> Option<Seat> {
        let mut held = lock(&self.held);
        let before = held.insert(key, seat);
        self.number.store(held.len(), Ordering::Release);
        before
    }

    /// The connection is over; gives its seat.
    pub fn take(&self, key: Key) -> Option<Seat> {
        if self.number.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut held = lock(&self.held);
        let seat = held.remove(&key);
        self.number.store(held.len(), Ordering::Release);
        seat
    }

    pub fn get(&self, key: Key) -> Option<Seat> {
        if self.number.load(Ordering::Acquire) == 0 {
            return None;
        }
        lock(&self.held).get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_given_back_once() {
        let seats = Seats::default();
        let seat = Seat {
            row: Some(3),
            tos: None,
            observed: false,
        };
        assert_eq!(seats.take(Key::Handle(7)), None);
        assert_eq!(seats.put(Key::Handle(7), seat), None);
        assert_eq!(seats.get(Key::Id(7)), None);
        assert_eq!(seats.get(Key::Handle(7)), Some(seat));
        assert_eq!(seats.take(Key::Handle(7)), Some(seat));
        assert_eq!(seats.take(Key::Handle(7)), None);
    }
}
