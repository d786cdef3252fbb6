//! Between a shelf and the front: what was taken there is counted here, later.

use super::answers::Scope;
use super::book::{Book, Shelf};
use super::{Key, Packed};
use std::time::Instant;

/// With so few left in front, whoever took one tells the book.
pub const FEW: u32 = 2;

/// A key waits for at most 2 << 5 creations.
const MOST_DOUBLINGS: u32 = 5;

impl<T: Packed> Book<T> {
    /// Some were taken in front. True if there is work for the keeper.
    pub fn taken(&mut self, key: &Key, now: Instant) -> bool {
        self.settle(key, now);
        self.restock(key);
        self.queue_fill(key, now)
    }

    /// Counts what was taken in front since the last time.
    pub(super) fn settle(&mut self, key: &Key, now: Instant) {
        let Some(shelf) = self.shelves.get_mut(key).filter(|s| s.fronted > 0) else {
            return;
        };
        let there = self.front.count(key);
        let taken = shelf.fronted.saturating_sub(there);
        shelf.fronted = there;
        for more in (0..taken).rev() {
            let left = shelf.have() + more;
            shelf.pace.count(&self.settings, now, left, false);
        }
        shelf.served |= taken > 0;
        self.uncount(key, taken);
    }

    /// A shelf goes. A program with a completion queue for each connection creates few on each, and what was made
    /// ahead goes with it: the next one has to create twice as many before any are made.
    pub(super) fn learn(&mut self, key: &Key, shelf: &Shelf<T>, scope: Scope) {
        let kind = key.without_cqs();
        if shelf.served || self.front.count(key) < shelf.fronted {
            self.wasted.remove(&kind);
        } else if matches!(scope, Scope::Cq(_)) && shelf.have() > 0 {
            let times = self.wasted.entry(kind).or_default();
            *times = (*times + 1).min(MOST_DOUBLINGS);
        }
    }

    /// One that lies ready, wherever.
    pub(super) fn pick(&mut self, key: &Key) -> Option<T> {
        let shelf = self.shelves.get_mut(key)?;
        if shelf.fronted > 0 {
            if let Some((item, _)) = self.front.take(key) {
                shelf.fronted -= 1;
                return Some(item);
            }
        }
        shelf.ready.pop()
    }

    /// Fills the front from the shelf.
    pub(super) fn restock(&mut self, key: &Key) {
        // Recycling has to know who has which.
        let shelf = self.shelves.get_mut(key);
        let Some(shelf) = shelf.filter(|_| !self.settings.recycle) else {
            return;
        };
        while let Some(item) = shelf.ready.pop() {
            if let Err(item) = self.front.put(key, item) {
                shelf.ready.push(item);
                return;
            }
            shelf.fronted += 1;
        }
    }
}
