//! Objects that queue pairs stand on go away: none lies ready on them when the real call is made.

use super::entry;
use crate::abi::verbs::{IbvContext, IbvCq, IbvPd, IbvSrq};
use crate::pool::objects;
use cmshim_core::pool::Scope;
use libc::c_int;

entry! {
    fn ibv_dealloc_pd(pd: *mut IbvPd) -> c_int, missing libc::ENOSYS;
    @before |shim| objects::leaves(shim, Scope::Pd(pd as usize));
    // SAFETY: a failed call leaves the protection domain alive.
    failed |shim, _ended, _rc| unsafe { objects::pd_made(shim, pd) };
}

entry! {
    fn ibv_destroy_cq(cq: *mut IbvCq) -> c_int, missing libc::ENOSYS;
    @before |shim| objects::leaves(shim, Scope::Cq(cq as usize));
    failed |shim, _ended, _rc| objects::cq_made(shim, cq);
}

entry! {
    fn ibv_destroy_srq(srq: *mut IbvSrq) -> c_int, missing libc::ENOSYS;
    @before |shim| objects::leaves(shim, Scope::Srq(srq as usize));
    failed |shim, _ended, _rc| objects::srq_made(shim, srq);
}

entry! {
    fn ibv_close_device(context: *mut IbvContext) -> c_int, missing -1;
    @before |shim| objects::closes(shim, context);
    after |shim, _ended, _rc| objects::closed(shim, context);
}
