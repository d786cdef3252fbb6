//! How often which code came from which peer: the 64 most frequent.
//!
//! Without a lock, since a lock that another thread holds at a fork or when it dies would be held for
//! ever. Two threads that meet a new kind at once may make two items of it: readers add them up.

use super::process_local::Words;
use cmshim_core::model::{Stage, Who};
use cmshim_core::stats::layout::REASON_TABLE;
use cmshim_core::stats::{Peer, Reason};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Words of an item: seal, count, over, time, key.
const COUNT: usize = 1;
const LAST: usize = 3;
const KEY: usize = 4;

/// What is counted together.
pub struct Kind<'a> {
    pub code: &'a str,
    pub peer: Option<IpAddr>,
    pub who: Who,
    pub stage: Stage,
}

/// Counts one.
pub fn count(words: &Words, kind: &Kind, now_ns: u64) {
    let peer = kind
        .peer
        .map(|ip| Peer::of(SocketAddr::new(ip, 0)))
        .unwrap_or_default();
    let key = Reason::key(kind.code, &peer, Some(kind.who), Some(kind.stage));
    if let Some(item) = items(words).find(|item| holds(item, &key)) {
        item[COUNT].fetch_add(1, Ordering::Relaxed);
        item[LAST].store(now_ns, Ordering::Relaxed);
        return;
    }
    let Some((item, seal, least)) = rarest(words) else {
        return;
    };
    // Whoever breaks the seal has the item; the other one's count is lost, as in a full table.
    let broken = item[0].compare_exchange(seal, BROKEN, Ordering::Acquire, Ordering::Relaxed);
    if broken.is_err() {
        return;
    }
    let reason = Reason {
        count: least + 1,
        over: least,
        last_ns: now_ns,
        code: kind.code.to_owned(),
        peer,
        who: Some(kind.who),
        stage: Some(kind.stage),
    };
    let fresh = reason.encode();
    fence(Ordering::Release);
    for (to, from) in item.iter().zip(fresh).skip(1) {
        to.store(from, Ordering::Relaxed);
    }
    item[0].store(fresh[0], Ordering::Release);
}

/// A seal that no item has: its number is 0.
const BROKEN: u64 = 1;

fn items(words: &Words) -> impl Iterator<Item = &[AtomicU64]> {
    words[REASON_TABLE.at..REASON_TABLE.item(REASON_TABLE.count)].chunks_exact(REASON_TABLE.words)
}

/// Is it of this kind? An empty item is of none: its key has no code.
fn holds(item: &[AtomicU64], key: &[u64]) -> bool {
    item[0].load(Ordering::Acquire) > BROKEN
        && item[KEY..]
            .iter()
            .zip(key)
            .all(|(word, wanted)| word.load(Ordering::Relaxed) == *wanted)
}

/// An empty item, or the one with the smallest count; with its seal and count. None that is being written.
fn rarest(words: &Words) -> Option<(&[AtomicU64], u64, u64)> {
    items(words)
        .map(|item| {
            let seal = item[0].load(Ordering::Acquire);
            let count = if seal == 0 {
                0
            } else {
                item[COUNT].load(Ordering::Relaxed)
            };
            (item, seal, count)
        })
        .filter(|(_, seal, _)| *seal != BROKEN)
        .min_by_key(|(_, seal, count)| (*count, *seal))
}
