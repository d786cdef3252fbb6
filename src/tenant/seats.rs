//! Which connections of this process hold a place in a limit, or have a traffic class.

use crate::abi::IdPtr;
use crate::sys::lock::lock;
use cmshim_core::event_queue::IdHandle;
use libc::c_int;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Seats of a channel that ends, given at one time.
const AT_ONCE: usize = 32;

/// A connection: by the kernel's handle of its id where the tap sees it, else by the address of the id. Either is
/// given to another one only after it was destroyed, which ends the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Handle(IdHandle),
    Id(IdPtr),
}

/// What a connection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
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
    pub seat: Lease,
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

    /// A channel is gone, with its connections; gives the seats of some, until there are none any more. Without allocating:
    /// a channel may end in a signal handler.
    pub fn of_channel(&self, channel: c_int) -> Option<[Option<Held>; AT_ONCE]> {
        if self.none() || channel < 0 {
            return None;
        }
        let mut some = [None; AT_ONCE];
        let mut held = lock(&self.held);
        let gone = held.extract_if(|_, held| held.of.channel == channel);
        for (to, (_, held)) in some.iter_mut().zip(gone) {
            *to = Some(held);
        }
        self.number.store(held.len(), Ordering::Release);
        some[0].is_some().then_some(some)
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
            seat: Lease {
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
            seats.put(Key::Handle(IdHandle(key)), on(channel));
        }
        seats.moved(Key::Handle(IdHandle(3)), 6);
        let number = |channel| {
            let given = std::iter::from_fn(|| seats.of_channel(channel));
            given.flatten().flatten().count()
        };
        assert_eq!(number(5), 1);
        assert_eq!(number(-1), 0);
        assert_eq!(number(6), 2);
        for key in 10..10 + 2 * AT_ONCE as u32 + 1 {
            seats.put(Key::Handle(IdHandle(key)), on(7));
        }
        assert_eq!(number(7), 2 * AT_ONCE + 1);
        assert_eq!(seats.get(Key::Handle(IdHandle(1))), None);
        assert_eq!(seats.get(Key::Handle(IdHandle(4))), Some(on(-1)));
    }

    #[test]
    fn a_seat_is_given_back_once() {
        let seats = Seats::default();
        let seat = on(5);
        assert_eq!(seats.take(Key::Handle(IdHandle(7))), None);
        assert_eq!(seats.put(Key::Handle(IdHandle(7)), seat), None);
        assert_eq!(seats.get(Key::Id(IdPtr(7))), None);
        assert_eq!(seats.get(Key::Handle(IdHandle(7))), Some(seat));
        assert_eq!(seats.take(Key::Handle(IdHandle(7))), Some(seat));
        assert_eq!(seats.take(Key::Handle(IdHandle(7))), None);
    }
}
