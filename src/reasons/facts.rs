//! What is found out when a creation or registration failed, beside the errno.

use crate::abi::cm::RdmaConnParam;
use crate::abi::verbs::{IbvContext, IbvDeviceAttr, IbvPd, IbvQpCap, IbvQpInitAttr};
use crate::real;
use crate::sys::limits;
use cmshim_core::explain::{Facts, Limit};
use std::mem::MaybeUninit;

/// Most private data that fits, in bytes, on InfiniBand and RoCE (IBTA 12.6: REQ 92, REP 196, REJ
/// 148; rdma_cm's own header takes 36 of the REQ, `cma_user_data_offset`, drivers/infiniband/core/cma.c).
pub const REQ_PRIVATE: u32 = 56;
pub const REP_PRIVATE: u32 = 196;
pub const REJ_PRIVATE: u32 = 148;

/// Private data of a connect or accept.
///
/// # Safety
/// `param` is null or whole.
pub unsafe fn private_data(facts: &mut Facts, param: *const RdmaConnParam, max: u32) {
    // SAFETY: as promised by the caller.
    if let Some(param) = unsafe { param.as_ref() } {
        facts.private_data_len = Some(u32::from(param.private_data_len));
        facts.private_data_max = Some(max);
    }
}

/// A registration's memory and this process's limits.
pub fn memory(facts: &mut Facts, address: u64, length: usize, access: u32) {
    facts.addr = Some(address);
    facts.length = Some(length as u64);
    facts.access = Some(access);
    facts.locked = limits::pinned();
    facts.huge_page = limits::huge_page(address);
    // With CAP_IPC_LOCK the limit does not count (`ib_umem_get`, drivers/infiniband/core/umem.c).
    facts.memlock = if limits::may_exceed_memlock() {
        Some(u64::MAX)
    } else {
        limits::memlock()
    };
}

/// A queue pair's capabilities against the device's limits.
///
/// # Safety
/// `context` is null or open, `attr` null or whole.
pub unsafe fn queue_pair(facts: &mut Facts, context: *mut IbvContext, attr: *const IbvQpInitAttr) {
    // SAFETY: as promised by the caller.
    let Some(attr) = (unsafe { attr.as_ref() }) else {
        return;
    };
    // SAFETY: as promised by the caller.
    let Some(device) = (unsafe { device_limits(context) }) else {
        return;
    };
    let IbvQpCap {
        max_send_wr,
        max_recv_wr,
        max_send_sge,
        max_recv_sge,
        ..
    } = attr.cap;
    let mut add = |name, wanted: u32, max: i32| {
        facts.wanted.push(Limit {
            name,
            wanted: u64::from(wanted),
            max: max.max(0) as u64,
        });
    };
    add("max_send_wr", max_send_wr, device.max_qp_wr);
    add("max_recv_wr", max_recv_wr, device.max_qp_wr);
    add("max_send_sge", max_send_sge, device.max_sge);
    add("max_recv_sge", max_recv_sge, device.max_sge);
}

/// A completion queue's size against the device's limit.
///
/// # Safety
/// `context` is null or open.
pub unsafe fn completion_queue(facts: &mut Facts, context: *mut IbvContext, entries: i32) {
    // SAFETY: as promised by the caller.
    if let Some(device) = unsafe { device_limits(context) } {
        let max = device.max_cqe.max(0) as u64;
        facts.wanted.push(Limit {
            name: "cqe",
            wanted: u64::try_from(entries).unwrap_or(0),
            max,
        });
    }
}

/// The context of a protection domain.
///
/// # Safety
/// `pd` is null or valid.
pub unsafe fn context_of(pd: *const IbvPd) -> *mut IbvContext {
    // SAFETY: as promised by the caller.
    unsafe { pd.as_ref() }.map_or(std::ptr::null_mut(), |pd| pd.context)
}

/// # Safety
/// `context` is null or open.
unsafe fn device_limits(context: *mut IbvContext) -> Option<IbvDeviceAttr> {
    if context.is_null() {
        return None;
    }
    let query = real::ibv_query_device()?;
    let mut attr = MaybeUninit::<IbvDeviceAttr>::zeroed();
    // SAFETY: the context is open, and `attr` is as large as the header's structure (tested).
    unsafe { (query(context, attr.as_mut_ptr()) == 0).then(|| attr.assume_init()) }
}
