//! Objects that queue pairs stand on go away: none lies ready on them when the real call is made.

use super::entry;
use crate::abi::verbs::{IbvContext, IbvCq, IbvPd, IbvSrq};
use crate::boundary;
use crate::pool::objects;
use crate::real;
use crate::stats::Entry;
use cmshim_core::pool::Scope;
use libc::c_int;

/// `stays`: what is to be done where an object that was known could not be destroyed.
macro_rules! leaves {
    ($name:ident($object:ident: $ty:ty), $scope:ident, |$shim:ident| $stays:expr) => {
        /// # Safety
        /// As the function of this name in the real library.
        #[cfg_attr(not(test), no_mangle)]
        pub unsafe extern "C-unwind" fn $name($object: *mut $ty) -> c_int {
            let Some(real) = real::$name() else {
                return boundary::missing(stringify!($name), libc::ENOSYS);
            };
            let call = boundary::enter(Entry::$name);
            let scope = Scope::$scope($object as usize);
            let known = call.decide(false, |shim| objects::leaves(shim, scope));
            // SAFETY: the program's own argument.
            let rc = unsafe { real($object) };
            call.failed(rc, |$shim, _| {
                if known {
                    $stays
                }
            });
            rc
        }
    };
}

leaves!(ibv_dealloc_pd(pd: IbvPd), Pd, |shim| {
    // SAFETY: a failed call leaves the protection domain alive.
    unsafe { objects::pd_made(shim, pd) }
});
leaves!(ibv_destroy_cq(cq: IbvCq), Cq, |shim| objects::cq_made(shim, cq));
leaves!(ibv_destroy_srq(srq: IbvSrq), Srq, |shim| objects::srq_made(shim, srq));

entry! {
    fn ibv_close_device(context: *mut IbvContext) -> c_int, missing -1;
    @before |shim| objects::closes(shim, context);
    failed |_shim, _ended, _rc| {};
}
