//! The first barrier of the tenant checks: connect requests as the kernel tells of them, before the program wakes for one.

use super::Tap;
use crate::abi::ucm::*;
use crate::process::shim::{self, Shim};
use crate::real::ucm;
use crate::sys::addresses::socket_address;
use crate::tenant;
use crate::tenant::decide::{self, Direction};
use crate::tenant::seats::{Connection, Held};
use cmshim_core::event_queue::{Event, IdHandle, QueueState};
use cmshim_core::tenant::ConnectionRequest;
use libc::sockaddr_storage;

/// Takes the connect requests that may not be out of a batch, and answers and destroys them. Under the channel's lock.
pub fn filter_requests(tap: &Tap, behind: &mut QueueState, events: Vec<Event>) -> Vec<Event> {
    let Some(shim) = shim::existing().filter(|shim| shim.on()) else {
        return events;
    };
    let passes = |event: &mut Event, id| passes(shim, tap, behind, event, id);
    without_refused(events, passes, tenant::seats_by_handle::ended)
}

/// The events without the requests that do not pass, and without what came of these before they were refused: nobody
/// knows their ids. `ended` gets the ids whose connection is over.
fn without_refused(
    events: Vec<Event>,
    mut passes: impl FnMut(&mut Event, IdHandle) -> bool,
    ended: impl Fn(IdHandle),
) -> Vec<Event> {
    let mut refused: Vec<IdHandle> = Vec::new();
    let mut left = Vec::with_capacity(events.len());
    for mut event in events {
        // A multicast event is of a group, whose number may be that of a refused id.
        let Some(id) = event.id() else {
            left.push(event);
            continue;
        };
        if !event.is_connect_request() {
            if !refused.contains(&id) {
                if tenant::seats_by_handle::ends_connection(event.kind()) {
                    ended(id);
                }
                left.push(event);
            }
        } else if passes(&mut event, id) {
            refused.retain(|handle| *handle != id);
            left.push(event);
        } else {
            refused.push(id);
        }
    }
    left
}

/// Decides about one request; false if it was refused and is gone.
fn passes(
    shim: &'static Shim,
    tap: &Tap,
    behind: &mut QueueState,
    event: &mut Event,
    id: IdHandle,
) -> bool {
    // The kernel counts the request for its listener: without knowing it, nothing may be swallowed here. The second
    // barrier decides about what is not marked.
    let Some(listener) = behind.listener(event.uid()) else {
        return true;
    };
    let Some(ask) = ask(shim, tap, id) else {
        return true;
    };
    let Some(decision) = decide::about(shim, Direction::In, &ask, true) else {
        return true;
    };
    if decision.refuses() {
        listener.never_seen += 1;
        ucm::reject(tap.kernel(), id, &tenant::private_data(&decision));
        ucm::destroy(tap.kernel(), id);
        return false;
    }
    if let Some(seat) = decision.seat {
        let of = Connection {
            to: None,
            channel: tap.app().0,
        };
        tenant::seats_by_handle::seated(id, Held { seat, of });
    }
    event.decide();
    true
}

/// What the kernel knows of a request's new id; `None` if it does not tell (the peer is gone already).
fn ask(shim: &'static Shim, tap: &Tap, handle: IdHandle) -> Option<ConnectionRequest> {
    let known = ucm::query(tap.kernel(), handle, QUERY_ADDR)?;
    let (peer, local) = (socket_address(&known.dst), socket_address(&known.src));
    let gid = tenant::needs_gid(shim)
        .then(|| ucm::query(tap.kernel(), handle, QUERY_GID))
        .flatten()
        .map(|answer| gid_of(&answer.dst));
    Some(ConnectionRequest {
        peer: peer.map(|p| p.ip()),
        scope: tenant::admit_on_delivery::scope(peer, local.map(|l| l.ip())),
        local: local.map(|l| l.ip()),
        port: local.map_or(0, |l| l.port()),
        pkey: Some(tenant::admit_on_delivery::pkey(known.pkey)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use cmshim_core::codes::event;
    use std::cell::RefCell;

    #[test]
    fn only_a_refused_request_and_what_came_of_it_are_taken_out() {
        let is = |uid, number, kind| Event::made(uid, number, kind, 0);
        let refused = is(1, 3, event::CONNECT_REQUEST);
        let passes = is(2, 3, event::CONNECT_REQUEST);
        let join = is(9, 3, event::MULTICAST_JOIN);
        let (other, end) = (is(5, 4, event::ESTABLISHED), is(5, 4, event::DISCONNECTED));
        let gone = is(0, 3, event::DISCONNECTED);
        let events = [&refused, &join, &gone, &other, &end, &passes, &gone];
        let ended = RefCell::new(Vec::new());
        let left = without_refused(
            events.map(Event::clone).to_vec(),
            |event, _| event.uid() == 2,
            |id| ended.borrow_mut().push(id),
        );
        assert!(left == [&join, &other, &end, &passes, &gone].map(Event::clone));
        assert_eq!(*ended.borrow(), [IdHandle(4), IdHandle(3)]);
    }
}
