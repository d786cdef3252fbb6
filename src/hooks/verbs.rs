//! libibverbs: devices, objects, queue pairs, memory, asynchronous events; and the one function of libmlx5.

use super::entry;
use crate::abi::verbs::RTR;
use crate::abi::verbs::{IbvCompChannel, IbvContext, IbvCq, IbvPd, IbvSrq, *};
use crate::call::{Call, Finished};
use crate::diagnosis::subject::Subject;
use crate::diagnosis::{asynchronous, calls, facts, traffic, waits};
use crate::pool::create::{self, Asked};
use crate::pool::{self, bundle, evict, objects, recycle};
use crate::process::ended::Ended;
use crate::process::shim::Shim;
use crate::process::thread::{note_inner, Inner};
use crate::real;
use crate::stats::Phase;
use cmshim_core::codes::qp_state;
use cmshim_core::pool::Scope;
use libc::{c_int, c_uint, c_void, size_t};
use std::ptr::null_mut;

// The verbs side of set-up.

entry! {
    fn ibv_get_device_list(number: *mut c_int) -> *mut *mut IbvDevice, missing null_mut();
    // SAFETY: success gave a list that ends with a null.
    finish |shim, ended, rc| if rc.is_null() || unsafe { (*rc).is_null() } {
        calls::no_device(shim, Ended { failed: Some(ended.failed.unwrap_or(0)), ..ended });
    };
}

entry! {
    fn ibv_open_device(device: *mut IbvDevice) -> *mut IbvContext, missing null_mut();
    @again pool::evict::make_room;
    finish |shim, ended, rc| {
        // SAFETY: success gave a context.
        unsafe { objects::opened(shim, rc) };
        calls::ended(shim, ended, Subject::default, |_| {});
    };
}

entry! {
    fn ibv_alloc_pd(context: *mut IbvContext) -> *mut IbvPd, missing null_mut();
    @again pool::evict::make_room;
    // SAFETY: the program's context, and the protection domain that success gave.
    finish |shim, ended, rc| unsafe {
        objects::pd_made(shim, rc);
        calls::ended(shim, ended, || Subject::of_context(context), |_| {});
    };
}

entry! {
    fn ibv_create_srq(pd: *mut IbvPd, attr: *mut IbvSrqInitAttr) -> *mut IbvSrq, missing null_mut();
    @again pool::evict::make_room;
    finish |shim, ended, rc| {
        objects::srq_made(shim, rc);
        // SAFETY: the program's protection domain.
        calls::ended(shim, ended, || unsafe { of_pd(pd) }, |_| {});
    };
}

entry! {
    fn ibv_create_qp(pd: *mut IbvPd, attr: *mut IbvQpInitAttr) -> *mut IbvQp, missing null_mut();
    |call, real| {
        // SAFETY: the program's attributes.
        if let Some(qp) = unsafe { bundle::next_qp(pd, attr) } {
            call.counts_as(Phase::CreateQpHit);
            return call.done(qp);
        }
        // SAFETY: the program's own arguments.
        let at_once = |shim| unsafe { create::at_once(shim, pd, attr) };
        if let Some((qp, tell)) = call.shim().and_then(at_once) {
            call.counts_as(Phase::CreateQpHit);
            if let Some(key) = tell {
                call.before(|shim| create::taken(shim, &key));
            }
            return call.done(qp);
        }
        // SAFETY: the program's own arguments.
        let asked = call.decide(Asked::NO, |shim| unsafe { create::begins(shim, pd, attr) });
        if !asked.served.is_null() {
            call.counts_as(Phase::CreateQpHit);
            return call.done(asked.served);
        }
        // SAFETY: the program's own arguments, unchanged.
        let make = || unsafe { real(pd, attr) };
        // SAFETY: as above.
        let room = |shim, errno| unsafe { create::make_room(shim, errno, &asked, attr) };
        let qp = call.retry_if(make(), room, make);
        // SAFETY: the program's protection domain and attributes.
        call.finish_if(qp, asked.watched(), |shim, ended| unsafe {
            if ended.failed.is_none() {
                create::created(shim, &asked, qp, attr);
            }
            calls::ended(
                shim,
                ended,
                || of_pd(pd),
                |f| {
                    facts::queue_pair(f, facts::context_of(pd), attr);
                    f.inline = attr
                        .as_ref()
                        .map(|a| a.cap.max_inline_data)
                        .filter(|bytes| *bytes > 0);
                },
            );
        })
    }
}

entry! {
    fn ibv_modify_qp(qp: *mut IbvQp, attr: *mut IbvQpAttr, mask: c_int) -> c_int, missing libc::ENOSYS;
    |call, real| {
        // SAFETY: the program's queue pair and attributes.
        let states = unsafe { states(qp, attr, mask) };
        let knows_a_peer = states.is_some_and(|(_, to)| to >= RTR);
        if knows_a_peer && call.shim().is_some_and(recycle::on) {
            call.before(|shim| recycle::used(shim, qp));
        }
        // SAFETY: the program's own arguments.
        let rc = unsafe { real(qp, attr, mask) };
        if rc == 0 && mask & (QP_RQ_PSN | QP_SQ_PSN) != 0 {
            // SAFETY: as above.
            unsafe { traffic::set(attr, mask) };
        }
        // SAFETY: as above.
        call.finish_if_failed(rc, |shim, ended| unsafe {
            modified(shim, ended, qp, states)
        })
    }
}

entry! {
    fn ibv_destroy_qp(qp: *mut IbvQp) -> c_int, missing libc::ENOSYS;
    |call, real| {
        let (key, record, parked) = call.decide((None, None, false), |shim| {
            // SAFETY: the program's queue pair, alive until the real call.
            let key = unsafe { waits::destroy_qp_begins(shim, "ibv_destroy_qp", qp) };
            let record = asynchronous::forget(qp);
            // SAFETY: as above.
            let parked = unsafe { recycle::parks(shim, qp, record.as_ref()) };
            (key, record, parked)
        });
        if parked {
            call.counts_as(Phase::DestroyQpHit);
            return call.done(0);
        }
        // SAFETY: the program's own argument.
        let rc = unsafe { real(qp) };
        call.finish_if(rc, key.is_some(), |shim, ended| {
            waits::call_ends(key);
            if ended.failed.is_some() {
                asynchronous::remember(qp, record);
            }
            calls::ended(shim, ended, Default::default, |_| {});
        })
    }
}

/// The queue pair's state and the one asked for.
///
/// # Safety
/// `qp` and `attr` are null or valid.
unsafe fn states(qp: *const IbvQp, attr: *const IbvQpAttr, mask: c_int) -> Option<(i32, i32)> {
    if mask & QP_STATE == 0 {
        return None;
    }
    // SAFETY: as promised by the caller.
    unsafe { Some((qp.as_ref()?.state, attr.as_ref()?.qp_state)) }
}

/// # Safety
/// `qp` is null or valid.
unsafe fn modified(
    shim: &'static Shim,
    ended: Ended,
    qp: *const IbvQp,
    states: Option<(i32, i32)>,
) {
    let Some(errno) = ended.failed else { return };
    if !ended.outermost {
        note_inner(Inner {
            call: "ibv_modify_qp",
            errno,
            states,
        });
        return;
    }
    let subject = || {
        // SAFETY: as promised by the caller; the context of a queue pair is open.
        unsafe {
            qp.as_ref().map_or_else(Subject::default, |qp| Subject {
                qp_num: Some(qp.qp_num),
                ..Subject::of_context(qp.context)
            })
        }
    };
    calls::ended(shim, ended, subject, |f| {
        f.qp_state =
            states.map(|(from, to)| (qp_state::name(from as u32), qp_state::name(to as u32)));
    });
}

entry! {
    fn ibv_reg_mr(pd: *mut IbvPd, addr: *mut c_void, length: size_t, access: c_int) -> *mut IbvMr, missing null_mut();
    @again pool::evict::make_room;
    // SAFETY: the program's protection domain.
    finish_if_failed |shim, ended, _rc| unsafe { registered(shim, ended, pd, addr, length, access as u32) };
}

entry! {
    fn ibv_reg_mr_iova(pd: *mut IbvPd, addr: *mut c_void, length: size_t, iova: u64, access: c_int) -> *mut IbvMr, missing null_mut();
    @again pool::evict::make_room;
    // SAFETY: the program's protection domain.
    finish_if_failed |shim, ended, _rc| unsafe { registered(shim, ended, pd, addr, length, access as u32) };
}

entry! {
    fn ibv_reg_mr_iova2(pd: *mut IbvPd, addr: *mut c_void, length: size_t, iova: u64, access: c_uint) -> *mut IbvMr, missing null_mut();
    @again pool::evict::make_room;
    // SAFETY: the program's protection domain.
    finish_if_failed |shim, ended, _rc| unsafe { registered(shim, ended, pd, addr, length, access) };
}

entry! {
    fn ibv_reg_dmabuf_mr(pd: *mut IbvPd, offset: u64, length: size_t, iova: u64, fd: c_int, access: c_int) -> *mut IbvMr, missing null_mut();
    @again pool::evict::make_room;
    // SAFETY: the program's protection domain.
    finish_if_failed |shim, ended, _rc| calls::ended(shim, ended, || unsafe { of_pd(pd) }, |f| {
        f.length = Some(length as u64);
        f.access = Some(access as u32);
    });
}

/// # Safety
/// `pd` is null or valid. The memory is not touched.
unsafe fn registered(
    shim: &'static Shim,
    ended: Ended,
    pd: *const IbvPd,
    addr: *mut c_void,
    length: size_t,
    access: u32,
) {
    // SAFETY: as promised by the caller.
    calls::ended(
        shim,
        ended,
        || unsafe { of_pd(pd) },
        |f| facts::memory(f, addr as u64, length, access),
    );
}

/// # Safety
/// `pd` is null or valid.
unsafe fn of_pd(pd: *const IbvPd) -> Subject {
    // SAFETY: as promised by the caller; the context of a protection domain is open.
    unsafe { Subject::of_context(facts::context_of(pd)) }
}

entry! {
    fn ibv_get_async_event(context: *mut IbvContext, event: *mut IbvAsyncEvent) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments.
        let mut rc = unsafe { real(context, event) };
        // SAFETY: success filled the event.
        let ready_one = |shim| unsafe { pool::events::asynchronous(shim, context, event) };
        while rc == 0 && call.decide(false, ready_one) {
            // One of a queue pair that lies ready in the pool: the program reads the next one.
            if let Some(ack) = real::ibv_ack_async_event() {
                // SAFETY: as above.
                unsafe { ack(event) };
            }
            // SAFETY: the program's own arguments.
            rc = unsafe { real(context, event) };
        }
        if rc != 0 {
            // Non-blocking and interrupted reads: the program's own business.
            return call.done(rc);
        }
        // SAFETY: success filled the event.
        call.finish(rc, |shim, _| unsafe {
            asynchronous::handed_over(shim, context, event)
        })
    }
}

entry! {
    fn ibv_ack_async_event(event: *mut IbvAsyncEvent), missing ();
    |call, real| {
        // SAFETY: the program's event.
        call.before(|_shim| unsafe { asynchronous::acked(event) });
        // SAFETY: the program's own argument.
        unsafe { real(event) };
        call.done(())
    }
}

// Completion channels and queues. Inside rdma_create_qp they may be those of a bundle.

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

// Objects that queue pairs stand on go away: none lies ready on them when the real call is made.

entry! {
    fn ibv_dealloc_pd(pd: *mut IbvPd) -> c_int, missing libc::ENOSYS;
    |call, real| {
        // SAFETY: the program's own argument; a failed call leaves the protection domain alive.
        unsafe { leaves(call, Scope::Pd(pd as usize), || real(pd), |shim| objects::pd_made(shim, pd)) }
    }
}

entry! {
    fn ibv_destroy_cq(cq: *mut IbvCq) -> c_int, missing libc::ENOSYS;
    |call, real| {
        // SAFETY: the program's own argument.
        unsafe { leaves(call, Scope::Cq(cq as usize), || real(cq), |shim| objects::cq_made(shim, cq)) }
    }
}

entry! {
    fn ibv_destroy_srq(srq: *mut IbvSrq) -> c_int, missing libc::ENOSYS;
    |call, real| {
        // SAFETY: the program's own argument.
        unsafe { leaves(call, Scope::Srq(srq as usize), || real(srq), |shim| objects::srq_made(shim, srq)) }
    }
}

/// `stays`: what is to be done where an object that was known could not be destroyed.
fn leaves(
    call: Call,
    scope: Scope,
    destroy: impl FnOnce() -> c_int,
    stays: impl FnOnce(&'static Shim),
) -> Finished<c_int> {
    let known = call.decide(false, |shim| objects::leaves(shim, scope));
    let rc = destroy();
    call.finish_if_failed(rc, |shim, _| {
        if known {
            stays(shim);
        }
    })
}

entry! {
    fn ibv_close_device(context: *mut IbvContext) -> c_int, missing -1;
    @before |shim| objects::closes(shim, context);
    finish_if_failed |_shim, _ended, _rc| {};
}

// A call of libmlx5 after which only the program's own threads may create and destroy objects of the device.

/// `MLX5DV_CTX_ATTR_BUF_ALLOCATORS` of `<infiniband/mlx5dv.h>`: functions of the program allocate the buffers.
const BUF_ALLOCATORS: c_uint = 1;

entry! {
    fn mlx5dv_set_context_attr(context: *mut IbvContext, kind: c_uint, attr: *mut c_void) -> c_int, missing libc::ENOSYS;
    finish |shim, ended, _rc| if ended.failed.is_none() && kind == BUF_ALLOCATORS {
        objects::own_allocators(shim, context);
    };
}
