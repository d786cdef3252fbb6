//! Which connections of this process hold a place in a limit, or have a traffic class.

use crate::lock::lock;
use libc::c_int;
use std::collections::HashMap;
use std::net::IpAddr;
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

/// Of which connection a seat is, beside its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Where an outgoing one goes.
    pub to: Option<(IpAddr, u16)>,
    /// The program's descriptor of its event channel: the kernel destroys the ids of one that is closed. -1: none.
    pub channel: c_int,
}

/// A seat that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub seat: Seat,
    pub of: Connection,
}

#[derive(Default)]
pub struct Seats {
    held: Mutex<HashMap<Key, Held>>,
    /// How many, so that a process without any pays nothing.
    number: AtomicUsize,
}

impl Seats {
    /// The connection has this seat from now on; gives one that it had before.
    pub fn put(&self, key: Key, seat: Held) -> Option<Held> {
        let mut held = lock(&self.held);
        let before = held.insert(key, seat);
        self.number.store(held.len(), Ordering::Release);
        before
    }

    /// The connection is over; gives its seat.
    pub fn take(&self, key: Key) -> Option<Held> {
        if self.none() {
            return None;
        }
        let mut held = lock(&self.held);
        let seat = held.remove(&key);
        self.number.store(held.len(), Ordering::Release);
        seat
    }

    pub fn get(&self, key: Key) -> Option<Held> {
        if self.none() {
            return None;
        }
        lock(&self.held).get(&key).copied()
    }

    /// The connection's id is on another channel.
    pub fn moved(&self, key: Key, channel: c_int) {
        if !self.none() {
            if let Some(held) = lock(&self.held).get_mut(&key) {
                held.of.channel = channel;
            }
        }
    }

    /// A channel is gone, with its connections; gives their seats.
    pub fn of_channel(&self, channel: c_int) -> Vec<Held> {
        if self.none() || channel < 0 {
            return Vec::new();
        }
        let mut held = lock(&self.held);
        let gone = held.extract_if(|_, held| held.of.channel == channel);
        let gone = gone.map(|(_, held)| held).collect();
        self.number.store(held.len(), Ordering::Release);
        gone
    }

    fn none(&self) -> bool {
        self.number.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(channel: c_int) -> Held {
        Held {
            seat: Seat {
                row: Some(3),
                tos: None,
                observed: false,
            },
            of: Connection { to: None, channel },
        }
    }

    #[test]
    fn a_channel_takes_the_seats_of_its_connections_with_it() {
        let seats = Seats::default();
        for (key, channel) in [(1, 5), (2, 6), (3, 5), (4, -1)] {
            seats.put(Key::Handle(key), on(channel));
        }
        seats.moved(Key::Handle(3), 6);
        assert_eq!(seats.of_channel(5).len(), 1);
        assert_eq!(seats.of_channel(-1).len(), 0);
        assert_eq!(seats.of_channel(6).len(), 2);
        assert_eq!(seats.get(Key::Handle(1)), None);
        assert_eq!(seats.get(Key::Handle(4)), Some(on(-1)));
    }

    #[test]
    fn a_seat_is_given_back_once() {
        let seats = Seats::default();
        let seat = on(5);
        assert_eq!(seats.take(Key::Handle(7)), None);
        assert_eq!(seats.put(Key::Handle(7), seat), None);
        assert_eq!(seats.get(Key::Id(7)), None);
        assert_eq!(seats.get(Key::Handle(7)), Some(seat));
        assert_eq!(seats.take(Key::Handle(7)), Some(seat));
        assert_eq!(seats.take(Key::Handle(7)), None);
    }
}
