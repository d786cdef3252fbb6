//! Early warning for connects without an answer, and the watchdog for calls that un-acked events
//! block.

use super::emit::{self, Line};
use super::state::{records, QpPtr, UnAcked};
use super::subject::Subject;
use super::watch::{token, Key, Waiting};
use crate::abi::cm::RdmaCmId;
use crate::abi::verbs::{IbvContext, IbvQp};
use crate::abi::IdPtr;
use crate::process::keeper;
use crate::process::shim::Shim;
use crate::sys::addresses::same_host;
use crate::sys::device;
use crate::sys::lock::lock;
use cmshim_core::codes::event;
use cmshim_core::explain::{self, Blocked, Port};
use cmshim_core::model::{Explanation, Role, Severity};
use std::time::{Duration, Instant};

/// A connect request goes out: an answer is expected within `reasons.early_warning_ms`.
///
/// # Safety
/// `id` is valid during this call.
pub unsafe fn connect_begins(shim: &'static Shim, id: *const RdmaCmId) {
    let limit = shim.config.reasons.early_warning;
    let told = emit::wanted(shim, Severity::Warn) && emit::written(Severity::Warn);
    if limit.is_zero() || !told {
        return;
    }
    // SAFETY: as promised by the caller.
    let subject = unsafe { Subject::of(id) };
    let qp_num = records().record(IdPtr(id as usize)).qp_num;
    let subject = Subject { qp_num, ..subject };
    watch(
        shim,
        Key::Connect(IdPtr(id as usize)),
        limit,
        "rdma_connect",
        subject,
        Vec::new(),
        Vec::new(),
    );
}

/// The answer came, or the id goes away.
pub fn connect_ends(id: IdPtr) {
    records().watch.remove(Key::Connect(id));
}

/// A call begins that blocks until all events of the id are acked. `wanted` picks the events that
/// count for it.
///
/// # Safety
/// `id` is null or valid during this call.
pub unsafe fn call_begins(
    shim: &'static Shim,
    call: &'static str,
    id: *const RdmaCmId,
    wanted: impl Fn(&UnAcked) -> bool,
) -> Option<Key> {
    // SAFETY: as promised by the caller.
    let cm = unsafe { id.as_ref() }?;
    // librdmacm acks the event that a synchronous id holds by itself.
    let held = cm.event as usize;
    let record = records().record(IdPtr(id as usize));
    let unacked: Vec<UnAcked> = record
        .unacked
        .into_iter()
        .filter(|u| u.at != held && wanted(u))
        .collect();
    if unacked.is_empty() {
        return None;
    }
    // SAFETY: valid, see above.
    let subject = Subject {
        qp_num: record.qp_num,
        ..unsafe { Subject::of(id) }
    };
    Some(watch_call(shim, call, subject, unacked, Vec::new()))
}

/// Does the event count for rdma_destroy_id and rdma_migrate_id?
pub fn of_id(u: &UnAcked) -> bool {
    !of_group(u)
}

/// Does the event count for rdma_leave_multicast (`ucma_complete_mc_event`, librdmacm/cma.c)?
pub fn of_group(u: &UnAcked) -> bool {
    matches!(u.event, event::MULTICAST_JOIN | event::MULTICAST_ERROR)
}

/// ibv_destroy_qp begins: it blocks until all asynchronous events of the queue pair are acked.
///
/// # Safety
/// `qp` is null or valid during this call.
pub unsafe fn destroy_qp_begins(
    shim: &'static Shim,
    call: &'static str,
    qp: *const IbvQp,
) -> Option<Key> {
    let known = lock(&records().qps).get(&QpPtr(qp as usize)).cloned()?;
    if known.unacked.is_empty() {
        return None;
    }
    // SAFETY: as promised by the caller.
    let qp = unsafe { qp.as_ref() }?;
    let context: *const IbvContext = qp.context;
    // SAFETY: the context of a live queue pair is open.
    let subject = Subject {
        id: known.id,
        qp_num: Some(qp.qp_num),
        ..unsafe { Subject::of_context(context) }
    };
    Some(watch_call(shim, call, subject, Vec::new(), known.unacked))
}

/// The call returned.
pub fn call_ends(key: Option<Key>) {
    if let Some(key) = key {
        records().watch.remove(key);
    }
}

fn watch_call(
    shim: &'static Shim,
    call: &'static str,
    subject: Subject,
    unacked: Vec<UnAcked>,
    unacked_async: Vec<i32>,
) -> Key {
    let key = token(records());
    let limit = shim.config.reasons.watchdog;
    if !limit.is_zero() {
        watch(shim, key, limit, call, subject, unacked, unacked_async);
    }
    key
}

fn watch(
    shim: &'static Shim,
    key: Key,
    limit: Duration,
    call: &'static str,
    subject: Subject,
    unacked: Vec<UnAcked>,
    unacked_async: Vec<i32>,
) {
    let since = Instant::now();
    let waiting = Waiting {
        since,
        deadline: since + limit,
        call,
        subject,
        unacked,
        unacked_async,
    };
    records().watch.add(key, waiting);
    keeper::ensure(shim);
}

/// Writes the line of one whose time has come.
pub fn report(shim: &'static Shim, key: Key, waiting: &Waiting, now: Instant) {
    let waited = now.duration_since(waiting.since);
    let subject = &waiting.subject;
    let (explanation, role, details) = match key {
        Key::Connect(_) => {
            let (transport, port) = (subject.transport(), subject.port());
            let own = same_host(subject.src, subject.dst);
            let words = explain::no_answer_yet_by(waited, transport, port.as_ref(), own);
            (words, Role::Client, ruled_out(subject, port))
        }
        Key::Call(_) => {
            let id = subject.id.map(|id| format!("id {:#x}", id.0));
            (
                blocked(waiting, waited),
                Role::None,
                id.into_iter().collect(),
            )
        }
    };
    emit::line(
        shim,
        explanation,
        Line {
            what: explain::what_of_call(waiting.call),
            call: Some(waiting.call),
            stage: explain::stage_of_call(waiting.call),
            role,
            subject,
            elapsed: Some(waited),
            private_data: None,
            details,
        },
    );
}

/// rdma_destroy_id and its kin wait until the program has acked every event that it took.
fn blocked(waiting: &Waiting, waited: Duration) -> Explanation {
    let asynchronous = waiting.unacked.is_empty();
    let events: Vec<i32> = match asynchronous {
        true => waiting.unacked_async.clone(),
        false => waiting.unacked.iter().map(|u| u.event).collect(),
    };
    let blocked = Blocked {
        call: waiting.call,
        events: &events,
        asynchronous,
        count: events.len(),
    };
    explain::unacked(&blocked, waited)
}

/// What this host can see of the way to the peer, long before the kernel gives up.
fn ruled_out(subject: &Subject, port: Option<Port>) -> Vec<String> {
    let mut seen: Vec<String> = port.iter().map(Port::phrase).collect();
    if same_host(subject.src, subject.dst) {
        seen.push("the peer is this host".to_owned());
    } else if let Some(dst) = subject.dst {
        match device::neighbour_known(dst.ip()) {
            Some(true) => seen.push("the peer's host answered ARP".to_owned()),
            Some(false) => seen.push("the peer's host no longer answers ARP".to_owned()),
            None => {}
        }
    }
    seen
}
