//! What the files of a program and its children say together.

use cmshim_core::stats::{Counter, Histogram, Phase, BATCH_SIZES};

use rustix::process::geteuid;

use super::Subject;
use crate::stats::age::Now;
use crate::stats::open::Found;
use crate::stats::overview::value;

/// The files of the program's family.
pub struct Sum<'a> {
    pub files: Vec<&'a Found>,
    /// The program's own among them, if it has one.
    pub own: Option<&'a Found>,
}

impl<'a> Sum<'a> {
    pub fn of(found: &'a [Found], subject: &Subject) -> Sum<'a> {
        // Start times count from the boot.
        let boot_id = Now::here().boot_id;
        let user = geteuid();
        // It may have emptied its environment, with the number of the family in it. Everybody knows its process id.
        let own = |f: &&Found| {
            let header = &f.stats.header;
            (header.pid, header.start_time) == (subject.pid, subject.start_time)
                && header.uid == user.as_raw()
        };
        // Only root's programs can become another user's.
        let family = |f: &&Found| {
            let header = &f.stats.header;
            header.family == subject.family && (user.is_root() || header.uid == user.as_raw())
        };
        let mine = |f: &&Found| (family(f) || own(f)) && boot_id == Some(f.stats.header.boot_id);
        let files: Vec<&Found> = found.iter().filter(mine).collect();
        // It has several where it executed another program: the last one tells how it ended.
        let own = files.iter().copied().rfind(own);
        Sum { files, own }
    }

    /// Where to look further: the program's own file, or the one with the most failures.
    pub fn most_telling(&self) -> Option<&'a Found> {
        let failures = |f: &Found| {
            let counts = f.stats.reasons.iter().map(|reason| reason.count);
            counts.fold(0, u64::saturating_add)
        };
        let worst = || self.files.iter().copied().max_by_key(|f| failures(f));
        self.own.or_else(worst)
    }

    pub fn counter(&self, counter: Counter) -> u64 {
        self.add(|f| value(&f.stats, counter))
    }

    pub fn phase(&self, phase: Phase) -> Histogram {
        let mut sum = Histogram::default();
        for file in &self.files {
            sum.merge(&file.stats.phase(phase));
        }
        sum
    }

    /// System calls that asked for events, also those that found none.
    pub fn reads(&self) -> u64 {
        let all = |f: &Found| {
            (0..BATCH_SIZES)
                .map(|size| f.stats.batches(size))
                .fold(0, u64::saturating_add)
        };
        self.add(all)
    }

    pub fn add(&self, of: impl Fn(&Found) -> u64) -> u64 {
        self.files
            .iter()
            .map(|f| of(f))
            .fold(0, u64::saturating_add)
    }
}
