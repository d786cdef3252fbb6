//! The seats of connections by what the kernel tells of them, for the tap: by the handles of their ids.

use super::on;
use super::seats::{Held, Key};
use crate::sys::guard;
use cmshim_core::codes::event as ev;
use cmshim_core::event_queue::IdHandle;
use libc::c_int;
use std::cell::Cell;

thread_local! {
    /// The event that librdmacm has taken in this thread's call: handle of its id, and was it decided about?
    static SERVED: Cell<Option<(IdHandle, bool)>> = const { Cell::new(None) };
}

/// A call begins in which an event may be taken.
pub fn nothing_served() {
    SERVED.with(|s| s.set(None));
}

/// librdmacm takes this event, of an id if it is no multicast event. A connection that is over gives its seat back.
pub fn served(id: Option<IdHandle>, kind: i32, decided: bool) {
    SERVED.with(|s| s.set(id.map(|id| (id, decided))));
    if let Some(id) = id.filter(|_| ends_connection(kind)) {
        ended(id);
    }
}

/// The event taken last in this thread, since the call began.
pub fn last_served() -> Option<(IdHandle, bool)> {
    SERVED.with(Cell::get)
}

/// Is a connection over with this event?
pub fn ends_connection(kind: i32) -> bool {
    matches!(
        kind,
        ev::REJECTED | ev::UNREACHABLE | ev::CONNECT_ERROR | ev::DISCONNECTED | ev::DEVICE_REMOVAL
    )
}

/// A command is about to end this id's connection. Its place is free before the kernel tells the peer, whose next
/// connect may be here before the command returns.
pub fn ending(handle: IdHandle) -> Option<Held> {
    let seat = take(handle);
    release(seat);
    seat
}

/// The command has just failed, and the connection lives on: it has its place again, even if another one took that
/// meanwhile. Unless the kernel does not have the id any more, since another thread has destroyed it.
pub fn restore(handle: IdHandle, seat: Option<Held>) {
    if !is_gone(guard::errno()) {
        reacquire(Key::Handle(handle), seat);
    }
}

/// The connection has its place again.
pub fn reacquire(key: Key, seat: Option<Held>) {
    let Some(seat) = seat else { return };
    guard_or_inside(|| {
        let tenants = super::state();
        if let (Some(row), Some(share)) = (seat.seat.row, tenants.share.get()) {
            // Without a limit it never fails.
            share.acquire_anyway(row);
        }
        release(tenants.seats.put(key, seat));
        None::<()>
    });
}

/// What the kernel says of an id that is destroyed, or about to be (`ucma_get_ctx`, drivers/infiniband/core/ucma.c).
pub fn is_gone(errno: i32) -> bool {
    matches!(errno, libc::ENOENT | libc::ENXIO)
}

fn take(handle: IdHandle) -> Option<Held> {
    if !on() {
        return None;
    }
    guard_or_inside(|| super::state().seats.take(Key::Handle(handle)))
}

/// The connection is over: its place is free.
pub fn release(seat: Option<Held>) {
    let row = seat.and_then(|held| held.seat.row);
    if let (Some(row), Some(share)) = (row, super::state().share.get()) {
        share.release(row);
    }
}

/// The connection of this id is over.
pub fn ended(handle: IdHandle) {
    release(take(handle));
}

/// The connection of this id has a seat.
pub fn seated(handle: IdHandle, held: Held) {
    release(super::state().seats.put(Key::Handle(handle), held));
}

/// The id is on the channel with this descriptor now.
pub fn moved(key: Key, channel: c_int) {
    if on() {
        guard_or_inside(|| {
            super::state().seats.moved(key, channel);
            None::<()>
        });
    }
}

/// As `moved`, by the handle of the connection's id.
pub fn id_moved(handle: IdHandle, channel: c_int) {
    moved(Key::Handle(handle), channel);
}

/// The channel goes, and with it all its ids in the kernel: nobody will destroy them.
pub fn channel_ends(channel: c_int) {
    if on() {
        let seats = &super::state().seats;
        while let Some(gone) = guard_or_inside(|| seats.of_channel(channel)) {
            gone.into_iter().for_each(release);
        }
    }
}

/// The traffic class for the packets of this connection.
pub fn class(key: Key) -> Option<u8> {
    if !on() {
        return None;
    }
    guard_or_inside(|| super::state().seats.get(key))?.seat.tos
}

/// As `class`, by the handle of the connection's id.
pub fn class_of(handle: IdHandle) -> Option<u8> {
    class(Key::Handle(handle))
}

/// Locks are taken with signals held back; some callers have done that.
fn guard_or_inside<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    match guard::inside() {
        true => work(),
        false => guard::run(work).flatten(),
    }
}
