//! What a call through an entry leaves: counts, the start or end of a phase, a record.

use super::count::{bump, measure};
use super::process_local::{self, Own, Words};
use super::recorder;
use super::starts::Step;
use super::{peer, probes, Counter, Entry, Phase};
use crate::abi::cm::RdmaCmId;
use crate::process::thread::Mark;
use crate::sys::clock::{self, Moment};
use cmshim_core::stats::layout::{COUNTERS, ENTRIES};
use cmshim_core::stats::{Record, What, RUNNING};
use std::any::Any;
use std::sync::atomic::Ordering;

/// A call that is under way. It has no destructor: the real call may never return.
#[derive(Debug, Clone, Copy)]
pub struct CallSpan {
    entry: Entry,
    id: usize,
    /// Of the recorder; none if the call is not recorded unless it fails.
    pub mark: Mark,
    /// 0 where the time is not needed.
    at_ns: u64,
    /// What the call's time counts as.
    phase: Option<Phase>,
    counted: bool,
}

/// The id among a call's arguments. An argument of another type is none.
#[inline]
pub fn id_of<T: Any>(argument: &T) -> *const RdmaCmId {
    let id = (argument as &dyn Any).downcast_ref::<*mut RdmaCmId>();
    id.map_or(std::ptr::null(), |id| id.cast_const())
}

/// The first one that is an id.
#[inline]
pub fn first_id(ids: &[*const RdmaCmId]) -> *const RdmaCmId {
    let first = ids.iter().find(|id| !id.is_null());
    first.copied().unwrap_or(std::ptr::null())
}

impl CallSpan {
    /// A call that nothing is counted for.
    pub const fn uncounted(entry: Entry) -> CallSpan {
        CallSpan {
            entry,
            id: 0,
            mark: Mark::NONE,
            at_ns: 0,
            phase: None,
            counted: false,
        }
    }

    /// A call begins.
    ///
    /// # Safety
    /// `id` is null or the program's id, valid during this call.
    pub unsafe fn now(entry: Entry, outermost: bool, id: *const RdmaCmId) -> CallSpan {
        let recorded = outermost && entry.recorded();
        let mut peer = Default::default();
        if recorded || entry == Entry::rdma_connect {
            // SAFETY: as promised by the caller.
            peer = unsafe { peer::of(id) };
        }
        if entry == Entry::rdma_connect {
            probes::connect(id as usize, &peer);
        }
        let Some((own, words)) = process_local::get().and_then(|own| Some((own, own.words()?)))
        else {
            return CallSpan::uncounted(entry);
        };
        bump(
            words,
            ENTRIES.item(entry as usize) + usize::from(!outermost),
            1,
        );
        let phase = own_phase(entry);
        let step = step(entry);
        let mut began = CallSpan {
            entry,
            id: id as usize,
            mark: Mark::NONE,
            at_ns: 0,
            phase,
            counted: true,
        };
        if recorded || phase.is_some() || step.is_some() {
            began.at_ns = clock::now_ns();
        }
        if let Some(step) = step {
            if entry == Entry::rdma_accept {
                finish(
                    own,
                    words,
                    id as usize,
                    Step::Request,
                    Phase::RequestToAccept,
                    began.at_ns,
                );
            }
            begin_step(own, words, id as usize, step, began.at_ns);
        }
        if recorded {
            began.mark = recorder::write(words, began.record(RUNNING, peer));
        }
        if matches!(entry, Entry::rdma_destroy_id | Entry::rdma_destroy_ep) {
            own.starts.forget(id as usize);
        }
        began
    }

    fn record(&self, status: i32, peer: cmshim_core::stats::Peer) -> Record {
        Record {
            number: 0,
            at_ns: self.at_ns,
            id: self.id as u64,
            what: What::Call(self.entry),
            status,
            peer,
            qp_num: 0,
            extra: 0,
        }
    }

    /// Its time counts as this phase: where the same entry may be served in two ways.
    pub fn counts_as(&mut self, phase: Phase) {
        self.phase = Some(phase);
    }

    /// When it began, if that was looked at.
    pub fn at(&self) -> Option<Moment> {
        (self.at_ns != 0).then(|| Moment::from_ns(self.at_ns))
    }

    /// The call returned; with the errno of its failure. The id may be gone.
    pub fn ends(&self, failed: Option<i32>) {
        if !self.counted {
            return;
        }
        let Some(words) = process_local::words() else {
            return;
        };
        if failed.is_some() {
            bump(words, ENTRIES.item(self.entry as usize) + 2, 1);
        }
        let mut took = 0;
        if let Some(phase) = self.phase {
            took = clock::now_ns().saturating_sub(self.at_ns);
            if failed.is_none() {
                measure(words, phase, took);
            }
        }
        if failed.is_none() && self.entry == Entry::rdma_establish {
            established(words, self.id);
        }
        self.keep(words, failed.unwrap_or(0), took);
    }

    /// Into the recorder: how it ended, or all of it if it failed and was not there yet.
    fn keep(&self, words: &Words, status: i32, took: u64) {
        if self.mark != Mark::NONE {
            recorder::end(words, self.mark, status, took);
        } else if status != 0 {
            let now = match self.at_ns {
                0 => clock::now_ns(),
                known => known,
            };
            let record = CallSpan {
                at_ns: now,
                ..*self
            }
            .record(status, Default::default());
            recorder::write(words, record);
        }
    }
}

/// Adds to a call's record what is known only after it.
pub fn learned(mark: Mark, id: Option<*const RdmaCmId>, qp_num: Option<u32>) {
    let Some(words) = process_local::words() else {
        return;
    };
    recorder::change(words, mark, |record| {
        if let Some(id) = id {
            record.id = id as u64;
        }
        if let Some(qp_num) = qp_num {
            record.qp_num = qp_num;
        }
    });
}

/// The phase that is the call itself.
fn own_phase(entry: Entry) -> Option<Phase> {
    match entry {
        Entry::ibv_create_qp => Some(Phase::CreateQpMiss),
        Entry::rdma_destroy_id => Some(Phase::Destroy),
        Entry::ibv_destroy_qp => Some(Phase::DestroyQpMiss),
        _ => None,
    }
}

/// The phase that begins with the call and ends with an event.
fn step(entry: Entry) -> Option<Step> {
    match entry {
        Entry::rdma_resolve_addr => Some(Step::ResolveAddr),
        Entry::rdma_resolve_route => Some(Step::ResolveRoute),
        Entry::rdma_connect => Some(Step::Connect),
        Entry::rdma_accept => Some(Step::Accept),
        Entry::rdma_disconnect => Some(Step::Disconnect),
        _ => None,
    }
}

/// An id without a queue pair of librdmacm is connected by rdma_establish: no event follows.
fn established(words: &Words, id: usize) {
    if let Some(own) = process_local::get() {
        finish(
            own,
            words,
            id,
            Step::Connect,
            Phase::Connect,
            clock::now_ns(),
        );
    }
}

/// Something begins.
pub(super) fn begin_step(own: &Own, words: &Words, name: usize, step: Step, now_ns: u64) {
    if !own.starts.begin(name, step, now_ns) {
        let lost = COUNTERS.item(Counter::TimesLost as usize);
        words[lost].fetch_add(1, Ordering::Relaxed);
    }
}

/// Something ends: its time counts. `None` if its start is not known.
pub(super) fn finish(
    own: &Own,
    words: &Words,
    name: usize,
    step: Step,
    phase: Phase,
    now_ns: u64,
) -> Option<u64> {
    let took = own.starts.end(name, step, now_ns)?;
    measure(words, phase, took);
    Some(took)
}
