//! Did anything go over a connection? The data path is not watched, but a queue pair's sequence
//! numbers tell: what they were when it was connected, beside what they are when it ends.

use super::state::{records, QpPtr};
use crate::abi::verbs::{IbvQp, IbvQpAttr, IbvQpInitAttr, QueryBuffer, QP_RQ_PSN, QP_SQ_PSN};
use crate::process::thread::{self, Psns};
use crate::real;
use crate::sys::lock::lock;
use std::mem::MaybeUninit;

/// Packet sequence numbers have 24 bits (IBTA 9.2.4).
const PSN_MASK: u32 = 0x00ff_ffff;

/// ibv_modify_qp went well: the sequence numbers that it set.
///
/// # Safety
/// `attr` is null or whole.
pub unsafe fn set(attr: *const IbvQpAttr, mask: i32) {
    // SAFETY: as promised by the caller.
    if let Some(attr) = unsafe { attr.as_ref() } {
        let given = |bit: i32, psn: u32| (mask & bit != 0).then_some(psn & PSN_MASK);
        thread::note_psns(given(QP_SQ_PSN, attr.sq_psn), given(QP_RQ_PSN, attr.rq_psn));
    }
}

/// Did no packet go either way, over a connection that started so? False where it cannot be told.
pub fn none(qp: *mut IbvQp, start: Psns) -> bool {
    let (Some(send), Some(receive)) = (start.send, start.receive) else {
        return false;
    };
    // Held during the query, so that no other thread destroys the queue pair meanwhile: its entry
    // takes the record out first. The query does not wait for anything.
    let qps = lock(&records().qps);
    if !qps.contains_key(&QpPtr(qp as usize)) {
        return false;
    }
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
