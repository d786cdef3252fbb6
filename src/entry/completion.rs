//! Completion channels and queues. Inside rdma_create_qp they may be those of a bundle.

use super::entry;
use crate::abi::verbs::{IbvCompChannel, IbvContext, IbvCq};
use crate::pool::{bundle, evict, objects};
use crate::reasons::subject::Subject;
use crate::reasons::{calls, facts};
use libc::{c_int, c_void};
use std::ptr::null_mut;

entry! {
    fn ibv_create_comp_channel(context: *mut IbvContext) -> *mut IbvCompChannel, missing null_mut();
    |call, real| {
        if let Some(channel) = bundle::next_channel(context) {
            return call.done(channel);
        }
        // SAFETY: the program's own argument.
        let make = || unsafe { real(context) };
        let channel = call.retry_if(make(), evict::make_room, make);
        call.finish_if_failed(channel, |shim, ended| {
            // SAFETY: the program's context.
            let of_context = || unsafe { Subject::of_context(context) };
            calls::ended(shim, ended, of_context, |_| {});
        })
    }
}

entry! {
    fn ibv_create_cq(context: *mut IbvContext, cqe: c_int, user: *mut c_void, channel: *mut IbvCompChannel, vector: c_int) -> *mut IbvCq, missing null_mut();
    |call, real| {
        if let Some(cq) = bundle::next_cq(context, cqe, user, channel, vector) {
            return call.done(cq);
        }
        // SAFETY: the program's own arguments, unchanged.
        let make = || unsafe { real(context, cqe, user, channel, vector) };
        let cq = call.retry_if(make(), evict::make_room, make);
        call.finish(cq, |shim, ended| {
            objects::cq_made(shim, cq);
            // SAFETY: the program's context.
            let of_context = || unsafe { Subject::of_context(context) };
            // SAFETY: as above.
            calls::ended(shim, ended, of_context, |f| unsafe {
                facts::completion_queue(f, context, cqe);
            });
        })
    }
}
