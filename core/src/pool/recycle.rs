//! Recycling: a used queue pair waits out its quarantine, and then lies ready again. Only what the
//! configuration asks for, on a device that passed the reuse probe.

use super::answers::Scope;
use super::book::Book;
use super::hash::Map;
use super::{Caps, Key, Packed};
use std::time::Instant;

/// Peers that are remembered for having called one of ours stale.
const STALE_PEERS: usize = 64;

/// May queue pairs of a device be used again?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    #[default]
    NotAsked,
    /// The keeper tries it out, or will.
    Asked,
    Sound,
    Unsound,
}

/// One that the program has.
struct Live {
    key: Key,
    caps: Caps,
    /// It had an earlier life.
    recycled: bool,
    /// It was moved to a state in which it knows a peer.
    used: bool,
    /// No connection of it is left at the peer: DISCONNECTED, or REJECTED.
    over: bool,
    /// The peer's kernel called it stale.
    stale: bool,
    /// TIMEWAIT_EXIT was seen.
    rested: bool,
    /// Address of the peer; 0: none.
    peer: u128,
}

/// One that waits for the end of its quarantine.
struct Parked {
    key: Key,
    number: usize,
    caps: Caps,
    until: Instant,
    peer: u128,
    /// The id that it was connected by, until that goes away; 0: none.
    id: usize,
}

/// On its way from the program into quarantine.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaving {
    pub flight: u64,
    key: Key,
    number: usize,
    caps: Caps,
    rested: bool,
    peer: u128,
}

#[derive(Default)]
pub(super) struct Recycling {
    live: Map<usize, Live>,
    parked: Vec<Parked>,
    /// Numbers of those on the shelves that had an earlier life, and the peer of that.
    pub(super) came_back: Vec<(usize, u128)>,
    stale_peers: Vec<u128>,
    /// To be destroyed.
    to_destroy: Vec<(Key, usize, Caps)>,
    /// Devices to be tried out, by context.
    pub(super) to_probe: Vec<usize>,
    /// Queue pairs of a probe.
    scratch: Vec<usize>,
}

impl<T: Packed> Book<T> {
    /// The program has this one from now on. True if there is work for the keeper.
    pub fn lives(&mut self, key: &Key, number: usize, caps: Caps) -> bool {
        let Some(context) = self.contexts.get_mut(&key.context) else {
            return false;
        };
        if !self.settings.recycle || key.is_bundle() || context.verdict == Verdict::Unsound {
            return false;
        }
        let ask = context.verdict == Verdict::NotAsked;
        if ask {
            context.verdict = Verdict::Asked;
            self.recycling.to_probe.push(key.context);
        }
        let back = &mut self.recycling.came_back;
        let recycled = back.iter().position(|(n, _)| *n == number);
        let live = Live {
            key: *key,
            caps,
            recycled: recycled.map(|at| back.swap_remove(at)).is_some(),
            used: false,
            over: false,
            stale: false,
            rested: false,
            peer: 0,
        };
        self.recycling.live.insert(number, live);
        ask
    }

    /// Queue pairs of a probe begin, or are gone: their events are nobody's business.
    pub fn scratch(&mut self, numbers: &[usize]) {
        self.recycling.scratch = numbers.to_vec();
    }

    /// The keeper has tried the device out.
    pub fn probed(&mut self, context: usize, verdict: Verdict) {
        if let Some(context) = self.contexts.get_mut(&context) {
            context.verdict = verdict;
        }
        if verdict == Verdict::Unsound {
            self.recycling.live.retain(|_, l| l.key.context != context);
        }
    }

    /// This one is moved to a state in which it knows a peer, by whomever.
    pub fn used(&mut self, number: usize) {
        if let Some(live) = self.recycling.live.get_mut(&number) {
            live.used = true;
        }
    }

    /// Whatever has this number is another one, or will be.
    pub fn is_no_more(&mut self, number: usize) {
        self.recycling.live.remove(&number);
    }

    /// No connection of this one is left at the peer.
    pub fn over(&mut self, number: usize, peer: u128) {
        if let Some(live) = self.recycling.live.get_mut(&number) {
            live.over = true;
            live.peer = peer;
        }
    }

    /// The peer's kernel refused a connect of this one as stale: it holds on to old connections for
    /// longer than we think. Those that were connected to it are used no more. True if there is work for the keeper.
    pub fn stale(&mut self, number: usize, peer: u128) -> bool {
        let of = &mut self.recycling;
        let Some(live) = of.live.get_mut(&number).filter(|l| l.recycled) else {
            return false;
        };
        live.stale = true;
        if !of.stale_peers.contains(&peer) {
            if of.stale_peers.len() >= STALE_PEERS {
                of.stale_peers.remove(0);
            }
            of.stale_peers.push(peer);
        }
        let to_destroy = of.parked.extract_if(.., |p| p.peer == peer);
        of.to_destroy
            .extend(to_destroy.map(|p| (p.key, p.number, p.caps)));
        let back: Vec<_> = of.came_back.extract_if(.., |(_, p)| *p == peer).collect();
        for (key, shelf) in &mut self.shelves {
            let is_back = |item: &mut T| {
                let number = item.pack().map(|(number, _)| number);
                back.iter().any(|(n, _)| Some(*n) == number)
            };
            let items = shelf.ready.extract_if(.., is_back);
            let small = items.filter_map(|item| item.pack());
            of.to_destroy.extend(small.map(|(n, caps)| (*key, n, caps)));
        }
        !of.to_destroy.is_empty()
    }

    /// Had this one an earlier life?
    pub fn recycled(&self, number: usize) -> bool {
        let live = self.recycling.live.get(&number);
        live.is_some_and(|l| l.recycled)
    }

    /// TIMEWAIT_EXIT of an id, and of its queue pair if it still has one. True if there is work for the keeper.
    pub fn rested(&mut self, id: usize, number: usize, now: Instant) -> bool {
        if let Some(live) = self.recycling.live.get_mut(&number) {
            live.rested = true;
        }
        let parked = self.recycling.parked.iter_mut().find(|p| p.id == id);
        let found = parked.map(|p| p.until = p.until.min(now)).is_some();
        if found {
            self.review_at = Some(now);
        }
        found
    }

    /// The id goes away: its address may be another's soon.
    pub fn id_gone(&mut self, id: usize) {
        for parked in self.recycling.parked.iter_mut().filter(|p| p.id == id) {
            parked.id = 0;
        }
    }

    /// The program destroys this one; `asked`: it may have asked a peer for a connection. `None`: let it.
    pub fn leaves(&mut self, number: usize, asked: bool) -> Option<Leaving> {
        let live = self.recycling.live.remove(&number)?;
        let asked = asked || live.used;
        let key = live.key;
        let sound = self.contexts.get(&key.context).map(|c| c.verdict) == Some(Verdict::Sound);
        let over = live.over || !asked;
        let stale = live.stale || self.recycling.stale_peers.contains(&live.peer);
        let in_use = self.shelves.get(&key).is_some_and(|s| s.pace.want() > 0);
        let parked = self.recycling.parked.iter().filter(|p| p.key == key);
        let room = parked.count() < self.settings.max as usize && self.has_room(&key);
        if !(sound && over && !stale && in_use && room) || self.refusal(&key).is_some() {
            return None;
        }
        if let Some(context) = self.contexts.get_mut(&key.context) {
            context.qps += 1;
        }
        Some(Leaving {
            flight: self.start(vec![key]),
            key,
            number,
            caps: live.caps,
            rested: live.rested || !asked,
            peer: live.peer,
        })
    }

    /// It is in RESET: its quarantine begins. False if it is to be destroyed after all.
    pub fn park(&mut self, leaving: Leaving, id: usize, now: Instant) -> bool {
        let at = self.flights.iter().position(|f| f.number == leaving.flight);
        let discard = at.is_none_or(|at| self.flights.swap_remove(at).discard);
        if discard || !self.shelves.contains_key(&leaving.key) {
            self.uncount(&leaving.key, 1);
            return false;
        }
        let rest = if leaving.rested {
            Default::default()
        } else {
            self.settings.quarantine
        };
        let until = now + rest;
        self.review_at = Some(self.review_at.map_or(until, |at| at.min(until)));
        self.recycling.parked.push(Parked {
            key: leaving.key,
            number: leaving.number,
            caps: leaving.caps,
            until,
            peer: leaving.peer,
            id,
        });
        true
    }

    /// It could not be parked.
    pub fn let_go(&mut self, leaving: &Leaving) {
        self.uncount(&leaving.key, 1);
        self.end(leaving.flight);
    }

    /// How many are in quarantine.
    pub fn parked(&self) -> usize {
        self.recycling.parked.len()
    }

    /// Those whose quarantine is over lie ready from now on.
    pub(super) fn end_quarantine(&mut self, now: Instant) {
        let of = &mut self.recycling;
        for parked in of.parked.extract_if(.., |p| p.until <= now) {
            match self.shelves.get_mut(&parked.key) {
                Some(shelf) if shelf.have() < self.settings.max => {
                    shelf.ready.push(T::unpack(parked.number, parked.caps));
                    of.came_back.push((parked.number, parked.peer));
                }
                _ => of.to_destroy.push((parked.key, parked.number, parked.caps)),
            }
        }
    }

    /// When the next quarantine is over.
    pub(super) fn next_rested(&self) -> Option<Instant> {
        self.recycling.parked.iter().map(|p| p.until).min()
    }

    /// One to be destroyed.
    pub(super) fn next_doomed(&mut self) -> Option<(Key, T)> {
        let (key, number, caps) = self.recycling.to_destroy.pop()?;
        self.uncount(&key, 1);
        Some((key, T::unpack(number, caps)))
    }

    /// Takes out those of this scope, and those keys.
    pub(super) fn evict_parked(&mut self, scope: Scope, items: &mut Vec<T>, keys: &mut Vec<Key>) {
        let of = &mut self.recycling;
        of.to_probe.retain(|c| scope != Scope::Context(*c));
        let parked = of.parked.extract_if(.., |p| scope.covers(&p.key));
        let parked = parked.map(|p| (p.key, p.number, p.caps));
        let mut gone: Vec<_> = parked.collect();
        gone.extend(of.to_destroy.extract_if(.., |d| scope.covers(&d.0)));
        for (key, number, caps) in gone {
            self.uncount(&key, 1);
            items.push(T::unpack(number, caps));
            keys.push(key);
        }
        for item in items.iter() {
            let number = item.pack().map(|(number, _)| number);
            self.recycling.came_back.retain(|(n, _)| Some(*n) != number);
        }
    }

    /// One of these that no event is to tell of.
    pub(super) fn any_apart(&self, fits: &impl Fn(&T) -> bool) -> bool {
        let of = &self.recycling;
        let parked = of.parked.iter().map(|p| p.number);
        let to_destroy = of.to_destroy.iter().map(|(_, number, _)| *number);
        let mut all = parked.chain(to_destroy).chain(of.scratch.iter().copied());
        all.any(|number| fits(&T::unpack(number, Caps::default())))
    }
}
