//! Outgoing connects: the rules for this process's own tenant.

use super::admit_on_delivery::{ended, errno_of};
use super::decide::{self, Direction};
use super::seats::{Held, Key};
use super::{admit_on_delivery, load};
use crate::abi::cm::{RdmaAddrInfo, RdmaCmId};
use crate::abi::IdPtr;
use crate::process::shim::Shim;
use crate::real;
use crate::sys::addresses::given_address;
use cmshim_core::tenant::ConnectionRequest;
use libc::{c_int, sockaddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Of `<rdma/rdma_cma.h>`: the endpoint is made to listen.
const RAI_PASSIVE: c_int = 1;
/// `RDMA_OPTION_ID` and `RDMA_OPTION_ID_TOS` of `<rdma/rdma_cma.h>`.
const OPTION_ID: c_int = 0;
const OPTION_ID_TOS: c_int = 0;

/// May the address be resolved? The errno with which the call fails, if not.
///
/// # Safety
/// `dst` is null or a socket address, `id` null or the program's id.
pub unsafe fn resolve(
    shim: &'static Shim,
    id: *const RdmaCmId,
    src: *const sockaddr,
    dst: *const sockaddr,
) -> Option<c_int> {
    // SAFETY: as promised by the caller.
    let ask = unsafe {
        let (src, dst) = (given_address(src), given_address(dst)?);
        ConnectionRequest {
            peer: Some(dst.ip()),
            scope: admit_on_delivery::scope(Some(dst), src.map(|s| s.ip())),
            local: src
                .map(|s| s.ip())
                .or_else(|| admit_on_delivery::ask(id)?.local),
            port: dst.port(),
            pkey: None,
            gid: None,
        }
    };
    refused(shim, &ask, false)
}

/// As `resolve`, for an endpoint that is made to connect.
///
/// # Safety
/// `info` is null or what rdma_getaddrinfo gave.
pub unsafe fn endpoint(shim: &'static Shim, info: *const RdmaAddrInfo) -> Option<c_int> {
    // SAFETY: as promised by the caller.
    let info = unsafe { info.as_ref() }.filter(|info| info.ai_flags & RAI_PASSIVE == 0)?;
    // SAFETY: as promised by the caller; there is no id yet.
    unsafe { resolve(shim, std::ptr::null(), info.ai_src_addr, info.ai_dst_addr) }
}

/// May the id be connected? The errno with which the call fails, if not; else the connection has its seat.
///
/// # Safety
/// `id` is null or the program's id.
pub unsafe fn connect(shim: &'static Shim, id: *const RdmaCmId) -> Option<c_int> {
    let seats = &super::state().seats;
    // SAFETY: as promised by the caller.
    let ask = unsafe { outgoing(id) }?;
    let to = ask.peer.map(|peer| (peer, ask.port));
    // A synchronous connect on a non-blocking channel is called again until it is done. (An id whose end went past us may have
    // left its seat to another one at the same address.)
    let seated = seats.get(Key::Id(IdPtr(id as usize)));
    if seated.is_some_and(|held| held.of.to == to) {
        return None;
    }
    // It was that other one's: its place is free before this connection is counted.
    ended(id);
    let decision = decide::about(shim, Direction::Out, &ask, true)?;
    if let Some(refusal) = decision.refused.as_ref().filter(|_| decision.refuses()) {
        return Some(errno_of(refusal.code));
    }
    if let Some(seat) = decision.seat {
        // SAFETY: as promised by the caller.
        let of = unsafe { admit_on_delivery::connection(id, to) };
        seats.put(Key::Id(IdPtr(id as usize)), Held { seat, of });
    }
    None
}

fn refused(shim: &'static Shim, ask: &ConnectionRequest, counted: bool) -> Option<c_int> {
    let decision = decide::about(shim, Direction::Out, ask, counted)?;
    let refusal = decision.refused.as_ref().filter(|_| decision.refuses())?;
    Some(errno_of(refusal.code))
}

/// The service's port is the remote one.
///
/// # Safety
/// `id` is null or the program's id.
unsafe fn outgoing(id: *const RdmaCmId) -> Option<ConnectionRequest> {
    // SAFETY: as promised by the caller.
    let (ask, address) = unsafe { (admit_on_delivery::ask(id)?, &id.as_ref()?.route.addr) };
    let peer = crate::sys::addresses::socket_address(&address.dst);
    Some(ConnectionRequest {
        port: peer.map_or(0, |p| p.port()),
        ..ask
    })
}

/// An rsocket was made by a librdmacm whose inner calls pass us by: nothing that it does can be checked. True if it may
/// not be; told once.
pub fn sockets_pass_by(shim: &Shim) -> bool {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let enforced = super::CLOSED.load(Ordering::Relaxed);
    if super::configured(shim) && !REPORTED.swap(true, Ordering::Relaxed) {
        let then = match enforced {
            true => "rsocket fails with EACCES",
            false => "rsockets are not checked",
        };
        log::error!(
            "tenant.policy cannot be kept for rsockets: librdmacm calls its own functions past cmshim \
             (linked with -Bsymbolic-functions?); {then}"
        );
    }
    super::configured(shim) && enforced
}

/// Gives the id the type of service of its tenant, before its route is looked for.
///
/// # Safety
/// `id` is null or the program's id.
pub unsafe fn class(shim: &'static Shim, id: *mut RdmaCmId) {
    // SAFETY: as promised by the caller.
    let tos = unsafe { outgoing(id) }.and_then(|ask| {
        let current = load::current(shim)?;
        let policy = current.policy.as_ref()?;
        let at = policy.outgoing(current.own.as_deref(), &ask).subject?;
        policy.subjects().get(at)?.tos
    });
    if let (Some(mut tos), Some(set_option)) = (tos, real::rdma_set_option()) {
        let value = std::ptr::from_mut(&mut tos).cast();
        // SAFETY: the program's id; the option is one byte, which lives across the call. It is a wish: where the
        // kernel refuses it, the connection goes without.
        unsafe { set_option(id, OPTION_ID, OPTION_ID_TOS, value, 1) };
    }
}
