//! The front of the shelves: some of the ready ones, for creations that take no lock.
//!
//! Whoever puts holds the book's lock; whoever takes needs nothing. A taker copies an entry and then claims
//! it by one compare-and-swap, which fails if the entry was changed meanwhile: a thread that is cancelled
//! or jumps away in between leaves nothing half done.

use super::hash::Quick;
use super::{Caps, Key};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Entries of one set. A key has its place in one set, which it may share with others.
const SET: usize = 8;
const SETS: usize = 8;
/// A key, and what lies ready of it.
const KEY_WORDS: usize = 9;
const WORDS: usize = KEY_WORDS + 4;

/// Something that can lie in front: a number that is not 0, and the capabilities that it was made with.
pub trait Packed: Sized {
    fn pack(&self) -> Option<(usize, Caps)>;
    fn unpack(number: usize, caps: Caps) -> Self;
}

/// A plain number, where the book is tried out.
impl Packed for u32 {
    fn pack(&self) -> Option<(usize, Caps)> {
        Some((*self as usize, Caps::default()))
    }

    fn unpack(number: usize, _caps: Caps) -> u32 {
        number as u32
    }
}

#[derive(Default)]
struct Entry {
    /// Odd: there is one. Each change makes it larger.
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

#[derive(Default)]
pub struct Front([[Entry; SET]; SETS]);

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn caps_words(caps: &Caps) -> [u64; 3] {
    [
        pair(caps.send_wr, caps.recv_wr),
        pair(caps.send_sge, caps.recv_sge),
        u64::from(caps.inline_data),
    ]
}

fn caps_of(words: [u64; 3]) -> Caps {
    let [wr, sge, inline] = words;
    Caps {
        send_wr: (wr >> 32) as u32,
        recv_wr: wr as u32,
        send_sge: (sge >> 32) as u32,
        recv_sge: sge as u32,
        inline_data: inline as u32,
    }
}

fn key_words(key: &Key) -> [u64; KEY_WORDS] {
    let [wr, sge, inline] = caps_words(&key.caps);
    let kind = pair(key.qp_type as u32, key.sq_sig_all as u32);
    let addresses = [key.context, key.pd, key.send_cq, key.recv_cq, key.srq];
    let [context, pd, send, recv, srq] = addresses.map(|at| at as u64);
    [context, pd, send, recv, srq, kind, wr, sge, inline]
}

impl Entry {
    /// The version under which one of this key lies here.
    fn holds(&self, key: &[u64; KEY_WORDS]) -> Option<u64> {
        let version = self.version.load(Ordering::Acquire);
        let same = |(ours, theirs): (&AtomicU64, &u64)| ours.load(Ordering::Relaxed) == *theirs;
        (version % 2 == 1 && self.words.iter().zip(key).all(same)).then_some(version)
    }

    fn take<T: Packed>(&self, version: u64) -> Option<T> {
        let word = |at: usize| self.words[KEY_WORDS + at].load(Ordering::Relaxed);
        let (number, caps) = (word(0), caps_of([word(1), word(2), word(3)]));
        fence(Ordering::Acquire);
        let claim = self.version.compare_exchange(
            version,
            version + 1,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        claim.is_ok().then(|| T::unpack(number as usize, caps))
    }
}

impl Front {
    fn set(&self, key: &Key) -> &[Entry; SET] {
        let mut hasher = Quick::default();
        key.hash(&mut hasher);
        &self.0[hasher.finish() as usize % SETS]
    }

    /// Takes one of this key; says how many are left.
    pub fn take<T: Packed>(&self, key: &Key) -> Option<(T, u32)> {
        let words = key_words(key);
        let mut taken = None;
        let mut left = 0;
        for entry in self.set(key) {
            let Some(version) = entry.holds(&words) else {
                continue;
            };
            match taken {
                None => taken = entry.take(version),
                Some(_) => left += 1,
            }
        }
        taken.map(|item| (item, left))
    }

    /// How many of this key lie here.
    pub(super) fn count(&self, key: &Key) -> u32 {
        let words = key_words(key);
        let held = |e: &&Entry| e.holds(&words).is_some();
        self.set(key).iter().filter(held).count() as u32
    }

    /// Does one of these numbers lie here?
    pub(super) fn any<T: Packed>(&self, fits: impl Fn(&T) -> bool) -> bool {
        self.0.iter().flatten().any(|entry| {
            let odd = entry.version.load(Ordering::Acquire) % 2 == 1;
            let word = |at: usize| entry.words[KEY_WORDS + at].load(Ordering::Relaxed);
            odd && fits(&T::unpack(
                word(0) as usize,
                caps_of([word(1), word(2), word(3)]),
            ))
        })
    }

    /// Puts one here, under the book's lock; gives it back if there is no room.
    pub(super) fn put<T: Packed>(&self, key: &Key, item: T) -> Result<(), T> {
        let Some((number, caps)) = item.pack() else {
            return Err(item);
        };
        let empty = |e: &&Entry| e.version.load(Ordering::Acquire).is_multiple_of(2);
        let Some(entry) = self.set(key).iter().find(empty) else {
            return Err(item);
        };
        // A taker that still copies the one before fails at its claim.
        fence(Ordering::Release);
        let [wr, sge, inline] = caps_words(&caps);
        let values = key_words(key)
            .into_iter()
            .chain([number as u64, wr, sge, inline]);
        for (word, value) in entry.words.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        entry.version.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::Mutex;

    impl Packed for usize {
        fn pack(&self) -> Option<(usize, Caps)> {
            let send_wr = *self as u32;
            Some((
                *self,
                Caps {
                    send_wr,
                    ..Caps::default()
                },
            ))
        }
        fn unpack(number: usize, caps: Caps) -> usize {
            assert_eq!(caps.send_wr, number as u32, "two halves of different ones");
            number
        }
    }

    fn key(pd: usize) -> Key {
        Key {
            pd,
            send_cq: 7,
            recv_cq: 7,
            ..Key::of_device(1)
        }
    }

    #[test]
    fn one_is_taken_once_and_by_its_own_key_only() {
        let front = Front::default();
        assert_eq!(front.put(&key(1), 5usize), Ok(()));
        let other = Key {
            sq_sig_all: 1,
            ..key(1)
        };
        assert_eq!(front.take::<usize>(&other), None);
        assert_eq!(front.count(&key(1)), 1);
        assert!(front.any(|n: &usize| *n == 5));
        assert_eq!(front.take(&key(1)), Some((5usize, 0)));
        assert_eq!(front.take::<usize>(&key(1)), None);
        assert!(!front.any(|n: &usize| *n == 5));
    }

    /// Different kinds may lie in one set, where the words alone tell them apart.
    #[test]
    fn each_member_of_the_key_alone_makes_other_words() {
        type Change = fn(&mut Key);
        let changes: [Change; 13] = [
            |_| {},
            |k| k.context += 1,
            |k| k.pd += 1,
            |k| k.send_cq += 1,
            |k| k.recv_cq += 1,
            |k| k.srq += 1,
            |k| k.qp_type += 1,
            |k| k.caps.send_wr += 1,
            |k| k.caps.recv_wr += 1,
            |k| k.caps.send_sge += 1,
            |k| k.caps.recv_sge += 1,
            |k| k.caps.inline_data += 1,
            |k| k.sq_sig_all += 1,
        ];
        let kinds = changes.map(|change| {
            let mut one = key(1);
            change(&mut one);
            key_words(&one)
        });
        let entry = Entry::default();
        for (at, words) in kinds.iter().enumerate() {
            for (word, value) in entry.words.iter().zip(words) {
                word.store(*value, Ordering::Relaxed);
            }
            entry.version.store(1, Ordering::Release);
            for (other, wanted) in kinds.iter().enumerate() {
                assert_eq!(entry.holds(wanted).is_some(), at == other, "{at} {other}");
            }
        }
    }

    #[test]
    fn a_full_set_takes_no_more() {
        let front = Front::default();
        for n in 1..=SET {
            assert_eq!(front.put(&key(1), n), Ok(()));
        }
        assert_eq!(front.put(&key(1), 99usize), Err(99));
        assert_eq!(
            front.take::<usize>(&key(1)).map(|(_, left)| left),
            Some(SET as u32 - 1)
        );
        assert_eq!(front.put(&key(1), 99usize), Ok(()));
    }

    #[test]
    fn threads_get_each_one_exactly_once() {
        const ALL: usize = if cfg!(miri) { 200 } else { 100_000 };
        let front = Front::default();
        let seen: Vec<Mutex<Vec<usize>>> = (0..3).map(|_| Mutex::default()).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for mine in &seen {
                scope.spawn(|| {
                    let mut got = mine.lock().unwrap();
                    loop {
                        let last = done.load(Ordering::Acquire);
                        match front.take::<usize>(&key(got.len() % 2)) {
                            Some((n, _)) => got.push(n),
                            None if last && front.count(&key(0)) + front.count(&key(1)) == 0 => {
                                return
                            }
                            None => match front.take::<usize>(&key(1 - got.len() % 2)) {
                                Some((n, _)) => got.push(n),
                                None => std::thread::yield_now(),
                            },
                        }
                    }
                });
            }
            for n in 1..=ALL {
                let mut item = n;
                while let Err(back) = front.put(&key(n % 2), item) {
                    item = back;
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut all: Vec<usize> = seen
            .into_iter()
            .flat_map(|m| m.into_inner().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, (1..=ALL).collect::<Vec<_>>());
    }
}
