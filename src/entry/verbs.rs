//! The verbs side of set-up.

use super::entry;
use crate::abi::data::RTR;
use crate::abi::verbs::*;
use crate::boundary::thread::{note_inner, Inner};
use crate::boundary::{shim::Shim, Ended};
use crate::pool::create::{self, Asked};
use crate::pool::{self, bundle, objects, recycle};
use crate::real;
use crate::reasons::subject::Subject;
use crate::reasons::{asynchronous, calls, facts, traffic};
use crate::stats::Phase;
use cmshim_core::codes::qp_state;
use libc::{c_int, c_uint, c_void, size_t};
use std::ptr::null_mut;

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
