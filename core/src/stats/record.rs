//! One record of the flight recorder: a call or an event, in eight words.

use super::check;
use super::tables::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Words of a record.
pub const WORDS: usize = 8;

/// Status of a call that has not returned (or whose end was not seen).
pub const RUNNING: i32 = i32::MIN;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The program called a function. The status is 0, a positive errno, or [`RUNNING`].
    Call(Entry),
    /// An event was handed over, by its number; the status is the event's own.
    Event(u16),
    /// Something that this build does not know: kind and code.
    Unknown(u8, u16),
}

/// The other end: IPv4 or IPv6 address and port, in the form in which the file holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peer {
    /// The address's 16 bytes in two words; an IPv4 address stands in the first four bytes.
    pub address: [u64; 2],
    pub port: u16,
    /// 0 (none known), 4 or 6.
    pub family: u8,
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Counts from 1; of two records the larger number began later.
    pub number: u64,
    /// CLOCK_MONOTONIC in ns, when the call began or the event was handed over.
    pub at_ns: u64,
    /// Address of the rdma_cm_id in the process: a name. 0 if there is none.
    pub id: u64,
    pub what: What,
    pub status: i32,
    pub peer: Peer,
    /// Number of the id's queue pair, 0 if there is none.
    pub qp_num: u32,
    /// A call: how long it took in ns (0: not measured). A connect request: the listener's id.
    pub extra: u64,
}

const CALL: u8 = 1;
const EVENT: u8 = 2;

impl Record {
    /// The words, sealed.
    #[inline(always)]
    pub fn encode(&self) -> [u64; WORDS] {
        let (kind, code) = match self.what {
            What::Call(entry) => (CALL, entry as u16),
            What::Event(number) => (EVENT, number),
            What::Unknown(kind, code) => (kind, code),
        };
        let place = u64::from(self.peer.port) << 16 | u64::from(self.peer.family);
        let [high, low] = self.peer.address;
        let what = ended(u64::from(code) << 16 | u64::from(kind), self.status);
        let place = u64::from(self.qp_num) << 32 | place;
        let rest = [self.at_ns, self.id, what, high, low, place, self.extra];
        sealed(self.number, rest)
    }

    /// The words of a call's record with its end: how it ended, and how long it took. `None` if the words are another
    /// record's by now.
    #[inline(always)]
    pub fn end(
        words: [u64; WORDS],
        number: u64,
        status: i32,
        took_ns: u64,
    ) -> Option<[u64; WORDS]> {
        let [seal, at_ns, id, what, high, low, place, _] = words;
        let rest = [at_ns, id, ended(what, status), high, low, place, took_ns];
        (check::number(seal) == number).then(|| sealed(number, rest))
    }

    /// The record in these words; `None` if the slot is empty or half written.
    pub fn decode(words: &[u64]) -> Option<Record> {
        let (seal, rest) = words.split_first()?;
        let number = check::opened(*seal, rest)?;
        let [at_ns, id, what, high, low, place, extra] = *rest else {
            return None;
        };
        let (kind, code) = (what as u8, (what >> 16) as u16);
        let what_happened = match (kind, Entry::by_number(code)) {
            (CALL, Some(entry)) => What::Call(entry),
            (EVENT, _) => What::Event(code),
            _ => What::Unknown(kind, code),
        };
        Some(Record {
            number,
            at_ns,
            id,
            what: what_happened,
            status: (what >> 32) as u32 as i32,
            peer: Peer {
                address: [high, low],
                port: (place >> 16) as u16,
                family: place as u8,
            },
            qp_num: (place >> 32) as u32,
            extra,
        })
    }
}

#[inline(always)]
fn ended(what: u64, status: i32) -> u64 {
    what & 0xffff_ffff | u64::from(status as u32) << 32
}

#[inline(always)]
fn sealed(number: u64, rest: [u64; WORDS - 1]) -> [u64; WORDS] {
    let [a, b, c, d, e, f, g] = rest;
    [check::sealed_7(number, rest), a, b, c, d, e, f, g]
}

impl Peer {
    /// From the bytes of an address.
    #[inline(always)]
    pub const fn new(bytes: [u8; 16], port: u16, family: u8) -> Peer {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        Peer {
            address: [
                u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                u64::from_ne_bytes([i, j, k, l, m, n, o, p]),
            ],
            port,
            family,
        }
    }

    /// From an address of std, for what is not in a hurry.
    pub fn of(address: SocketAddr) -> Peer {
        match address.ip() {
            IpAddr::V4(v4) => {
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&v4.octets());
                Peer::new(bytes, address.port(), 4)
            }
            IpAddr::V6(v6) => Peer::new(v6.octets(), address.port(), 6),
        }
    }

    /// As std shows it; `None` if none is known.
    pub fn address(&self) -> Option<SocketAddr> {
        let (high, low) = (self.address[0].to_ne_bytes(), self.address[1].to_ne_bytes());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high);
        bytes[8..].copy_from_slice(&low);
        let ip: IpAddr = match self.family {
            4 => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            6 => Ipv6Addr::from(bytes).into(),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Record {
        Record {
            number: 7,
            at_ns: 123,
            id: 0x5000,
            what: What::Call(Entry::rdma_connect),
            status: RUNNING,
            peer: Peer::of("10.77.0.1:7174".parse().unwrap()),
            qp_num: 19,
            extra: 5,
        }
    }

    #[test]
    fn a_record_comes_back() {
        assert_eq!(Record::decode(&example().encode()), Some(example()));
        let event = Record {
            what: What::Event(8),
            status: -110,
            peer: Peer::of("[fe80::1]:1".parse().unwrap()),
            ..example()
        };
        assert_eq!(Record::decode(&event.encode()), Some(event));
        assert_eq!(event.peer.address(), "[fe80::1]:1".parse().ok());
        assert_eq!(Peer::default().address(), None);
    }

    #[test]
    fn a_call_ends_in_its_own_record_only() {
        let words = example().encode();
        assert_eq!(Record::end(words, 8, 111, 1), None);
        let ended = Record {
            status: -5,
            extra: 99,
            ..example()
        };
        let words = Record::end(words, 7, -5, 99).unwrap();
        assert_eq!(Record::decode(&words), Some(ended));
    }

    #[test]
    fn a_half_written_record_is_none() {
        assert_eq!(Record::decode(&[0; WORDS]), None);
        for at in 0..WORDS {
            let mut words = example().encode();
            words[at] ^= 1 << 33;
            assert_eq!(Record::decode(&words), None, "word {at}");
        }
        assert_eq!(Record::decode(&[]), None);
    }
}
