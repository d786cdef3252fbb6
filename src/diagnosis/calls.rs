//! A call that failed: one line for the program's call, whatever failed inside.

use super::emit::{self, Line};
use super::facts;
use super::state::{records, IdRecord};
use super::subject::Subject;
use crate::abi::cm::RdmaCmId;
use crate::abi::IdPtr;
use crate::process::ended::Ended;
use crate::process::inner;
use crate::process::shim::Shim;
use crate::process::thread;
use crate::stats;
use crate::sys::clock::Moment;
use crate::sys::limits;
use cmshim_core::explain::{self, CallQuery, Facts, Progress};
use cmshim_core::model::{Role, Severity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Deals with the end of a call on an id: nothing if it went well; a note for the outer call if it
/// is an inner one; else a line.
///
/// # Safety
/// `id` is null or an id that the program keeps valid during its call.
pub unsafe fn ended_on_id(
    shim: &'static Shim,
    ended: Ended,
    id: *const RdmaCmId,
    add: impl FnOnce(&mut Facts, &IdRecord, &mut Subject),
) {
    let Some(errno) = pending(ended) else { return };
    // SAFETY: as promised by the caller.
    let mut subject = unsafe { Subject::of(id) };
    let record = records().record(IdPtr(id as usize));
    subject.qp_num = record.qp_num;
    let mut facts = Facts {
        disconnected: record.ended,
        ..Facts::default()
    };
    // SAFETY: as promised by the caller.
    unsafe { facts::id(&mut facts, id) };
    add(&mut facts, &record, &mut subject);
    facts.progress = step_back(id, ended.name, &facts);
    report(shim, ended.name, errno, facts, &subject, record.role);
}

/// How far the id had come before the call that failed. An accept that librdmacm refused, or that failed at the queue
/// pair, was not sent: the request is open still.
fn step_back(id: *const RdmaCmId, call: &str, facts: &Facts) -> Progress {
    let sent = thread::inner().is_none() && !facts.over_limit();
    let progress = records().with(IdPtr(id as usize), |r| r.step_back(call, sent));
    // Of a synchronous id the events come inside its calls, and then they pass us by, too.
    match inner::past_us() {
        true => Progress::Unknown,
        false => progress,
    }
}

/// Deals with the end of a call that has no id.
pub fn ended(
    shim: &'static Shim,
    ended: Ended,
    subject: impl FnOnce() -> Subject,
    add: impl FnOnce(&mut Facts),
) {
    let Some(errno) = pending(ended) else { return };
    let mut facts = Facts::default();
    add(&mut facts);
    report(shim, ended.name, errno, facts, &subject(), Role::None);
}

/// ibv_get_device_list gave no device: told once, when the program itself asked. Many programs only
/// look whether there is one.
#[inline(never)]
pub fn no_device(shim: &'static Shim, found: Ended) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let wanted = found.outermost && emit::wanted(shim, Severity::Info);
    if wanted && !REPORTED.swap(true, Ordering::Relaxed) {
        ended(shim, found, Subject::default, |_| {});
    }
}

/// A synchronous id waits inside the call; on a non-blocking channel it comes back with EAGAIN, as
/// rsocket uses it, and a signal ends the wait with EINTR. Neither is a failure.
pub fn in_progress(call: &str, errno: i32) -> bool {
    let waits = matches!(
        call,
        "rdma_resolve_addr"
            | "rdma_resolve_route"
            | "rdma_connect"
            | "rdma_accept"
            | "rdma_disconnect"
            | "rdma_get_request"
            | "rdma_create_ep"
            | "rdma_join_multicast"
            | "rdma_join_multicast_ex"
            | "rdma_get_cm_event"
    );
    waits && matches!(errno, libc::EAGAIN | libc::EINTR | libc::EINPROGRESS)
}

/// The errno if a line is to be written now.
fn pending(ended: Ended) -> Option<i32> {
    let errno = ended.failed?;
    if log::max_level() == log::LevelFilter::Off && !stats::on() {
        return None;
    }
    if in_progress(ended.name, errno) {
        return None;
    }
    if !ended.outermost {
        thread::note_inner(thread::Inner {
            call: ended.name,
            errno,
            states: None,
        });
        return None;
    }
    (!thread::reported()).then_some(errno)
}

/// Calls that open files: they fail when the process has no descriptor left, and often hide it.
fn opens_files(call: &str) -> bool {
    matches!(
        call,
        "rdma_create_event_channel"
            | "rdma_create_id"
            | "rdma_create_ep"
            | "rdma_getaddrinfo"
            | "ibv_get_device_list"
            | "ibv_open_device"
            | "ibv_create_comp_channel"
    )
}

#[inline(never)]
fn report(
    shim: &'static Shim,
    call: &'static str,
    errno: i32,
    mut facts: Facts,
    subject: &Subject,
    role: Role,
) {
    facts.descriptors = opens_files(call).then(limits::descriptors).flatten();
    facts.loopback = subject.loopback();
    facts::addresses(&mut facts, call, errno, subject);
    facts.nested = thread::inner()
        .filter(|i| i.call != call)
        .map(|i| (i.call, i.errno));
    let query = CallQuery {
        call,
        errno,
        facts: &facts,
        role,
        transport: subject.transport(),
    };
    let explanation = explain::call(&query);
    let (what, stage) = (explain::what_of_call(call), explain::stage_of_call(call));
    emit::line(
        shim,
        explanation,
        Line {
            what,
            call: Some(call),
            stage,
            role,
            subject,
            // The words of a late accept or reject say how long the peer waited.
            elapsed: None,
            private_data: None,
            details: subject.asked.iter().cloned().collect(),
        },
    );
}

/// Time since the connect request that a server's call answers.
pub fn age(record: &IdRecord) -> Option<Duration> {
    (record.role == Role::Server).then(|| Moment::now().since(record.since))
}
