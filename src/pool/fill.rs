//! The keeper's part: makes ahead, and gives back what nobody needs.

use super::counts::one;
use super::{abi_caps, caps, enabled, evict, Ready};
use crate::abi::verbs::{IbvContext, IbvCq, IbvDeviceAttr, IbvPd, IbvQpInitAttr, IbvSrq};
use crate::boundary::{guard, shim::Shim};
use crate::real;
use cmshim_core::pool::{Job, Key};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The keeper looks at its timers after so long, or after one creation that takes longer.
const SHIFT: Duration = Duration::from_millis(5);

/// Does what is to be done now; gives the time when it is to come back.
pub fn work(shim: &'static Shim) -> Option<Instant> {
    let pool = &shim.state().pool;
    if !enabled(shim) {
        return None;
    }
    let begin = Instant::now();
    loop {
        let now = Instant::now();
        if pool.closed.load(Ordering::Acquire) {
            return None;
        }
        if now.duration_since(begin) > SHIFT {
            return Some(now);
        }
        match pool.with(shim, |book| book.next(now)) {
            Job::Wait(until) => return until,
            Job::Drop { flight, item } => {
                evict::destroy(shim, item);
                pool.counts.destroyed(&pool.counts.given_back);
                pool.with(shim, |book| book.end(flight));
            }
            Job::Make {
                flight,
                key,
                measure,
            } => make(shim, flight, &key, measure),
        }
        pool.tell_landed();
    }
}

fn make(shim: &'static Shim, flight: u64, key: &Key, measure: bool) {
    let pool = &shim.state().pool;
    let made = if measure && !room(shim, key) {
        Err(0)
    } else {
        // SAFETY: the flight holds back the destruction of all objects that the key names.
        unsafe { create(key) }
    };
    match made {
        Ok(item) => {
            pool.counts.made();
            if let Some(item) = pool.with(shim, |book| book.arrived(flight, item)) {
                evict::destroy(shim, item);
                pool.counts.destroyed(&pool.counts.evicted);
                pool.with(shim, |book| book.end(flight));
            }
        }
        Err(errno) => {
            one(&pool.counts.not_made);
            pool.with(shim, |book| book.failed(flight, Instant::now()));
            evict::make_room(shim, errno);
        }
    }
}

/// Asks the device for its limits. False if the pool may have none of it.
fn room(shim: &Shim, key: &Key) -> bool {
    let Some(query) = real::ibv_query_device() else {
        return false;
    };
    let context = key.context as *mut IbvContext;
    let mut attr = MaybeUninit::<IbvDeviceAttr>::zeroed();
    // SAFETY: the flight holds back the context's end, and `attr` is as large as the header's
    // structure (tested) and valid when zeroed.
    let device = unsafe {
        if query(context, attr.as_mut_ptr()) != 0 {
            return false;
        }
        attr.assume_init()
    };
    let limit = |max: i32| u32::try_from(max).unwrap_or(0);
    shim.state().pool.with(shim, |book| {
        book.measured(key, limit(device.max_qp), limit(device.max_cq))
    })
}

/// Makes one; the errno where that failed.
///
/// # Safety
/// The objects of the key are alive during the call.
unsafe fn create(key: &Key) -> Result<Ready, i32> {
    let real = real::ibv_create_qp().ok_or(libc::ENOSYS)?;
    let mut attr = IbvQpInitAttr {
        qp_context: null_mut(),
        send_cq: key.send_cq as *mut IbvCq,
        recv_cq: key.recv_cq as *mut IbvCq,
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
    })
}
