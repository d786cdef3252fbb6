//! Asynchronous events of devices, ports and queue pairs (ibv_get_async_event).

use super::emit::{self, Line};
use super::state::{records, QpPtr, QpRecord, State};
use super::subject::Subject;
use crate::abi::verbs::{async_event, IbvAsyncEvent, IbvContext, IbvQp};
use crate::process::shim::Shim;
use crate::sys::lock::lock;
use cmshim_core::explain;
use cmshim_core::model::{Role, Stage};

/// An asynchronous event was handed over.
///
/// # Safety
/// `context` is open and `event` was filled by a successful ibv_get_async_event.
pub unsafe fn handed_over(
    shim: &'static Shim,
    context: *const IbvContext,
    event: *const IbvAsyncEvent,
) {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref() }) else {
        return;
    };
    let explanation = explain::async_event(e.event_type);
    // SAFETY: as promised by the caller.
    let mut subject = unsafe { Subject::of_context(context) };
    let mut role = Role::None;
    if async_event::is_qp(e.event_type) {
        let at = QpPtr(e.element as usize);
        let id = note(records(), at, e.event_type);
        // SAFETY: libibverbs keeps the queue pair of an un-acked event alive.
        subject.qp_num = unsafe { e.element.cast::<IbvQp>().as_ref() }.map(|qp| qp.qp_num);
        if let Some(id) = id {
            role = records().record(id).role;
            subject.id = Some(id);
        }
    } else if async_event::is_port(e.event_type) {
        if let Some(device) = &mut subject.device {
            // The element is a union; a port number stands in its first four bytes.
            device.port = (e.element as usize & 0xff) as u8;
        }
    }
    if !emit::wanted(shim, explanation.severity) {
        return;
    }
    let details = subject
        .id
        .map(|id| format!("id {:#x}", id.0))
        .into_iter()
        .collect();
    emit::line(
        shim,
        explanation,
        Line {
            what: "asynchronous event",
            call: None,
            stage: Stage::Device,
            role,
            subject: &subject,
            elapsed: None,
            private_data: None,
            details,
        },
    );
}

/// Counts it as un-acked; gives the id that the queue pair belongs to.
fn note(state: &State, qp: QpPtr, event: i32) -> Option<crate::abi::IdPtr> {
    let mut qps = lock(&state.qps);
    let record = qps.entry(qp).or_default();
    record.unacked.push(event);
    record.id
}

/// ibv_ack_async_event begins.
///
/// # Safety
/// `event` is null or an event that was handed over and not acked.
pub unsafe fn acked(event: *const IbvAsyncEvent) {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref() }) else {
        return;
    };
    if !async_event::is_qp(e.event_type) {
        return;
    }
    let qp = QpPtr(e.element as usize);
    let mut qps = lock(&records().qps);
    if let Some(record) = qps.get_mut(&qp) {
        if let Some(at) = record.unacked.iter().position(|u| *u == e.event_type) {
            record.unacked.remove(at);
        }
        if record.unacked.is_empty() && record.id.is_none() {
            qps.remove(&qp);
        }
    }
}

/// The queue pair belongs to an id from now on.
pub fn belongs(qp: *const IbvQp, id: crate::abi::IdPtr) {
    lock(&records().qps).insert(
        QpPtr(qp as usize),
        QpRecord {
            id: Some(id),
            ..QpRecord::default()
        },
    );
}

/// The queue pair goes away: its record is taken out before the real call, as its address may be
/// another's as soon as that returns.
pub fn forget(qp: *const IbvQp) -> Option<QpRecord> {
    lock(&records().qps).remove(&QpPtr(qp as usize))
}

/// The queue pair did not go away.
pub fn remember(qp: *const IbvQp, record: Option<QpRecord>) {
    if let Some(record) = record {
        lock(&records().qps).insert(QpPtr(qp as usize), record);
    }
}
