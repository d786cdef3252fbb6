//! The first barrier: connect requests as the kernel tells of them, by the handles of their ids.

use super::decide::{self, Way};
use super::seats::{Connection, Held, Key};
use super::{on, tell};
use crate::abi::ucm::*;
use crate::boundary::guard;
use crate::boundary::shim::{self, Shim};
use crate::real::ucm;
use crate::reasons::subject::socket_address;
use crate::tap::Tap;
use cmshim_core::ahead::{Behind, Event};
use cmshim_core::codes::event as ev;
use cmshim_core::tenant::Ask;
use libc::{c_int, sockaddr_storage};
use std::cell::Cell;

thread_local! {
    /// The event that librdmacm has taken in this thread's call: handle of its id, and was it decided about?
    static SERVED: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// A call begins in which an event may be taken.
pub fn nothing_served() {
    SERVED.with(|s| s.set(None));
}

/// librdmacm takes this event. A connection that is over gives its seat back.
pub fn served(handle: u32, kind: i32, decided: bool) {
    SERVED.with(|s| s.set(Some((handle, decided))));
    if over(kind) {
        ended(handle);
    }
}

/// The event taken last in this thread, since the call began.
pub fn last_served() -> Option<(u32, bool)> {
    SERVED.with(Cell::get)
}

/// Is a connection over with this event?
pub fn over(kind: i32) -> bool {
    matches!(
        kind,
        ev::REJECTED | ev::UNREACHABLE | ev::CONNECT_ERROR | ev::DISCONNECTED | ev::DEVICE_REMOVAL
    )
}

/// A command is about to end this id's connection. Its place is free before the kernel tells the peer, whose next
/// connect may be here before the command returns.
pub fn ending(handle: u32) -> Option<Held> {
    let seat = take(handle);
    leave(seat);
    seat
}

/// The command has just failed, and the connection lives on: it has its place again, even if another one took that
/// meanwhile. Unless the kernel does not have the id any more, since another thread has destroyed it.
pub fn lives_on(handle: u32, seat: Option<Held>) {
    if !is_gone(guard::errno()) {
        again(Key::Handle(handle), seat);
    }
}

/// The connection has its place again.
pub fn again(key: Key, seat: Option<Held>) {
    let (Some(seat), Some(shim)) = (seat, shim::existing()) else {
        return;
    };
    guard_or_inside(|| {
        let tenants = &shim.state().tenants;
        if let (Some(row), Some(share)) = (seat.seat.row, tenants.share.get()) {
            // Without a limit it never fails.
            share.stand(row);
        }
        leave(tenants.seats.put(key, seat));
        None::<()>
    });
}

/// What the kernel says of an id that is destroyed, or about to be (`ucma_get_ctx`, drivers/infiniband/core/ucma.c).
pub fn is_gone(errno: i32) -> bool {
    matches!(errno, libc::ENOENT | libc::ENXIO)
}

fn take(handle: u32) -> Option<Held> {
    let shim = shim::existing().filter(|_| on())?;
    guard_or_inside(|| shim.state().tenants.seats.take(Key::Handle(handle)))
}

/// The connection is over: its place is free.
pub fn leave(seat: Option<Held>) {
    let row = seat.and_then(|held| held.seat.row);
    if let (Some(row), Some(shim)) = (row, shim::existing()) {
        if let Some(share) = shim.state().tenants.share.get() {
            share.leave(row);
        }
    }
}

/// The connection of this id is over.
pub fn ended(handle: u32) {
    leave(take(handle));
}

/// The id is on the channel with this descriptor now.
pub fn moved(key: Key, channel: c_int) {
    if let Some(shim) = shim::existing().filter(|_| on()) {
        guard_or_inside(|| {
            shim.state().tenants.seats.moved(key, channel);
            None::<()>
        });
    }
}

/// As `moved`, by the handle of the connection's id.
pub fn id_moved(handle: u32, channel: c_int) {
    moved(Key::Handle(handle), channel);
}

/// The channel goes, and with it all its ids in the kernel: nobody will destroy them.
pub fn channel_ends(channel: c_int) {
    if let Some(shim) = shim::existing().filter(|_| on()) {
        let seats = &shim.state().tenants.seats;
        while let Some(gone) = guard_or_inside(|| seats.of_channel(channel)) {
            gone.into_iter().for_each(leave);
        }
    }
}

/// The traffic class for the packets of this connection.
pub fn class(key: Key) -> Option<u8> {
    let shim = shim::existing().filter(|_| on())?;
    guard_or_inside(|| shim.state().tenants.seats.get(key))?
        .seat
        .tos
}

/// As `class`, by the handle of the connection's id.
pub fn class_of(handle: u32) -> Option<u8> {
    class(Key::Handle(handle))
}

/// Locks are taken with signals held back; some callers have done that.
fn guard_or_inside<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    match guard::inside() {
        true => work(),
        false => guard::run(work).flatten(),
    }
}

/// Takes the connect requests that may not be out of a batch, and answers and destroys them. Under the channel's lock.
pub fn sift(tap: &Tap, behind: &mut Behind, events: Vec<Event>) -> Vec<Event> {
    let Some(shim) = shim::existing().filter(|shim| shim.on()) else {
        return events;
    };
    let mut refused: Vec<u32> = Vec::new();
    let mut left = Vec::with_capacity(events.len());
    for mut event in events {
        if !event.is_connect_request() {
            // What came of a request before its refusal: nobody knows that id.
            if !refused.contains(&event.handle()) {
                if over(event.kind()) {
                    ended(event.handle());
                }
                left.push(event);
            }
        } else if passes(shim, tap, behind, &mut event) {
            refused.retain(|handle| *handle != event.handle());
            left.push(event);
        } else {
            refused.push(event.handle());
        }
    }
    left
}

/// Decides about one request; false if it was refused and is gone.
fn passes(shim: &'static Shim, tap: &Tap, behind: &mut Behind, event: &mut Event) -> bool {
    // The kernel counts the request for its listener: without knowing it, nothing may be swallowed here. The second
    // barrier decides about what is not marked.
    let Some(listener) = behind.listener(event.uid()) else {
        return true;
    };
    let Some(ask) = ask(shim, tap, event.handle()) else {
        return true;
    };
    let Some(decision) = decide::about(shim, Way::In, &ask, true) else {
        return true;
    };
    if decision.refuses() {
        listener.never_seen += 1;
        ucm::reject(tap.kernel(), event.handle(), &tell::private_data(&decision));
        ucm::destroy(tap.kernel(), event.handle());
        return false;
    }
    if let Some(seat) = decision.seat {
        let of = Connection {
            to: None,
            channel: tap.app().0,
        };
        let seats = &shim.state().tenants.seats;
        leave(seats.put(Key::Handle(event.handle()), Held { seat, of }));
    }
    event.decide();
    true
}

/// What the kernel knows of a request's new id; `None` if it does not tell (the peer is gone already).
fn ask(shim: &'static Shim, tap: &Tap, handle: u32) -> Option<Ask> {
    let known = ucm::query(tap.kernel(), handle, QUERY_ADDR)?;
    let (peer, local) = (socket_address(&known.dst), socket_address(&known.src));
    let gid = super::load::needs_gid(shim)
        .then(|| ucm::query(tap.kernel(), handle, QUERY_GID))
        .flatten()
        .map(|answer| gid_of(&answer.dst));
    Some(Ask {
        peer: peer.map(|p| p.ip()),
        scope: super::api::scope(peer, local.map(|l| l.ip())),
        local: local.map(|l| l.ip()),
        port: local.map_or(0, |l| l.port()),
        pkey: Some(super::api::pkey(known.pkey)),
        gid,
    })
}

/// The address of a `struct sockaddr_ib`.
fn gid_of(storage: &sockaddr_storage) -> [u8; 16] {
    let mut gid = [0; 16];
    // SAFETY: the storage has 128 bytes, and any are a valid GID.
    unsafe {
        let from = std::ptr::from_ref(storage)
            .cast::<u8>()
            .add(SOCKADDR_IB_GID);
        std::ptr::copy_nonoverlapping(from, gid.as_mut_ptr(), gid.len());
    }
    gid
}
