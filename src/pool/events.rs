//! Events that concern the pool: a device that goes away, and asynchronous events of ready ones.

use super::counts::increment;
use super::{enabled, evict, recycle, CqPtr};
use crate::abi::cm::RdmaCmEvent;
use crate::abi::verbs::{async_event, IbvAsyncEvent, IbvContext};
use crate::process::shim::Shim;
use cmshim_core::codes::event;
use cmshim_core::pool::Scope;

/// A CM event was handed over: on DEVICE_REMOVAL the device's ready ones go.
///
/// # Safety
/// `event` is null, or points to null or to an event that was handed over and not acked.
pub unsafe fn cm(shim: &'static Shim, event: *const *mut RdmaCmEvent) {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref().and_then(|e| e.as_ref()) }) else {
        return;
    };
    // SAFETY: as promised by the caller.
    unsafe { recycle::cm(shim, e) };
    if e.event == event::DEVICE_REMOVAL {
        // SAFETY: librdmacm keeps the id of an un-acked event alive.
        if let Some(id) = unsafe { e.id.as_ref() } {
            device_gone(shim, id.verbs);
        }
    }
}

/// An asynchronous event was read: true if it is one of a ready queue pair, which the program must
/// not see. Then it is to be acked and the next one read.
///
/// # Safety
/// `event` was filled by a successful ibv_get_async_event of `context`.
pub unsafe fn asynchronous(
    shim: &Shim,
    context: *const IbvContext,
    event: *const IbvAsyncEvent,
) -> bool {
    // SAFETY: as promised by the caller.
    let Some(e) = (unsafe { event.as_ref() }) else {
        return false;
    };
    if !enabled(shim) {
        return false;
    }
    if e.event_type == async_event::DEVICE_FATAL {
        device_gone(shim, context);
    }
    let pool = super::state();
    let element = e.element as usize;
    let ours = match e.event_type {
        async_event::CQ_ERR => pool.with(shim, |book| {
            book.any(|item| {
                item.own
                    .is_some_and(|own| own.cqs.contains(&CqPtr(element)))
            })
        }),
        kind => async_event::is_qp(kind) && pool.with(shim, |book| book.any(|i| i.qp == element)),
    };
    if ours {
        increment(&pool.counts.events_dropped);
    }
    ours
}

/// Nothing is made on the device any more, and what lies ready goes.
pub fn device_gone(shim: &Shim, context: *const IbvContext) {
    if context.is_null() || !enabled(shim) {
        return;
    }
    let at = context as usize;
    super::state().with(shim, |book| book.gone(at));
    evict::evict(shim, Scope::Context(at));
}
