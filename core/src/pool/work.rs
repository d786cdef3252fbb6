//! The keeper's part of the book: what is to be made, and what is to be given back.

use super::answers::{Job, Pair};
use super::book::{Book, Context, Shelf};
use super::{Key, Packed};
use std::time::Instant;

impl<T: Packed> Book<T> {
    /// What the keeper is to do now.
    pub fn next(&mut self, now: Instant) -> Job<T> {
        self.end_quarantine(now);
        if self.review_at.is_some_and(|at| at <= now) {
            self.review(now);
        }
        if let Some(context) = self.recycling.to_probe.pop() {
            let flight = self.start(vec![Key::of_device(context)]);
            return Job::Probe { flight, context };
        }
        if let Some((key, item)) = self.next_doomed().or_else(|| self.next_surplus()) {
            let number = item.pack().map(|(number, _)| number);
            self.recycling.came_back.retain(|(n, _)| Some(*n) != number);
            let flight = self.start(vec![key]);
            return Job::Drop { flight, item };
        }
        if let Some(key) = self.next_hungry() {
            let context = self.contexts.entry(key.context).or_default();
            context.qps += 1;
            context.cqs += key.own_cqs();
            let measure = context.limit.is_none();
            let pair = key.is_bundle().then(|| context.pairs.pop()).flatten();
            let flight = self.start(vec![key]);
            return Job::Make {
                flight,
                key,
                measure,
                pair,
            };
        }
        if let Some((context, pairs)) = self.next_spare_pairs() {
            let flight = self.start(vec![Key::of_device(context)]);
            return Job::Close { flight, pairs };
        }
        Job::Wait(self.review_at.into_iter().chain(self.next_rested()).min())
    }

    fn next_surplus(&mut self) -> Option<(Key, T)> {
        while let Some(key) = self.surplus.front().copied() {
            let shelf = self.shelves.get_mut(&key).filter(|s| s.surplus > 0);
            if let Some(shelf) = shelf {
                shelf.surplus -= 1;
                if let Some(item) = self.pick(&key) {
                    self.uncount(&key, 1);
                    return Some((key, item));
                }
            }
            if let Some(shelf) = self.shelves.get_mut(&key) {
                shelf.surplus = 0;
            }
            self.surplus.pop_front();
        }
        None
    }

    /// Channels that were opened for a bundle which nobody wants any more.
    fn next_spare_pairs(&mut self) -> Option<(usize, Vec<Pair>)> {
        if !std::mem::take(&mut self.tidy) {
            return None;
        }
        let (address, context) = self.contexts.iter_mut().find(|(address, context)| {
            let wanted = |(key, shelf): (&Key, &Shelf<T>)| {
                key.is_bundle() && key.context == **address && shelf.pace.want() > 0
            };
            !context.pairs.is_empty() && !self.shelves.iter().any(wanted)
        })?;
        self.tidy = true;
        Some((*address, std::mem::take(&mut context.pairs)))
    }

    fn next_hungry(&mut self) -> Option<Key> {
        while let Some(key) = self.to_fill.front().copied() {
            let room = self.has_room(&key);
            let sound = self.refusal(&key).is_none() && self.has_pair(&key);
            if let Some(shelf) = self.shelves.get_mut(&key) {
                let wanted = shelf.have() < shelf.pace.want();
                if wanted && room && sound {
                    return Some(key);
                }
                shelf.to_fill = false;
            }
            self.to_fill.pop_front();
        }
        None
    }

    fn has_pair(&self, key: &Key) -> bool {
        let pairs = self.contexts.get(&key.context).map(|c| c.pairs.len());
        !key.is_bundle() || pairs.is_some_and(|pairs| pairs > 0)
    }

    /// Does the device's share allow one more?
    pub(super) fn has_room(&self, key: &Key) -> bool {
        let Some(context) = self.contexts.get(&key.context) else {
            return false;
        };
        let (qps, cqs) = self.on_device_of(key.context);
        let fits = |limit: (u32, u32)| qps < limit.0 && cqs + key.own_cqs() <= limit.1;
        context.limit.is_none_or(fits)
    }

    /// This context is one of this device.
    pub fn belongs(&mut self, context: usize, device: usize) {
        self.contexts.entry(context).or_default().device = device;
    }

    /// Queue pairs and completion queues that lie ready on the device, however often it is open.
    fn on_device_of(&self, context: usize) -> (u32, u32) {
        let device = self.contexts.get(&context).map_or(0, |c| c.device);
        let same =
            |(at, c): &(&usize, &Context)| **at == context || device != 0 && c.device == device;
        let all = self.contexts.iter().filter(same);
        all.fold((0, 0), |(qps, cqs), (_, c)| (qps + c.qps, cqs + c.cqs))
    }

    /// The device's own limits. False if there is no room for the one that is being made.
    pub fn measured(&mut self, key: &Key, max_qp: u32, max_cq: u32) -> bool {
        let share = |max: u32| (u64::from(max) * u64::from(self.settings.share) / 100) as u32;
        let limit = (share(max_qp), share(max_cq));
        self.contexts.entry(key.context).or_default().limit = Some(limit);
        let (qps, cqs) = self.on_device_of(key.context);
        qps <= limit.0 && cqs <= limit.1
    }

    /// One was made. Gives it back if it is to be destroyed, before `end(flight)`; else the flight
    /// has ended.
    pub fn finish(&mut self, flight: u64, item: T) -> Option<T> {
        let at = self.flights.iter().position(|f| f.number == flight)?;
        let key = self.flights[at].keys.first().copied()?;
        if !self.flights[at].discard {
            if let Some(shelf) = self.shelves.get_mut(&key) {
                shelf.ready.push(item);
                self.flights.remove(at);
                self.restock(&key);
                return None;
            }
        }
        self.uncount(&key, 1);
        Some(item)
    }

    /// None was made: the key is left alone for a while.
    pub fn failed(&mut self, flight: u64, now: Instant) {
        let found = self.flights.iter().find(|f| f.number == flight);
        let Some(key) = found.and_then(|f| f.keys.first()).copied() else {
            return;
        };
        self.uncount(&key, 1);
        if let Some(shelf) = self.shelves.get_mut(&key) {
            shelf.pause = Some(now + self.settings.idle);
            shelf.to_fill = false;
        }
        self.to_fill.retain(|k| *k != key);
        self.end(flight);
    }

    /// Looks through the shelves whose period is over.
    fn review(&mut self, now: Instant) {
        let settings = self.settings;
        let fronted = self.shelves.iter().filter(|(_, s)| s.fronted > 0);
        for key in fronted.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.settle(&key, now);
        }
        for (key, shelf) in &mut self.shelves {
            if shelf.pace.due().is_none_or(|due| due > now) {
                continue;
            }
            let ready = shelf.have();
            shelf.surplus = shelf.pace.review(&settings, now, ready);
            if shelf.surplus > 0 {
                self.surplus.push_back(*key);
            }
        }
        self.tidy = true;
        let due = self.shelves.values().filter_map(|s| s.pace.due()).min();
        self.review_at = due.into_iter().chain(self.next_rested()).min();
    }
}
