//! Our own API for access checks, as in `include/cmshim.h`.

use crate::boundary::guard;
use crate::tenant::callback::cmshim_access_check;
use crate::tenant::check;
use libc::{c_int, c_void};

/// Has `check` asked about each connect request, with `user` as its second argument; NULL: no longer.
///
/// It is asked after the rules of `tenant.policy` (which need not be there), only about requests that these let
/// through, and before rdma_get_cm_event or rdma_get_request returns the request. A refused one is rejected,
/// acked and destroyed, and the call goes on to the next event; the peer gets REJECTED 28, with a number for
/// the reason in the private data (6; the bytes are in cmshim-policy(5)). A peer under cmshim says "refused by the peer's
/// program: the program's own check refused".
///
/// `check` runs in the program's own thread that takes the event, perhaps in several at once. It holds nothing up but
/// that thread, and may leave by an exception or longjmp: the request is refused at the latest when the
/// thread takes its next event. After `tenant.check_ms` (1000 by default) without an answer the request is
/// refused, whatever `check` says later (not with `threads = "off"`). It must not take events of the same channel.
///
/// Returns 0, or -1 with errno EOPNOTSUPP: the shim is not in effect in this process, and nothing would be
/// asked. Any thread may call it; a check that is replaced may still be running.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_set_access_check(
    check: cmshim_access_check,
    user: *mut c_void,
) -> c_int {
    if !super::own::in_effect() {
        guard::set_errno(libc::EOPNOTSUPP);
        return -1;
    }
    guard::run(|| check::register(check, user));
    0
}
