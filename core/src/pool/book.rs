//! The book: shelves of ready ones, the objects they stand on, and what is being made or destroyed
//! at the moment.

use super::{Key, Miss, Pace, Settings, QPT_RC, QPT_UC};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Most keys that are remembered; those that were seen once are forgotten first.
const MAX_KEYS: usize = 1024;

/// The ready ones of one key.
struct Shelf<T> {
    ready: Vec<T>,
    pace: Pace,
    /// In the queue of those to be filled.
    hungry: bool,
    /// To be given back.
    surplus: u32,
    /// The pool's own creation failed: none before this time.
    pause: Option<Instant>,
}

/// A device, as far as it was opened by this process.
#[derive(Default)]
struct Context {
    gone: bool,
    /// Queue pairs and completion queues that may lie ready; `None`: not asked yet.
    limit: Option<(u32, u32)>,
    qps: u32,
    cqs: u32,
}

/// Something of these keys is being made or destroyed, outside of all locks.
struct Flight {
    number: u64,
    keys: Vec<Key>,
    discard: bool,
}

/// Which ones are to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Pd(usize),
    Cq(usize),
    Srq(usize),
    Context(usize),
    All,
}

impl Scope {
    fn covers(self, key: &Key) -> bool {
        match self {
            Scope::Pd(pd) => key.pd == pd,
            Scope::Cq(cq) => key.send_cq == cq || key.recv_cq == cq,
            Scope::Srq(srq) => key.srq == srq,
            Scope::Context(context) => key.context == context,
            Scope::All => true,
        }
    }
}

/// Answer to a creation.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<T> {
    /// This one, which is the caller's from now on; `ring`: there is work for the keeper.
    Hit {
        item: T,
        ring: bool,
    },
    Miss(Miss),
}

/// What the keeper is to do next. It ends each flight.
#[derive(Debug, PartialEq, Eq)]
pub enum Job<T> {
    /// Make one; `measure`: ask the device for its limits before.
    Make {
        flight: u64,
        key: Key,
        measure: bool,
    },
    Drop {
        flight: u64,
        item: T,
    },
    /// Nothing before this time, or until somebody rings.
    Wait(Option<Instant>),
}

/// What was taken out, for the caller to destroy before it ends the flight.
#[derive(Debug, PartialEq, Eq)]
pub struct Evicted<T> {
    pub items: Vec<T>,
    pub flight: u64,
}

pub struct Book<T> {
    settings: Settings,
    shelves: HashMap<Key, Shelf<T>>,
    contexts: HashMap<usize, Context>,
    /// Protection domains and shared receive queues that were created through us.
    pds: HashMap<usize, usize>,
    srqs: HashMap<usize, ()>,
    /// Completion queues likewise, with the keys that stand on them.
    cqs: HashMap<usize, Vec<Key>>,
    hungry: VecDeque<Key>,
    surplus: VecDeque<Key>,
    flights: Vec<Flight>,
    flight_number: u64,
    review_at: Option<Instant>,
    /// Memory or the device ran out: nothing is made before this time.
    hold: Option<Instant>,
}

impl<T> Book<T> {
    pub fn new(settings: Settings) -> Book<T> {
        Book {
            settings,
            shelves: HashMap::new(),
            contexts: HashMap::new(),
            pds: HashMap::new(),
            srqs: HashMap::new(),
            cqs: HashMap::new(),
            hungry: VecDeque::new(),
            surplus: VecDeque::new(),
            flights: Vec::new(),
            flight_number: 0,
            review_at: None,
            hold: None,
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

    /// A shared receive queue was created.
    pub fn srq(&mut self, srq: usize) {
        self.srqs.insert(srq, ());
    }

    /// The device is gone or failed: nothing is made on it any more.
    pub fn gone(&mut self, context: usize) {
        self.contexts.entry(context).or_default().gone = true;
    }

    /// Why a creation of this key is none of ours; `None` if it is.
    fn refusal(&self, key: &Key) -> Option<Miss> {
        let cqs_known = key.is_bundle()
            || (self.cqs.contains_key(&key.send_cq) && self.cqs.contains_key(&key.recv_cq));
        let known = self.pds.get(&key.pd) == Some(&key.context)
            && cqs_known
            && (key.srq == 0 || self.srqs.contains_key(&key.srq));
        if !matches!(key.qp_type, QPT_RC | QPT_UC) {
            Some(Miss::Type)
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
        if let Some(why) = self.refusal(key) {
            return Taken::Miss(why);
        }
        let Some(shelf) = self.shelves.get_mut(key) else {
            return Taken::Miss(Miss::First);
        };
        let Some(item) = shelf.ready.pop() else {
            let first = shelf.pace.want() == 0;
            return Taken::Miss(if first { Miss::First } else { Miss::Empty });
        };
        let left = shelf.ready.len() as u32;
        shelf.pace.count(&self.settings, now, left, false);
        self.uncount(key);
        Taken::Hit {
            item,
            ring: self.feed(key, now),
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
        let left = shelf.ready.len() as u32;
        let settings = self.settings;
        if let Some(shelf) = self.shelves.get_mut(key) {
            shelf.pace.count(&settings, now, left, missed);
        }
        self.feed(key, now)
    }

    /// The program itself wants so many ready. True if there is work for the keeper.
    pub fn wish(&mut self, key: &Key, now: Instant, number: u32) -> Result<bool, Miss> {
        if let Some(why) = self.refusal(key) {
            return Err(why);
        }
        let settings = self.settings;
        let Some(shelf) = self.shelf(key, now) else {
            return Ok(false);
        };
        let ready = shelf.ready.len() as u32;
        shelf.pace.ask(&settings, now, number, ready);
        Ok(self.feed(key, now))
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
        let settings = &self.settings;
        Some(self.shelves.entry(*key).or_insert_with(|| Shelf {
            ready: Vec::new(),
            pace: Pace::new(settings, now),
            hungry: false,
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
    fn feed(&mut self, key: &Key, now: Instant) -> bool {
        let Some(shelf) = self.shelves.get_mut(key) else {
            return false;
        };
        if let Some(due) = shelf.pace.due() {
            self.review_at = Some(self.review_at.map_or(due, |at| at.min(due)));
        }
        let paused = |until: Option<Instant>| until.is_some_and(|until| until > now);
        let have = shelf.ready.len() as u32;
        let want = shelf.pace.want();
        if shelf.hungry || want == 0 || have * 2 > want || have >= want {
            return false;
        }
        if paused(shelf.pause) || paused(self.hold) {
            return false;
        }
        shelf.hungry = true;
        self.hungry.push_back(*key);
        true
    }

    /// What the keeper is to do now.
    pub fn next(&mut self, now: Instant) -> Job<T> {
        if self.review_at.is_some_and(|at| at <= now) {
            self.review(now);
        }
        if let Some((key, item)) = self.next_surplus() {
            let flight = self.depart(vec![key]);
            return Job::Drop { flight, item };
        }
        if let Some(key) = self.next_hungry() {
            let context = self.contexts.entry(key.context).or_default();
            context.qps += 1;
            context.cqs += key.own_cqs();
            let measure = context.limit.is_none();
            let flight = self.depart(vec![key]);
            return Job::Make {
                flight,
                key,
                measure,
            };
        }
        Job::Wait(self.review_at)
    }

    fn next_surplus(&mut self) -> Option<(Key, T)> {
        while let Some(key) = self.surplus.front().copied() {
            if let Some(shelf) = self.shelves.get_mut(&key).filter(|s| s.surplus > 0) {
                shelf.surplus -= 1;
                if !shelf.ready.is_empty() {
                    // The one that lies there longest.
                    let item = shelf.ready.remove(0);
                    self.uncount(&key);
                    return Some((key, item));
                }
                shelf.surplus = 0;
            }
            self.surplus.pop_front();
        }
        None
    }

    fn next_hungry(&mut self) -> Option<Key> {
        while let Some(key) = self.hungry.front().copied() {
            let room = self.has_room(&key);
            let sound = self.refusal(&key).is_none();
            if let Some(shelf) = self.shelves.get_mut(&key) {
                let wanted = (shelf.ready.len() as u32) < shelf.pace.want();
                if wanted && room && sound {
                    return Some(key);
                }
                shelf.hungry = false;
            }
            self.hungry.pop_front();
        }
        None
    }

    /// Does the device's share allow one more?
    fn has_room(&self, key: &Key) -> bool {
        let Some(context) = self.contexts.get(&key.context) else {
            return false;
        };
        context
            .limit
            .is_none_or(|(qps, cqs)| context.qps < qps && context.cqs + key.own_cqs() <= cqs)
    }

    /// The device's own limits. False if there is no room for the one that is being made.
    pub fn measured(&mut self, key: &Key, max_qp: u32, max_cq: u32) -> bool {
        let share = |max: u32| (u64::from(max) * u64::from(self.settings.share) / 100) as u32;
        let limit = (share(max_qp), share(max_cq));
        let context = self.contexts.entry(key.context).or_default();
        context.limit = Some(limit);
        context.qps <= limit.0 && context.cqs <= limit.1
    }

    /// One was made. Gives it back if it is to be destroyed, before `end(flight)`; else the flight
    /// has ended.
    pub fn arrived(&mut self, flight: u64, item: T) -> Option<T> {
        let at = self.flights.iter().position(|f| f.number == flight)?;
        let key = self.flights[at].keys.first().copied()?;
        if !self.flights[at].discard {
            if let Some(shelf) = self.shelves.get_mut(&key) {
                shelf.ready.push(item);
                self.flights.remove(at);
                return None;
            }
        }
        self.uncount(&key);
        Some(item)
    }

    /// None was made: the key is left alone for a while.
    pub fn failed(&mut self, flight: u64, now: Instant) {
        let found = self.flights.iter().find(|f| f.number == flight);
        let Some(key) = found.and_then(|f| f.keys.first()).copied() else {
            return;
        };
        self.uncount(&key);
        if let Some(shelf) = self.shelves.get_mut(&key) {
            shelf.pause = Some(now + self.settings.idle);
            shelf.hungry = false;
        }
        self.hungry.retain(|k| *k != key);
        self.end(flight);
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
        !self.flights.is_empty() || self.contexts.values().any(|c| c.qps > 0)
    }

    /// An object goes away, or all are to go. The object is unknown from now on.
    pub fn evict(&mut self, scope: Scope) -> Evicted<T> {
        let keys = self.keys_of(scope);
        self.forget(scope);
        let mut items = Vec::new();
        let mut taken = Vec::new();
        for key in keys {
            let Some(shelf) = self.shelves.remove(&key) else {
                continue;
            };
            for item in shelf.ready {
                self.uncount(&key);
                items.push(item);
            }
            taken.push(key);
        }
        for flight in &mut self.flights {
            flight.discard |= flight.keys.iter().any(|k| scope.covers(k));
        }
        let flight = self.depart(taken);
        Evicted { items, flight }
    }

    /// Memory or a limit of the device was met: nothing is made for a while.
    pub fn hold(&mut self, now: Instant) {
        self.hold = Some(now + self.settings.idle);
    }

    /// A ready one that fits, if any: for events that name one.
    pub fn any(&self, fits: impl Fn(&T) -> bool) -> bool {
        self.shelves.values().any(|s| s.ready.iter().any(&fits))
    }

    /// How many are ready.
    pub fn ready(&self) -> usize {
        self.shelves.values().map(|s| s.ready.len()).sum()
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

    fn forget(&mut self, scope: Scope) {
        match scope {
            Scope::Pd(pd) => drop(self.pds.remove(&pd)),
            Scope::Cq(cq) => drop(self.cqs.remove(&cq)),
            Scope::Srq(srq) => self.srqs.remove(&srq).unwrap_or_default(),
            Scope::Context(_) | Scope::All => {}
        }
    }

    fn depart(&mut self, keys: Vec<Key>) -> u64 {
        self.flight_number += 1;
        self.flights.push(Flight {
            number: self.flight_number,
            keys,
            discard: false,
        });
        self.flight_number
    }

    fn uncount(&mut self, key: &Key) {
        if let Some(context) = self.contexts.get_mut(&key.context) {
            context.qps = context.qps.saturating_sub(1);
            context.cqs = context.cqs.saturating_sub(key.own_cqs());
        }
    }

    /// Looks through the shelves whose period is over.
    fn review(&mut self, now: Instant) {
        let settings = self.settings;
        for (key, shelf) in &mut self.shelves {
            if shelf.pace.due().is_none_or(|due| due > now) {
                continue;
            }
            let ready = shelf.ready.len() as u32;
            shelf.surplus = shelf.pace.review(&settings, now, ready);
            if shelf.surplus > 0 {
                self.surplus.push_back(*key);
            }
        }
        self.review_at = self.shelves.values().filter_map(|s| s.pace.due()).min();
    }
}
