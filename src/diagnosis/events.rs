//! CM events: each is read once when it is handed over; bad news becomes a line.

use super::emit::{self, Line};
use super::state::{records, IdRecord, UnAcked};
use super::subject::Subject;
use super::{calls, storm, traffic, waits};
use crate::abi::cm::{RdmaCmEvent, RdmaCmId};
use crate::abi::verbs::IbvQp;
use crate::abi::IdPtr;
use crate::process::ended::Ended;
use crate::process::shim::Shim;
use crate::process::thread;
use crate::stats::{self, Counter};
use crate::sys::addresses::same_host;
use crate::sys::clock::LazyNow;
use crate::sys::limits;
use cmshim_core::codes::{event as ev, qp_state};
use cmshim_core::explain::{self, Addresses, EventQuery, Progress};
use cmshim_core::model::{Explanation, Role, Severity, Stage};
use cmshim_core::tenant::reason;
use std::time::Duration;

/// What other features know of an event.
pub struct Others {
    /// Does another event of the channel with this descriptor wait already? `None`: the kernel must be asked.
    pub more: fn(i32) -> Option<bool>,
    /// What is to be said of the queue pair of a connection that was rejected with this status.
    pub queue_pair: fn(&Shim, *const IbvQp, i32) -> Vec<String>,
}

/// rdma_get_cm_event returned, from the channel of descriptor `fd`, at the moment of `look`.
///
/// # Safety
/// On success `event` points to the event that librdmacm just handed over.
pub unsafe fn handed_over(
    shim: &'static Shim,
    ended: Ended,
    event: *const *mut RdmaCmEvent,
    fd: i32,
    look: &LazyNow,
    others: &Others,
) {
    if ended.failed.is_some() {
        calls::ended(shim, ended, Subject::default, |_| {});
        return;
    }
    // SAFETY: success fills `event` with a pointer to a whole event, not acked yet.
    let Some(e) = (unsafe { event.as_ref().and_then(|e| e.as_ref()) }) else {
        return;
    };
    let id = IdPtr(e.id as usize);
    let before = take_note(e, id, look);
    waits::connect_ends(id);
    // SAFETY: librdmacm keeps the id of an un-acked event alive.
    unsafe {
        if e.event == ev::CONNECT_REQUEST {
            storm::request_taken(shim, e.listen_id, fd, look, others.more);
        }
        report(shim, e, &before, look, others);
    }
}

/// Whose acks the event counts for: a connect request belongs to its listener until it is acked
/// (`ucma_process_conn_req`, librdmacm/cma.c).
pub fn owner(e: &RdmaCmEvent) -> IdPtr {
    let request = e.event == ev::CONNECT_REQUEST && !e.listen_id.is_null();
    IdPtr(if request { e.listen_id } else { e.id } as usize)
}

/// Puts the event into the records; gives the id's record as it was before.
fn take_note(e: &RdmaCmEvent, id: IdPtr, look: &LazyNow) -> IdRecord {
    let state = records();
    let un_acked = UnAcked {
        at: std::ptr::from_ref(e) as usize,
        event: e.event,
    };
    state.with(owner(e), |r| r.unacked.push(un_acked));
    if e.event == ev::CONNECT_REQUEST {
        let new = IdRecord {
            role: Role::Server,
            stage: Stage::Accept,
            progress: Progress::Request,
            ..IdRecord::since(look.moment())
        };
        state.put(id, new.clone());
        return new;
    }
    state.with(id, |r| {
        let before = r.clone();
        r.progress = progress(e.event).unwrap_or(r.progress);
        match e.event {
            ev::ESTABLISHED if e.status == 0 => {
                if !r.up() {
                    stats::add(Counter::ConnectionsOpen, 1);
                }
                r.since = look.moment();
                r.established = Some(r.since);
                r.psns = thread::psns();
                r.stage = Stage::Established;
            }
            ev::REJECTED
            | ev::UNREACHABLE
            | ev::CONNECT_ERROR
            | ev::DISCONNECTED
            | ev::DEVICE_REMOVAL => {
                if r.up() {
                    stats::take(Counter::ConnectionsOpen, 1);
                }
                r.ended = true;
            }
            _ => {}
        }
        before
    })
}

/// How far an event takes its id.
fn progress(event: i32) -> Option<Progress> {
    Some(match event {
        ev::ADDR_RESOLVED => Progress::AddressResolved,
        ev::ADDR_ERROR => Progress::AddressFailed,
        ev::ROUTE_RESOLVED => Progress::RouteResolved,
        // The kernel takes the id back to where the route can be asked for again.
        ev::ROUTE_ERROR => Progress::AddressResolved,
        ev::CONNECT_RESPONSE => Progress::Answered,
        ev::ESTABLISHED => Progress::Established,
        ev::REJECTED
        | ev::UNREACHABLE
        | ev::CONNECT_ERROR
        | ev::DISCONNECTED
        | ev::DEVICE_REMOVAL => Progress::Ended,
        _ => return None,
    })
}

/// Writes the line of an event, if it is one to write.
///
/// # Safety
/// The event's id is alive.
unsafe fn report(
    shim: &'static Shim,
    e: &RdmaCmEvent,
    before: &IdRecord,
    look: &LazyNow,
    others: &Others,
) {
    let slow = slow(shim, e, before, look);
    if good(e) && slow.is_none() && !emit::wanted(shim, Severity::Debug) {
        return;
    }
    let now = look.moment();
    // The device and the line take a while: who asks for the time afterwards is to look again.
    look.past();
    let elapsed = now.since(before.since);
    let since_established = before.established.map(|then| now.since(then));
    // SAFETY: see above.
    let mut subject = unsafe { Subject::of(e.id) };
    subject.qp_num = before.qp_num;
    let rejected = e.event == ev::REJECTED;
    // SAFETY: the event is whole and not acked.
    let private_data = rejected.then(|| unsafe { private_data(e) }).flatten();
    let query = EventQuery {
        // SAFETY: the id is alive.
        no_data: unsafe { dropped_unused(shim, e, before, since_established) },
        private_data: private_data.iter().flatten().any(|byte| *byte != 0),
        policy: private_data.as_deref().and_then(reason::decode),
        event: e.event,
        status: e.status,
        transport: subject.transport_if(e.status != 0),
        role: before.role,
        since_established,
        we_disconnected: before.we_disconnected,
        short_lived: shim.config.reasons.short_lived,
        nested: thread::inner().map(|i| (i.call, i.errno)),
        elapsed: Some(elapsed),
        port: (e.event == ev::UNREACHABLE)
            .then(|| subject.port())
            .flatten(),
        same_host: same_host(subject.src, subject.dst),
        loopback: subject.loopback(),
        listener: before.stage == Stage::Listen,
        descriptors: (e.event == ev::ADDR_ERROR && e.status == -1)
            .then(limits::descriptors)
            .flatten(),
        addresses: Addresses {
            source: subject.src,
            destination: subject.dst,
            ..Addresses::default()
        },
    };
    let (stage, what) = explain::place(&query);
    let explanation = slow.unwrap_or_else(|| explain::event(&query));
    let mut details = Vec::new();
    if e.event == ev::CONNECT_ERROR {
        details.extend(inner_states());
    }
    if rejected {
        let details_of = others.queue_pair;
        // SAFETY: the id is alive.
        details.extend(details_of(shim, unsafe { (*e.id).qp }, e.status));
    }
    emit::line(
        shim,
        explanation,
        Line {
            what,
            call: None,
            stage,
            role: before.role,
            subject: &subject,
            elapsed: Some(elapsed),
            private_data,
            details,
        },
    );
}

/// Is the event good news, or of no interest but for debugging?
fn good(e: &RdmaCmEvent) -> bool {
    e.status == 0
        && matches!(
            e.event,
            ev::ADDR_RESOLVED
                | ev::ROUTE_RESOLVED
                | ev::CONNECT_REQUEST
                | ev::CONNECT_RESPONSE
                | ev::ESTABLISHED
                | ev::MULTICAST_JOIN
                | ev::TIMEWAIT_EXIT
        )
}

/// Did the server end a young connection over which nothing went?
///
/// # Safety
/// The event's id is alive.
unsafe fn dropped_unused(
    shim: &Shim,
    e: &RdmaCmEvent,
    before: &IdRecord,
    since_established: Option<Duration>,
) -> bool {
    let young = since_established.is_some_and(|age| age < shim.config.reasons.short_lived);
    let by_peer = e.event == ev::DISCONNECTED && !before.we_disconnected;
    // SAFETY: see above. The queue pair is only followed if it has a record.
    young
        && by_peer
        && before.role == Role::Client
        && traffic::none(unsafe { (*e.id).qp }, before.psns)
}

/// librdmacm reports its own failed queue pair move as CONNECT_ERROR -1 and loses the errno.
fn inner_states() -> Option<String> {
    let (from, to) = thread::inner()?.states?;
    Some(format!(
        "queue pair {} to {}",
        qp_state::name(from as u32),
        qp_state::name(to as u32)
    ))
}

/// A connect that came through, but only after the request was repeated: the one trace of a full
/// listen backlog, which the peer's kernel drops requests at without a word.
fn slow(shim: &Shim, e: &RdmaCmEvent, before: &IdRecord, look: &LazyNow) -> Option<Explanation> {
    let limit = shim.config.reasons.slow_connect;
    let connected = e.event == ev::ESTABLISHED
        && e.status == 0
        && before.role == Role::Client
        && before.stage == Stage::Connect
        && !limit.is_zero();
    let elapsed = connected.then(|| look.moment().since(before.since))?;
    (elapsed >= limit).then(|| explain::slow_connect(elapsed))
}

/// Copies an event's private data.
///
/// # Safety
/// The event is whole and not acked.
unsafe fn private_data(e: &RdmaCmEvent) -> Option<Vec<u8>> {
    let (data, length) = (
        e.conn.private_data.cast::<u8>(),
        usize::from(e.conn.private_data_len),
    );
    if data.is_null() || length == 0 {
        return None;
    }
    // SAFETY: librdmacm points the data at `length` bytes inside the event.
    Some(unsafe { std::slice::from_raw_parts(data, length) }.to_vec())
}

/// rdma_ack_cm_event begins: afterwards the event is gone.
///
/// # Safety
/// `event` is null or an event that was handed over and not acked.
pub unsafe fn acked(event: *const RdmaCmEvent) {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref() }) else {
        return;
    };
    let at = event as usize;
    let mut ids = crate::sys::lock::lock(&records().ids);
    if let Some(record) = ids.get_mut(&owner(e)) {
        record.unacked.retain(|u| u.at != at);
    }
}

/// The id goes away: its record is taken out before the real call, since the address may be
/// another thread's new id as soon as that returns.
pub fn forget(id: *const RdmaCmId) -> Option<IdRecord> {
    let id = IdPtr(id as usize);
    waits::connect_ends(id);
    let record = crate::sys::lock::lock(&records().ids).remove(&id);
    if record.as_ref().is_some_and(IdRecord::up) {
        stats::take(Counter::ConnectionsOpen, 1);
    }
    record
}

/// The id did not go away.
pub fn remember(id: *const RdmaCmId, record: Option<IdRecord>) {
    if let Some(record) = record {
        if record.up() {
            stats::add(Counter::ConnectionsOpen, 1);
        }
        crate::sys::lock::lock(&records().ids).insert(IdPtr(id as usize), record);
    }
}
