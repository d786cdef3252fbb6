//! This process refuses a connect request: its own line says so, and whom.

use super::emit::{self, Line};
use super::state::records;
use super::subject::Subject;
use super::{calls, facts};
use crate::abi::cm::RdmaCmId;
use crate::abi::IdPtr;
use crate::process::ended::Ended;
use crate::process::shim::Shim;
use crate::stats::{self, Counter};
use cmshim_core::explain::Progress;
use cmshim_core::model::{Explanation, Role, Severity, Stage, Who};
use libc::c_void;

/// rdma_reject or rdma_reject_ece returned.
///
/// # Safety
/// `id` is valid, `private_data` null or `length` bytes.
pub unsafe fn ended(
    shim: &'static Shim,
    ended: Ended,
    id: *const RdmaCmId,
    private_data: *const c_void,
    length: u8,
) {
    if ended.failed.is_some() {
        // SAFETY: as promised by the caller.
        unsafe {
            calls::ended_on_id(shim, ended, id, |f, record, _| {
                let length = if private_data.is_null() { 0 } else { length };
                f.age = calls::age(record);
                facts::private_data(f, id, length, facts::Message::Reject);
            });
        }
        return;
    }
    stats::add(Counter::RequestsRefused, 1);
    stats::probes::refusal(id as usize, 0);
    let record = records().with(IdPtr(id as usize), |r| {
        r.ended = true;
        r.progress = Progress::Rejected;
        r.clone()
    });
    if !emit::wanted(shim, Severity::Warn) {
        return;
    }
    let given = !private_data.is_null() && length > 0;
    let private_data = given.then(|| {
        // SAFETY: as promised by the caller.
        unsafe { std::slice::from_raw_parts(private_data.cast::<u8>(), length.into()) }.to_vec()
    });
    // SAFETY: as promised by the caller.
    let subject = unsafe { Subject::of(id) };
    let subject = Subject {
        qp_num: record.qp_num,
        ..subject
    };
    let (code, summary) = match ended.name {
        "rdma_reject_ece" => (
            "REJECTED 35, IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED",
            "the program refused the peer's vendor options (ECE)",
        ),
        _ => (
            "REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED",
            "the program called rdma_reject",
        ),
    };
    let explanation = Explanation::new(Who::ThisProcess, Severity::Warn, "refused", code, summary)
        .with_next("This program's own log says why");
    emit::line(
        shim,
        explanation,
        Line {
            what: "connect request",
            call: Some(ended.name),
            stage: Stage::Accept,
            role: Role::Server,
            subject: &subject,
            elapsed: calls::age(&record),
            private_data,
            details: Vec::new(),
        },
    );
}
