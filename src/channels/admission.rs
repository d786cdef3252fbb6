//! The first barrier of the tenant checks: connect requests as the kernel tells of them, before the program wakes for one.

use super::Tap;
use crate::abi::ucm::*;
use crate::process::shim::{self, Shim};
use crate::real::ucm;
use crate::sys::addresses::socket_address;
use crate::tenant;
use crate::tenant::decide::{self, Direction};
use crate::tenant::seats::{Connection, Held};
use cmshim_core::event_queue::{Event, QueueState};
use cmshim_core::tenant::ConnectionRequest;
use libc::sockaddr_storage;

/// Takes the connect requests that may not be out of a batch, and answers and destroys them. Under the channel's lock.
pub fn filter_requests(tap: &Tap, behind: &mut QueueState, events: Vec<Event>) -> Vec<Event> {
    let Some(shim) = shim::existing().filter(|shim| shim.on()) else {
        return events;
    };
    let mut refused: Vec<u32> = Vec::new();
    let mut left = Vec::with_capacity(events.len());
    for mut event in events {
        if !event.is_connect_request() {
            // What came of a request before its refusal: nobody knows that id.
            if !refused.contains(&event.handle()) {
                if tenant::seats_by_handle::ends_connection(event.kind()) {
                    tenant::seats_by_handle::ended(event.handle());
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
fn passes(shim: &'static Shim, tap: &Tap, behind: &mut QueueState, event: &mut Event) -> bool {
    // The kernel counts the request for its listener: without knowing it, nothing may be swallowed here. The second
    // barrier decides about what is not marked.
    let Some(listener) = behind.listener(event.uid()) else {
        return true;
    };
    let Some(ask) = ask(shim, tap, event.handle()) else {
        return true;
    };
    let Some(decision) = decide::about(shim, Direction::In, &ask, true) else {
        return true;
    };
    if decision.refuses() {
        listener.never_seen += 1;
        ucm::reject(
            tap.kernel(),
            event.handle(),
            &tenant::private_data(&decision),
        );
        ucm::destroy(tap.kernel(), event.handle());
        return false;
    }
    if let Some(seat) = decision.seat {
        let of = Connection {
            to: None,
            channel: tap.app().0,
        };
        tenant::seats_by_handle::seated(event.handle(), Held { seat, of });
    }
    event.decide();
    true
}

/// What the kernel knows of a request's new id; `None` if it does not tell (the peer is gone already).
fn ask(shim: &'static Shim, tap: &Tap, handle: u32) -> Option<ConnectionRequest> {
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
