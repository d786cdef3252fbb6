//! What all processes of the host under one policy count together: live connections and rates of each tenant.
//!
//! Each process has a slot and changes only its own counts, so one that is killed leaves nothing wrong behind: its
//! slot's lock is free, and whoever meets a limit next takes its counts away.

use super::map::{self, Open, Table};
use crate::stats::now_ns;
use crate::stats::place::Place;
use crate::sys;
use cmshim_core::stats::places;
use cmshim_core::tenant::share::{file_name, header, row, slot as slot_words, ROWS, SLOTS};
use cmshim_core::tenant::{tokens, Rate, Subject};
use cmshim_core::text::packed;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// This process's part of the table.
pub struct Share {
    table: &'static Table,
    slot: usize,
    /// Where the file is; `None` if the table is this process's alone.
    place: Option<(PathBuf, CString)>,
    /// What the first place said, if it is in a later one.
    passed_over: Option<String>,
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
        let name = CString::new(file_name(policy.as_bytes())).map_err(|e| e.to_string())?;
        let mut whys = Vec::new();
        for path in places {
            let shown = path.display();
            let why = match Share::at(path, &name, policy) {
                Ok(mut share) => {
                    share.passed_over = whys.into_iter().next();
                    return Ok(share);
                }
                Err(libc::EUSERS) => format!("{shown}: all {SLOTS} places are taken"),
                Err(libc::EUCLEAN) => {
                    format!(
                        "{shown}/{}: not made by this version",
                        name.to_string_lossy()
                    )
                }
                Err(number) => crate::stats::told(path, number),
            };
            whys.push(why);
        }
        Err(whys.pop().unwrap_or_default())
    }

    /// Where it is and why not in the first place, if so: processes of other users do not count there.
    pub fn aside(&self) -> Option<(&Path, &str)> {
        let (path, _) = self.place.as_ref()?;
        Some((path, self.passed_over.as_deref()?))
    }

    fn at(path: &Path, name: &CString, policy: &str) -> Result<Share, i32> {
        let place = Place::open(path)?;
        let open = Open::or_make(&place, name, policy)?;
        let slot = (0..SLOTS)
            .find(|slot| open.lock_slot(*slot))
            .ok_or(libc::EUSERS)?;
        let share = Share {
            table: open.map()?,
            slot,
            place: Some((path.to_owned(), name.clone())),
            passed_over: None,
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
            place: None,
            passed_over: None,
            reaped_at: AtomicU64::new(0),
        };
        share.begin();
        Some(share)
    }

    /// Do the counts hold for all processes?
    pub fn shared(&self) -> bool {
        self.place.is_some()
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
        for count in &self.table.counts[slot] {
            if count.load(Ordering::Relaxed) != 0 {
                count.store(0, Ordering::Relaxed);
            }
        }
        for word in &self.table.slots[slot] {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// What is in effect in this process.
    pub fn tell(&self, fingerprint: u64, state: u64, reloads: u64) {
        let words = &self.table.slots[self.slot];
        words[slot_words::FINGERPRINT].store(fingerprint, Ordering::Relaxed);
        words[slot_words::LOADED_AT].store(crate::stats::realtime_ns(), Ordering::Relaxed);
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
        let first = (key % ROWS as u64) as usize;
        (0..ROWS).map(|step| (first + step) % ROWS).find(|at| {
            let claimed = self.table.rows[*at][row::KEY].compare_exchange(
                0,
                key,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if claimed.is_ok() {
                let words = &self.table.rows[*at][row::NAME..];
                for (to, from) in words.iter().zip(packed::pack::<{ row::NAME_WORDS }>(name)) {
                    to.store(from, Ordering::Relaxed);
                }
            }
            claimed.is_ok() || claimed == Err(key)
        })
    }

    /// The limit that holds now, for those who look.
    pub fn set_limit(&self, at: usize, subject: &Subject) {
        let limit = subject.max_connections.unwrap_or(0);
        self.table.rows[at][row::LIMIT].store(limit.into(), Ordering::Relaxed);
    }

    pub fn count(&self, at: usize, what: Tally) {
        self.table.rows[at][what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Live connections of the row, on the whole host.
    fn live(&self, at: usize) -> u64 {
        let used = self.table.header[header::SLOTS_USED].load(Ordering::Acquire);
        let slots = self.table.counts.iter().take(used as usize);
        slots
            .map(|counts| u64::from(counts[at].load(Ordering::SeqCst)))
            .sum()
    }

    /// Takes a place; with how many are taken if there is none left. Two processes that reach for the last place at
    /// once may both miss it, but never both get it: each adds before it looks, and all see that in one order.
    pub fn sit(&self, at: usize, limit: Option<u32>) -> Result<u64, u64> {
        let own = &self.table.counts[self.slot][at];
        let mut used = 0;
        for attempt in 0..3 {
            own.fetch_add(1, Ordering::SeqCst);
            let sum = self.live(at);
            if limit.is_none_or(|limit| sum <= u64::from(limit)) {
                return Ok(sum);
            }
            own.fetch_sub(1, Ordering::AcqRel);
            used = sum - 1;
            if attempt == 0 && !self.reap() {
                std::hint::spin_loop();
            }
        }
        Err(used)
    }

    /// Gives a place back.
    pub fn leave(&self, at: usize) {
        let own = &self.table.counts[self.slot][at];
        let _ = own.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
    }

    /// Takes a token of the row's bucket; else, in how many ns there will be one.
    pub fn token(&self, at: usize, rate: &Rate) -> Result<(), u64> {
        tokens::take(&self.table.rows[at][row::ARRIVAL], now_ns(), rate)
    }

    /// Takes the counts of dead processes away; true if there were any. Looked for once in a while, since the file
    /// has to be opened for it.
    fn reap(&self) -> bool {
        let Some((path, name)) = &self.place else {
            return false;
        };
        let (now, last) = (now_ns(), self.reaped_at.load(Ordering::Relaxed));
        if now.saturating_sub(last) < REAP_EVERY_NS
            || self
                .reaped_at
                .compare_exchange(last, now, Ordering::AcqRel, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        let Ok(open) = Place::open(path).and_then(|place| Open::existing(&place, name)) else {
            return false;
        };
        let used = self.table.header[header::SLOTS_USED].load(Ordering::Acquire);
        let others = (0..SLOTS.min(used as usize)).filter(|slot| *slot != self.slot);
        let mut found = false;
        for slot in others {
            let pid = self.table.slots[slot][slot_words::PID].load(Ordering::Acquire);
            if pid != 0 && open.lock_slot(slot) {
                self.clear(slot);
                open.unlock_slot(slot);
                found = true;
            }
        }
        found
    }
}
