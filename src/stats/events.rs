//! What an event leaves: counts, the end of a phase, a record.

use super::calls::{begin_step, finish};
use super::count::{bump, measure};
use super::process_local::{self, Own, Words};
use super::starts::Step;
use super::{peer, probes, recorder, Counter, Phase};
use crate::abi::cm::RdmaCmEvent;
use crate::sys::clock::{self, LazyNow};
use cmshim_core::codes::event as ev;
use cmshim_core::stats::layout::{COUNTERS, EVENTS};
use cmshim_core::stats::{Record, What, EVENT_KINDS};
use std::cell::Cell;

thread_local! {
    /// When the event that librdmacm takes in this thread's call was read from the kernel; 0: only now.
    static READ_AHEAD_AT: Cell<u64> = const { Cell::new(0) };
}

/// librdmacm takes an event that was read from the kernel then (0: only now).
#[inline]
pub fn read_ahead_at(ns: u64) {
    READ_AHEAD_AT.with(|at| at.set(ns));
}

/// An event was handed over, at the moment of `look`.
///
/// # Safety
/// `event` is null or an event that librdmacm just handed over, so its id is alive.
pub unsafe fn handed_over(event: *const RdmaCmEvent, look: &LazyNow) {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref() }) else {
        return;
    };
    probes::hand_over(e.id as usize, e.event, e.status);
    if matches!(e.event, ev::REJECTED | ev::UNREACHABLE | ev::CONNECT_ERROR) {
        probes::rejected(e.id as usize, e.event, e.status);
    }
    let Some((own, words)) = process_local::get().and_then(|own| Some((own, own.words()?))) else {
        if e.event == ev::ESTABLISHED {
            probes::established(e.id as usize, 0);
        }
        return;
    };
    let now = look.moment().ns();
    waited(words, now);
    let number = usize::try_from(e.event).map_or(EVENT_KINDS, |n| n.min(EVENT_KINDS));
    bump(words, EVENTS.item(number), 1);
    count(words, e);
    steps(own, words, e, now);
    // SAFETY: as promised by the caller.
    let peer = unsafe { peer::of(e.id) };
    recorder::write(
        words,
        Record {
            number: 0,
            at_ns: now,
            id: e.id as u64,
            what: What::Event(e.event as u16),
            status: e.status,
            peer,
            qp_num: 0,
            extra: match e.event {
                ev::CONNECT_REQUEST => e.listen_id as u64,
                _ => 0,
            },
        },
    );
}

/// How long the event lay ready, if it was read ahead.
pub(super) fn waited(words: &Words, now: u64) {
    match READ_AHEAD_AT.with(Cell::take) {
        0 => {}
        at => measure(words, Phase::EventWait, now.saturating_sub(at)),
    }
}

fn count(words: &Words, e: &RdmaCmEvent) {
    let one = |counter: Counter| bump(words, COUNTERS.item(counter as usize), 1);
    one(Counter::EventsUnacked);
    match e.event {
        ev::CONNECT_REQUEST => one(Counter::RequestsTaken),
        ev::ESTABLISHED if e.status == 0 => one(Counter::ConnectionsMade),
        ev::REJECTED | ev::UNREACHABLE | ev::CONNECT_ERROR => one(Counter::ConnectionsFailed),
        _ => {}
    }
}

/// Which phases of the id end or begin with the event.
fn steps(own: &Own, words: &Words, e: &RdmaCmEvent, now: u64) {
    let id = e.id as usize;
    let end = |step, phase| finish(own, words, id, step, phase, now);
    match e.event {
        ev::ADDR_RESOLVED => {
            end(Step::ResolveAddr, Phase::ResolveAddr);
        }
        ev::ROUTE_RESOLVED => {
            end(Step::ResolveRoute, Phase::ResolveRoute);
        }
        ev::CONNECT_REQUEST => begin_step(own, words, id, Step::Request, now),
        ev::ESTABLISHED if e.status == 0 => {
            let took = end(Step::Connect, Phase::Connect)
                .or_else(|| end(Step::Accept, Phase::AcceptToEstablished));
            probes::established(id, took.unwrap_or(0));
        }
        ev::DISCONNECTED => {
            end(Step::Disconnect, Phase::Disconnect);
        }
        // They end in failure: no time of theirs counts, and none is to be taken for a later try's.
        ev::ADDR_ERROR | ev::ROUTE_ERROR | ev::REJECTED | ev::UNREACHABLE | ev::CONNECT_ERROR => {
            own.starts.forget(id);
        }
        _ => {}
    }
    begin_step(own, words, std::ptr::from_ref(e) as usize, Step::Hold, now);
}

/// rdma_ack_cm_event begins.
pub fn acked(event: *const RdmaCmEvent) {
    let Some((own, words)) = process_local::get().and_then(|own| Some((own, own.words()?))) else {
        return;
    };
    if event.is_null() {
        return;
    }
    let unacked = COUNTERS.item(Counter::EventsUnacked as usize);
    bump(words, unacked, 1u64.wrapping_neg());
    finish(
        own,
        words,
        event as usize,
        Step::Hold,
        Phase::EventHold,
        clock::now_ns(),
    );
}
