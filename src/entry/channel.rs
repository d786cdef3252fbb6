//! Event channels, options, address look-up.

use super::entry;
use crate::abi::cm::{RdmaAddrInfo, RdmaCmId, RdmaEventChannel};
use crate::boundary::Ended;
use crate::pool::evict;
use crate::reasons::calls;
use crate::reasons::subject::Subject;
use crate::tap;
use crate::tenant;
use libc::{c_char, c_int, c_void, size_t};
use std::ffi::CStr;
use std::ptr::null_mut;

entry! {
    fn rdma_create_event_channel() -> *mut RdmaEventChannel, missing null_mut();
    @again evict::make_room;
    finish |shim, ended, rc| {
        // SAFETY: success gave a channel.
        if let Some(channel) = unsafe { rc.as_ref() } {
            tenant::begin(shim);
            // Who had the number before is gone, perhaps past us.
            tenant::seats_by_handle::channel_ends(channel.fd);
            tap::channel_made(shim, channel.fd, !ended.outermost);
        }
        calls::ended(shim, ended, Subject::default, |_| {});
    };
}

entry! {
    fn rdma_destroy_event_channel(channel: *mut RdmaEventChannel), missing ();
    // SAFETY: the program's channel, alive until the real call.
    @before |_shim| if let Some(channel) = unsafe { channel.as_ref() } {
        tenant::seats_by_handle::channel_ends(channel.fd);
        tap::channel_ends(channel.fd);
    };
    finish_if_failed |_shim, _ended, _rc| {};
}

entry! {
    fn rdma_set_option(id: *mut RdmaCmId, level: c_int, name: c_int, value: *mut c_void, length: size_t) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_getaddrinfo(node: *const c_char, service: *const c_char, hints: *const RdmaAddrInfo, result: *mut *mut RdmaAddrInfo) -> c_int, missing -1;
    finish_if_failed |shim, ended, rc| {
        // Other values than -1 are getaddrinfo's own codes (`ucma_getaddrinfo`, librdmacm/addrinfo.c).
        let failed = if rc == -1 { ended.failed } else { (rc != 0).then_some(rc) };
        // SAFETY: the program's strings.
        let asked = || unsafe { Subject::of_name(node, service) };
        calls::ended(shim, Ended { failed, ..ended }, asked, |f| {
            // SAFETY: null or the program's string.
            f.node = (!node.is_null()).then(|| unsafe { CStr::from_ptr(node) }.to_string_lossy().into_owned());
        });
    };
}
