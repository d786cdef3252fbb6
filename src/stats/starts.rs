//! What has begun and not ended: from the start of a phase of an id (or of an event's hold) to its end.
//!
//! A fixed table of atomic words, so that no lock, no allocation and no masked signal is
//! needed: whoever leaves in the middle, by longjmp or cancellation, leaves it usable. An id's phases share
//! one line of the cache.

use std::sync::atomic::{AtomicU64, Ordering};

const LINES: usize = 1 << 15;
const SLOTS: usize = 4;

/// What begins. Never 0: that is an empty slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    ResolveAddr = 1,
    ResolveRoute = 2,
    Connect = 3,
    Request = 4,
    Accept = 5,
    Disconnect = 6,
    Hold = 7,
}

/// One start: whose, and when.
#[repr(C)]
struct Slot {
    /// Name and step; 0 is empty.
    key: AtomicU64,
    at_ns: AtomicU64,
}

#[repr(C, align(64))]
struct Line([Slot; SLOTS]);

/// The table. All zero is empty.
#[repr(C)]
pub struct OpenSpans([Line; LINES]);

/// Addresses have 48 bits (57 on machines with five levels of page tables, which no program gets unasked).
fn key(name: usize, step: Step) -> u64 {
    (name as u64) << 8 | step as u64
}

/// Neighbours on the heap are neighbours here, so that ids and events in use touch few pages. Nothing that is a line
/// or more away in the same 2 MiB shares one; where these begin is scattered.
fn line(name: usize) -> usize {
    let (near, far) = (name / size_of::<Line>(), name / size_of::<OpenSpans>());
    let scattered = (far as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (near ^ scattered as usize) % LINES
}

impl OpenSpans {
    /// It begins now. False if an older start had to go to make room.
    pub fn begin(&self, name: usize, step: Step, now_ns: u64) -> bool {
        let key = key(name, step);
        let slots = &self.0[line(name)].0;
        let mine = |slot: &&Slot| slot.key.load(Ordering::Relaxed) == key;
        let empty = |slot: &&Slot| {
            let taken = slot
                .key
                .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        };
        if let Some(slot) = slots.iter().find(mine).or_else(|| slots.iter().find(empty)) {
            slot.at_ns.store(now_ns, Ordering::Release);
            return true;
        }
        let oldest = slots
            .iter()
            .min_by_key(|slot| slot.at_ns.load(Ordering::Relaxed));
        if let Some(slot) = oldest {
            slot.key.store(key, Ordering::Relaxed);
            slot.at_ns.store(now_ns, Ordering::Release);
        }
        false
    }

    /// It ends now: how long it took, in ns; `None` if no start is known.
    pub fn end(&self, name: usize, step: Step, now_ns: u64) -> Option<u64> {
        let key = key(name, step);
        let slots = &self.0[line(name)].0;
        let slot = slots
            .iter()
            .find(|s| s.key.load(Ordering::Relaxed) == key)?;
        let began = slot.at_ns.load(Ordering::Acquire);
        // Whoever takes the key out has ended it.
        let taken = slot
            .key
            .compare_exchange(key, 0, Ordering::Relaxed, Ordering::Relaxed);
        // Another thread's look at the clock may lie a little before the start.
        taken.is_ok().then(|| now_ns.saturating_sub(began))
    }

    /// The name goes away, and may be another's soon.
    pub fn forget(&self, name: usize) {
        for slot in &self.0[line(name)].0 {
            let key = slot.key.load(Ordering::Relaxed);
            if key != 0 && key >> 8 == name as u64 {
                // Only this very start: another thread may have put its own there meanwhile.
                let _ = slot
                    .key
                    .compare_exchange(key, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<OpenSpans> {
        let layout = std::alloc::Layout::new::<OpenSpans>();
        // SAFETY: all zero is a valid table, and the layout is its own.
        unsafe { Box::from_raw(std::alloc::alloc_zeroed(layout).cast()) }
    }

    #[test]
    fn a_start_is_found_once_and_by_its_own_step_only() {
        let starts = empty();
        assert!(starts.begin(0x5000, Step::Connect, 64_000));
        assert_eq!(starts.end(0x5000, Step::Accept, 96_000), None);
        assert_eq!(starts.end(0x5010, Step::Connect, 96_000), None);
        assert_eq!(starts.end(0x5000, Step::Connect, 96_000), Some(32_000));
        assert_eq!(starts.end(0x5000, Step::Connect, 96_000), None);
    }

    #[test]
    fn a_new_start_takes_the_place_of_an_old_one() {
        let starts = empty();
        starts.begin(0x5000, Step::Connect, 0);
        starts.begin(0x5000, Step::Connect, 640);
        assert_eq!(starts.end(0x5000, Step::Connect, 704), Some(64));
        assert_eq!(starts.end(0x5000, Step::Connect, 704), None);
    }

    #[test]
    fn what_is_forgotten_does_not_end() {
        let starts = empty();
        starts.begin(0x5000, Step::Connect, 1);
        starts.begin(0x5000, Step::Disconnect, 1);
        starts.forget(0x5000);
        assert_eq!(starts.end(0x5000, Step::Connect, 2), None);
        assert_eq!(starts.end(0x5000, Step::Disconnect, 2), None);
    }

    #[test]
    fn ten_thousand_at_once_have_room() {
        // Ids alone, and ids with more beside each, up to such as fill whole pages or 2 MiB.
        for apart in [0x1b0, 0x490, 0x1000, 0x2440, 0x1_0000, 0x20_0000] {
            let starts = empty();
            let names = || (0..10_000usize).map(|n| 0x7f00_0000_0000 + n * apart);
            let lost = names()
                .filter(|n| !starts.begin(*n, Step::Connect, 1_000))
                .count();
            let found = names()
                .filter(|n| starts.end(*n, Step::Connect, 2_000).is_some())
                .count();
            assert!(lost <= 10, "{lost} lost, {apart:#x} apart");
            assert_eq!(found + lost, 10_000);
        }
    }

    #[test]
    fn neighbours_share_pages_and_no_line() {
        let lines: std::collections::BTreeSet<usize> =
            (0..64).map(|n| line(0x7f00_0010_0000 + n * 64)).collect();
        assert_eq!(lines.len(), 64);
        let pages: std::collections::BTreeSet<usize> = lines.iter().map(|l| l / 64).collect();
        assert_eq!(pages.len(), 1);
    }

    #[test]
    fn a_full_line_loses_its_oldest() {
        let starts = empty();
        let wanted = line(0x10);
        let names: Vec<usize> = (1..)
            .filter(|n| line(n << 4) == wanted)
            .take(5)
            .map(|n| n << 4)
            .collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(starts.begin(*name, Step::Hold, at as u64 * 320), at < 4);
        }
        assert_eq!(starts.end(names[0], Step::Hold, 9_600), None);
        assert_eq!(
            starts.end(names[4], Step::Hold, 9_600),
            Some(9_600 - 4 * 320)
        );
        starts.begin(0x5000, Step::Accept, 6_400);
        let clocks_of_two_threads = starts.end(0x5000, Step::Accept, 3_200);
        assert_eq!(clocks_of_two_threads, Some(0));
    }
}
