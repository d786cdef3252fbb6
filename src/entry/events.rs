//! Taking and acking CM events.

use super::entry;
use crate::abi::cm::{RdmaCmEvent, RdmaEventChannel};
use crate::boundary::guard;
use crate::pool;
use crate::reasons::events;
use crate::stats::{self, LazyNow};
use crate::tap::{self, flood};
use crate::tenant;
use cmshim_core::codes::event as ev;
use libc::c_int;

entry! {
    /// A non-blocking program may call this in a loop: an empty channel costs nothing more.
    fn rdma_get_cm_event(channel: *mut RdmaEventChannel, event: *mut *mut RdmaCmEvent) -> c_int, missing -1;
    |call, real| {
        let here = 0u8;
        let mut refused = 0;
        let rc = loop {
            if tenant::on() {
                tenant::check::clean_up(&here);
                call.shim()
                    .into_iter()
                    .for_each(|shim| tenant::check::without_keeper(shim, tap::refused_at));
                tenant::seats_by_handle::nothing_served();
            }
            // SAFETY: the program's own arguments, unchanged.
            let rc = unsafe { real(channel, event) };
            // SAFETY: success filled `event` with a pointer to a whole event, which nobody else has seen.
            if rc != 0 || !tenant::on() || !unsafe { tenant::admit_on_delivery::refused(&call, *event) }
            {
                break rc;
            }
            refused += 1;
            // SAFETY: the call went well, so both are the program's and valid.
            unsafe {
                // Nobody may find an event there that is gone.
                *event = std::ptr::null_mut();
                if refused % flood::AT_ONCE == 0 && flood::may_end((*channel).fd) {
                    guard::set_errno(libc::EAGAIN);
                    break -1;
                }
            }
        };
        if rc != 0 && matches!(guard::errno(), libc::EAGAIN | libc::EINTR) {
            return call.done(rc);
        }
        let counted = rc == 0 && call.counted();
        let look = LazyNow::default();
        // SAFETY: on success the real call filled `event`, and used the channel.
        let finished = call.finish(rc, |shim, ended| unsafe {
            let fd = channel.as_ref().map_or(-1, |channel| channel.fd);
            if ended.failed.is_none() {
                pool::events::cm(shim, event);
            }
            events::handed_over(shim, ended, event, fd, &look)
        });
        if counted {
            // Last, so that the time is the one at which the program has it. What a request or a line takes before is ours.
            // SAFETY: success filled `event` with a pointer to a whole event.
            unsafe {
                let event = event.as_ref().map_or(std::ptr::null(), |e| *e);
                if event.as_ref().is_some_and(|e| e.event == ev::CONNECT_REQUEST) {
                    look.past();
                }
                stats::handed_over(event, &look)
            };
        }
        finished
    }
}

entry! {
    fn rdma_ack_cm_event(event: *mut RdmaCmEvent) -> c_int, missing -1;
    // SAFETY: the program's event, which lives until the real call.
    @before |_shim| unsafe {
        stats::acked(event);
        events::acked(event);
    };
    finish_if_failed |_shim, _ended, _rc| {};
}
