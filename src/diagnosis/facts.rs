//! What is found out when a creation or registration failed, beside the errno.

use super::subject::Subject;
use crate::abi::cm::{port_space, RdmaCmId, RdmaConnParam};
use crate::abi::verbs::{
    IbvContext, IbvDeviceAttr, IbvPd, IbvQpCap, IbvQpInitAttr, TRANSPORT_IWARP,
};
use crate::real;
use crate::sys::{addresses, limits};
use cmshim_core::explain::{Facts, Limit};
use libc::sockaddr;
use std::mem::MaybeUninit;

/// A message that carries private data.
#[derive(Clone, Copy)]
pub enum Message {
    Connect,
    Accept,
    Reject,
}

/// rdma_cm's own header in a connect request of IP addresses (`cma_user_data_offset`, drivers/infiniband/core/cma.c).
const HEADER: u32 = 36;

/// Most private data that fits, in bytes, on InfiniBand and RoCE (IBTA 12.6 and 12.11: REQ 92, REP 196, REJ 148, SIDR REQ
/// 216, SIDR REP 136). iWARP has other limits, by device.
fn most_private_data(cm: &RdmaCmId, message: Message) -> Option<u32> {
    const AF_IB: i32 = 27;
    // SAFETY: librdmacm sets verbs to a device that it holds open while the id lives.
    let device = unsafe { cm.verbs.as_ref()?.device.as_ref()? };
    let iwarp = device.transport_type == TRANSPORT_IWARP;
    let header = match i32::from(cm.route.addr.src.ss_family) {
        AF_IB => 0,
        _ => HEADER,
    };
    (!iwarp).then(|| match (message, is_datagram(cm)) {
        (Message::Connect, false) => 92 - header,
        (Message::Connect, true) => 216 - header,
        (Message::Accept, false) => 196,
        (Message::Reject, false) => 148,
        (Message::Accept | Message::Reject, true) => 136,
    })
}

fn is_datagram(cm: &RdmaCmId) -> bool {
    const IBV_QPT_UD: i32 = 4;
    cm.qp_type == IBV_QPT_UD
}

/// What the id itself says.
///
/// # Safety
/// `id` is null or valid.
pub unsafe fn id(facts: &mut Facts, id: *const RdmaCmId) {
    // SAFETY: as promised by the caller.
    if let Some(cm) = unsafe { id.as_ref() } {
        facts.has_qp = Some(!cm.qp.is_null());
        facts.datagram = Some(is_datagram(cm));
    }
}

/// Private data of an answer or a request.
///
/// # Safety
/// `id` is null or valid.
pub unsafe fn private_data(facts: &mut Facts, id: *const RdmaCmId, length: u8, message: Message) {
    // SAFETY: as promised by the caller.
    if let Some(cm) = unsafe { id.as_ref() } {
        facts.private_data_len = Some(u32::from(length));
        facts.private_data_max = most_private_data(cm, message);
    }
}

/// The parameters of a connect or accept, against what fits and what the device has.
///
/// # Safety
/// `id` is null or valid, `param` null or whole.
pub unsafe fn parameters(
    facts: &mut Facts,
    id: *const RdmaCmId,
    param: *const RdmaConnParam,
    message: Message,
) {
    // SAFETY: as promised by the caller.
    let (Some(cm), Some(param)) = (unsafe { id.as_ref() }, unsafe { param.as_ref() }) else {
        return;
    };
    let length = if param.private_data.is_null() {
        0
    } else {
        param.private_data_len
    };
    // SAFETY: as promised by the caller; an id's device is open.
    unsafe {
        private_data(facts, id, length, message);
        reads(facts, cm, param);
    }
}

/// RDMA reads and atomics at once: librdmacm compares them for stream ids, by a byte each (`ucma_valid_param` and
/// `ucma_get_device`, librdmacm/cma.c).
///
/// # Safety
/// The id's device is open.
unsafe fn reads(facts: &mut Facts, cm: &RdmaCmId, param: &RdmaConnParam) {
    /// RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH: as many as there are.
    const ALL: u8 = 0xff;
    if cm.ps != port_space::TCP {
        return;
    }
    // SAFETY: as promised by the caller.
    let Some(device) = (unsafe { device_limits(cm.verbs) }) else {
        return;
    };
    let [max_qp_rd_atom, _, _, max_qp_init_rd_atom, ..] = device.rd_atom_and_atomic_cap;
    for (name, wanted, max) in [
        (
            "responder_resources",
            param.responder_resources,
            max_qp_rd_atom,
        ),
        (
            "initiator_depth",
            param.initiator_depth,
            max_qp_init_rd_atom,
        ),
    ] {
        if wanted != ALL {
            facts.wanted.push(Limit {
                name,
                wanted: wanted.into(),
                max: u64::from(max as u8),
            });
        }
    }
}

/// The addresses of a call or its id, and what this host knows of them where the errno asks for that.
pub fn addresses(facts: &mut Facts, call: &str, errno: i32, subject: &Subject) {
    let a = &mut facts.addresses;
    a.source = subject.src;
    a.destination = subject.dst;
    let binds = matches!(
        call,
        "rdma_bind_addr" | "rdma_resolve_addr" | "rdma_listen" | "rdma_create_ep"
    );
    if binds && matches!(errno, libc::ENODEV | libc::EADDRNOTAVAIL) {
        a.here = a
            .source
            .map(|s| s.ip())
            .filter(|ip| !ip.is_unspecified())
            .and_then(addresses::device_of);
        a.ports = addresses::ephemeral_ports();
    }
    if binds && errno == libc::EACCES {
        a.may_take_low_ports = addresses::may_take_low_ports();
    }
}

/// The family of a socket address, if the connection manager has none such.
///
/// # Safety
/// `address` is null or a socket address.
pub unsafe fn odd_family(address: *const sockaddr) -> Option<u16> {
    const AF_IB: i32 = 27;
    // SAFETY: as promised by the caller.
    let family = unsafe { address.as_ref() }?.sa_family;
    let known = matches!(i32::from(family), libc::AF_INET | libc::AF_INET6 | AF_IB);
    (!known).then_some(family)
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
