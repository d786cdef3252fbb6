//! Completion channels and queues. Inside rdma_create_qp they may be those of a bundle.

use crate::abi::verbs::{IbvCompChannel, IbvContext, IbvCq};
use crate::boundary;
use crate::pool::{bundle, evict, objects};
use crate::real;
use crate::reasons::subject::Subject;
use crate::reasons::{calls, facts};
use crate::stats::Entry;
use libc::{c_int, c_void};
use std::ptr::null_mut;

/// # Safety
/// As the function of this name in the real library.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_comp_channel(
    context: *mut IbvContext,
) -> *mut IbvCompChannel {
    let Some(real) = real::ibv_create_comp_channel() else {
        return boundary::missing("ibv_create_comp_channel", null_mut());
    };
    let call = boundary::enter(Entry::ibv_create_comp_channel);
    if let Some(channel) = bundle::next_channel(context) {
        call.done();
        return channel;
    }
    // SAFETY: the program's own argument.
    let make = || unsafe { real(context) };
    let channel = call.again(make(), evict::make_room, make);
    call.failed(channel, |shim, ended| {
        // SAFETY: the program's context.
        let of_context = || unsafe { Subject::of_context(context) };
        calls::ended(shim, ended, of_context, |_| {});
    });
    channel
}

/// # Safety
/// As the function of this name in the real library.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_cq(
    context: *mut IbvContext,
    cqe: c_int,
    user: *mut c_void,
    channel: *mut IbvCompChannel,
    vector: c_int,
) -> *mut IbvCq {
    let Some(real) = real::ibv_create_cq() else {
        return boundary::missing("ibv_create_cq", null_mut());
    };
    let call = boundary::enter(Entry::ibv_create_cq);
    if let Some(cq) = bundle::next_cq(context, cqe, user, channel, vector) {
        call.done();
        return cq;
    }
    // SAFETY: the program's own arguments, unchanged.
    let make = || unsafe { real(context, cqe, user, channel, vector) };
    let cq = call.again(make(), evict::make_room, make);
    call.after(cq, |shim, ended| {
        objects::cq_made(shim, cq);
        // SAFETY: the program's context.
        let of_context = || unsafe { Subject::of_context(context) };
        // SAFETY: as above.
        calls::ended(shim, ended, of_context, |f| unsafe {
            facts::completion_queue(f, context, cqe);
        });
    });
    cq
}
