//! Queue pairs and shared receive queues of an id.

use super::entry;
use crate::abi::cm::RdmaCmId;
use crate::abi::verbs::{
    IbvPd, IbvQpInitAttr, IbvQpInitAttrEx, IbvSrqInitAttr, IbvSrqInitAttrEx, INIT_ATTR_PD,
};
use crate::boundary::{shim::Shim, Ended};
use crate::pool::{bundle, create};
use crate::reasons::state::{records, IdPtr};
use crate::reasons::{asynchronous, calls, facts};
use crate::stats::{self};
use cmshim_core::pool::Key;
use libc::c_int;
use std::ptr::null_mut;

entry! {
    fn rdma_create_qp(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut IbvQpInitAttr) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments.
        let key = call.decide(None, |shim| unsafe { bundle::begins(shim, id, pd, attr) });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, pd, attr) };
        // SAFETY: the program's own arguments.
        call.finish(rc, |shim, ended| unsafe {
            created(shim, ended, key, id, attr)
        })
    }
}

entry! {
    fn rdma_create_qp_ex(id: *mut RdmaCmId, attr: *mut IbvQpInitAttrEx) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments.
        let key = call.decide(None, |shim| unsafe { bundle_of(shim, id, attr) });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, attr) };
        // SAFETY: the program's own arguments; the extended structure begins like the plain one.
        call.finish(rc, |shim, ended| unsafe {
            created(shim, ended, key, id, attr.cast())
        })
    }
}

/// # Safety
/// `id` is null or valid, `attr` null or whole.
unsafe fn bundle_of(
    shim: &'static Shim,
    id: *const RdmaCmId,
    attr: *const IbvQpInitAttrEx,
) -> Option<Key> {
    // SAFETY: as promised by the caller.
    let wide = unsafe { attr.as_ref() }?;
    if wide.comp_mask & !INIT_ATTR_PD != 0 {
        create::extended(shim);
        return None;
    }
    let given = wide.comp_mask & INIT_ATTR_PD != 0;
    let pd = if given { wide.pd } else { null_mut() };
    // SAFETY: as promised by the caller; the extended structure begins like the plain one.
    unsafe { bundle::begins(shim, id, pd, attr.cast()) }
}

/// # Safety
/// `id` is null or valid, `attr` null or whole.
unsafe fn created(
    shim: &'static Shim,
    ended: Ended,
    key: Option<Key>,
    id: *const RdmaCmId,
    attr: *const IbvQpInitAttr,
) {
    if let Some(key) = key {
        bundle::ends(shim, &key, ended.failed.is_none());
    }
    // SAFETY: as promised by the caller.
    let Some(cm) = (unsafe { id.as_ref() }) else {
        return;
    };
    if ended.failed.is_none() {
        // SAFETY: success set the id's queue pair.
        let qp_num = unsafe { cm.qp.as_ref() }.map(|qp| qp.qp_num);
        records().with(IdPtr(id as usize), |r| r.qp_num = qp_num);
        stats::learned(ended.mark, None, qp_num);
        asynchronous::belongs(cm.qp, IdPtr(id as usize));
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
    fn rdma_create_srq(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut IbvSrqInitAttr) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_create_srq_ex(id: *mut RdmaCmId, attr: *mut IbvSrqInitAttrEx) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}
