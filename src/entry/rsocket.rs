//! rsockets stand on functions of librdmacm, which come through us: all that is to be done is done there.

use super::entry;
use crate::boundary::{inner::Inner, thread};
use crate::real;
use crate::reasons::calls;
use crate::reasons::subject::Subject;
use crate::tenant;
use libc::c_int;

entry! {
    /// A librdmacm whose inner calls pass us by would connect and accept past the tenant policy: no socket is given then.
    fn rsocket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, missing -1;
    |call, real| {
        tenant::read_policy(&call);
        let inner = Inner::awaited();
        // SAFETY: the program's own arguments, unchanged.
        let socket = unsafe { real(domain, kind, protocol) };
        let stream = kind & !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) == libc::SOCK_STREAM;
        let checked = socket >= 0 && stream && call.counted();
        if checked && !inner.came() && call.decide(false, tenant::egress::sockets_pass_by) {
            if let Some(close) = real::rclose() {
                // SAFETY: the socket was just made, and nobody knows it.
                unsafe { close(socket) };
            }
            return call.refused(libc::EACCES);
        }
        call.finish_if_failed(socket.min(0), |shim, ended| {
            // Its own refusals are of arguments; what is worth a line failed inside.
            if thread::inner().is_some() {
                calls::ended(shim, ended, Subject::default, |_| {});
            }
        })
    }
}
