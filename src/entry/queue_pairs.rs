//! Queue pairs and shared receive queues of an id.

use super::entry;
use crate::abi::cm::RdmaCmId;
use crate::abi::verbs::{IbvPd, IbvQpInitAttr, Opaque};
use crate::boundary::{shim::Shim, Ended};
use crate::reasons::state::IdPtr;
use crate::reasons::{asynchronous, calls, facts};
use crate::stats;
use libc::c_int;

entry! {
    fn rdma_create_qp(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut IbvQpInitAttr) -> c_int, missing -1;
    // SAFETY: the program's own arguments.
    after |shim, ended, _rc| unsafe { created(shim, ended, id, attr) };
}

entry! {
    fn rdma_create_qp_ex(id: *mut RdmaCmId, attr: *mut IbvQpInitAttr) -> c_int, missing -1;
    // SAFETY: the program's own arguments; the extended structure begins like the plain one.
    after |shim, ended, _rc| unsafe { created(shim, ended, id, attr) };
}

/// # Safety
/// `id` is null or valid, `attr` null or whole.
unsafe fn created(
    shim: &'static Shim,
    ended: Ended,
    id: *const RdmaCmId,
    attr: *const IbvQpInitAttr,
) {
    // SAFETY: as promised by the caller.
    let Some(cm) = (unsafe { id.as_ref() }) else {
        return;
    };
    if ended.failed.is_none() {
        // SAFETY: success set the id's queue pair.
        let qp_num = unsafe { cm.qp.as_ref() }.map(|qp| qp.qp_num);
        shim.state().with(IdPtr(id as usize), |r| r.qp_num = qp_num);
        stats::learned(ended.mark, None, qp_num);
        asynchronous::belongs(shim, cm.qp, IdPtr(id as usize));
        return;
    }
    // SAFETY: as promised by the caller; an id's device is open.
    unsafe {
        calls::ended_on_id(shim, ended, id, |f, _, _| {
            if ended.outermost {
                facts::queue_pair(f, cm.verbs, attr);
            }
        });
    }
}

entry! {
    fn rdma_create_srq(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut Opaque) -> c_int, missing -1;
    // SAFETY: the program's id.
    failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_create_srq_ex(id: *mut RdmaCmId, attr: *mut Opaque) -> c_int, missing -1;
    // SAFETY: the program's id.
    failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}
