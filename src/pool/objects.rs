//! The objects that queue pairs stand on. Only those that came through us are used: what was created
//! past us may be destroyed past us, and a ready queue pair would make that fail.

use super::{enabled, events, evict, threads};
use crate::abi::verbs::{IbvContext, IbvCq, IbvPd, IbvSrq};
use crate::process::shim::Shim;
use cmshim_core::pool::Scope;

/// A device was opened.
///
/// # Safety
/// `context` is null or valid.
pub unsafe fn opened(shim: &Shim, context: *const IbvContext) {
    // SAFETY: as promised by the caller.
    if let Some(open) = unsafe { context.as_ref() }.filter(|_| enabled(shim)) {
        threads::look(shim, open);
        let pool = super::state();
        pool.with(shim, |book| {
            book.opened(context as usize);
            book.belongs(context as usize, open.device as usize);
        });
    }
}

/// A protection domain was created, or could not be destroyed.
///
/// # Safety
/// `pd` is null or valid.
pub unsafe fn pd_made(shim: &Shim, pd: *const IbvPd) {
    // SAFETY: as promised by the caller.
    if let Some(domain) = unsafe { pd.as_ref() }.filter(|_| enabled(shim)) {
        let context = domain.context as usize;
        // SAFETY: the context of a protection domain is open.
        let device = unsafe { domain.context.as_ref() }.map_or(0, |open| open.device as usize);
        let pool = super::state();
        pool.with(shim, |book| {
            // One that was opened past us, by mlx5dv_open_device for example, may be one that only the program's own threads
            // may use: its buffers come from functions of the program.
            if book.is_open(context) {
                book.pd(pd as usize, context);
                book.belongs(context, device);
            }
        });
    }
}

/// Functions of the program allocate the buffers of the device's objects from now on, and may count on its own threads. Nothing
/// lies ready on the device when this returns, and nothing is made ahead any more.
pub fn own_allocators(shim: &Shim, context: *const IbvContext) {
    if !enabled(shim) {
        return;
    }
    let at = context as usize;
    super::state().with(shim, |book| book.no_threads_on(at));
    evict::evict(shim, Scope::Context(at));
    log::info!(
        "mlx5dv_set_context_attr: functions of the program allocate this device's buffers, so the pool makes nothing ahead on it"
    );
}

/// A completion queue was created, or could not be destroyed.
pub fn cq_made(shim: &Shim, cq: *const IbvCq) {
    if enabled(shim) && !cq.is_null() {
        let pool = super::state();
        pool.with(shim, |book| book.cq(cq as usize));
    }
}

/// A shared receive queue was created, or could not be destroyed.
pub fn srq_made(shim: &Shim, srq: *const IbvSrq) {
    if enabled(shim) && !srq.is_null() {
        let pool = super::state();
        pool.with(shim, |book| book.srq(srq as usize));
    }
}

/// An object is about to be destroyed: no ready one stands on it when this returns. True if it is to be known
/// again should that fail: one that was created past us, or inherited from the parent of a fork, is not.
pub fn leaves(shim: &Shim, scope: Scope) -> bool {
    enabled(shim) && evict::evict(shim, scope)
}

/// A device is about to be closed. It is forgotten now: as soon as it is closed, another thread may open one
/// that gets its address.
pub fn closes(shim: &Shim, context: *const IbvContext) {
    if enabled(shim) {
        events::device_gone(shim, context);
        let pool = super::state();
        pool.with(shim, |book| book.closed(context as usize));
    }
}
