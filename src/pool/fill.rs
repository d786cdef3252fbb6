//! The keeper's part: makes ahead, and gives back what nobody needs.

use super::counts::increment;
use super::{abi_caps, caps, channel, enabled, evict, recycle, CqPtr, Own, Ready};
use crate::abi::verbs::{IbvContext, IbvDeviceAttr, IbvPd, IbvQpInitAttr, IbvSrq};
use crate::process::shim::Shim;
use crate::real;
use crate::sys::guard;
use cmshim_core::pool::{Book, ChannelPtr, Job, Key, Pair};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The keeper looks at its timers after so long, or after one creation that takes longer.
const SHIFT: Duration = Duration::from_millis(5);

/// Does what is to be done now; gives the time when it is to come back.
pub fn work(shim: &'static Shim) -> Option<Instant> {
    let pool = super::state();
    if !enabled(shim) {
        return None;
    }
    let begin = Instant::now();
    let mut now = begin;
    loop {
        if pool.closed.load(Ordering::Acquire) {
            return None;
        }
        if now.duration_since(begin) > SHIFT {
            return Some(now);
        }
        let next = |book: &mut Book<Ready>| match pool.forking.load(Ordering::Acquire) {
            0 => book.next(now),
            _ => Job::Wait(Some(now + SHIFT)),
        };
        match pool.with(shim, next) {
            Job::Wait(until) => return until,
            Job::Drop { flight, item } => {
                // SAFETY: the book has given it up with this job.
                unsafe { evict::destroy(item) };
                pool.counts.returned();
                pool.with(shim, |book| book.end(flight));
            }
            Job::Close { flight, pairs } => {
                // SAFETY: the book has given these channels up with this job, and nothing stands on them.
                unsafe { channel::close_all(pairs.into_iter().flatten()) };
                pool.with(shim, |book| book.end(flight));
            }
            Job::Probe { flight, context } => {
                // SAFETY: the flight holds back the context's end.
                unsafe { recycle::probe(shim, context) };
                pool.with(shim, |book| book.end(flight));
            }
            Job::Make {
                flight,
                key,
                measure,
                pair,
            } => make(shim, flight, &key, measure, pair),
        }
        pool.notify_done();
        now = Instant::now();
    }
}

fn make(shim: &'static Shim, flight: u64, key: &Key, measure: bool, pair: Option<Pair>) {
    let pool = super::state();
    // SAFETY: the flight holds back the end of the key's context.
    let made = if measure && !unsafe { room(shim, key) } {
        // SAFETY: the job brought the channels, and nothing stands on them.
        unsafe { channel::close_all(pair.into_iter().flatten()) };
        Err(0)
    } else {
        // SAFETY: the flight holds back the destruction of all objects that the key names.
        unsafe { create(key, pair) }
    };
    match made {
        Ok(item) => {
            pool.counts.made();
            if let Some(item) = pool.with(shim, |book| book.finish(flight, item)) {
                // SAFETY: just made, and the book does not take it.
                unsafe { evict::destroy(item) };
                pool.counts.destroyed(&pool.counts.evicted);
                pool.with(shim, |book| book.end(flight));
            }
        }
        Err(errno) => {
            increment(&pool.counts.not_made);
            pool.with(shim, |book| book.failed(flight, Instant::now()));
            evict::make_room(shim, errno);
        }
    }
}

/// Asks the device for its limits. False if the pool may have none of it.
///
/// # Safety
/// The context of the key is open during the call.
unsafe fn room(shim: &Shim, key: &Key) -> bool {
    let Some(query) = real::ibv_query_device() else {
        return false;
    };
    let context = key.context as *mut IbvContext;
    let mut attr = MaybeUninit::<IbvDeviceAttr>::zeroed();
    // SAFETY: the context is open, as promised by the caller, and `attr` is as large as the header's
    // structure (tested) and valid when zeroed.
    let device = unsafe {
        if query(context, attr.as_mut_ptr()) != 0 {
            return false;
        }
        attr.assume_init()
    };
    let limit = |max: i32| u32::try_from(max).unwrap_or(0);
    super::state().with(shim, |book| {
        book.measured(key, limit(device.max_qp), limit(device.max_cq))
    })
}

/// Makes one; the errno where that failed.
///
/// # Safety
/// The objects of the key are alive during the call.
unsafe fn create(key: &Key, pair: Option<Pair>) -> Result<Ready, i32> {
    let Some(channels) = pair else {
        // SAFETY: as promised by the caller.
        return unsafe { create_qp(key, CqPtr(key.recv_cq), CqPtr(key.send_cq), None) };
    };
    // SAFETY: as promised by the caller; the channels are the pool's own.
    unsafe {
        let receive = create_cq(key, key.caps.recv_wr, channels[0]).inspect_err(|_| {
            channel::close_all(channels);
        })?;
        let send = create_cq(key, key.caps.send_wr, channels[1]).inspect_err(|_| {
            evict::destroy_cq(receive);
            channel::close_all(channels);
        })?;
        let cqs = [receive, send];
        create_qp(key, receive, send, Some(Own { channels, cqs })).inspect_err(|_| {
            cqs.into_iter().for_each(|cq| evict::destroy_cq(cq));
            channel::close_all(channels);
        })
    }
}

/// As librdmacm makes it for an id, but for the id.
///
/// # Safety
/// The context of the key is open, and the channel alive.
unsafe fn create_cq(key: &Key, entries: u32, channel: ChannelPtr) -> Result<CqPtr, i32> {
    let real = real::ibv_create_cq().ok_or(libc::ENOSYS)?;
    let entries = i32::try_from(entries).map_err(|_| libc::EINVAL)?;
    let context = key.context as *mut IbvContext;
    // SAFETY: as promised by the caller.
    let cq = unsafe { real(context, entries, null_mut(), channel::at(channel), 0) };
    if cq.is_null() {
        return Err(guard::errno());
    }
    Ok(CqPtr(cq as usize))
}

/// # Safety
/// The objects of the key are alive during the call, and the completion queues.
unsafe fn create_qp(
    key: &Key,
    receive: CqPtr,
    send: CqPtr,
    own: Option<Own>,
) -> Result<Ready, i32> {
    let real = real::ibv_create_qp().ok_or(libc::ENOSYS)?;
    let mut attr = IbvQpInitAttr {
        qp_context: null_mut(),
        send_cq: send.at(),
        recv_cq: receive.at(),
        srq: key.srq as *mut IbvSrq,
        cap: abi_caps(&key.caps),
        qp_type: key.qp_type,
        sq_sig_all: key.sq_sig_all,
    };
    // SAFETY: as promised by the caller; the attributes are those that the program gave before.
    let qp = unsafe { real(key.pd as *mut IbvPd, &mut attr) };
    if qp.is_null() {
        return Err(guard::errno());
    }
    Ok(Ready {
        qp: qp as usize,
        caps: caps(&attr.cap),
        own,
    })
}
