//! Did anything go over a connection? The data path is not watched, but a queue pair's sequence
//! numbers tell: what they were when it was connected, beside what they are when it ends.

use super::state::{Psns, QpPtr};
use crate::abi::verbs::{IbvQp, IbvQpAttr, IbvQpInitAttr, QueryBuffer, QP_RQ_PSN, QP_SQ_PSN};
use crate::boundary::shim::Shim;
use crate::lock::lock;
use crate::real;
use std::mem::MaybeUninit;

/// Packet sequence numbers have 24 bits (IBTA 9.2.4).
const PSN_MASK: u32 = 0x00ff_ffff;

/// ibv_modify_qp went well: notes the sequence numbers that a connection starts with.
///
/// # Safety
/// `attr` is null or whole.
pub unsafe fn set(shim: &Shim, qp: *const IbvQp, attr: *const IbvQpAttr, mask: i32) {
    // SAFETY: as promised by the caller.
    let Some(attr) = (unsafe { attr.as_ref() }) else {
        return;
    };
    let mut qps = lock(&shim.state().qps);
    let Some(record) = qps.get_mut(&QpPtr(qp as usize)) else {
        return;
    };
    if mask & QP_RQ_PSN != 0 {
        record.psns.receive = Some(attr.rq_psn & PSN_MASK);
    }
    if mask & QP_SQ_PSN != 0 {
        record.psns.send = Some(attr.sq_psn & PSN_MASK);
    }
}

/// Did no packet go either way? False where it cannot be told.
pub fn none(shim: &Shim, qp: *mut IbvQp) -> bool {
    // Held during the query, so that no other thread destroys the queue pair meanwhile: its entry
    // takes the record out first. The query does not wait for anything.
    let qps = lock(&shim.state().qps);
    let Some(start) = qps.get(&QpPtr(qp as usize)).map(|r| r.psns) else {
        return false;
    };
    let Psns {
        send: Some(send),
        receive: Some(receive),
    } = start
    else {
        return false;
    };
    // SAFETY: a queue pair with a record is alive while the lock is held, see above.
    let now = unsafe { psns_now(qp) };
    now == Some((send, receive))
}

/// # Safety
/// `qp` is alive during the call.
unsafe fn psns_now(qp: *mut IbvQp) -> Option<(u32, u32)> {
    let query = real::ibv_query_qp()?;
    let mut buffer = MaybeUninit::<QueryBuffer>::zeroed();
    let mut init = MaybeUninit::<IbvQpInitAttr>::zeroed();
    let attr = buffer.as_mut_ptr().cast::<IbvQpAttr>();
    // SAFETY: the queue pair is alive, and the buffers are at least as large as the header's
    // structures (tested) and valid when zeroed.
    unsafe {
        let rc = query(qp, attr, QP_SQ_PSN | QP_RQ_PSN, init.as_mut_ptr());
        (rc == 0).then(|| ((*attr).sq_psn & PSN_MASK, (*attr).rq_psn & PSN_MASK))
    }
}
