//! What all processes of the host under one policy count together: live connections and rates of each tenant.
//!
//! Each process has a slot in a file of its user and changes only its own counts, so one that is killed leaves nothing
//! wrong behind: its slot's lock is free, and whoever meets a limit next does not count it. Files of other users are only
//! read (`others`).

use super::map::{self, lives, Joined, Open, Table};
use super::others::Others;
use crate::stats::place::Place;
use crate::sys;
use crate::sys::clock::now_ns;
use cmshim_core::stats::places;
use cmshim_core::tenant::share::{beginning, header, places_of, row, slot as slot_words, SLOTS};
use cmshim_core::tenant::{tokens, Rate, Subject};
use cmshim_core::text::packed;
use std::path::{Path, PathBuf};
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// How often dead processes are looked for while a limit is met.
const REAP_EVERY_NS: u64 = 20_000_000;

/// What is counted of one tenant beside live connections.
#[derive(Debug, Clone, Copy)]
pub enum Tally {
    Allowed = row::ALLOWED as isize,
    Denied = row::DENIED as isize,
    OverLimit = row::OVER_LIMIT as isize,
    Rate = row::RATE as isize,
    Observed = row::WOULD_REFUSE as isize,
}

/// Why a connection may not be, or cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// So many are taken.
    Full(u64),
    /// There will be a token in so many ns.
    Late(u64),
    /// What others count cannot be seen.
    Uncounted,
}

/// This process's part of the table.
pub struct Share {
    table: &'static Table,
    slot: usize,
    /// `None` if the table is this process's alone.
    others: Option<Others>,
    /// Why processes of other users do not count here, if that is worth a line.
    apart: Option<String>,
    reaped_at: AtomicU64,
}

impl Share {
    /// In the first place that takes it; else, what the last one said.
    pub fn open(dir: Option<&str>, policy: &str) -> Result<Share, String> {
        // SAFETY: no argument, never fails.
        let uid = unsafe { libc::geteuid() };
        Share::open_in(&places::for_writing(dir, uid), policy)
    }

    pub(super) fn open_in(places: &[PathBuf], policy: &str) -> Result<Share, String> {
        let mut whys = Vec::new();
        let several = places.len() > 1;
        let mut there = places.iter().filter(|_| several).enumerate();
        let beside = there.find_map(|(at, path)| Some((at, Share::beside(path, policy)?)));
        if let Some((at, mut share)) = beside {
            let why = "processes of this user count there already";
            share.apart = (at > 0).then(|| why.to_owned());
            return Ok(share);
        }
        for path in places {
            match Share::at(path, policy) {
                Ok(mut share) => {
                    share.apart = whys.into_iter().next().or(share.apart);
                    return Ok(share);
                }
                Err(number) => whys.push(crate::stats::describe_failure(path, number)),
            }
        }
        Err(whys.pop().unwrap_or_default())
    }

    /// Where it is, and why processes of other users do not count there, if that is so.
    pub fn aside(&self) -> Option<(&Path, &str)> {
        let (path, _) = self.others.as_ref()?.place();
        Some((path, self.apart.as_deref()?))
    }

    fn at(path: &Path, policy: &str) -> Result<Share, i32> {
        let place = Place::open(path)?;
        Share::with(path, &place, map::join(&place, policy)?, policy)
    }

    /// With processes of this user that count there already: they stay where they are if a better place can be used later.
    fn beside(path: &Path, policy: &str) -> Option<Share> {
        let place = Place::existing(path).ok()?;
        let joined = map::join_live(&place, policy)?;
        Share::with(path, &place, joined, policy).ok()
    }

    fn with(path: &Path, place: &Place, joined: Joined, policy: &str) -> Result<Share, i32> {
        let others = Others::new(
            path.to_owned(),
            beginning(policy.as_bytes()),
            joined.name,
            place,
        )?;
        let share = Share {
            table: joined.table,
            slot: joined.slot,
            others: Some(others),
            apart: None,
            reaped_at: AtomicU64::new(0),
        };
        share.begin();
        Ok(share)
    }

    /// A table of this process alone: its limits hold for no other.
    pub fn alone(policy: &str) -> Option<Share> {
        let share = Share {
            table: map::private(policy).ok()?,
            slot: 0,
            others: None,
            apart: None,
            reaped_at: AtomicU64::new(0),
        };
        share.begin();
        Some(share)
    }

    /// Do the counts hold for all processes?
    pub fn shared(&self) -> bool {
        self.others.is_some()
    }

    fn begin(&self) {
        self.clear(self.slot);
        let words = &self.table.slots[self.slot];
        words[slot_words::START_TIME].store(sys::start_time().unwrap_or(0), Ordering::Relaxed);
        let name = packed::pack::<{ slot_words::COMM_WORDS }>(&sys::program_name());
        for (to, from) in words[slot_words::COMM..].iter().zip(name) {
            to.store(from, Ordering::Relaxed);
        }
        words[slot_words::PID].store(u64::from(std::process::id()), Ordering::Release);
        let used = self.slot as u64 + 1;
        self.table.header[header::SLOTS_USED].fetch_max(used, Ordering::AcqRel);
    }

    /// Nothing is counted in the slot any more.
    fn clear(&self, slot: usize) {
        for row in &self.table.rows {
            if row.counts[slot].load(Ordering::Relaxed) != 0 {
                row.counts[slot].store(0, Ordering::Relaxed);
            }
        }
        for word in &self.table.slots[slot] {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// What is in effect in this process.
    pub fn publish(&self, fingerprint: u64, state: u64, reloads: u64) {
        let words = &self.table.slots[self.slot];
        words[slot_words::FINGERPRINT].store(fingerprint, Ordering::Relaxed);
        words[slot_words::LOADED_AT].store(crate::sys::clock::realtime_ns(), Ordering::Relaxed);
        words[slot_words::RELOADS].store(reloads, Ordering::Relaxed);
        words[slot_words::STATE].store(state, Ordering::Release);
    }

    /// The file on disk is broken, and what was in effect stays.
    pub fn mark_broken(&self) {
        let state = &self.table.slots[self.slot][slot_words::STATE];
        state.fetch_or(slot_words::BROKEN, Ordering::AcqRel);
    }

    /// The row of a key, claimed if need be; `None` where all are taken.
    pub fn row(&self, key: u64, name: &str) -> Option<usize> {
        let key = key.max(1);
        places_of(key).find(|at| {
            let words = &self.table.rows[*at].words;
            let claimed =
                words[row::KEY].compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            if claimed.is_ok() {
                let name_words = &words[row::NAME..];
                for (to, from) in name_words
                    .iter()
                    .zip(packed::pack::<{ row::NAME_WORDS }>(name))
                {
                    to.store(from, Ordering::Relaxed);
                }
            }
            claimed.is_ok() || claimed == Err(key)
        })
    }

    /// The limit that holds now, for those who look.
    pub fn set_limit(&self, at: usize, subject: &Subject) {
        let limit = subject.max_connections.unwrap_or(0);
        self.table.rows[at].words[row::LIMIT].store(limit.into(), Ordering::Relaxed);
    }

    pub fn count(&self, at: usize, what: Tally) {
        self.table.rows[at].words[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Live connections of the row, in all files. `alive`: only those of processes that live, which costs a question for
    /// each.
    fn live(&self, at: usize, alive: bool, blind: bool) -> Result<u64, i32> {
        let row = &self.table.rows[at];
        let used = self.table.header[header::SLOTS_USED].load(Ordering::Acquire);
        let file = match alive {
            true => self.own_file(libc::O_RDONLY),
            false => None,
        };
        let counted = |slot: &usize| match &file {
            Some(file) => *slot == self.slot || lives(file, *slot),
            None => true,
        };
        let slots = 0..SLOTS.min(used as usize);
        let counts = slots.map(|slot| (slot, row.counts[slot].load(Ordering::SeqCst)));
        let own: u64 = counts
            .filter(|(slot, count)| *count != 0 && counted(slot))
            .map(|(_, count)| u64::from(count))
            .sum();
        // Its descriptor may be the last one that this process may have.
        drop(file);
        let Some(others) = &self.others else {
            return Ok(own);
        };
        let key = row.words[row::KEY].load(Ordering::Acquire);
        Ok(own.saturating_add(others.ask(key, alive, blind)?.live))
    }

    /// This user's file, to look at its locks.
    fn own_file(&self, how: libc::c_int) -> Option<std::os::fd::OwnedFd> {
        let (path, name) = self.others.as_ref()?.place();
        let place = Place::open(path).ok()?;
        map::open(&place, name, how).ok()
    }

    /// Takes a place. Two processes that reach for the last one at once may both miss it, but never both get it: each adds
    /// before it looks, so one at least sees the other, in whichever file. `blind`: users who cannot be seen do not count.
    pub fn acquire(&self, at: usize, limit: Option<u32>, blind: bool) -> Result<(), Short> {
        let own = &self.table.rows[at].counts[self.slot];
        let mut short = Short::Uncounted;
        for attempt in 0..3 {
            self.acquire_anyway(at);
            let Some(limit) = limit else {
                return Ok(());
            };
            // Not only those who map this file have to see it, before theirs are read.
            fence(Ordering::SeqCst);
            match self.live(at, attempt > 0, blind) {
                Ok(sum) if sum <= u64::from(limit) => return Ok(()),
                Ok(sum) => short = Short::Full(sum - 1),
                Err(_) => short = Short::Uncounted,
            }
            own.fetch_sub(1, Ordering::AcqRel);
            match attempt {
                0 => self.reap(),
                _ => std::thread::yield_now(),
            }
        }
        Err(short)
    }

    /// Takes a place, whether there is one or not.
    pub fn acquire_anyway(&self, at: usize) {
        self.table.rows[at].counts[self.slot].fetch_add(1, Ordering::SeqCst);
    }

    /// Gives a place back.
    pub fn release(&self, at: usize) {
        let own = &self.table.rows[at].counts[self.slot];
        let _ = own.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
    }

    /// Takes a token of the row's bucket.
    pub fn token(&self, at: usize, rate: &Rate, blind: bool) -> Result<(), Short> {
        let words = &self.table.rows[at].words;
        let key = words[row::KEY].load(Ordering::Acquire);
        let others = || match &self.others {
            Some(others) => Ok(others.ask(key, false, blind)?.arrival_ns),
            None => Ok(0),
        };
        match tokens::take_among(&words[row::ARRIVAL], others, now_ns(), rate) {
            Ok(taken) => taken.map_err(Short::Late),
            Err::<_, i32>(_) => Err(Short::Uncounted),
        }
    }

    /// Takes the counts of dead processes of this user away. Looked for once in a while: that they are not counted does
    /// not depend on it, but it saves those who meet a limit the questions.
    fn reap(&self) {
        let (now, last) = (now_ns(), self.reaped_at.load(Ordering::Relaxed));
        if now.saturating_sub(last) < REAP_EVERY_NS
            || self
                .reaped_at
                .compare_exchange(last, now, Ordering::AcqRel, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let Some((path, name)) = self.others.as_ref().map(Others::place) else {
            return;
        };
        let Ok(open) = Place::open(path).and_then(|place| Open::existing(&place, name)) else {
            return;
        };
        let used = self.table.header[header::SLOTS_USED].load(Ordering::Acquire);
        for slot in (0..SLOTS.min(used as usize)).filter(|slot| *slot != self.slot) {
            let pid = self.table.slots[slot][slot_words::PID].load(Ordering::Acquire);
            if pid != 0 && open.lock_slot(slot) {
                self.clear(slot);
                open.unlock_slot(slot);
            }
        }
    }
}
