//! Objects that queue pairs stand on go away: none lies ready on them when the real call is made.

use super::entry;
use crate::abi::verbs::{IbvContext, IbvCq, IbvPd, IbvSrq};
use crate::boundary::{shim::Shim, Call, Finished};
use crate::pool::objects;
use cmshim_core::pool::Scope;
use libc::c_int;

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
