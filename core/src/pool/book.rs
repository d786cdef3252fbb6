//! The book: shelves of ready ones, the objects they stand on, and what is being made or destroyed
//! at the moment.

use super::answers::{Evicted, Pair, Scope, Taken};
use super::hash::Map;
use super::recycle::{Recycling, Verdict};
use super::{Front, Key, Miss, Pace, Packed, Settings, QPT_RC, QPT_UC};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Most keys that are remembered; those that were seen once are forgotten first.
const MAX_KEYS: usize = 1024;

/// The ready ones of one key.
pub(super) struct Shelf<T> {
    pub(super) ready: Vec<T>,
    /// So many more were put in front; some may be taken meanwhile.
    pub(super) fronted: u32,
    /// One of them was given out.
    pub(super) served: bool,
    pub(super) pace: Pace,
    /// In the queue of those to be filled.
    pub(super) to_fill: bool,
    /// To be given back.
    pub(super) surplus: u32,
    /// The pool's own creation failed: none before this time.
    pub(super) pause: Option<Instant>,
}

impl<T> Shelf<T> {
    pub(super) fn have(&self) -> u32 {
        self.ready.len() as u32 + self.fronted
    }
}

/// A device, as far as it was opened by this process.
#[derive(Default)]
pub(super) struct Context {
    gone: bool,
    /// Only threads of the program may make and destroy its objects.
    no_threads: bool,
    /// The device's address: it may be open more than once. 0: not known.
    pub(super) device: usize,
    /// Queue pairs and completion queues that may lie ready; `None`: not asked yet.
    pub(super) limit: Option<(u32, u32)>,
    pub(super) qps: u32,
    pub(super) cqs: u32,
    /// Channels for bundles. Only the program's own threads open descriptors.
    pub(super) pairs: Vec<Pair>,
    /// May its queue pairs be used again?
    pub(super) verdict: Verdict,
}

/// Something of these keys is being made or destroyed, outside of all locks.
pub(super) struct InFlight {
    pub(super) number: u64,
    pub(super) keys: Vec<Key>,
    pub(super) discard: bool,
}

pub struct Book<T> {
    pub(super) settings: Settings,
    pub(super) front: Arc<Front>,
    pub(super) shelves: Map<Key, Shelf<T>>,
    pub(super) contexts: Map<usize, Context>,
    /// Protection domains and shared receive queues that were created through us.
    pub(super) pds: Map<usize, usize>,
    pub(super) srqs: Map<usize, ()>,
    /// Completion queues likewise, with the keys that stand on them.
    pub(super) cqs: Map<usize, Vec<Key>>,
    pub(super) to_fill: VecDeque<Key>,
    pub(super) surplus: VecDeque<Key>,
    pub(super) flights: Vec<InFlight>,
    pub(super) flight_number: u64,
    pub(super) review_at: Option<Instant>,
    /// Memory or the device ran out: nothing is made before this time.
    pub(super) hold: Option<Instant>,
    /// Channels may lie there that no bundle needs.
    pub(super) tidy: bool,
    /// So often, those made ahead went unused with their completion queue; by key without it.
    pub(super) wasted: Map<Key, u32>,
    pub(super) recycling: Recycling,
    no_threads: bool,
}

impl<T: Packed> Book<T> {
    pub fn new(settings: Settings, front: Arc<Front>) -> Book<T> {
        Book {
            settings,
            front,
            shelves: Map::default(),
            contexts: Map::default(),
            pds: Map::default(),
            srqs: Map::default(),
            cqs: Map::default(),
            to_fill: VecDeque::new(),
            surplus: VecDeque::new(),
            flights: Vec::new(),
            flight_number: 0,
            review_at: None,
            hold: None,
            tidy: false,
            wasted: Map::default(),
            recycling: Recycling::default(),
            no_threads: false,
        }
    }

    /// A device was opened: what was known of an earlier one at this address is void.
    pub fn opened(&mut self, context: usize) {
        self.contexts.insert(context, Context::default());
    }

    /// A device was closed, and with it all that stood on it.
    pub fn closed(&mut self, context: usize) {
        self.contexts.remove(&context);
        self.pds.retain(|_, of| *of != context);
    }

    /// A protection domain was created.
    pub fn pd(&mut self, pd: usize, context: usize) {
        self.contexts.entry(context).or_default();
        self.pds.insert(pd, context);
    }

    /// A completion queue was created.
    pub fn cq(&mut self, cq: usize) {
        self.cqs.insert(cq, Vec::new());
    }

    /// A completion queue was destroyed on which nothing of the pool stood.
    pub fn cq_gone(&mut self, cq: usize) {
        self.cqs.remove(&cq);
    }

    /// A shared receive queue was created.
    pub fn srq(&mut self, srq: usize) {
        self.srqs.insert(srq, ());
    }

    /// Is the device known to be open?
    pub fn is_open(&self, context: usize) -> bool {
        self.contexts.contains_key(&context)
    }

    /// Only threads of the program may make and destroy queue pairs from now on: nothing is made ahead any more.
    pub fn no_threads(&mut self) {
        self.no_threads = true;
    }

    /// As `no_threads`, for the objects of one device.
    pub fn no_threads_on(&mut self, context: usize) {
        self.contexts.entry(context).or_default().no_threads = true;
    }

    /// The device is gone or failed: nothing is made on it any more.
    pub fn gone(&mut self, context: usize) {
        self.contexts.entry(context).or_default().gone = true;
    }

    /// Why a creation of this key is none of ours; `None` if it is.
    pub(super) fn refusal(&self, key: &Key) -> Option<Miss> {
        let cqs_known = key.is_bundle()
            || (self.cqs.contains_key(&key.send_cq) && self.cqs.contains_key(&key.recv_cq));
        let known = self.pds.get(&key.pd) == Some(&key.context)
            && cqs_known
            && (key.srq == 0 || self.srqs.contains_key(&key.srq));
        if !matches!(key.qp_type, QPT_RC | QPT_UC) {
            Some(Miss::Type)
        } else if self.no_threads
            || self
                .contexts
                .get(&key.context)
                .is_some_and(|c| c.no_threads)
        {
            Some(Miss::Threads)
        } else if !known {
            Some(Miss::Unknown)
        } else if self.contexts.get(&key.context).is_none_or(|c| c.gone) {
            Some(Miss::Device)
        } else {
            None
        }
    }

    /// One is about to be created: is there a ready one?
    pub fn take(&mut self, key: &Key, now: Instant) -> Taken<T> {
        self.settle(key, now);
        self.end_quarantine(now);
        // What lies ready went when the first of the objects did: nothing else needs to be looked up.
        let Some(item) = self.pick(key) else {
            return Taken::Miss(self.miss_reason(key));
        };
        let settings = self.settings;
        if let Some(shelf) = self.shelves.get_mut(key) {
            shelf.pace.count(&settings, now, shelf.have(), false);
            shelf.served = true;
        }
        self.uncount(key, 1);
        self.restock(key);
        let ring = !key.is_bundle() && self.queue_fill(key, now);
        Taken::Hit { item, ring }
    }

    /// Why none is ready.
    fn miss_reason(&self, key: &Key) -> Miss {
        let wanted = |key| self.shelves.get(key).is_some_and(|s| s.pace.want() > 0);
        match self.refusal(key) {
            Some(why) => why,
            None if wanted(key) => Miss::Empty,
            None => Miss::First,
        }
    }

    /// One was created after a miss. True if there is work for the keeper.
    pub fn created(&mut self, key: &Key, now: Instant) -> bool {
        if self.refusal(key).is_some() {
            return false;
        }
        let Some(shelf) = self.shelf(key, now) else {
            return false;
        };
        let missed = shelf.pace.want() > 0;
        let left = shelf.have();
        let settings = self.settings;
        if let Some(shelf) = self.shelves.get_mut(key) {
            shelf.pace.count(&settings, now, left, missed);
        }
        !key.is_bundle() && self.queue_fill(key, now)
    }

    /// How many pairs of channels are to be opened for this bundle now, before `add_pairs`.
    pub fn lacks_pairs(&self, key: &Key, now: Instant) -> u32 {
        let (Some(shelf), Some(context)) = (self.shelves.get(key), self.contexts.get(&key.context))
        else {
            return 0;
        };
        if shelf.to_fill || !self.has_room(key) || !self.wants_more(shelf, now) {
            return 0;
        }
        let have = shelf.have() + context.pairs.len() as u32;
        shelf.pace.want().saturating_sub(have)
    }

    /// Pairs of channels were opened for this bundle. True if there is work for the keeper.
    pub fn add_pairs(&mut self, key: &Key, now: Instant, pairs: Vec<Pair>) -> bool {
        let context = self.contexts.entry(key.context).or_default();
        context.pairs.extend(pairs);
        !context.pairs.is_empty() && self.queue_fill(key, now)
    }

    /// The program itself wants so many ready. True if there is work for the keeper.
    pub fn request_minimum(&mut self, key: &Key, now: Instant, number: u32) -> Result<bool, Miss> {
        if let Some(why) = self.refusal(key) {
            return Err(why);
        }
        let settings = self.settings;
        let Some(shelf) = self.shelf(key, now) else {
            return Ok(false);
        };
        let ready = shelf.have();
        shelf.pace.ask(&settings, now, number, ready);
        Ok(self.queue_fill(key, now))
    }

    /// The shelf of a key, which is set up if there is room for one more.
    fn shelf(&mut self, key: &Key, now: Instant) -> Option<&mut Shelf<T>> {
        if !self.shelves.contains_key(key) {
            if self.shelves.len() >= MAX_KEYS {
                self.forget_seen_once();
            }
            if self.shelves.len() >= MAX_KEYS {
                return None;
            }
            for cq in [key.send_cq, key.recv_cq] {
                if let Some(keys) = self.cqs.get_mut(&cq).filter(|k| !k.contains(key)) {
                    keys.push(*key);
                }
            }
        }
        let wasted = self.wasted.get(&key.without_cqs()).copied().unwrap_or(0);
        let settings = &self.settings;
        Some(self.shelves.entry(*key).or_insert_with(|| Shelf {
            ready: Vec::new(),
            fronted: 0,
            served: false,
            pace: Pace::new(settings, now).after(2 << wasted),
            to_fill: false,
            surplus: 0,
            pause: None,
        }))
    }

    fn forget_seen_once(&mut self) {
        self.shelves
            .retain(|_, s| s.pace.created() > 1 || s.pace.want() > 0);
        let left = &self.shelves;
        for keys in self.cqs.values_mut() {
            keys.retain(|k| left.contains_key(k));
        }
    }

    /// Puts a key into the queue of those to be filled, once half of what is wanted was taken. True
    /// if it was not there yet.
    pub(super) fn queue_fill(&mut self, key: &Key, now: Instant) -> bool {
        let Some(shelf) = self.shelves.get(key) else {
            return false;
        };
        if let Some(due) = shelf.pace.due() {
            self.review_at = Some(self.review_at.map_or(due, |at| at.min(due)));
        }
        if shelf.to_fill || !self.wants_more(shelf, now) {
            return false;
        }
        if let Some(shelf) = self.shelves.get_mut(key) {
            shelf.to_fill = true;
        }
        self.to_fill.push_back(*key);
        true
    }

    /// Is half of what is wanted taken, and may more be made?
    fn wants_more(&self, shelf: &Shelf<T>, now: Instant) -> bool {
        let paused = |until: Option<Instant>| until.is_some_and(|until| until > now);
        let (have, want) = (shelf.have(), shelf.pace.want());
        have < want && have * 2 <= want && !paused(shelf.pause) && !paused(self.hold)
    }

    /// What the flight was about is done.
    pub fn end(&mut self, flight: u64) {
        self.flights.retain(|f| f.number != flight);
    }

    /// Is anything of this scope still being made or destroyed?
    pub fn busy(&self, scope: Scope) -> bool {
        self.flights
            .iter()
            .any(|f| f.keys.iter().any(|k| scope.covers(k)))
    }

    /// Is anything ready, or being made or destroyed?
    pub fn holds_any(&self) -> bool {
        !self.flights.is_empty()
            || self
                .contexts
                .values()
                .any(|c| c.qps > 0 || !c.pairs.is_empty())
    }

    /// An object goes away, or all are to go. The object is unknown from now on.
    pub fn evict(&mut self, scope: Scope) -> Evicted<T> {
        let keys = self.keys_of(scope);
        let known = self.forget(scope);
        let mut items = Vec::new();
        let mut taken = Vec::new();
        for key in keys {
            let Some(mut shelf) = self.shelves.remove(&key) else {
                continue;
            };
            self.learn(&key, &shelf, scope);
            self.uncount(&key, shelf.have());
            items.append(&mut shelf.ready);
            while let Some((item, _)) = self.front.take(&key) {
                items.push(item);
            }
            taken.push(key);
        }
        self.evict_parked(scope, &mut items, &mut taken);
        for flight in &mut self.flights {
            flight.discard |= flight.keys.iter().any(|k| scope.covers(k));
        }
        let mut pairs = Vec::new();
        for (address, context) in &mut self.contexts {
            if matches!(scope, Scope::All) || scope == Scope::Context(*address) {
                pairs.append(&mut context.pairs);
                taken.push(Key::of_device(*address));
            }
        }
        let flight = self.start(taken);
        Evicted {
            items,
            pairs,
            flight,
            known,
        }
    }

    /// Memory or a limit of the device was met: nothing is made for a while.
    pub fn hold(&mut self, now: Instant) {
        self.hold = Some(now + self.settings.idle);
    }

    /// A ready one that fits, if any: for events that name one.
    pub fn any(&self, fits: impl Fn(&T) -> bool) -> bool {
        self.front.any(&fits)
            || self.any_apart(&fits)
            || self.shelves.values().any(|s| s.ready.iter().any(&fits))
    }

    /// How many are ready.
    pub fn ready(&self) -> usize {
        let shelves = self.shelves.iter();
        let count = |(key, s): (&Key, &Shelf<T>)| s.ready.len() + self.front.count(key) as usize;
        shelves.map(count).sum()
    }

    fn keys_of(&self, scope: Scope) -> Vec<Key> {
        match scope {
            // Programs with a completion queue for each connection come here often.
            Scope::Cq(cq) => self.cqs.get(&cq).cloned().unwrap_or_default(),
            _ => self
                .shelves
                .keys()
                .filter(|k| scope.covers(k))
                .copied()
                .collect(),
        }
    }

    /// Was the object known?
    fn forget(&mut self, scope: Scope) -> bool {
        match scope {
            Scope::Pd(pd) => self.pds.remove(&pd).is_some(),
            Scope::Cq(cq) => self.cqs.remove(&cq).is_some(),
            Scope::Srq(srq) => self.srqs.remove(&srq).is_some(),
            Scope::Context(_) | Scope::All => false,
        }
    }

    pub(super) fn start(&mut self, keys: Vec<Key>) -> u64 {
        self.flight_number += 1;
        self.flights.push(InFlight {
            number: self.flight_number,
            keys,
            discard: false,
        });
        self.flight_number
    }

    pub(super) fn uncount(&mut self, key: &Key, number: u32) {
        if let Some(context) = self.contexts.get_mut(&key.context) {
            context.qps = context.qps.saturating_sub(number);
            context.cqs = context.cqs.saturating_sub(number * key.own_cqs());
        }
    }
}
