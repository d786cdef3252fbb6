//! The second barrier: connect requests as `rdma_get_cm_event` hands them over. Here the tap could not look before,
//! and the program's own check is asked.

use super::check;
use super::decide::{self, Direction};
use super::seats::{Connection, Held, Key};
use super::seats_by_handle::{class, ends_connection, is_gone, last_served, reacquire, release};
use super::{configured, report, CLOSED};
use crate::abi::cm::{RdmaCmEvent, RdmaCmId};
use crate::abi::verbs::{IbvQpAttr, QP_AV};
use crate::abi::IdPtr;
use crate::process::shim::{self, Shim};
use crate::real;
use crate::sys::addresses::socket_address;
use crate::sys::guard;
use cmshim_core::codes::event as ev;
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::{interface_with, ConnectionRequest};
use libc::c_int;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;

/// What becomes of a connect request.
enum Fate {
    /// It is the program's.
    Pass,
    /// It is refused with this private data.
    Refuse(Vec<u8>),
}

/// An event was taken: true if it was a connect request that may not be, which is refused and gone now.
///
/// # Safety
/// `event` points to a whole event that librdmacm has just handed over.
pub unsafe fn refused(shim: Option<&'static Shim>, event: *mut RdmaCmEvent) -> bool {
    // SAFETY: as promised by the caller; librdmacm keeps the id of an un-acked event alive.
    unsafe {
        let e = &*event;
        if ends_connection(e.event) {
            guard::run(|| ended(e.id));
        }
        if e.event != ev::CONNECT_REQUEST {
            return false;
        }
        if let Fate::Refuse(private_data) = fate(shim, e) {
            drop_request(event, &private_data);
            return true;
        }
        check::refuses(event)
    }
}

/// # Safety
/// The event's id is alive.
unsafe fn fate(shim: Option<&'static Shim>, e: &RdmaCmEvent) -> Fate {
    let decided = last_served().is_some_and(|(_, decided)| decided);
    if decided {
        return Fate::Pass;
    }
    // SAFETY: as promised by the caller.
    let made = shim.and_then(|shim| shim.guarded(|| unsafe { by_policy(shim, e) }));
    match made {
        Some(fate) => fate,
        // The shim broke: whom a policy would keep out must not come in for that.
        None if closed() => Fate::Refuse(report::bare(Code::Unreadable)),
        None => Fate::Pass,
    }
}

/// Is the shim off in a process whose policy is to be enforced?
fn closed() -> bool {
    let broken = |shim: &Shim| configured(shim) && !shim.on();
    CLOSED.load(Ordering::Relaxed) && !guard::inside() && shim::existing().is_some_and(broken)
}

/// # Safety
/// The event's id is alive.
unsafe fn by_policy(shim: &'static Shim, e: &RdmaCmEvent) -> Fate {
    // SAFETY: as promised by the caller.
    let Some(ask) = (unsafe { ask(e.id) }) else {
        return Fate::Pass;
    };
    let Some(decision) = decide::about(shim, Direction::In, &ask, true) else {
        return Fate::Pass;
    };
    if decision.refuses() {
        return Fate::Refuse(report::private_data(&decision));
    }
    if let Some(seat) = decision.seat {
        // SAFETY: as promised by the caller.
        let of = unsafe { connection(e.id, None) };
        let seats = &super::state().seats;
        release(seats.put(key(e.id), Held { seat, of }));
    }
    Fate::Pass
}

/// What a seat remembers of its connection.
///
/// # Safety
/// `id` is null or alive.
pub unsafe fn connection(id: *const RdmaCmId, to: Option<(IpAddr, u16)>) -> Connection {
    // SAFETY: as promised by the caller; the channel of an id is alive as long as the id.
    let channel = unsafe { id.as_ref().and_then(|id| id.channel.as_ref()) };
    Connection {
        to,
        channel: channel.map_or(-1, |channel| channel.fd),
    }
}

/// The id is on the channel that it has now.
///
/// # Safety
/// `id` is null or alive.
pub unsafe fn moved(id: *const RdmaCmId) {
    // SAFETY: as promised by the caller.
    let channel = unsafe { connection(id, None) }.channel;
    super::seats_by_handle::moved(Key::Id(IdPtr(id as usize)), channel);
}

/// By what the seat of the request that this thread has just taken is known.
pub fn key(id: *const RdmaCmId) -> Key {
    match last_served() {
        Some((handle, _)) => Key::Handle(handle),
        None => Key::Id(IdPtr(id as usize)),
    }
}

/// What a request's id says of its peer; the service's port is the local one.
///
/// # Safety
/// `id` is null or alive.
pub unsafe fn ask(id: *const RdmaCmId) -> Option<ConnectionRequest> {
    // SAFETY: as promised by the caller.
    let address = &unsafe { id.as_ref() }?.route.addr;
    let (peer, local) = (socket_address(&address.dst), socket_address(&address.src));
    Some(ConnectionRequest {
        peer: peer.map(|p| p.ip()),
        scope: scope(peer, local.map(|l| l.ip())),
        local: local.map(|l| l.ip()),
        port: local.map_or(0, |l| l.port()),
        pkey: Some(pkey(address.ib.pkey)),
        gid: Some(address.ib.dgid.raw),
    })
}

/// As the kernel tells it, big endian. 0 is no P_Key (IBTA 10.9.1.1): so the kernel says on RoCE, where there is only
/// the default one.
pub fn pkey(told: u16) -> u16 {
    match u16::from_be(told) {
        0 => 0xffff,
        known => known,
    }
}

/// The interface of a link-local peer. The kernel does not tell it of a request; then it is the one that has the local
/// address.
pub fn scope(peer: Option<SocketAddr>, local: Option<IpAddr>) -> u32 {
    let Some(SocketAddr::V6(v6)) = peer else {
        return 0;
    };
    match (v6.scope_id(), local) {
        (0, Some(IpAddr::V6(local))) if v6.ip().is_unicast_link_local() => {
            interface_with(local).unwrap_or(0)
        }
        (known, _) => known,
    }
}

/// Refuses a request, acks its event and destroys its id, as a program would. Outside of `guard::run`: the tap looks at
/// the commands that librdmacm makes of it.
///
/// # Safety
/// An event that nobody else will use.
pub unsafe fn drop_request(event: *mut RdmaCmEvent, private_data: &[u8]) {
    let (Some(reject), Some(ack), Some(destroy)) = (
        real::rdma_reject(),
        real::rdma_ack_cm_event(),
        real::rdma_destroy_id(),
    ) else {
        return;
    };
    let cancel = guard::hold_cancellation();
    let errno = guard::errno();
    // SAFETY: the event is whole and not acked, so its id is alive; afterwards nobody uses either.
    unsafe {
        let id = (*event).id;
        // A failure means that the peer is gone.
        reject(id, private_data.as_ptr().cast(), private_data.len() as u8);
        ack(event);
        // As rdma_get_request left it, librdmacm would ack it once more.
        if (*id).event == event {
            (*id).event = std::ptr::null_mut();
        }
        if let Some(destroy_qp) = real::rdma_destroy_qp().filter(|_| !(*id).qp.is_null()) {
            destroy_qp(id);
        }
        destroy(id);
    }
    guard::set_errno(errno);
    guard::release_cancellation(cancel);
}

/// The connection of this id is over, as far as it is known by its address.
pub fn ended(id: *const RdmaCmId) {
    release(taken(id));
}

thread_local! {
    /// What the call that this thread makes has given back before it: the id, and seat.
    static GIVEN: Cell<Option<(IdPtr, Held)>> = const { Cell::new(None) };
}

/// A call is about to end this id's connection, as far as it is known by its address: its place is free before the
/// peer hears of it.
pub fn ending(id: *const RdmaCmId) {
    let seat = taken(id);
    release(seat);
    GIVEN.with(|given| given.set(seat.map(|seat| (IdPtr(id as usize), seat))));
}

/// The call returned. If it failed, what `ending` gave back is taken again, unless the connection is gone all the same.
pub fn ended_or_restored(id: *const RdmaCmId, failed: Option<c_int>) {
    if let (Some((given, seat)), Some(errno)) = (GIVEN.with(Cell::take), failed) {
        if given == IdPtr(id as usize) && !is_gone(errno) {
            reacquire(Key::Id(given), Some(seat));
        }
    }
}

fn taken(id: *const RdmaCmId) -> Option<Held> {
    let all = super::on().then(super::state)?;
    all.seats.take(Key::Id(IdPtr(id as usize)))
}

/// The attributes of a queue pair carry the traffic class that the policy gives its tenant. Where the tap sees the
/// command, the kernel's answer does already.
///
/// # Safety
/// `attr` points to a whole `struct ibv_qp_attr`, filled as the mask says.
pub unsafe fn attributes(id: *const RdmaCmId, attr: *mut IbvQpAttr, mask: c_int) {
    let set = mask & QP_AV != 0;
    if let Some(class) = class(Key::Id(IdPtr(id as usize))).filter(|_| set) {
        // SAFETY: as promised by the caller.
        unsafe { (*attr).ah_attr.traffic_class = class };
    }
}

/// For a call that a rule keeps from being made.
pub fn errno_of(code: Code) -> c_int {
    match code {
        Code::OverLimit | Code::Rate => libc::ECONNREFUSED,
        _ => libc::EACCES,
    }
}
