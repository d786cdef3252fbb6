//! How many of one key are to be ready: as many as were lately created in a short while.

use super::Settings;
use std::time::{Duration, Instant};

/// Creations that come within this time are to find all of them ready.
const WINDOW: Duration = Duration::from_millis(100);

/// The need of one key.
#[derive(Debug, Clone)]
pub struct Pace {
    want: u32,
    created: u64,
    /// With so many creations it is a habit.
    habit: u64,
    window: Instant,
    in_window: u32,
    /// End of the period after which the shelf is looked through.
    period_end: Instant,
    in_period: u64,
    /// Fewest that were ready in the period: nobody needed those.
    low: u32,
}

impl Pace {
    pub fn new(settings: &Settings, now: Instant) -> Pace {
        Pace {
            want: settings.warm.min(settings.max),
            created: 0,
            habit: 2,
            window: now,
            in_window: 0,
            period_end: now + settings.idle,
            in_period: 0,
            low: 0,
        }
    }

    /// It takes so many creations until some are made ahead.
    pub fn after(self, habit: u64) -> Pace {
        Pace { habit, ..self }
    }

    /// How many are to be ready.
    pub fn want(&self) -> u32 {
        self.want
    }

    /// How many creations there were, all in all.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// One was created or taken; `left` are ready still, and `missed` says that none had been.
    pub fn count(&mut self, settings: &Settings, now: Instant, left: u32, missed: bool) {
        if self.want == 0 {
            // Nothing was wanted: the time before does not count.
            self.begin_period(settings, now, left);
        }
        if now.saturating_duration_since(self.window) >= WINDOW {
            self.window = now;
            self.in_window = 0;
        }
        self.created += 1;
        self.in_window += 1;
        self.in_period += 1;
        self.low = self.low.min(left);
        if self.created < self.habit {
            return;
        }
        let grown = if missed { self.want * 2 } else { self.want };
        self.want = grown
            .max(self.in_window)
            .max(settings.min)
            .min(settings.max);
    }

    /// At least so many from now on, by the program's own wish.
    pub fn ask(&mut self, settings: &Settings, now: Instant, minimum: u32, ready: u32) {
        self.want = self.want.max(minimum.min(settings.max));
        self.begin_period(settings, now, ready);
        self.in_period = 1;
    }

    /// When the shelf is to be looked through; `None` while nothing is wanted.
    pub fn due(&self) -> Option<Instant> {
        (self.want > 0).then_some(self.period_end)
    }

    /// A period is over with so many ready: how many of them are to be given back.
    pub fn review(&mut self, settings: &Settings, now: Instant, ready: u32) -> u32 {
        let unused = if self.in_period == 0 {
            self.want = 0;
            ready
        } else {
            // Half of what was never touched: the next burst may come in the next period.
            let unused = self.low.min(ready).div_ceil(2);
            self.want = self
                .want
                .saturating_sub(unused)
                .max(settings.min)
                .min(settings.max);
            unused.min(ready.saturating_sub(self.want))
        };
        self.begin_period(settings, now, ready - unused);
        unused
    }

    fn begin_period(&mut self, settings: &Settings, now: Instant, ready: u32) {
        self.period_end = now + settings.idle;
        self.in_period = 0;
        self.low = ready;
    }
}
