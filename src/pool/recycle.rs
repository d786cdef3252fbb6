//! Recycling: a queue pair that the program destroys is parked, and given out again later. What may come
//! back and when is decided in `cmshim_core::pool`; here it is moved to RESET, and devices are tried out.

use super::counts::increment;
use super::probe::{is_reset, Probe};
use super::{enabled, ring};
use crate::abi::cm::{RdmaCmEvent, RdmaCmId};
use crate::abi::verbs::{IbvContext, IbvQp, QP_STATE};
use crate::abi::verbs::{IbvQpAttr, RESET};
use crate::diagnosis::state::{records, QpRecord, State};
use crate::process::shim::Shim;
use crate::real;
use crate::stats::{self, Counter};
use crate::sys::lock::lock;
use cmshim_core::codes::event;
use cmshim_core::model::Stage;
use cmshim_core::pool::Verdict;
use std::ffi::CStr;
use std::time::Instant;

/// REJECTED with this status: the peer's kernel believes the queue pair connected (IB_CM_REJ_STALE_CONN).
const STALE: i32 = 10;

pub fn on(shim: &Shim) -> bool {
    shim.config.pool.recycle && enabled(shim)
}

/// `ibv_destroy_qp` begins. True if the queue pair is parked, and the real call is not to be made.
///
/// # Safety
/// `qp` is the program's queue pair; `record` was taken out for it.
pub unsafe fn parks(shim: &'static Shim, qp: *mut IbvQp, record: Option<&QpRecord>) -> bool {
    if !on(shim) || qp.is_null() {
        return false;
    }
    let pool = super::state();
    if record.is_some_and(|r| !r.unacked.is_empty()) {
        pool.with(shim, |book| book.is_no_more(qp as usize));
        return false;
    }
    // SAFETY: as promised by the caller.
    let fresh = unsafe { (*qp).state } == RESET;
    let asked = asked(records(), record, fresh);
    let Some(leaving) = pool.with(shim, |book| book.leaves(qp as usize, asked)) else {
        return false;
    };
    let id = record.and_then(|r| r.id).map_or(0, |id| id.0);
    let now = Instant::now();
    // SAFETY: alive, as promised by the caller; the program gave it up, and nobody else has it yet.
    let parked = unsafe { to_rest(qp) };
    let parked = pool.with(shim, |book| {
        if !parked {
            book.let_go(&leaving);
        }
        parked && book.park(leaving, id, now)
    });
    pool.notify_done();
    if parked {
        increment(&pool.counts.parked);
        stats::add(Counter::PoolRecycled, 1);
        stats::add(Counter::PoolIdle, 1);
        ring(shim, now);
    }
    parked
}

/// A queue pair was created that the pool has no say in. The one that had its address may have been destroyed past us.
pub fn forget_address(shim: &Shim, qp: *const IbvQp) {
    if on(shim) {
        let pool = super::state();
        pool.with(shim, |book| book.is_no_more(qp as usize));
    }
}

/// May a peer know of this queue pair? Only an id that has not come to its connect yet is known not to have asked;
/// a queue pair without an id counts as fresh while it is in RESET, unless it came back there (`used`).
fn asked(state: &State, record: Option<&QpRecord>, fresh: bool) -> bool {
    match record.and_then(|r| r.id) {
        None => !fresh,
        Some(id) => lock(&state.ids).get(&id).is_none_or(|r| {
            !matches!(
                r.stage,
                Stage::Setup | Stage::Bind | Stage::Address | Stage::Route
            )
        }),
    }
}

/// `ibv_modify_qp` begins, for a state in which the queue pair knows a peer.
pub fn used(shim: &Shim, qp: *const IbvQp) {
    let pool = super::state();
    pool.with(shim, |book| book.used(qp as usize));
}

/// Moves it to RESET. False if it is not fit for another life.
///
/// # Safety
/// The queue pair is alive and the caller's own.
unsafe fn to_rest(qp: *mut IbvQp) -> bool {
    let Some(modify) = real::ibv_modify_qp() else {
        return false;
    };
    // SAFETY: zero is a valid value of all members.
    let mut attr: IbvQpAttr = unsafe { std::mem::zeroed() };
    attr.qp_state = RESET;
    // SAFETY: as promised by the caller; the context of a queue pair is open.
    unsafe {
        let moved = modify(qp, (&raw mut attr).cast(), QP_STATE) == 0 && is_reset(qp);
        (*qp).qp_context = std::ptr::null_mut();
        moved && quiet((*qp).context)
    }
}

/// Does no asynchronous event of the device wait? It might be one of this queue pair's, which a real
/// destruction takes out of the kernel's queue.
///
/// # Safety
/// The context is open.
unsafe fn quiet(context: *const IbvContext) -> bool {
    let mut ready = libc::pollfd {
        // SAFETY: as promised by the caller.
        fd: unsafe { (*context).async_fd },
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one whole pollfd.
    unsafe { libc::poll(&mut ready, 1, 0) == 0 }
}

/// A CM event that says something of a queue pair's end.
///
/// # Safety
/// The event is whole and not acked.
pub unsafe fn cm(shim: &'static Shim, e: &RdmaCmEvent) {
    let end = matches!(
        e.event,
        event::DISCONNECTED | event::REJECTED | event::TIMEWAIT_EXIT
    );
    // SAFETY: librdmacm keeps the id of an un-acked event alive.
    let Some(id) = (unsafe { e.id.as_ref() }).filter(|_| end && on(shim)) else {
        return;
    };
    // SAFETY: as above.
    let peer = unsafe { stats::peer_address(id) };
    let (qp, now) = (id.qp as usize, Instant::now());
    let work = super::state().with(shim, |book| match (e.event, e.status) {
        (event::TIMEWAIT_EXIT, _) => book.rested(e.id as usize, qp, now),
        (event::REJECTED, STALE) => book.stale(qp, peer),
        (event::REJECTED, _) | (event::DISCONNECTED, 0) => {
            book.over(qp, peer);
            false
        }
        // The peer did not answer: it may believe in the connection still.
        _ => false,
    });
    if work {
        ring(shim, now);
    }
}

/// The id goes away.
pub fn id_gone(shim: &Shim, id: *const RdmaCmId) {
    if on(shim) {
        let pool = super::state();
        pool.with(shim, |book| book.id_gone(id as usize));
    }
}

/// Had the queue pair of a connection that was rejected with this status an earlier life?
pub fn details(shim: &Shim, qp: *const IbvQp, status: i32) -> Vec<String> {
    let mut details = Vec::new();
    if on(shim) && super::state().with(shim, |book| book.recycled(qp as usize)) {
        details.push("the queue pair was used before (pool.recycle)".to_owned());
        if status == STALE {
            details.push("it is taken out for good".to_owned());
        }
    }
    details
}

/// The keeper tries a device out, once in this process.
///
/// # Safety
/// The flight of the probe holds back the context's end.
pub unsafe fn probe(shim: &Shim, context: usize) {
    let at = context as *mut IbvContext;
    // SAFETY: as promised by the caller; the name ends with a NUL.
    let name = unsafe { CStr::from_ptr((*(*at).device).name.as_ptr()) };
    let name = name.to_string_lossy().into_owned();
    let pool = super::state();
    let known = lock(&pool.verdicts)
        .iter()
        .find(|(of, _)| *of == name)
        .map(|(_, v)| *v);
    // SAFETY: as promised by the caller.
    let verdict = known.unwrap_or_else(|| unsafe { tried(shim, at, name) });
    pool.with(shim, |book| book.probed(context, verdict));
}

/// # Safety
/// As `probe`.
unsafe fn tried(shim: &Shim, context: *mut IbvContext, name: String) -> Verdict {
    let pool = super::state();
    let mut given_up = false;
    // SAFETY: as promised by the caller.
    let tried = unsafe { Probe::new(context, &pool.hurry) }.and_then(|mut probe| {
        pool.with(shim, |book| book.scratch(&probe.qps()));
        let tried = probe.run();
        given_up = probe.given_up();
        tried
    });
    pool.with(shim, |book| book.scratch(&[]));
    let verdict = match tried {
        // The device goes away, or memory is short: another time.
        _ if given_up => return Verdict::NotAsked,
        Ok(()) => {
            log::info!("pool: queue pairs of {name} are used again: it passed the reuse probe");
            Verdict::Sound
        }
        Err(why) => {
            log::info!("pool: queue pairs of {name} are not used again: {why}");
            Verdict::Unsound
        }
    };
    lock(&pool.verdicts).push((name, verdict));
    verdict
}
