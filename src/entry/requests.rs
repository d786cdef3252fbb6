//! Connect requests of synchronous ids.

use super::entry;
use crate::abi::cm::RdmaCmId;
use crate::boundary::{guard, inner::Inner, Call};
use crate::reasons::calls;
use crate::tap::flood;
use crate::tenant;
use libc::c_int;

entry! {
    /// librdmacm takes the request by rdma_get_cm_event, where the tenant check refuses it; if that passes us by, it is
    /// refused here.
    fn rdma_get_request(listener: *mut RdmaCmId, id: *mut *mut RdmaCmId) -> c_int, missing -1;
    |call, real| {
        tenant::read_policy(&call);
        let here = 0u8;
        let mut refused = 0;
        let rc = loop {
            if tenant::on() {
                tenant::check::clean_up(&here);
                tenant::seats_by_handle::nothing_served();
            }
            let inner = Inner::awaited();
            // SAFETY: the program's own arguments, unchanged.
            let rc = unsafe { real(listener, id) };
            // SAFETY: success filled `id` with a whole id, which nobody else has seen.
            if rc != 0 || !call.counted() || inner.came() || !unsafe { is_refused(&call, id) } {
                break rc;
            }
            refused += 1;
            // SAFETY: the call went well, so the listener is whole, and has a channel.
            if refused % flood::AT_ONCE == 0 && unsafe { flood::may_end((*(*listener).channel).fd) } {
                guard::set_errno(libc::EAGAIN);
                break -1;
            }
        };
        // SAFETY: the program's listener.
        call.finish_if_failed(rc, |shim, ended| unsafe {
            calls::ended_on_id(shim, ended, listener, |_, _, _| {})
        })
    }
}

/// The id stands for a connect request that may not be: it is gone now.
///
/// # Safety
/// `id` points to an id that rdma_get_request has just given.
unsafe fn is_refused(call: &Call, id: *mut *mut RdmaCmId) -> bool {
    // SAFETY: as promised by the caller; the id has the event that it came with.
    unsafe {
        let event = (**id).event;
        if !tenant::on() || event.is_null() || !tenant::admit_on_delivery::refused(call, event) {
            return false;
        }
        *id = std::ptr::null_mut();
    }
    true
}
